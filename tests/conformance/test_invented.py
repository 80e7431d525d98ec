"""Invented formulas mean the same on the reference and on every target."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

import cvmgen
from cvmgen import driver
from cvmgen.api import Operators
from cvmgen.api.library import library_sources
from cvmgen.build import compile_library, write_changed
from cvmgen.reference import Reference
from cvmgen.source import Source, SpecError
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.spec.formula import Operator
from tests.conformance.calls import Call, Conformance, data
from tests.conformance.invented import SPACES, VECTOR, Inventor, Space
from tests.conformance.wild import wild
from tests.emit.units import joined

DEFS = "def clip(x, low, high) = max(low, min(x, high))\ndef square(x) = x * x\n"


def checked(bodies: list[str], space: Space) -> tuple[Operator, ...]:
    """An operator for each right side, but for those with values that no machine type holds."""
    texts = [space.operator(f"f{at}", body) for at, body in enumerate(bodies)]
    operators = check_files([SpecFile(Source("f.cvm", DEFS + "".join(texts)), "invented")])
    return tuple(operator for operator in operators if has_types(operator))


def has_types(operator: Operator) -> bool:
    try:
        driver.typed_kernels(driver.lower(operator, driver.C))
    except SpecError as error:
        if "larger than a kernel can compute" not in error.message:
            raise
        return False
    return True


def agree(folder: Path, bodies: list[str], calls: int, space: Space = VECTOR) -> None:
    operators = checked(bodies, space)
    write_changed(folder, driver.generate(operators, ("c", "python", "numpy")))
    library = compile_library(joined(library_sources(folder)), name="invented", flags=("-O0",))
    libraries: dict[str, Operators] = {
        "c": cvmgen.load("c", folder=folder, library=library),
        "python": cvmgen.load("python", folder=folder),
        "numpy": cvmgen.load("numpy", folder=folder),
    }
    references = {each.full_name: Reference(each) for each in operators}
    conformance = Conformance(references, libraries)
    for each in operators:
        random = Random(each.text)
        for number in range(calls):
            check(conformance, each.full_name, random, space, broken=number % 3 == 2)


def check(conformance: Conformance, name: str, random: Random, space: Space, broken: bool) -> None:
    """One call; with data that break their precision, where `broken`."""
    conformance.check(call(name, random, space, broken), dtype=np.int32)


def call(name: str, random: Random, space: Space, broken: bool) -> Call:
    bits = random.choice((1, 3, 8, 9, 16, 31, 32)), random.choice((1, 3, 8, 16, 32))
    shapes = space.drawn(random)
    operands = tuple(data(random, *each) for each in zip(shapes, bits, strict=True))
    if broken:
        operands = tuple(wild(random, each) for each in operands)
    attributes = {
        "a": random.randint(-5, 5),
        "k": random.choice((0, 1, -1, 5, 2**31 - 1, -(2**31))),
    }
    return Call(name, operands, attributes, bits)


@pytest.mark.parametrize("space", SPACES, ids=("vector", "matrix", "box"))
def test_invented_formulas(tmp_path: Path, space: Space) -> None:
    inventor = Inventor(Random(1), space)
    agree(tmp_path, [inventor.body() for _ in range(30)], calls=9, space=space)


@pytest.mark.slow
@pytest.mark.parametrize("space", SPACES, ids=("vector", "matrix", "box"))
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_invented_formulas(tmp_path: Path, seed: int, space: Space) -> None:
    inventor = Inventor(Random(seed), space)
    agree(tmp_path, [inventor.body() for _ in range(100)], calls=18, space=space)


# Right sides that were wrong once, and what was wrong with them.
WRONG_ONCE = [
    ("clip(0 - 7 * X[i], -2147483647, 2147483647)", "a constant does not decide the type"),
    ("abs(255 - X[i])", "a constant does not decide the type"),
    ("min(255 * (X[i] * X[i]), 1000)", "a constant does not decide the type"),
    (
        "X[i] div 2^clip(X[i], 0, 100) + (0 - 7) div 2^clip(B[i], 0, 40) + 7 div 2^32",
        "a shift stays within the type of what is shifted",
    ),
    ("min((X[i] * X[i] * B[i]) div 2^clip(X[i], 0, 99), 7)", "a shift keeps a wide type"),
    ("min(2^clip(X[i], 0, 199), 7) + 2^clip(B[i], 0, 99)", "a power beyond any type is large"),
    ("min(N * k, prod[j < 3](clip(X[j mod N], -99, 99)))", "a product may be negative"),
    (
        "X[i] div 2^clip(sum[j < N](B[j]) if X[i] > 0 else X[i], 0, 31)",
        "what is chosen has a range",
    ),
    (
        "min(sum[j < N](X[j] * B[j]) * 65536 if X[i] > 0 else 7, 1000)",
        "what is chosen has a type that holds it",
    ),
    ("1 if (any[j < N](X[j] > 0) if X[i] > 0 else X[i] < 5) else 0", "a condition is chosen"),
    ("1 if X[i] == X[i] or a < a else 0", "it is always so, which is no fault"),
    ("X[i] mod 0 if N > 1000 else 3", "a division by 0 that no call comes to"),
    ("sum[j in {X[l] mod 7 for l < N}](j)", "a set holds each value once in kernels too"),
    (
        "count({X[l] mod 3 for l < N} + ({B[l] mod 5 for l < N} if a > 0 else {k for l < 2}))",
        "the union of sets that a kernel makes",
    ),
    ("1 if i in {X[l] mod 3 for l < N} - {B[i] mod 2 for l < 1} else 0", "what is left of a set"),
    ("sum[j in ((X[i], B[i]) if X[i] > 0 else (a, k, 3))](j)", "lists written out in kernels"),
    ("len((i for l < 3 if X[i] > l) if a > 0 else (k, a))", "lists of different kinds"),
    ("max[j in {(X[i] + l) mod 9 - 4 for l < 5}](j mod 5)", "entries may be negative"),
    ("X[(0 * l + i for l < 1)...] + flatten_index((i, 0), (N, 3))", "a list as an index"),
    (
        "min[j < N](X[j] * (X[j] * X[j] - 7)) mod 1000 + max[j < N](X[j] * X[j]) mod 1000",
        "an extreme has a type that holds it",
    ),
    ("count({B[j] mod 5 for j < i + 1})", "what a loop is worth is known in front of it"),
    ("max[j < N](w) + w where w = X[i] div 3", "a name of a where is no value of the host"),
    ("B[i] * (0 - (0 - i))", "two signs in a row are no decrement"),
    ("clip(square(clip(B[i], -9, 9)), 0, 9) * clip(square(clip(a, -2, 3)), 0, 9)", "x is both"),
    ("0 if 65536 >= X[i] else 1", "an int8 is always below 65536, which is no fault"),
    (
        "(X[i] + B[i]) * (X[i] - B[i]) + sum[j < N](X[j] * B[j]) * (X[i] div 3) + (X[i] mod 7) * "
        "(B[i] mod 7) + (X[i] tdiv 7) * (B[i] tdiv 7) - (B[i] - X[i]) * (i + a)",
        "a long line",
    ),
    (
        "1 if (X[i] + B[i]) * (X[i] - B[i]) + (X[i] mod 7) * (B[i] mod 7) > (X[i] tdiv 7) * "
        "(B[i] tdiv 7) - (B[i] - X[i]) * (i + a) and X[i] + B[i] + i < N else 0",
        "a long condition",
    ),
]


def test_what_was_wrong_once(tmp_path: Path) -> None:
    agree(tmp_path, [body for body, _ in WRONG_ONCE], calls=30)
