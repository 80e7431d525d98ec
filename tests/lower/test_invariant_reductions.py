"""Reductions that do not depend on the loops around them: in front of which they stand."""

from __future__ import annotations

import pytest

from cvmgen.driver import CUDA, STATEMENTS, Passes, lower
from cvmgen.ir.text import block_lines
from tests.specs import operator

MATRIX = "input X : cvm[N, K]\noutput Y : cvm[N, K]\n"
VECTOR = "input X : cvm[N]\noutput Y : cvm[N]\n"

# Name, formula, the nest, why.
MOVED = [
    (
        "of a row",
        MATRIX + "Y[n, k] = X[n, k] - max[j < K](X[n, j])",
        [
            "for 0 <= n < N:",
            "  let largest: int = lowest()",
            "  for 0 <= j < K:",
            "    largest max= X[n, j]",
            "  for 0 <= k < K:",
            "    Y[n, k] = X[n, k] - largest",
        ],
        "once for each row",
    ),
    (
        "of all",
        VECTOR + "Y[i] = X[i] - max[j < N](X[j])",
        [
            "let largest: int = lowest()",
            "for 0 <= j < N:",
            "  largest max= X[j]",
            "for 0 <= i < N:",
            "  Y[i] = X[i] - largest",
        ],
        "once",
    ),
    (
        "of a box",
        "input X : cvm[n...]\noutput Y : cvm[n...]\nY[d...] = X[d...] - max[e... < n...](X[e...])",
        [
            "let largest: int = lowest()",
            "for e... < n:",
            "  largest max= X[e...]",
            "for d... < n:",
            "  Y[d...] = X[d...] - largest",
        ],
        "a box has an element at least",
    ),
    (
        "of a reduction",
        VECTOR + "Y[i] = sum[j < N](X[i] - max[k < N](X[k]))",
        [
            "let largest: int = lowest()",
            "for 0 <= k < N:",
            "  largest max= X[k]",
            "for 0 <= i < N:",
            "  let total: int = 0",
            "  for 0 <= j < N:",
            "    total += X[i] - largest",
            "  Y[i] = total",
        ],
        "out of two loops; the sum has another value for each i",
    ),
    (
        "with another index of that name",
        VECTOR + "Y[i] = max[j < N](X[j]) - max[j < N](X[j] - X[i])",
        [
            "let largest: int = lowest()",
            "for 0 <= j < N:",
            "  largest max= X[j]",
            "for 0 <= i < N:",
            "  let largest_2: int = lowest()",
            "  for 0 <= j < N:",
            "    largest_2 max= X[j] - X[i]",
            "  Y[i] = largest - largest_2",
        ],
        "each loop has an index of its own",
    ),
]
KEPT = [
    (
        "where there may be nothing",
        "input X : cvm[N] or empty\ninput Z : cvm[M]\noutput Y : cvm[N] or empty\n"
        "Y[i] = X[i] - max[j < M](Z[j])",
        "without an iteration it would read what nobody asked for",
    ),
    (
        "behind a test",
        VECTOR + "Y[i] = X[i] - max[j < N](X[j]) if X[i] > 0 else 0",
        "there may be no element that asks for it",
    ),
    (
        "up to the index",
        VECTOR + "Y[i] = sum[j < i](X[j])",
        "each element has another sum",
    ),
]


def nest(items: str, passes: Passes = STATEMENTS) -> list[str]:
    (found,) = lower(operator(items), passes).nests
    return block_lines(found.body)


@pytest.mark.parametrize(("items", "lines", "why"), [row[1:] for row in MOVED])
def test_moved(items: str, lines: list[str], why: str) -> None:
    assert nest(items) == lines, why


@pytest.mark.parametrize(("items", "why"), [row[1:] for row in KEPT])
def test_kept(items: str, why: str) -> None:
    assert nest(items) == nest(items, STATEMENTS[:-1]), why


def test_threads_of_cuda() -> None:
    """In front of all loops one thread would make what the others wait for."""
    rows = {name: (items, lines) for name, items, lines, _ in MOVED}
    to_here = CUDA[: [name for name, _ in CUDA].index("invariants") + 1]
    items, lines = rows["of a row"]
    assert nest(items, to_here) == lines
    items, _ = rows["of all"]
    assert nest(items, to_here) == nest(items, STATEMENTS[:-1])
    items, lines = rows["of a reduction"]
    within = [lines[3], *(f"  {line}" for line in lines[:3]), *lines[4:]]
    assert sorted(nest(items, to_here)) == sorted(within), "out of the inner loop"
