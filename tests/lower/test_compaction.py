"""Lists that only say which rows an output begins with."""

from __future__ import annotations

import pytest

from cvmgen.driver import C_LIKE, lower
from cvmgen.ir.text import block_lines
from cvmgen.lower.compaction import compact
from tests.specs import operator

HEAD = "input X : cvm[B, N, K]\nlet V[b] = select[q < N](X[b, q, 0] > 0)\n"
OUTPUT = "output Y : cvm[B, N, K] precision 32\n"
ROWS = f"{HEAD}{OUTPUT}Y[b, i, k] = X[b, V[b][i], k] if i < count(V[b]) else -1"
NAMED = (
    "input X : cvm[N]\ninput T : cvm[M]\nlet V = select[q < N](X[q] >= 0)\n"
    "output Y : cvm[N] precision 32\n"
)

MADE = [
    (ROWS, ["Y"], "each row goes where it belongs as soon as it is found"),
    (
        "input X : cvm[N]\nlet V = select[i < N](X[i] > 0)\noutput Y : cvm[N] precision 32\n"
        "Y[i] = V[i] if i < count(V) else 0",
        ["Y"],
        "the entries themselves, in the list's own index",
    ),
    (
        f"{HEAD}output Y : cvm[B, N] precision 32\nY[b, i] = X[b, V[b][i], K - 1] "
        "if i < count(V[b]) else 0",
        ["V", "Y"],
        "of an element at a place that a test might have to allow",
    ),
    (
        f"{ROWS}\noutput Z : cvm[B] precision 32\nZ[b] = sum[q in V[b]](q)",
        ["V", "Y", "Z"],
        "something else reads the list",
    ),
    (
        f"{ROWS}\noutput Z : cvm[B] precision 32\nZ[b] = count(V[b])",
        ["Y", "Z"],
        "the length stays",
    ),
    (
        f"{HEAD}output Y : cvm[B, K, K] precision 32\n"
        "Y[b, i, k] = X[b, V[b][i], k] if i < count(V[b]) else -1",
        ["V", "Y"],
        "not as many rows as candidates",
    ),
    (
        f"{HEAD}{OUTPUT}Y[b, i, k] = X[b, V[b][count(V[b]) - 1 - i], k] if i < count(V[b]) else -1",
        ["V", "Y"],
        "the rows in another order",
    ),
    (
        f"{NAMED}Y[i] = T[X[V[i]]] if i < count(V) and X[V[i]] < M else 0",
        ["V", "Y_outside", "Y"],
        "another test than that of the length",
    ),
    (
        f"{NAMED}Y[i] = T[min(X[V[i]], M - 1)] if i < count(V) else 0",
        ["V", "Y_outside", "Y"],
        "what only passes may be looked up",
    ),
]


@pytest.mark.parametrize(("items", "nests", "why"), MADE, ids=[row[-1] for row in MADE])
def test_nests(items: str, nests: list[str], why: str) -> None:
    program = compact(lower(operator(items), C_LIKE))
    assert [each.tensor for each in program.nests] == nests, why
    assert {each.owner for each in program.scratch} <= {*nests}


def test_one_nest_for_both() -> None:
    program = compact(lower(operator(ROWS), C_LIKE))
    assert block_lines(program.nests[0].body) == [
        "for 0 <= b < B:",
        "  let count: int = 0",
        "  for 0 <= q < N:",
        "    if X@[(b * N + q) * K] > 0:",
        "      for 0 <= k < K:",
        "        Y@[(b * N + count) * K + k] = X@[(b * N + q) * K + k]",
        "      count += 1",
        "  V_length@[b] = count",
        "  for count <= i < N:",
        "    for 0 <= k < K:",
        "      Y@[(b * N + i) * K + k] = -1",
    ]
