"""The vision operators against what the formalization says of their sets, not how to find them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cvmgen.api import Operators, Opset
from tests.conformance.calls import Array, Call, Conformance, largest
from tests.conformance.strategies import MOST, budget

Row = list[int]
Iou = Callable[[int, int], int]
LOWEST = -(2**31)
MOST_BOXES = 6


@dataclass(frozen=True, slots=True)
class Suppression:
    """The attributes of a call; what it leaves out has the operator's default."""

    iou_threshold: int = 50
    max_output_size: int = -1
    force_suppress: bool = False
    top_k: int = -1

    def attributes(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


# ---------------------------------------------------------------- the formalization


def ordered(rows: Sequence[Row]) -> list[Row]:
    """R: by descending score, equal ones in the order of their indices."""
    return [rows[at] for at in sorted(range(len(rows)), key=lambda at: (-rows[at][1], at))]


def overlap(first: Row, second: Row) -> int:
    """OLR: hundredths of the union that two boxes share, rounded down, over the integers."""
    area, shared = 0, 1
    for row in (first, second):
        area += abs(row[4] - row[2]) * abs(row[5] - row[3])
    for low, high in ((2, 4), (3, 5)):
        begin = max(min(first[low], first[high]), min(second[low], second[high]))
        end = min(max(first[low], first[high]), max(second[low], second[high]))
        shared *= max(0, end - begin)
    union = area - shared
    return 100 * shared // union if area > 0 and union > 0 else 0


def kept_sets(number: int, fits: Callable[[int, frozenset[int]], bool]) -> Iterator[frozenset[int]]:
    """Every U with U = {p | p < number and fits(p, U)}, among all subsets."""
    for size in range(number + 1):
        for chosen in combinations(range(number), size):
            whole = frozenset(chosen)
            if all((p in whole) == fits(p, whole) for p in range(number)):
                yield whole


def suppressed(rows: Sequence[Row], valid_count: int, wanted: Suppression) -> list[Row]:
    """Y of one batch."""
    total = max(min(len(rows), valid_count), 0)
    R = ordered(rows[:total])

    def iou(p: int, q: int) -> int:
        same = wanted.force_suppress or R[p][0] == R[q][0]
        return overlap(R[p], R[q]) if same else 0

    def fits(p: int, whole: frozenset[int]) -> bool:
        smaller = (q for q in whole if q < p)
        return R[p][0] >= 0 and all(iou(p, q) < wanted.iou_threshold for q in smaller)

    first = total if wanted.top_k < 0 else min(wanted.top_k, total)
    (U,) = kept_sets(first, fits)
    most = len(U) if wanted.max_output_size < 0 else min(wanted.max_output_size, len(U))
    kept = [R[p] for p in sorted(U)[:most]]
    return kept + [[-1] * 6] * (len(rows) - len(kept))


# ---------------------------------------------------------------- random boxes


def coordinates(bits: int) -> st.SearchStrategy[int]:
    """Few values, so that boxes touch, cover each other and are empty; the ends among them."""
    most = largest(bits)
    near = st.integers(-min(most, 6), min(most, 6))
    return st.one_of(near, st.sampled_from((most, -most, most // 2, -(most // 2), most - 1)))


def boxes(bits: int) -> st.SearchStrategy[Row]:
    """A row: an id, a score, four coordinates of the precision."""
    one = coordinates(bits)
    corners = st.tuples(one, one, one, one)
    return st.builds(
        lambda known, score, box: [known, score, *box],
        st.sampled_from((-2, -1, 0, 0, 0, 1)),
        st.integers(-2, 2),
        corners,
    )


SUPPRESSIONS = st.builds(
    Suppression,
    iou_threshold=st.sampled_from((1, 2, 25, 33, 34, 50, 99, 100, 101, MOST)),
    max_output_size=st.sampled_from((LOWEST, -1, 0, 1, 2, 5, MOST)),
    force_suppress=st.booleans(),
    top_k=st.sampled_from((LOWEST, -1, 0, 1, 3, 5, MOST)),
)


@st.composite
def calls(draw: st.DrawFn) -> tuple[list[list[Row]], list[int], int, Suppression]:
    """Batches of rows, how many of each are valid, the precision, the attributes."""
    bits = draw(st.sampled_from((4, 8, 16, 30, 31, 32)))
    number = draw(st.integers(1, MOST_BOXES))
    batch = st.lists(boxes(bits), min_size=number, max_size=number)
    batches = draw(st.lists(batch, min_size=1, max_size=3))
    count = st.one_of(st.integers(-1, number + 1), st.sampled_from((-MOST, MOST, number)))
    counts = draw(st.lists(count, min_size=len(batches), max_size=len(batches)))
    return batches, counts, bits, draw(SUPPRESSIONS)


def suppress(
    cvm: Opset, batches: Sequence[Sequence[Row]], counts: Sequence[int], wanted: Suppression
) -> list[list[Row]]:
    X, valid = np.array(batches, np.int32), np.array(counts, np.int32)
    found: list[list[Row]] = cvm.non_max_suppression(X, valid, **wanted.attributes()).tolist()
    return found


@given(calls())
@budget
def test_the_set_that_the_formalization_describes(
    cvm: Opset, call: tuple[list[list[Row]], list[int], int, Suppression]
) -> None:
    """One subset alone satisfies the equation of U; its rows are the result."""
    batches, counts, _, wanted = call
    expected = [suppressed(rows, n, wanted) for rows, n in zip(batches, counts, strict=True)]
    assert suppress(cvm, batches, counts, wanted) == expected


@given(calls())
@budget
def test_batches_are_independent(
    cvm: Opset, call: tuple[list[list[Row]], list[int], int, Suppression]
) -> None:
    batches, counts, _, wanted = call
    stacked = suppress(cvm, batches, counts, wanted)
    alone = [suppress(cvm, [rows], [n], wanted)[0] for rows, n in zip(batches, counts, strict=True)]
    assert stacked == alone


@given(calls(), st.lists(st.booleans(), min_size=12, max_size=12))
@budget
def test_corners_stand_in_any_order(
    cvm: Opset,
    call: tuple[list[list[Row]], list[int], int, Suppression],
    flips: list[bool],
) -> None:
    """Which rows are kept does not depend on which corner comes first."""
    batches, counts, _, wanted = call
    turned = [[list(row) for row in rows] for rows in batches]
    for rows in turned:
        for at, row in enumerate(rows):
            if flips[2 * at]:
                row[2], row[4] = row[4], row[2]
            if flips[2 * at + 1]:
                row[3], row[5] = row[5], row[3]
    found = suppress(cvm, batches, counts, wanted)
    again = suppress(cvm, turned, counts, wanted)
    assert [[normal(row) for row in rows] for rows in found] == [
        [normal(row) for row in rows] for rows in again
    ]


def normal(row: Row) -> Row:
    """The row with its least corner first."""
    (left, right), (top, bottom) = sorted((row[2], row[4])), sorted((row[3], row[5]))
    return [*row[:2], left, top, right, bottom]


@given(calls())
@budget
def test_each_target_says_the_same_of_int8(
    conformance: Conformance, call: tuple[list[list[Row]], list[int], int, Suppression]
) -> None:
    batches, counts, bits, wanted = call
    assume(bits <= 8)
    operands = (np.array(batches, np.int8), np.array(counts, np.int32))
    expected = conformance.check(
        Call("cvm.non_max_suppression", operands, wanted.attributes(), (8, 32))
    )
    assert expected.refusal == ""


# ---------------------------------------------------------------- boxes at the ends


@dataclass(frozen=True, slots=True)
class Pair:
    """Two boxes of one class, the first with the higher score, and their overlap."""

    first: tuple[int, int, int, int]
    second: tuple[int, int, int, int]
    overlap: int
    why: str = field(compare=False)


def pairs(bits: int) -> list[Pair]:
    most = largest(bits)
    whole = (-most, -most, most, most)
    return [
        Pair(whole, whole, 100, "identical boxes"),
        Pair(whole, (most, most, -most, -most), 100, "identical ones, corners exchanged"),
        Pair(whole, (-most, most, most, -most), 100, "the other two corners"),
        Pair(whole, (-most, -most, 0, most), 50, "a half"),
        Pair(whole, (0, 0, most, most), 25, "a quarter"),
        Pair(whole, (most, most, most, most), 0, "an empty box in a corner"),
        Pair(whole, (0, -most, 0, most), 0, "a line has no area"),
        Pair((0, 0, 0, 0), (0, 0, 0, 0), 0, "two empty boxes have no union"),
        Pair((-most, -most, 0, 0), (0, 0, most, most), 0, "a common corner"),
        Pair((-most, -most, 0, most), (0, -most, most, most), 0, "a common edge"),
        Pair((0, 0, 3, 1), (0, 0, 1, 1), 33, "a third, rounded down"),
        Pair((0, 0, 3, 1), (0, 0, 2, 1), 66, "two thirds, rounded down"),
        Pair(whole, (-most, -most, most, most - 1), 99, "all but a row; less than 100"),
    ]


@pytest.mark.parametrize("bits", [8, 16, 30, 31, 32])
@pytest.mark.parametrize("at", range(len(pairs(8))), ids=[pair.why for pair in pairs(8)])
def test_overlaps(cvm: Opset, bits: int, at: int) -> None:
    """The greatest threshold that still suppresses the second box is the overlap."""
    pair = pairs(bits)[at]
    rows = [[0, 2, *pair.first], [0, 1, *pair.second]]
    if "all but a row" in pair.why and bits > 8:
        assert overlap(*rows) == 99
    for threshold in {max(pair.overlap, 1), pair.overlap + 1, 101, MOST}:
        ((_, second),) = suppress(cvm, [rows], [2], Suppression(iou_threshold=threshold))
        kept = [-1] * 6 if pair.overlap >= threshold else rows[1]
        assert second == kept, (threshold, pair.why)


# What becomes of four boxes at one place with the scores 5, 7, 7, 6 and the ids 0, 1, -1, 0.
FOUR = [[0, 5, 0, 0, 4, 4], [1, 7, 0, 0, 4, 4], [-1, 7, 0, 0, 4, 4], [0, 6, 0, 0, 4, 4]]
CHOICES: list[tuple[int, dict[str, Any], list[int], str]] = [
    (4, {}, [1, 3], "one of each class, the best first; no negative id"),
    (4, {"force_suppress": True}, [1], "one of all"),
    (4, {"iou_threshold": 100}, [1, 3], "identical boxes overlap by 100"),
    (4, {"iou_threshold": 101}, [1, 3, 0], "nothing overlaps by 101"),
    (4, {"iou_threshold": 101, "top_k": 0}, [], "none of the rows is looked at"),
    (4, {"iou_threshold": 101, "top_k": 1}, [1], "the first row"),
    (4, {"iou_threshold": 101, "top_k": 2}, [1], "the second row has a negative id, and counts"),
    (4, {"iou_threshold": 101, "top_k": 3}, [1, 3], "three rows, two kept"),
    (4, {"iou_threshold": 101, "top_k": 9}, [1, 3, 0], "more than there are"),
    (4, {"iou_threshold": 101, "top_k": -9}, [1, 3, 0], "no end"),
    (4, {"iou_threshold": 101, "max_output_size": 0}, [], "none is kept"),
    (4, {"iou_threshold": 101, "max_output_size": 1}, [1], "the best"),
    (4, {"iou_threshold": 101, "max_output_size": 9}, [1, 3, 0], "more than there are"),
    (4, {"iou_threshold": 101, "max_output_size": -9}, [1, 3, 0], "no end"),
    (4, {"force_suppress": True, "top_k": 2}, [1], "a negative id suppresses nothing"),
    (3, {"iou_threshold": 101}, [1, 0], "the fourth row is not valid"),
    (1, {}, [0], "one row"),
    (0, {}, [], "no row"),
    (-1, {}, [], "less than none"),
    (LOWEST + 1, {}, [], "far less than none"),
    (9, {}, [1, 3], "more than there are"),
    (MOST, {}, [1, 3], "far more"),
]


@pytest.mark.parametrize(("count", "attributes", "kept", "why"), CHOICES, ids=lambda each: None)
def test_what_is_kept(
    cvm: Opset, count: int, attributes: dict[str, Any], kept: list[int], why: str
) -> None:
    expected = [FOUR[at] for at in kept] + [[-1] * 6] * (4 - len(kept))
    assert suppress(cvm, [FOUR], [count], Suppression(**attributes)) == [expected], why


def test_a_negative_id_neither_stays_nor_suppresses(cvm: Opset) -> None:
    rows = [[-1, 9, 0, 0, 4, 4], [0, 8, 0, 0, 4, 4]]
    for wanted in (Suppression(), Suppression(force_suppress=True)):
        assert suppress(cvm, [rows], [2], wanted) == [[rows[1], [-1] * 6]]


def test_a_suppressed_box_suppresses_nothing(cvm: Opset) -> None:
    """The second overlaps both others by a third; the third overlaps the second alone."""
    rows = [[0, 9, 0, 0, 2, 2], [0, 8, 1, 0, 3, 2], [0, 7, 2, 0, 4, 2]]
    ((first, second, third),) = suppress(cvm, [rows], [3], Suppression(iou_threshold=30))
    assert (first, second, third) == (rows[0], rows[2], [-1] * 6)


def test_equal_scores_keep_their_order(cvm: Opset) -> None:
    rows = [[at, 3, 0, 0, 1, 1] for at in range(40)]
    assert suppress(cvm, [rows], [40], Suppression(force_suppress=False)) == [rows]
    ((first, *rest),) = suppress(cvm, [rows], [40], Suppression(force_suppress=True))
    assert first == rows[0]
    assert rest == [[-1] * 6] * 39


# ---------------------------------------------------------------- data outside the contract


@pytest.mark.parametrize("dtype", [np.int8, np.int32])
def test_lowest_values_are_the_same_everywhere(conformance: Conformance, dtype: Any) -> None:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    ends = [low, high, low + 1, 0]
    rows = [
        [known, score, a, b, high, low]
        for known in (0, low)
        for score in ends
        for a, b in ((low, low), (low, high), (high, low))
    ]
    X, counts = np.array([rows, rows[::-1]], dtype), np.array([len(rows), LOWEST], np.int32)
    bits = 8 * X.itemsize
    for wanted in (Suppression(), Suppression(force_suppress=True, iou_threshold=100, top_k=9)):
        call = Call("cvm.non_max_suppression", (X, counts), wanted.attributes(), (bits, 32))
        assert conformance.check(call).refusal == ""
    for threshold in (LOWEST, LOWEST + 1, -1, 0, MOST):
        call = Call("cvm.get_valid_count", (X,), {"score_threshold": threshold}, (bits,))
        assert conformance.check(call).refusal == ""


def test_the_first_offending_element(libraries: dict[str, Operators]) -> None:
    X = np.zeros((1, 2, 6), np.int32)
    X[0, 1, 3] = LOWEST
    for operators in libraries.values():
        with pytest.raises(Exception, match=rf"X = {LOWEST} at \(0, 1, 3\): precision 32 holds"):
            operators.cvm.non_max_suppression(
                X, np.array([2], np.int32), precisions=(32, 32), check="values"
            )


# ---------------------------------------------------------------- get_valid_count


@st.composite
def scored(draw: st.DrawFn) -> tuple[Array, int]:
    """Rows of any length from 2 to 32, of int8 or int32; a threshold at or near a score."""
    dtype, bits = draw(st.sampled_from(((np.int8, 8), (np.int32, 8), (np.int32, 32))))
    extents = (
        draw(st.integers(1, 3)),
        draw(st.integers(1, 9)),
        draw(st.sampled_from((2, 3, 6, 32))),
    )
    scores = st.one_of(st.integers(-2, 2), st.sampled_from((largest(bits), -largest(bits))))
    values = draw(st.lists(scores, min_size=extents[0] * extents[1], max_size=99))
    X = np.arange(np.prod(extents), dtype=np.int64).reshape(extents) % 100
    X[:, :, 1] = np.array(values[: extents[0] * extents[1]]).reshape(extents[:2])
    threshold = draw(st.one_of(scores, st.sampled_from((LOWEST, MOST))))
    return X.astype(dtype), threshold


@given(scored())
@budget
def test_valid_rows(cvm: Opset, call: tuple[Array, int]) -> None:
    X, threshold = call
    found = cvm.get_valid_count(X, score_threshold=threshold)
    again = cvm.get_valid_counts(X, score_threshold=threshold)
    kept = [rows[rows[:, 1].astype(np.int64) > threshold] for rows in X]
    assert found.valid_count.tolist() == [len(rows) for rows in kept]
    for rows, result in zip(kept, found.Y, strict=True):
        assert result[: len(rows)].tolist() == rows.tolist()
        assert (result[len(rows) :] == -1).all()
    assert (found.Y == again.Y).all()


def test_the_two_in_a_row(cvm: Opset) -> None:
    """What one operator counts and puts in front, the other takes."""
    rows = [[0, 1, 0, 0, 4, 4], [0, 9, 0, 0, 4, 4], [1, 0, 0, 0, 4, 4], [0, 5, 9, 9, 8, 8]]
    valid = cvm.get_valid_count(np.array([rows], np.int32))
    assert valid.valid_count.tolist() == [3]
    assert valid.Y[0, :3].tolist() == [rows[0], rows[1], rows[3]]
    found = cvm.non_max_suppression(valid.Y, valid.valid_count)
    assert found.tolist() == [[rows[1], rows[3], [-1] * 6, [-1] * 6]]
