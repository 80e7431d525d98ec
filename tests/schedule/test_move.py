"""Nests that move boxes: which ones, and as what lists of steps."""

from __future__ import annotations

import re

import pytest

from cvmgen.inspection.stages import stage_text
from tests.each_kernel import each_kernel
from tests.specs import operator

X = "input X : cvm[M, N]\n"
PACK = "input X : cvm[n...]\n"

MOVED = [
    (
        X + "output Y : cvm[N, M] precision p(X)\nY[j, i] = X[i, j]",
        [
            "let box: list = (N, M)",
            "let Y_steps: list = (M, 1)",
            "let X_steps: list = (1, N)",
            "move box: Y@[0] by Y_steps = X@[0] by X_steps",
        ],
        "a transpose of known rank",
    ),
    (
        X + "output Y : cvm[M, 2*N] precision p(X)\nY[i, j] = X[i, j div 2]",
        [
            "let box: list = (M, N, 2)",
            "let Y_steps: list = (2 * N, 2, 1)",
            "let X_steps: list = (N, 1, 0)",
            "move box: Y@[0] by Y_steps = X@[0] by X_steps",
        ],
        "a divided index is two dimensions, of which the source walks one",
    ),
    (
        X + "output Y : cvm[M, N - 1] precision p(X)\nY[i, j] = X[i, N - 1 - j]",
        [
            "let box: list = (M, N - 1)",
            "let Y_steps: list = (N - 1, 1)",
            "let X_steps: list = (N, -1)",
            "move box: Y@[0] by Y_steps = X@[N - 1] by X_steps",
        ],
        "backwards, from the last element on",
    ),
    (
        PACK + "output Y : cvm[n...] precision p(X)\nlet R = (len(n) - 1 - i for i < len(n))\n"
        'require all[i < len(n)](n[R[i]] == n[i]) : "the same backwards"\n'
        "Y[(d[R[i]] for i < len(n))...] = X[d...] forall d... < n...",
        [
            "let X_steps: list = strides(d_box)",
            "move d_box: Y@[0] by Y_steps = X@[0] by X_steps",
        ],
        "any rank: the host's lists",
    ),
]
NOT_MOVED = [
    (
        X + "output Y : cvm[M, N] precision p(X)\nY[i, j] = X[i, j]",
        "all elements side by side are one copy",
    ),
    (
        X + "output Y : cvm[N, M] precision 32\nY[j, i] = X[i, j] + 1",
        "something is computed",
    ),
    (
        "input X : float64[M, N]\noutput Y : float64[N, M]\nY[j, i] = X[i, j]",
        "a NaN is brought to one form",
    ),
    (
        X + "input I : cvm[M]\noutput Y : cvm[M, N] precision p(X)\n"
        "Y[i, j] = X[clip(I[i], 0, M - 1), j]",
        "where an element comes from depends on elements",
    ),
    (
        X + "output Y : cvm[N, M] precision p(X)\nY[j, i] = X[i, j] if i < 3 else 0",
        "there is a choice",
    ),
]


@pytest.mark.parametrize(("items", "expected", "why"), MOVED, ids=[row[-1] for row in MOVED])
def test_moved(items: str, expected: list[str], why: str) -> None:
    lines = [line.strip() for line in stage_text(operator(items), "schedule").splitlines()]
    first, last = lines.index("move moved") + 1, lines.index("kernels for cuda:")
    assert lines[first:last] == expected, why


@pytest.mark.parametrize(("items", "why"), NOT_MOVED, ids=[row[-1] for row in NOT_MOVED])
def test_not_moved(items: str, why: str) -> None:
    assert "  move, by" not in stage_text(operator(items), "schedule"), why


TYPES = [
    ("N, M", "Y[j, i] = X[i, j]", {"i8", "i32_i8", "i8_i32", "i32"}, "from each type to each"),
    ("M, N", "Y[i, j] = X[i, j]", set(), "side by side: a copy, or a loop that converts"),
]


@pytest.mark.parametrize(("shape", "equation", "kinds", "why"), TYPES, ids=["turned", "flat"])
def test_types_of_elements(shape: str, equation: str, kinds: set[str], why: str) -> None:
    """Elements of `cvm` are stored in one of two types on each side."""
    made = operator(X + f"output Y : cvm[{shape}] precision p(X)\n{equation}")
    text = each_kernel(made)
    assert set(re.findall(r"cvmgen_move_(\w+)\(", text)) == kinds, why
