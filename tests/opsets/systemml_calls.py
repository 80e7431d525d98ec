"""Matrices for SystemML's operators, and what their refusals say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from cvmgen.errors import OperatorError
from tests.opsets.bits import Array

NAN, INF = math.nan, math.inf
TINY = float(np.finfo(np.float64).smallest_subnormal)
LARGEST = float(np.finfo(np.float64).max)
SPECIAL = [NAN, INF, -INF, 0.0, -0.0, TINY, -TINY, LARGEST, -LARGEST, 1.0, -1.0, 0.5, -7.0, 2.0]


def matrix(rows: int, columns: int, seed: int) -> Array:
    return np.random.default_rng(seed).standard_normal((rows, columns))


def refusal(ops: Operators, name: str, given: Sequence[Any], named: dict[str, Any]) -> str:
    with pytest.raises(OperatorError) as caught:
        ops[f"systemml.{name}"](*given, **named)
    return str(caught.value).removeprefix(f"systemml.{name}: ")
