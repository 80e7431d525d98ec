"""Calls of C that are large enough for blocks, threads and reads in several places at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cvmgen
from cvmgen.api import Operators
from tests.conformance.calls import Array

LONG, WIDE = 300_001, 20_011  # more than there are in a part, or in a row of totals
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], np.float32)


@pytest.fixture(scope="module")
def c(generated: Path) -> Operators:
    return cvmgen.load("c", folder=generated)


def drawn(*shape: int, low: int = -1000) -> Array:
    return np.random.default_rng(1).integers(low, 1000, shape, np.int32)


@pytest.mark.parametrize(("shape", "axes"), [((LONG,), (0,)), ((3, LONG), (1,)), ((5, WIDE), (0,))])
def test_reductions(c: Operators, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    x = drawn(*shape)
    assert np.array_equal(np.ravel(c.cvm.sum(x, axes=axes)), np.ravel(x.sum(axis=axes)))
    assert np.array_equal(np.ravel(c.cvm.max(x, axes=axes)), np.ravel(x.max(axis=axes)))


def test_threads_that_share_tall_sums(c: Operators) -> None:
    x = drawn(70_003, 64)
    c.threads = 3
    try:
        assert np.array_equal(c.cvm.sum(x, axes=(0,)), x.sum(axis=0))
        assert np.array_equal(c.cvm.max(x, axes=(0,)), x.max(axis=0))
    finally:
        c.threads = 0


def test_the_greatest_real_number(c: Operators) -> None:
    x = drawn(len(SPECIAL) + 1, WIDE).astype(np.float32)
    x[:-1, WIDE // 2] = SPECIAL
    with np.errstate(invalid="ignore"):
        expected = x.max(axis=1)
    found = c.tosa.reduce_max(x, axis=1)
    assert np.array_equal(found.ravel(), expected, equal_nan=True)


@pytest.mark.parametrize("shape", [(37, 3, 131), (20, 70), (5, 1030), (3, 9)])
def test_real_numbers_in_their_order(c: Operators, shape: tuple[int, ...]) -> None:
    """Rows and columns side by side, in whole blocks and in what is left of them."""
    x = (drawn(*shape) / 700).astype(np.float32)
    x.flat[:: x.size // 7] = np.resize(SPECIAL, 8)[: len(x.flat[:: x.size // 7])]
    for axis in range(len(shape)):
        rows = np.moveaxis(x, axis, 0).astype(np.float64)
        with np.errstate(invalid="ignore"):
            total, product = (each.accumulate(rows)[-1] for each in (np.add, np.multiply))
            expected = [each.astype(np.float32) for each in (total + 0.0, product)]
        found = c.tosa.reduce_sum(x, axis=axis), c.tosa.reduce_product(x, axis=axis)
        for one, other in zip(found, expected, strict=True):
            assert np.array_equal(np.squeeze(one, axis), other, equal_nan=True)


def test_places_in_a_table(c: Operators) -> None:
    indices, table = drawn(WIDE, low=-5), drawn(900)
    assert np.array_equal(c.cvm.cvm_lut(indices, table), table[np.clip(indices, 0, 899)])


@pytest.mark.parametrize("length", [2, 3, 6, 8, 9, 32])
@pytest.mark.parametrize("dtype", [np.int8, np.int32])
def test_rows_that_pass(c: Operators, length: int, dtype: type) -> None:
    """By whole vectors, and the last ones of a batch by themselves: short and long."""
    for count in (1, 4, 37, 64):
        x = drawn(3, count, length).astype(dtype)
        for least in (-2000, 0, 2000):
            kept = [rows[rows[:, 1] > least] for rows in x]
            expected = np.full_like(x, -1)
            for rows, found in zip(expected, kept, strict=True):
                rows[: len(found)] = found
            number, y = c.cvm.get_valid_count(x, score_threshold=least)
            assert np.array_equal(number, [len(each) for each in kept])
            assert np.array_equal(y, expected)


def test_boxes_in_many_blocks(c: Operators, generated: Path) -> None:
    random = np.random.default_rng(2)
    corners, count = random.integers(0, 200, (1, 250, 2)), np.array([250], np.int32)
    ids, scores = random.integers(0, 2, (2, 1, 250, 1))
    parts = (ids, scores, corners, corners + random.integers(-30, 30, (1, 250, 2)))
    boxes = np.concatenate(parts, axis=2).astype(np.int32)
    expected = cvmgen.load("python", folder=generated).cvm.non_max_suppression(boxes, count)
    assert (expected[0, 70:, 0] >= 0).any(), "more are kept than two blocks hold"
    assert np.array_equal(c.cvm.non_max_suppression(boxes, count), expected)
