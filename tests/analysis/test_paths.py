"""The way inwards to one statement, and where it ends."""

from __future__ import annotations

import pytest

from cvmgen.analysis.paths import path
from cvmgen.driver import C_LIKE, lower
from cvmgen.ir import nodes as i
from cvmgen.ir.text import block_lines, text
from tests.specs import operator

WINDOW = (
    "input X : cvm[N]\nattr K in [1, 9)\noutput Y : cvm[N] precision 32\n"
    "Y[x] = sum[k < K if 0 <= x - k](X[x - k])"
)
TWO = "input X : int8[N]\noutput Y : int64[N]\nY[x] = sum[j < N](max[k < j + 1](X[k] * X[x]))"
WAYS = [
    (WINDOW, ["k"], ["0 <= x - k"], "total += X@[x - k]", "loops, tests and what they lead to"),
    (TWO, [], [], "for 0 <= j < N:", "a loop with two statements in it is the end"),
]


@pytest.mark.parametrize(
    ("items", "loops", "tests", "last", "why"), WAYS, ids=[row[-1] for row in WAYS]
)
def test_ways(items: str, loops: list[str], tests: list[str], last: str, why: str) -> None:
    *_, nest = lower(operator(items), C_LIKE).nests
    outer = nest.body[-1]
    assert isinstance(outer, i.Loop)
    sweep = next(each for each in outer.body if isinstance(each, i.Loop))
    found = path(sweep)
    assert [each.index for each in found.loops] == loops, why
    assert [text(each) for each in found.tests] == tests, why
    assert block_lines((found.last,))[0] == last, why
