"""Greedy selections with more entries than a block of them has, against the plain algorithm."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from tests.conformance.test_vision import Row, Suppression, ordered, overlap

BOXES = 300

CASES = [
    (500, 60, 3, Suppression(), "boxes of three classes"),
    (200, 90, 1, Suppression(force_suppress=True), "boxes that overlap much"),
    (5000, 40, 1, Suppression(iou_threshold=1), "nearly all boxes are kept"),
    (60, 50, 2, Suppression(iou_threshold=100), "only equal boxes rule each other out"),
    (60, 50, 2, Suppression(iou_threshold=101), "no box rules another one out"),
    (300, 80, 1, Suppression(top_k=150, max_output_size=70), "the best of some"),
    (1 << 31, 1 << 31, 1, Suppression(iou_threshold=20), "areas of more than 64 bits"),
    (30, 1, 1, Suppression(iou_threshold=1), "boxes without an area"),
]


def plain(rows: list[Row], count: int, wanted: Suppression) -> list[Row]:
    """The rows that are kept, each tested against all before it."""
    R = ordered(rows[:count])
    tested = len(R) if wanted.top_k < 0 else min(wanted.top_k, len(R))
    kept: list[Row] = []
    for row in R[:tested]:
        others = [each for each in kept if wanted.force_suppress or each[0] == row[0]]
        if row[0] >= 0 and all(overlap(row, each) < wanted.iou_threshold for each in others):
            kept.append(row)
    most = len(kept) if wanted.max_output_size < 0 else wanted.max_output_size
    return [*kept[:most], *[[-1] * 6] * (len(rows) - len(kept[:most]))]


@pytest.mark.parametrize(("span", "size", "classes", "wanted", "why"), CASES)
def test_many_boxes(
    libraries: dict[str, Operators],
    span: int,
    size: int,
    classes: int,
    wanted: Suppression,
    why: str,
) -> None:
    random = Random(why)
    half = span // 2
    batches = []
    for _ in range(2):
        rows = []
        for _ in range(BOXES):
            x, y = (random.randint(-half, half - 1) for _ in range(2))
            ends = [min(at + random.randint(0, size - 1), (1 << 31) - 1) for at in (x, y)]
            corners = [x, y, *ends] if random.random() < 0.8 else [ends[0], y, x, ends[1]]
            rows.append([random.randint(-1, classes - 1), random.randint(0, 90), *corners])
        batches.append(rows)
    counts = [BOXES, BOXES - 7]
    given = np.array(batches, np.int64)
    lowest = np.where(given == -(1 << 31), given + 1, given).astype(np.int32)
    expected = [
        plain(rows, count, wanted) for rows, count in zip(lowest.tolist(), counts, strict=True)
    ]
    found = libraries["c"].cvm.non_max_suppression(
        lowest, np.array(counts, np.int32), **wanted.attributes()
    )
    assert found.tolist() == expected, why


@pytest.mark.parametrize("distance", [0, 1, 3, 40])
@pytest.mark.parametrize("dtype", [np.int8, np.int32])
def test_many_elements_apart(libraries: dict[str, Operators], distance: int, dtype: Any) -> None:
    random = Random(distance)
    most = 127 if dtype == np.int8 else 40_000
    given = [random.randint(-most, most) for _ in range(700)]
    kept: list[int] = []
    for value in given:
        if all(abs(value - each) >= distance for each in kept):
            kept.append(value)
    found = libraries["c"].extra.thinned(np.array(given, dtype), distance=distance)
    assert found.tolist() == [*kept, *[0] * (len(given) - len(kept))]
