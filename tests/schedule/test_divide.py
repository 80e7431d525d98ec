"""Quotients through real numbers, where rounding could show: against Python's integers."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np

import cvmgen
from cvmgen import driver
from cvmgen.build.files import write_changed
from tests.schedule.test_actions import QUOTIENT
from tests.specs import operator

LARGEST = 2**31 - 1
ENDS = (
    -LARGEST,
    1 - LARGEST,
    -(2**30) - 1,
    -65537,
    -3,
    -2,
    -1,
    0,
    1,
    2,
    3,
    46341,
    LARGEST - 1,
    LARGEST,
)


def quotient(a: int, b: int) -> int:
    """Rounded toward zero; 0 for a divisor of 0."""
    return 0 if b == 0 else (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)


def test_quotients_at_the_ends_and_beside_multiples(tmp_path: Path) -> None:
    found = operator(QUOTIENT)
    text = driver.emitted("c", found)
    assert "cvmgen_quotient_or_0(X[i], Z[i])" in text
    write_changed(tmp_path, driver.generate([found], ("c",)))
    divide = cvmgen.load("c", folder=tmp_path).test.f
    pairs = list(product(ENDS, ENDS))
    for b in (b for b in ENDS if b != 0):
        multiples = (LARGEST // b * b + offset for offset in (-1, 0, 1))
        pairs += [(a, b) for a in multiples if abs(a) <= LARGEST]
    x, z = np.array(pairs, np.int32).T
    expected = [quotient(a, b) for a, b in pairs]
    assert divide(np.ascontiguousarray(x), np.ascontiguousarray(z)).tolist() == expected
