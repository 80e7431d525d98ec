"""Expressions over what a call fixes: what is worked out, and what is left."""

from __future__ import annotations

import pytest

from cvmgen.errors import InternalError
from cvmgen.ir import nodes as i
from cvmgen.ir.text import text
from cvmgen.known.partial import KnownScope, Value, evaluate, known_list

X, D = i.Var("x"), i.Var("d")
SCOPE = KnownScope(
    {
        "n": known_list((2, 3, 4)),
        "N": i.Const(3),
        "d": (i.Var("d0"), i.Const(0), i.Var("d2")),
        "axes": known_list((2, 0)),
        "true": i.Const(True),
    },
    frozenset({"B"}),
    {("A", 0): 5, ("A", 1): 9},
)


def const(value: int) -> i.Const:
    return i.Const(value)


def shown(value: Value) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(shown, value))}]"
    return text(value)


def over(index: str, high: i.Expr, low: int | None = 0) -> tuple[i.Over]:
    return (i.Over(index, None if low is None else const(low), high),)


N, AXES, J = i.Var("n"), i.Var("axes"), i.Var("j")
ROWS: list[tuple[i.Expr, str]] = [
    (i.Call("size", (N,)), "24"),
    (i.Call("len", (D,)), "3"),
    (i.Item(D, const(2)), "d2"),
    (i.Part(N, const(1), None), "[3, 4]"),
    (i.ListOf(((const(7), False), (i.Part(N, None, const(1)), True))), "[7, 2]"),
    (i.Binary("+", X, const(0)), "x"),
    (i.Binary("*", const(0), X), "0"),
    (i.Binary("shl", const(1), i.Var("N")), "8"),
    (i.Binary("floordiv", const(-7), const(2)), "-4"),
    (i.Binary("truncdiv", const(-7), const(2)), "-3"),
    (i.Binary("difference", AXES, i.ListOf(((const(0), False),))), "[2]"),
    (i.Call("flatten_index", (D, N)), "d0 * 3 * 4 + d2"),
    (i.Call("unflatten", (X, N)), "[x div 12, x div 4 mod 3, x mod 4]"),
    (i.Call("floor_log2", (const(9),)), "3"),
    (i.Call("max", (const(0), X)), "max(0, x)"),
    (i.Contains(const(2), AXES), "true"),
    (i.Given("B"), "true"),
    (i.Given("C"), "false"),
    (i.PrecisionOf("A", const(1)), "9"),
    (i.Logic("and", (i.Var("true"), i.Compare("<", X, const(3)))), "x < 3"),
    (i.Logic("or", (i.Var("true"), i.Item(N, const(99)))), "true"),
    (i.Select(i.Given("C"), i.Item(N, const(99)), X), "x"),
    (i.Gather("list", i.Item(N, J), over("j", AXES, None), None), "[4, 2]"),
    (i.Gather("set", J, over("j", AXES, None), None), "[0, 2]"),
    (
        i.Gather("list", J, over("j", const(4)), i.Compare(">", J, const(1))),
        "[2, 3]",
    ),
    (i.Fold("sum", i.Item(N, J), over("j", const(3)), None), "9"),
    (i.Fold("prod", i.Item(D, J), over("j", const(3)), None), "0"),
    (i.Fold("all", i.Compare(">", i.Item(N, J), const(1)), over("j", const(3)), None), "true"),
    (i.Bind("y", i.Var("N"), i.Binary("*", i.Var("y"), X)), "3 * x"),
    (i.Access("T", None, ((D, True), (X, False))), "T[d0, 0, d2, x]"),
]


@pytest.mark.parametrize(("expr", "expected"), ROWS)
def test_values(expr: i.Expr, expected: str) -> None:
    assert shown(evaluate(expr, SCOPE)) == expected


CUTS = [
    (lambda x: i.Select(i.Compare(">", x, const(-3)), x, const(-3)), "max(-3, x)"),
    (
        lambda x: i.Select(
            i.Compare(">=", x, const(7)),
            const(7),
            i.Select(i.Compare(">", x, const(-3)), x, const(-3)),
        ),
        "min(max(-3, x), 7)",
    ),
    (
        lambda x: i.Select(
            i.Compare(">=", x, const(-9)),
            const(-9),
            i.Select(i.Compare(">", x, const(-3)), x, const(-3)),
        ),
        "-9 if x >= -9 else max(-3, x)",
    ),
]


@pytest.mark.parametrize(("made", "expected"), CUTS)
def test_a_cut_written_as_a_choice(made, expected: str) -> None:  # type: ignore[no-untyped-def]
    assert shown(evaluate(made(X), SCOPE)) == expected


def test_what_is_not_known() -> None:
    with pytest.raises(InternalError, match="not known"):
        evaluate(i.Item(N, X), SCOPE)
    with pytest.raises(InternalError, match="not for this place"):
        evaluate(i.Load("X", None, X), SCOPE)
