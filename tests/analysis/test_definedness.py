"""What has a value in every call, and what an expression evaluates whatever its conditions say."""

from __future__ import annotations

import pytest

from cvmgen.analysis.definedness import always_evaluated, is_defined
from cvmgen.ir import nodes as i
from cvmgen.ir.text import text

N, X, Y = i.Var("N"), i.Load("X", None, i.Var("k")), i.Load("Y", None, i.ZERO)


def least(*each: int | i.Expr) -> i.Expr:
    """What is no less than each."""
    return i.Call("max", numbers(each))


def most(*each: int | i.Expr) -> i.Expr:
    """What is no more than each."""
    return i.Call("min", numbers(each))


def numbers(given: tuple[int | i.Expr, ...]) -> tuple[i.Expr, ...]:
    return tuple(i.Const(each) if isinstance(each, int) else each for each in given)


POSITIVE = i.Compare(">", X, i.ZERO)
DEFINED = [
    (i.Binary("floordiv", N, i.Const(2)), True, "a divisor that is not 0"),
    (i.Binary("rem", N, i.Const(0)), False, "a divisor of 0"),
    (i.Binary("truncdiv", i.Const(8), N), False, "a divisor that may be 0"),
    (i.Binary("shr", N, i.Const(3)), True, "a shift by as much as there is"),
    (i.Binary("shr", N, N), False, "a shift that may be negative"),
    (i.Binary("shl", N, least(0, most(N, 31))), True, "a shift that is kept small"),
    (i.Binary("shl", N, most(31, least(N, 0))), True, "and the other way round"),
    (i.Binary("shl", N, least(0, N)), False, "a shift that may be long"),
    (i.Binary("shl", N, least(0, most(N, 63))), False, "a shift by one more than there is"),
    (i.Binary("shl", N, most(N, 31)), False, "a shift that may be below 0"),
    (i.Call("max_i64", (N, i.ZERO)), True, "of all integers, whatever their type"),
    (i.Call("max", (N, i.ZERO)), True, "before they have types"),
    (i.Call("floor_log2", (N,)), False, "of no integer below 1"),
    (i.Call("ceildiv", (N, N)), False, "a quotient"),
    (X, False, "an element that may not be there"),
    (i.Binary("+", N, i.Item(N, i.ZERO)), False, "an entry that may not be there"),
]


@pytest.mark.parametrize(("expr", "expected", "why"), DEFINED, ids=[row[-1] for row in DEFINED])
def test_what_has_a_value_in_every_call(expr: i.Expr, expected: bool, why: str) -> None:
    assert is_defined(expr) == expected, why


EVALUATED = [
    (i.Select(POSITIVE, Y, i.ZERO), ["X@[k]"], "a branch may not be taken"),
    (i.Logic("and", (POSITIVE, i.Compare(">", Y, N))), ["X@[k]"], "the first may decide"),
    (i.Call("max", (X, i.Binary("*", Y, N))), ["X@[k]", "Y@[0]"], "all arguments"),
    (i.Bind("x", X, Y), [], "what binds a name is asked by itself"),
]


@pytest.mark.parametrize(("expr", "expected", "why"), EVALUATED, ids=[r[-1] for r in EVALUATED])
def test_what_is_always_evaluated(expr: i.Expr, expected: list[str], why: str) -> None:
    loads = [text(each) for each in always_evaluated(expr) if isinstance(each, i.Load)]
    assert loads == expected, why
