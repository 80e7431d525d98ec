"""Operators of a test's own beside their references: written and compiled at once, as that takes
longer of each by itself than what is asked of it."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from cvmgen.reference import Reference
from cvmgen.source import Source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from tests.conformance.calls import Array, Conformance, data
from tests.targets import load_own

CLIP = "def clip(x, low, high) = max(low, min(x, high))\n"
VECTOR = "input X : {0}[N]\n output Y : {1}[N]\n "
MATRIX = "input X : {0}[N, K]\n output Y : {1}[N, K]\n "


def operator_text(at: int, block: str) -> str:
    """An operator `f` with a number."""
    return f'operator f{at} {{\n "Tried."\n {block}\n}}\n'


def drawn(random: Random, shape: tuple[int, ...], dtype: Any) -> Array:
    """Values for an operand: integers of few bits, or of nearly all that int64 has."""
    if np.dtype(dtype).kind == "f":
        values = [random.gauss(0, 3) for _ in range(prod(shape))]
        return np.array(values, dtype).reshape(shape)
    bits = 62 if np.dtype(dtype).itemsize == 8 else random.choice((3, 8))
    return data(random, shape, bits, dtype)


def together(folder: Path, texts: Iterable[str]) -> Conformance:
    """The operators of these texts, which have names of their own, in the opset `tried`."""
    operators = check_files([SpecFile(Source("tried.cvm", "\n".join(texts)), "tried")])
    references = {each.full_name: Reference(each) for each in operators}
    return Conformance(references, load_own(operators, folder))
