"""Calls of C that are large enough for blocks, threads and reads in several places at once."""

from __future__ import annotations

import numpy as np
import pytest

from cvmgen.api import Operators
from tests.conformance.calls import Array

LONG, WIDE = 300_001, 20_011  # more than there are in a part, or in a row of totals
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], np.float32)


@pytest.fixture(scope="module")
def c(libraries: dict[str, Operators]) -> Operators:
    return libraries["c"]


def drawn(*shape: int, low: int = -1000) -> Array:
    return np.random.default_rng(1).integers(low, 1000, shape, np.int32)


@pytest.mark.parametrize(("shape", "axes"), [((LONG,), (0,)), ((3, LONG), (1,)), ((5, WIDE), (0,))])
def test_reductions(c: Operators, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    x = drawn(*shape)
    assert np.array_equal(np.ravel(c.cvm.sum(x, axes=axes)), np.ravel(x.sum(axis=axes)))
    assert np.array_equal(np.ravel(c.cvm.max(x, axes=axes)), np.ravel(x.max(axis=axes)))


def test_the_greatest_real_number(c: Operators) -> None:
    x = drawn(len(SPECIAL) + 1, WIDE).astype(np.float32)
    x[:-1, WIDE // 2] = SPECIAL
    with np.errstate(invalid="ignore"):
        expected = x.max(axis=1)
    found = c.tosa.reduce_max(x, axis=1)
    assert np.array_equal(found.ravel(), expected, equal_nan=True)


def test_places_in_a_table(c: Operators) -> None:
    indices, table = drawn(WIDE, low=-5), drawn(900)
    assert np.array_equal(c.cvm.cvm_lut(indices, table), table[np.clip(indices, 0, 899)])
