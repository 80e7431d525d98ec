"""Leading dimensions that are indexed one by one: which become loops, as text."""

from __future__ import annotations

import pytest

from cvmgen.driver import C_LIKE, lower
from cvmgen.ir.text import block_lines
from tests.specs import operator

INPUTS = "input X : cvm[n...]\ninput C : cvm[K]\noutput Y : cvm[n...] precision 32\n"
TO_PEEL = C_LIKE[: [name for name, _ in C_LIKE].index("peel") + 1]
WHOLE = ["for d... < n:"]

ROWS = [
    (
        "Y[d...] = X[d...] if C[d[0]] > 0 else 0",
        [
            "for 0 <= d_0 < n[0]:",
            "  for d_rest... < n[1:]:",
            "    Y[d_0, d_rest...] = X[d_0, d_rest...] if C[d_0] > 0 else 0",
        ],
        "the first index by itself",
    ),
    (
        "Y[d...] = X[d...] + C[d[1]]",
        [
            "for 0 <= d_0 < n[0]:",
            "  for 0 <= d_1 < n[1]:",
            "    for d_rest... < n[2:]:",
            "      Y[d_0, d_1, d_rest...] = X[d_0, d_1, d_rest...] + C[d_1]",
        ],
        "all dimensions up to the one that is indexed",
    ),
    ("Y[d...] = X[d...] + 1", [*WHOLE, "  Y[d...] = X[d...] + 1"], "only the position is used"),
    (
        "Y[d...] = X[d...] + C[d[len(n) - 1]]",
        [*WHOLE, "  Y[d...] = X[d...] + C[d[len(n) - 1]]"],
        "which dimension that is depends on the call",
    ),
    (
        "Y[d...] = X[d...] + (d[1] if len(n) > 1 else 0)",
        [*WHOLE, "  Y[d...] = X[d...] + (d[1] if len(n) > 1 else 0)"],
        "there may be fewer dimensions",
    ),
    (
        "Y[d...] = X[d...] + sum[j < K](C[j] * d[0])",
        None,
        "an index inside a loop that may have no iteration",
    ),
    (
        "Y[d...] = X[d...] + d[0] + sum[j < len(n)](d[j])",
        None,
        "other entries are asked for too",
    ),
]


@pytest.mark.parametrize(("equation", "lines", "why"), ROWS, ids=[why for *_, why in ROWS])
def test_peel(equation: str, lines: list[str] | None, why: str) -> None:
    *_, nest = lower(operator(INPUTS + equation), TO_PEEL).nests
    found = block_lines(nest.body)
    if lines is None:
        assert found[0] == WHOLE[0], why
    else:
        assert found == lines, why
