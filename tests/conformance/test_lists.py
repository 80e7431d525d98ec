"""The test operators on selected lists against Python's own sorting, sets and medians."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cvmgen.api import Operators, Opset
from tests.conformance.strategies import budget
from tests.targets import TARGETS

Row = list[int]
Oracle = Callable[..., Any]


@pytest.fixture(scope="module", params=TARGETS)
def extra(request: pytest.FixtureRequest, libraries: dict[str, Operators]) -> Opset:
    """The test operators on each target in turn."""
    return libraries[request.param].extra


# ---------------------------------------------------------------- oracles, of one row


def argsort(row: Row) -> Row:
    return sorted(range(len(row)), key=row.__getitem__)


def padded(row: Sequence[int], length: int, filler: int = 0) -> Row:
    return [*row, *[filler] * (length - len(row))]


def unique(row: Row) -> tuple[Row, Row]:
    found = sorted(set(row))
    return [len(found)], padded(found, len(row))


def thinned(row: Row, distance: int) -> Row:
    kept: Row = []
    for value in row:
        if all(abs(value - each) >= distance for each in kept):
            kept.append(value)
    return padded(kept, len(row))


def crowded(row: Row, limit: int) -> int:
    return sum(max(0, times - limit) for times in Counter(row).values())


def partitioned(row: Row) -> Row:
    return sorted(row, key=lambda value: value < 0)


def chosen_sum(row: Row, bound: int, number: int, *, least: bool) -> int:
    if least:
        return sum(sorted(value for value in row if value <= bound)[:number])
    return sum(value for value in row if value > bound)


def ascents(row: Row) -> tuple[Row, Row]:
    found = [0, *(int(b > a) for a, b in pairwise(row))]
    return found, [sum(found)]


def ranks(row: Row) -> Row:
    order = sorted(range(1, len(row)), key=lambda at: -row[at])
    places = {at: place for place, at in enumerate(order, 1)}
    return [0, *(places[at] for at in range(1, len(row)))]


def positive_in_order(row: Row) -> Row:
    found = sorted(value for value in row if value > 0)
    return [*[0] * (len(row) - len(found)), *found]


def median(values: Row) -> int:
    return sorted(values)[(len(values) - 1) // 2]


def best_rows(rows: list[Row], limit: int) -> list[Row]:
    order = sorted(rows, key=lambda row: (-sum(row), row[0]))
    return [*order[:limit], *[[-1] * len(rows[0])] * (len(rows) - limit)]


# ---------------------------------------------------------------- small rows, many of them

FEW = st.integers(-3, 3)  # many equal
WIDE = st.integers(-(2**20) + 1, 2**20 - 1)
ROWS = st.one_of(
    st.lists(FEW, min_size=1, max_size=40), st.lists(FEW | WIDE, min_size=1, max_size=12)
)
MATRICES = st.tuples(st.integers(1, 4), st.integers(1, 9)).flatmap(
    lambda shape: st.lists(
        st.lists(FEW | WIDE, min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    )
)


def array(values: Any) -> np.ndarray[Any, Any]:
    return np.array(values, np.int32)


@given(ROWS)
@budget
def test_lists_of_a_row(extra: Opset, row: Row) -> None:
    X = array(row)
    assert tuple(each.tolist() for each in extra.unique(X)) == unique(row)
    assert tuple(each.tolist() for each in extra.ascents(X)) == ascents(row)
    assert extra.partitioned(X).tolist() == partitioned(row)
    assert extra.ranks(X).tolist() == ranks(row)
    assert extra.every_other(X).tolist() == row[::2]


@given(ROWS, st.integers(0, 5))
@budget
def test_a_distance(extra: Opset, row: Row, distance: int) -> None:
    assert extra.thinned(array(row), distance=distance).tolist() == thinned(row, distance)


@given(MATRICES, st.integers(1, 4))
@budget
def test_lists_of_each_row(extra: Opset, rows: list[Row], limit: int) -> None:
    X = array(rows)
    assert extra.argsort(X).tolist() == [argsort(row) for row in rows]
    assert extra.crowded(X, limit=limit).tolist() == [crowded(row, limit) for row in rows]
    assert extra.positive_in_order(X[None]).tolist() == [[positive_in_order(row) for row in rows]]
    assert extra.best_rows(X[None], limit=limit).tolist() == [best_rows(rows, limit)]


@given(MATRICES)
@budget
def test_medians(extra: Opset, rows: list[Row]) -> None:
    X = array(rows)
    columns = [median(list(column)) for column in zip(*rows, strict=True)]
    assert extra.median(X, columns=True).tolist() == columns
    assert extra.median(X).tolist() == [median([value for row in rows for value in row])]


@given(MATRICES, FEW, st.integers(0, 12), st.booleans())
@budget
def test_a_choice_of_lists(
    extra: Opset, rows: list[Row], bound: int, number: int, least: bool
) -> None:
    found = extra.chosen_sum(array(rows), bound=bound, number=number, least=least)
    assert found.tolist() == [chosen_sum(row, bound, number, least=least) for row in rows]


# ---------------------------------------------------------------- long rows


def few_values(random: Random, length: int) -> Row:
    return [random.randint(-4, 4) for _ in range(length)]


def different_values(random: Random, length: int) -> Row:
    return random.sample(range(-length, length), length)


def equal_values(random: Random, length: int) -> Row:
    return [7] * length


def ascending_values(random: Random, length: int) -> Row:
    return sorted(few_values(random, length))


def descending_values(random: Random, length: int) -> Row:
    return [-value for value in ascending_values(random, length)]


def extreme_values(random: Random, length: int) -> Row:
    most = 2**31 - 1
    return [random.choice((most, -most, most - 1, 0)) for _ in range(length)]


LENGTHS = (63, 64, 65, 1000, 2000)
MAKERS = (
    few_values,
    different_values,
    equal_values,
    ascending_values,
    descending_values,
    extreme_values,
)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_long_rows(extra: Opset, make: Callable[[Random, int], Row], length: int) -> None:
    """A stable order, whatever the algorithm makes of runs, equal keys and the two ends."""
    row = make(Random(length), length)
    X = array(row)
    assert extra.argsort(X[None]).tolist() == [argsort(row)]
    assert tuple(each.tolist() for each in extra.unique(X)) == unique(row)
    assert extra.partitioned(X).tolist() == partitioned(row)
    assert extra.ranks(X).tolist() == ranks(row)
    assert extra.positive_in_order(X[None, None]).tolist() == [[positive_in_order(row)]]
    assert extra.median(X.reshape(1, -1)).tolist() == [median(row)]


def test_equal_sums_of_long_rows(extra: Opset) -> None:
    """Two keys: rows of one sum by their first element, equal ones as they came."""
    random = Random(1)
    rows = [[random.randint(-2, 2), random.randint(-2, 2), at % 2] for at in range(1000)]
    assert extra.best_rows(array([rows]), limit=1000).tolist() == [best_rows(rows, 1000)]
