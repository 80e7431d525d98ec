"""Elements that only move: divided indices, runs of every length, choices between runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from tests.conformance.calls import Call, Conformance, data
from tests.conformance.together import together

# Of operators with X of shape n, N = len(n), a < N and c >= 1: what they store, and why.
BOXES = [
    (
        "output Y : cvm[n[:a]..., n[a] * c, n[a + 1:]...] precision p(X)\n"
        "Y[d...] = X[(d[j] if j != a else d[j] div c for j < N)...]",
        "one dimension in two",
    ),
    (
        "output Y : cvm[(n[j] * c for j < N)...] precision p(X)\n"
        "Y[d...] = X[(d[N - 1 - (N - 1 - j)] mod n[j] for j < N)...]",
        "every dimension in two",
    ),
    (
        "output Y : cvm[(2 * n[N - 1 - j] for j < N)...] precision p(X)\n"
        "Y[d...] = X[(d[N - 1 - j] div 2 for j < N)...]",
        "dimensions in two, in the reverse order",
    ),
    (
        "output Y : cvm[(2 * n[j] for j < N)...] precision p(X) + 1\n"
        "Y[d...] = X[(d[j] div 2 for j < N)...] + X[(d[j] div 2 for j < N)...]",
        "two accesses",
    ),
    (
        "output Y : cvm[(2 * n[j] - 1 for j < N)...] precision p(X)\n"
        "Y[d...] = X[(d[j] div 2 for j < N)...]",
        "one less than a multiple",
    ),
    (
        "output Y : cvm[(n[j] + 1 for j < N)...] precision p(X)\n"
        "Y[d...] = X[(d[j] mod n[j] for j < N)...]",
        "one more than a multiple",
    ),
    (
        "output Y : cvm[n[:a]..., n[a] * c, n[a + 1:]...] precision p(X)\n"
        "Y[d...] = X[(d[j] if j < a else (d[j] div c if j == a else d[j] mod n[j]) for j < N)...]",
        "a quotient and remainders",
    ),
    (
        "output Y : cvm[(2 * n[j] for j < N)...] precision 32\n"
        "Y[d...] = X[(d[j] div 2 for j < N)...] + d[0] - d[a]",
        "the entries are values too",
    ),
    (
        "output Y : cvm[n[:a]..., c, n[a:]...] precision p(X)\n"
        "Y[i..., r, k...] = X[i..., k...] forall i... < n[:a]..., r < c, k... < n[a:]...",
        "parts of a shape",
    ),
    (
        "output Y : cvm[n...] precision max(p(X), 2)\nY[d...] = X[d...] if c < 3 else -1",
        "a choice between whole tensors",
    ),
    (
        "let R = {j for j < a + 1}\n"
        "output Y : cvm[(1 if j in R else n[j] for j < N)...] precision p(X)\n"
        "Y[(0 if j in R else d[j] for j < N)...] = max[d[j] < n[j] for j in R](X[d...]) if c < 3"
        " else min[d[j] < n[j] for j in R](X[d...]) forall d[i] < n[i] for i in {k for k < N} - R",
        "two walks over one box",
    ),
]
HEAD = "input X : cvm[n...]\nlet N = len(n)\nattr a = 0 in [0, N)\nattr c = 1 in [1, 64)\n"


@pytest.fixture(scope="module")
def boxes(tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    """An operator for each of them."""
    return tried(tmp_path_factory.mktemp("boxes"), [HEAD + items for items, _ in BOXES])


@pytest.mark.parametrize("at", range(len(BOXES)), ids=[why for _, why in BOXES])
def test_boxes(boxes: Conformance, at: int) -> None:
    items, why = BOXES[at]
    random = Random(why)
    for extents in ((1,), (5,), (1, 1), (3, 4), (4, 1, 3), (2, 3, 1, 2)):
        for a in range(len(extents)):
            for c in (1, 2, 3):
                X = data(random, extents, 7)
                check(boxes, Call(f"tried.f{at}", (X,), {"a": a, "c": c}), items)


# Of operators with X of shape (M, K) and c >= 1.
ROWS = [
    ("cvm[M, K * c]", "Y[i, j] = X[i, j div c]", "each element several times"),
    ("cvm[M, K * c]", "Y[i, j] = X[i, j mod K]", "each row several times"),
    ("cvm[M * c, K]", "Y[i, j] = X[i div c, j]", "rows several times"),
    ("cvm[M, K * c + 1]", "Y[i, j] = X[i, min(j div c, K - 1)]", "one more than a multiple"),
    ("cvm[K, M]", "Y[j, i] = X[i, j]", "a transpose"),
    ("cvm[M, K]", "Y[i, j] = X[M - 1 - i, K - 1 - j]", "backwards"),
    ("cvm[M, K]", "Y[i, j] = X[i, j] if i < c else -1", "some rows"),
    ("cvm[M, K]", "Y[i, j] = X[i, 0] if X[i, 0] > c else 1", "a test of an element"),
    ("cvm[M, K]", "Y[i, j] = X[i, j] if j < c else 1", "some columns"),
    ("cvm[M, K]", "Y[i, j] = X[i, c mod K]", "one column"),
    (
        "cvm[M, K + 1]",
        "Y[i, j + 1] = X[i, j] forall i < M, j < K\nY[i, 0] = 1 forall i < M",
        "columns moved by one",
    ),
    (
        "cvm[M, K]",
        "Y[i, j] = X[i, j] forall i < M, j < K - 1\nY[i, K - 1] = 0 forall i < M",
        "runs that may be empty",
    ),
    ("cvm[2, M, K]", "Y[b, i, j] = X[i, j] if b == 0 else -X[i, j]", "a branch that computes"),
]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    """An operator for each of them."""
    return tried(tmp_path_factory.mktemp("rows"), [row_items(*row) for row in ROWS])


def row_items(shape: str, formula: str, _: str) -> str:
    given = "input X : cvm[M, K]\nattr c = 1 in [1, 64)\n"
    return f"{given}output Y : {shape} precision max(p(X), 2)\n{formula}"


@pytest.mark.parametrize("at", range(len(ROWS)), ids=[row[-1] for row in ROWS])
def test_rows(rows: Conformance, at: int) -> None:
    items, random = row_items(*ROWS[at]), Random(ROWS[at][-1])
    for extents in ((1, 1), (1, 4), (3, 1), (4, 5)):
        for c in (1, 2, 3):
            check(rows, Call(f"tried.f{at}", (data(random, extents, 7),), {"c": c}), items)


def tried(folder: Path, items: Sequence[str]) -> Conformance:
    """Operators with these items."""
    return together(
        folder, (f'operator f{at} {{\n"Tried."\n{each}\n}}\n' for at, each in enumerate(items))
    )


def check(conformance: Conformance, call: Call, items: str) -> None:
    """Elements of one type on both sides, and of different types."""
    for source in (np.int8, np.int32):
        for result in (np.int32,) if "precision 32" in items else (np.int8, np.int32):
            assert conformance.check(call.of_type(source), dtype=result).refusal == "", items


# ---------------------------------------------------------------- long runs

LONG: list[tuple[str, tuple[int, ...], dict[str, Any], Any]] = [
    ("cvm.reshape", (1500, 700), {"target_shape": (700, 1500)}, lambda x: x.reshape(700, 1500)),
    ("extra.reverse", (1_100_000,), {}, lambda x: x[::-1]),
    ("cvm.slice", (1_100_000,), {"strides": (2,)}, lambda x: x[::2]),
    ("cvm.repeat", (1, 3), {"axis": 1, "repeats": 600_000}, lambda x: x.repeat(600_000, axis=1)),
    ("cvm.tile", (700_001,), {"reps": (3,)}, lambda x: np.tile(x, 3)),
    ("cvm.transpose", (3, 400_000), {}, lambda x: x.T),
]


@pytest.mark.parametrize(
    ("name", "shape", "attributes", "expected"), LONG, ids=[name for name, *_ in LONG]
)
@pytest.mark.parametrize("dtype", [np.int8, np.int32])
def test_runs_in_pieces(
    libraries: dict[str, Operators],
    name: str,
    shape: tuple[int, ...],
    attributes: dict[str, Any],
    expected: Any,
    dtype: Any,
) -> None:
    X = (np.arange(np.prod(shape)) % 251 - 125).astype(dtype).reshape(shape)
    found = libraries["c"][name](X, **attributes)
    assert found.dtype == dtype
    assert np.array_equal(found, expected(X))
