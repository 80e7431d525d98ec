"""Tests of loops that look for an element that decides: what each is taken apart to."""

from __future__ import annotations

import pytest

from cvmgen.driver import C_LIKE, lower
from cvmgen.ir.text import block_lines
from cvmgen.lower.decisions import decide_early
from tests.specs import operator

HEAD = (
    "input X : cvm[N]\nattr least = 1 in [1, 100)\nattr any_ = 0 in [0, 9)\n"
    "output Y : cvm[N] precision 32\n"
)
LIST = (
    "let U = {{p for p < N if all[q in U if q < p](not ({}))}}\nY[i] = U[i] if i < count(U) else 0"
)

DECIDED = [
    (
        "min(X[p], X[q]) > max(X[p] - 1, X[q] - 2)",
        [
            "if X@[p] > X@[p] - 1 and X@[p] > X@[q] - 2 and X@[q] > X@[p] - 1 and "
            "X@[q] > X@[q] - 2:",
        ],
        "each of two values above each of two others",
    ),
    (
        "max(0, X[p] - X[q])*max(0, X[q]) > 0",
        ["if X@[p] > X@[q] and X@[q] > 0:"],
        "a product that is above 0 has two factors above 0, none being negative",
    ),
    (
        "(X[p] - 5)*(X[q] - 5) > 0",
        ["if (X@[p] - 5) * (X@[q] - 5) > 0:"],
        "two negative factors have a positive product",
    ),
    (
        "(X[q] if X[p] > 2 else 0) >= least",
        ["if X@[p] > 2 and X@[q] >= least:"],
        "0 never reaches what is at least 1",
    ),
    (
        "(X[q] if X[p] > 2 else 0) >= any_",
        ["if X@[q] >= any_ if X@[p] > 2 else 0 >= any_:"],
        "0 may reach what may be 0",
    ),
    (
        "X[q] div 7 >= X[p]",
        ["if X@[q] >= X@[p] * 7:"],
        "a quotient by a positive number is compared without division",
    ),
    (
        "X[q] div (X[p] + 9) >= least",
        [
            "let divisor: int = X@[p] + 9",
            "if X@[q] >= least * divisor if divisor > 0 else X@[q] div divisor >= least:",
        ],
        "of other divisors it depends on their sign",
    ),
    (
        "X[q]*X[q]*X[q] div (X[p]*X[p]*X[q]) >= least*least*least*least*least*least",
        [
            "if X@[q] * X@[q] * X@[q] div (X@[p] * X@[p] * X@[q]) >= "
            "least * least * least * least * least * least:",
        ],
        "no machine type holds the product",
    ),
]


@pytest.mark.parametrize(("test", "expected", "why"), DECIDED, ids=[row[-1] for row in DECIDED])
def test_decided(test: str, expected: list[str], why: str) -> None:
    program = decide_early(lower(operator(HEAD + LIST.format(test)), C_LIKE))
    lines = [line.strip() for line in block_lines(program.nests[0].body)]
    start = lines.index("for q in U@[0]...count:") + 1
    assert lines[start : lines.index("holds = false")] == expected, why
