"""Elements loaded before a choice between them: only those at the place of the loop."""

from __future__ import annotations

import pytest

from cvmgen.driver import C_LIKE, lower
from cvmgen.ir.text import block_lines
from tests.specs import operator

INPUTS = "input A : cvm[n...]\ninput B : cvm[n...]\ninput C : cvm[n...]\ninput V : cvm[K]\n"
OUTPUT = "output Y : cvm[n...] precision 32\n"
TO_FLAT = C_LIKE[: [name for name, _ in C_LIKE].index("flatten") + 1]

ROWS = [
    (
        "Y[d...] = A[d...] if C[d...] > 0 else B[d...]",
        ["let a: int = A@[d]", "let b: int = B@[d]", "Y@[d] = a if C@[d] > 0 else b"],
        "both are at the place of the loop",
    ),
    (
        "Y[d...] = A[d...] if C[d...] > 0 else (B[d...] if C[d...] < 0 else A[d...])",
        [
            "let a: int = A@[d]",
            "let b: int = B@[d]",
            "Y@[d] = a if C@[d] > 0 else b if C@[d] < 0 else a",
        ],
        "each once, in a choice between choices",
    ),
    (
        "Y[d...] = A[d...] if C[d...] > 0 else 7",
        ["Y@[d] = A@[d] if C@[d] > 0 else 7"],
        "one element alone costs no branch",
    ),
    (
        "Y[d...] = V[C[d...]] if 0 <= C[d...] < K else A[d...]",
        None,
        "an element at a computed place may not be there",
    ),
]


@pytest.mark.parametrize(("equation", "lines", "why"), ROWS, ids=[why for *_, why in ROWS])
def test_eager(equation: str, lines: list[str] | None, why: str) -> None:
    (nest,) = lower(operator(INPUTS + OUTPUT + equation), TO_FLAT).nests
    found = block_lines(nest.body)
    if lines is None:
        assert not any(line.strip().startswith("let a:") for line in found), why
    else:
        assert found == ["for 0 <= d < size(n):", *(f"  {line}" for line in lines)], why
