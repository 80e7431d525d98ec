"""Indices as axes: what stays affine, and what accesses through them give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cvmgen import arrays, reals, vectors
from cvmgen.arrays import read
from cvmgen.indices import Index, axes, span

i, j = axes(6, 4)
AFFINE: list[tuple[Any, Callable[[Any, Any], Any], bool, str]] = [
    (i + 3, lambda i, j: i + 3, True, "a start"),
    (2 * i - j, lambda i, j: 2 * i - j, True, "two axes"),
    ((i * 4 + j) // 4, lambda i, j: i + 0 * j, True, "the upper digit"),
    ((i * 4 + j) % 4, lambda i, j: j + 0 * i, True, "the lower digit"),
    ((i * 8 + j) // 2, lambda i, j: (i * 8 + j) // 2, False, "a divided step"),
    (i // 2, lambda i, j: i // 2, True, "a digit of a place"),
    (i % 3 + 2 * i, lambda i, j: i % 3 + 2 * i, True, "a digit and the place itself"),
    (i // 4, lambda i, j: i // 4, False, "neighbours share a quotient, and not all as many"),
    ((i + 1) // 2, lambda i, j: (i + 1) // 2, False, "not from the start"),
    (i // 6, lambda i, j: 0 * i, True, "all have the same"),
    (-i % 6, lambda i, j: -i % 6, False, "around the end"),
    (i * j, lambda i, j: i * j, False, "a product"),
    (1 - i, lambda i, j: 1 - i, True, "from the other side"),
]


@pytest.mark.parametrize(("index", "expected", "affine", "why"), AFFINE)
def test_index_arithmetic(
    index: Any, expected: Callable[[Any, Any], Any], affine: bool, why: str
) -> None:
    wanted = expected(np.arange(6)[:, None], np.arange(4))
    assert np.array_equal(np.broadcast_to(index, wanted.shape), wanted), why
    assert isinstance(index, Index) == affine, why


def test_comparisons_that_all_values_decide() -> None:
    assert (i < 6) is True
    assert (i < 0) is False
    assert (i >= 0) == True  # noqa: E712
    assert (i < 3).ravel().tolist() == [True] * 3 + [False] * 3


T = np.arange(24).reshape(6, 4)
READS = [
    ((i, j), T, True, "all of it"),
    ((i, 3 - j), T[:, ::-1], True, "backwards"),
    ((5, j), T[5], True, "a row"),
    ((i, 0), T[:, :1], True, "a column, with an axis for each index behind its own"),
    ((j, j), T[range(4), range(4)], True, "a diagonal"),
    ((i // 2, j), T[np.arange(6) // 2], False, "rows twice"),
    ((i // 2 + i % 3, j % 2), T[np.arange(6) // 2 + np.arange(6) % 3][:, [0, 1, 0, 1]], False,
     "digits that overlap"),
    ((i // 2 + i % 2, 2 * (j // 2)), T[np.arange(6) // 2 + np.arange(6) % 2][:, [0, 0, 2, 2]],
     False, "two digits of a place"),
    ((i, np.array([3, 0, 9, -9])), T[:, [3, 0, 3, 0]], False, "outside: what is nearest"),
    ((i - 1, j), None, False, "a border, where nothing else is asked for"),
    ((np.arange(6)[:, None] // 2, (i + j) % 4), T[np.arange(6)[:, None] // 2,
     (np.arange(6)[:, None] + np.arange(4)) % 4], False, "two slots that share an axis"),
]  # fmt: skip


@pytest.mark.parametrize(("slots", "expected", "shares", "why"), READS)
def test_reads(slots: tuple[Any, ...], expected: Any, shares: bool, why: str) -> None:
    found = read(T, *slots)
    if expected is not None:
        assert np.array_equal(found, expected), why
    assert np.shares_memory(found, T) == shares, why


def test_copies() -> None:
    """Axes that slots cut in digits, or do not go along; a short axis behind a long one."""
    n, k = axes(3, 40)
    source = np.arange(10)
    for slots, expected in (
        ((k // 4,), np.repeat(source, 4)),
        ((k % 10,), np.tile(source, 4)),
        ((k % 1 + 3,), np.full(40, 3)),
        ((k // 40 + n * 2,), np.array([[0], [2], [4]])),
        ((np.arange(40) // 7,), np.arange(40) // 7),
        ((np.arange(40)[::-1] - 30,), np.clip(np.arange(9, -31, -1), 0, 9)),
    ):
        for target in (np.zeros((3, 80), np.int8)[:, ::2], np.zeros((3, 40), source.dtype)):
            arrays.copy(target, source, *slots)
            assert np.array_equal(target, np.broadcast_to(expected, target.shape))


def test_lookups() -> None:
    """Along one dimension of a tensor, with the others behind, in front and exchanged."""
    source = np.arange(60).reshape(3, 4, 5)
    rows = np.array([[3, 0], [9, -1]])
    i, j, k, m = axes(3, 2, 2, 5)
    places = read(rows, j, k)
    target = np.zeros((3, 2, 2, 5), source.dtype)
    arrays.copy(target, source, i, places, m)
    assert np.array_equal(target, source[:, np.clip(rows, 0, 3)])
    n, m = axes(4, 3)
    square = np.zeros((4, 3), source.dtype)
    arrays.copy(square, source[:, :, 0], m, np.asarray(n))
    assert np.array_equal(square, source[:, :, 0].T)


def test_blocks_of_broadcast_tensors() -> None:
    shape = (5, 3, arrays.BLOCK // 2)
    first, last = np.ones((5, 1, 1), np.int8), np.arange(shape[-1], dtype=np.int32)
    target = np.zeros((*shape[:-1], 2 * shape[-1]), np.int64)[..., ::2]
    for one, other, out, spare in arrays.blocks([first, last], [target], np.int32, spare=1):
        assert one.dtype == other.dtype == spare.dtype == np.int32
        assert out.size <= arrays.BLOCK
        np.add(one, other, out=spare)
        out[...] += spare
    assert np.array_equal(target, np.broadcast_to(last + 1, shape))


def test_reads_beyond_a_tensor() -> None:
    k = axes(8)
    assert read(np.array([1, 2, 3]), k - 2, fill=7).tolist() == [7, 7, 1, 2, 3, 7, 7, 7]
    border = arrays.padded(np.array([1, 2, 3]), 0, span(-1, 4, 0))
    assert [read(border, at).item() for at in range(-1, 4)] == [0, 1, 2, 3, 0]


REALS = [0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("size", [1, vectors.SMALL])
def test_extremes_of_real_numbers(size: int) -> None:
    one, other = (
        np.tile(each, size) for each in np.array([(a, b) for a in REALS for b in REALS]).T
    )
    for ours, exact in ((vectors.maximum, reals.maximum), (vectors.minimum, reals.minimum)):
        wanted = np.array([exact(*pair) for pair in zip(one.tolist(), other.tolist(), strict=True)])
        with np.errstate(invalid="ignore"):
            found = ours(one, other)
        assert np.array_equal(found, wanted, equal_nan=True)
        assert np.array_equal(np.signbit(found[wanted == 0]), np.signbit(wanted[wanted == 0]))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64, np.bool_])
def test_choices_of_many_elements(dtype: Any) -> None:
    random = np.random.default_rng(0)
    then, otherwise = random.integers(-9, 9, (2, 3, vectors.SMALL)).astype(dtype)
    condition = random.integers(0, 2, then.shape).astype(np.bool_)
    for a, b in ((then, otherwise), (then[0], otherwise), (then, then.dtype.type(0))):
        found = vectors.where(condition, a, b)
        assert found.dtype == dtype
        assert np.array_equal(found, np.where(condition, a, b))


NUMBERS = [1, 2, 3, 4, 255, 256, (1 << 53) - 1, 1 << 53, (1 << 53) + 1, (1 << 62) - 1, 1 << 62,
           (1 << 63) - 1]  # fmt: skip


def test_logarithms() -> None:
    for numbers in (NUMBERS, NUMBERS[:6]):
        values = np.array(numbers)
        floors = [each.bit_length() - 1 for each in numbers]
        assert vectors.floor_log2(values).tolist() == floors
        assert vectors.floor_log2(values.astype(object)).tolist() == floors
        assert vectors.ceil_log2(values).tolist() == [(each - 1).bit_length() for each in numbers]


def test_quotients_of_many_elements() -> None:
    """Below 2^52 the quotient of binary64 numbers is rounded as that of the integers."""
    random = np.random.default_rng(1)
    left = random.integers(-(1 << 51), 1 << 51, vectors.SMALL)
    right = random.integers(-(1 << 51), 1 << 51, vectors.SMALL) >> random.integers(0, 51)
    right[right == 0] = 1
    left[::2] = (left[::2] // right[::2]) * right[::2] + random.integers(-1, 2, left[::2].size)
    assert np.array_equal(vectors.floordiv(left, right), left // right)
    signs = np.sign(left) * np.sign(right)
    assert np.array_equal(vectors.truncdiv(left, right), signs * (abs(left) // abs(right)))
