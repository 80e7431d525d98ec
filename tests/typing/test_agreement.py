"""Machine types that do not agree are found, whatever made the nest."""

from __future__ import annotations

import pytest

from cvmgen.ir import nodes as i
from cvmgen.source import Source, Span
from cvmgen.typing.agreement import common_type, type_fault, type_fits

SPAN = Span(Source("a.cvm", "x"), 0, 1)
ELEMENTS = {"B": "i8", "X": "i32", "L": "i64", "F": "f32", "D": "f64", "T": "u8"}
X, B, L = (i.Load(name, None, i.Var("i")) for name in "XBL")
D, F, T = (i.Load(name, None, i.Var("i")) for name in "DFT")
SUM = i.Var("total")


def let(name: str, kind: str, value: i.Expr) -> i.Let:
    return i.Let(name, kind, value, SPAN)


def store(tensor: str, value: i.Expr, at: i.Expr = i.ZERO) -> i.Store:
    return i.Store(i.Load(tensor, None, at), value, SPAN)


def summed(kind: str, value: i.Expr, op: str = "+") -> tuple[i.Stmt, ...]:
    return let("total", kind, i.ZERO), i.Accumulate("total", op, value, SPAN)


ALIKE = [
    ((let("x", "i64", X),), "a wider local"),
    ((let("x", "i32", i.Binary("*", B, B)),), "products of small integers are int"),
    (summed("u32", i.Convert("u32", X)), "a sum modulo 2^32"),
    (summed("u32", X), "which int32 enters as it is, modulo 2^32"),
    ((store("B", i.Binary("+", X, X)),), "stores are proved or tested to fit"),
    ((let("t", "bool", i.Compare("!=", T, i.ZERO)),), "a condition in memory"),
    ((let("t", "bool", i.Var("given")),), "a condition of the host"),
    ((let("x", "f64", i.Call("max_f64", (D, i.Convert("f64", F)))),), "real numbers"),
    ((let("x", "i64", i.Call("to_int", (D,))),), "a real number as an integer"),
    ((let("x", "i32", i.Select(i.Var("given"), X, i.ZERO)),), "a choice"),
]
FAULTS = [
    ((let("x", "i32", L),), "the local x of i32 is given i64: L@[i]"),
    ((let("x", "i32", i.Binary("*", X, i.Convert("i64", X))),), "the local x of i32 is given i64"),
    (summed("i64", i.Convert("u64", X)), "the accumulator total of i64 is given u64"),
    (summed("i32", L), "the accumulator total of i32 is given i64"),
    (summed("u32", X, "max"), "the accumulator total of u32 is given i32"),
    (
        (*summed("u32", X), let("t", "bool", i.Compare("<", SUM, X))),
        "u32 meets i32: total < X@[i]",
    ),
    ((*summed("u32", X), let("q", "u32", i.Binary("truncdiv", SUM, X))), "u32 meets i32"),
    ((let("x", "f64", i.Binary("+", D, X)),), "f64 meets i32: D@[i] + X@[i]"),
    ((let("x", "f64", X),), "the local x of f64 is given i32"),
    ((store("X", D),), "an element of X of i32 is given f64"),
    ((store("D", X),), "an element of D of f64 is given i32"),
    ((i.If(X, (), (), SPAN),), "a condition is i32: X@[i]"),
    ((let("t", "bool", X),), "the local t of bool is given i32"),
    ((store("X", i.ZERO, D),), "an index is f64: D@[i]"),
    ((let("x", "i32", i.Call("max_i32", (X, L))),), "max_i32 is given i64: L@[i]"),
    ((let("x", "i64", i.Call("to_int", (X,))),), "to_int is given i32"),
    ((i.Array("a", "i16", 4, SPAN), let("x", "i8", i.Load("a", None, i.ZERO))), "x of i8"),
    ((i.Loop("i", i.ZERO, D, (), 0, SPAN),), "an index is f64"),
]


@pytest.mark.parametrize(("body", "why"), ALIKE, ids=[why for _, why in ALIKE])
def test_types_that_agree(body: i.Block, why: str) -> None:
    assert type_fault(body, ELEMENTS) == "", why


@pytest.mark.parametrize(("body", "fault"), FAULTS, ids=[fault for _, fault in FAULTS])
def test_types_that_do_not(body: i.Block, fault: str) -> None:
    assert fault in type_fault(body, ELEMENTS)


def test_what_holds_what() -> None:
    """A type that two have in common holds both, or wraps."""
    kinds = ("u8", "i8", "i16", "i32", "u32", "i64", "u64", "i128")
    for one in kinds:
        for other in kinds:
            found = common_type(one, other)
            assert found is not None
            assert type_fits(one, found, wraps=True)
            assert type_fits(other, found, wraps=True)
