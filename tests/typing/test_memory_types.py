"""What memory of a call holds: the type of its elements follows from all that is stored there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cvmgen.dtypes import INT8, INT32
from cvmgen.ir import nodes as i
from cvmgen.source import Source, Span
from cvmgen.typing.types import memory_types
from tests.specs import program

SPAN = Span(Source("a.cvm", "x"), 0, 1)
AT, EACH, TOTAL = i.Var("i"), i.Var("j"), i.Var("total")
X, B = (i.Load(name, None, EACH) for name in "XB")
SQUARE = i.Binary("*", B, B)
STORED = i.Store(i.Load("f", None, AT), TOTAL, SPAN)
LET = """
input X : int8[4]
input B : int32[4]
input Z : int8[N]
output Y : int64[N]
let f[i] = sum[j < 4](X[j] * Z[i])
Y[i] = sum[k < N](f[k]) - f[i]
"""


def added(value: i.Expr, op: str = "+") -> i.Stmt:
    return i.Accumulate("total", op, value, SPAN)


def total(*statements: i.Stmt, start: int = 0) -> i.Block:
    """A sum over four elements of X and B by these statements."""
    loop = i.Loop("j", i.ZERO, i.Const(4), statements, 0, SPAN)
    return i.Let("total", "int", i.Const(start), SPAN), loop


FEW = ((added(X),), "int32", "as few terms as the loop has")
ROWS = [
    FEW,
    ((added(X), added(X)), "int32", "added on two ways"),
    ((added(X), added(SQUARE)), "int128", "wide terms behind narrow ones"),
    ((added(SQUARE), added(X)), "int128", "wide terms before narrow ones"),
    ((i.If(i.Var("c"), (added(X),), (added(SQUARE),), SPAN),), "int128", "on either way"),
    ((added(X), added(X, "*")), "int64", "a factor besides"),
    ((added(X), i.Assign("total", B, SPAN)), "int64", "what is set besides"),
]


def kept(body: i.Block) -> str:
    found = program(LET)
    (before, *rest) = found.nests
    assert before.tensor == "f"
    around: i.Block = (i.Loop("i", i.ZERO, i.Var("N"), body, 0, SPAN),)
    nest = replace(before, body=around)
    made = replace(found, nests=(nest, *rest))
    return memory_types(made, nest, {"X": INT8, "B": INT32, "Z": INT8})["f"].name


@pytest.mark.parametrize(("added", "expected", "why"), ROWS)
def test_of_a_sum(added: tuple[i.Stmt, ...], expected: str, why: str) -> None:
    assert kept((*total(*added), STORED)) == expected, why


def test_of_a_sum_with_a_start() -> None:
    assert kept((*total(added(X), start=1 << 40), STORED)) == "int64"


def test_of_a_sum_that_is_read_before_its_last_terms() -> None:
    """What a loop around adds behind the store is there when the next element is stored."""
    (let, loop) = total(added(X))
    wide = i.Loop("j", i.ZERO, i.Const(4), (added(SQUARE),), 0, SPAN)
    found = program(LET)
    (before, *rest) = found.nests
    body = (let, i.Loop("i", i.ZERO, i.Var("N"), (loop, STORED, wide), 0, SPAN))
    nest = replace(before, body=body)
    made = replace(found, nests=(nest, *rest))
    assert memory_types(made, nest, {"X": INT8, "B": INT32})["f"].name == "int128"


def test_of_several_stores() -> None:
    narrow = i.Store(i.Load("f", None, AT), i.Const(1), SPAN)
    wide = i.Store(i.Load("f", None, AT), i.Const(1 << 40), SPAN)
    assert kept((narrow, wide)) == kept((wide, narrow)) == "int64"
    assert kept((narrow,)) == "int32"
