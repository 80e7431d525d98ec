"""What a typed nest keeps, whatever actions made of it."""

from __future__ import annotations

import pytest

from cvmgen.ir import nodes as i
from cvmgen.ir.kernel_fault import kernel_fault
from cvmgen.source import Source, Span

SPAN = Span(Source("test.cvm", "x"), 0, 1)
ZERO, N = i.Const(0), i.Var("N")


def element(tensor: str, at: str) -> i.Load:
    return i.Load(tensor, None, i.Var(at))


def loop(index: str, *body: i.Stmt, step: int = 1) -> i.Loop:
    return i.Loop(index, ZERO, N, body, 0, SPAN, step=step)


STORE = i.Store(element("Y", "k"), element("X", "k"), SPAN)
TOTAL = i.Let("total", "i64", ZERO, SPAN)
MORE = i.Accumulate("total", "+", element("X", "k"), SPAN)
KEPT = i.Array("kept", "i32", 8, SPAN)
KEEP = i.Store(element("kept", "k"), element("X", "k"), SPAN)

ROWS = [
    ((loop("k", STORE),), "", "loops, and memory that is there"),
    ((TOTAL, loop("k", MORE)), "", "a local that a loop changes"),
    ((loop("k", TOTAL, MORE), loop("k", TOTAL, MORE)), "", "names are free behind their block"),
    ((loop("j", STORE),), "k is read where nothing binds it", "a place of another loop"),
    ((loop("k", MORE),), "total changes, which is no local there", "a total that nothing begins"),
    ((loop("k", loop("k", STORE)),), "the name k stands for two things", "an index bound twice"),
    ((TOTAL, TOTAL), "the name total stands for two things", "a local made twice"),
    ((TOTAL, loop("total", TOTAL)), "the name total stands for two things", "an index hides it"),
    (
        (loop("k", i.Store(element("kept", "k"), ZERO, SPAN)), i.Array("kept", "i32", 8, SPAN)),
        "elements of kept, which is no array there",
        "an array is made behind where it is stored to",
    ),
    (
        (KEPT, loop("k", i.Store(element("Y", "k"), element("kept", "k"), SPAN))),
        "elements of kept are read before any is written",
        "an array that nothing fills",
    ),
    (
        (KEPT, loop("k", i.Store(element("Y", "k"), element("kept", "k"), SPAN), KEEP)),
        "",
        "what an iteration before this one has left",
    ),
    ((i.Array("kept", "i32", 0, SPAN),), "the array kept has no room", "an array without room"),
    ((loop("k", STORE, step=0),), "the loop k does not count upwards", "a loop without end"),
    ((i.Break(SPAN),), "a loop is left where there is none", "a break of nothing"),
]


@pytest.mark.parametrize(("body", "fault", "why"), ROWS, ids=[row[-1] for row in ROWS])
def test_kernel(body: tuple[i.Stmt, ...], fault: str, why: str) -> None:
    assert kernel_fault(body, {"N"}, {"X", "Y"}) == fault, why
