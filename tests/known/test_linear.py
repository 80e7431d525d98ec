"""Indices as sums: quotients and remainders by constants, and comparisons that ranges decide."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from cvmgen.ir import nodes as i
from cvmgen.ir.text import text
from cvmgen.known.linear import Linear, as_linear, decided_comparison, linear_range
from cvmgen.ranges import Range

RANGES = {"a": Range(0, 3), "b": Range(0, 4), "c": Range(0, 11)}
A, B, C = (i.Var(name) for name in "abc")


def binary(op: str, left: i.Expr, right: i.Expr | int) -> i.Binary:
    return i.Binary(op, left, i.Const(right) if isinstance(right, int) else right)


FIVES = binary("+", binary("*", A, 5), B)
PLAIN = [
    (binary("floordiv", FIVES, 5), "a", "b is below 5"),
    (binary("mod", FIVES, 5), "b", "and nothing else is left"),
    (binary("floordiv", binary("+", FIVES, 1), 5), "(5 * a + b + 1) div 5", "b + 1 may be 5"),
    (binary("floordiv", binary("-", FIVES, 5), 5), "a - 1", "constants come out as well"),
    (binary("mod", binary("+", binary("*", A, 10), B), 5), "b", "10 a counts nothing"),
    (binary("floordiv", binary("floordiv", C, 2), 3), "c div 6", "one after the other"),
    (
        binary("+", binary("*", binary("floordiv", C, 4), 4), binary("mod", C, 4)),
        "c",
        "a number is its quotient and its remainder",
    ),
    (binary("-", binary("*", A, 2), binary("+", A, A)), "0", "what cancels is gone"),
    (binary("*", binary("+", A, 1), 3), "3 * a + 3", "factors are worked out"),
]


@pytest.mark.parametrize(("expr", "expected", "why"), PLAIN)
def test_plain_sums(expr: i.Expr, expected: str, why: str) -> None:
    del why
    found = text(as_linear(expr, RANGES).expr())
    if expected.startswith("("):
        assert "div 5" in found
    else:
        assert found == expected


def value_of(expr: i.Expr, at: dict[str, int]) -> int:
    match expr:
        case i.Const(value=value):
            return int(value)
        case i.Var(name=name):
            return at[name]
        case i.Binary(op=op, left=left, right=right):
            first, second = value_of(left, at), value_of(right, at)
            return {
                "+": first + second,
                "-": first - second,
                "*": first * second,
                "floordiv": first // (second or 1),
                "mod": first % (second or 1),
            }[op]
        case _:
            raise AssertionError(expr)


def some_expr(random: Random, depth: int) -> i.Expr:
    if depth == 0:
        return random.choice([A, B, C, i.Const(random.randint(-9, 9))])
    op = random.choice(["+", "-", "*", "floordiv", "mod"])
    left = some_expr(random, depth - 1)
    if op in ("floordiv", "mod"):
        return binary(op, left, random.randint(1, 12))
    right = i.Const(random.randint(-6, 6)) if op == "*" else some_expr(random, depth - 1)
    return i.Binary(op, left, right)


@pytest.mark.parametrize("seed", range(150))
def test_sums_have_the_same_values(seed: int) -> None:
    """In every place of the ranges, and inside the bounds."""
    expr = some_expr(Random(seed), 4)
    found = as_linear(expr, RANGES)
    known = linear_range(found, RANGES)
    for a, b, c in product(range(4), range(5), range(12)):
        at = {"a": a, "b": b, "c": c}
        assert value_of(found.expr(), at) == value_of(expr, at)
        assert known is not None
        assert known.low <= value_of(expr, at) <= known.high


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (i.Compare("<", A, i.Const(4)), True),
        (i.Compare("<=", i.Const(0), A), True),
        (i.Compare(">", A, C), None),
        (i.Compare(">=", A, i.Const(5)), False),
        (i.Compare("==", A, i.Const(9)), False),
        (i.Compare("!=", binary("-", A, A), i.Const(1)), True),
        (i.Compare("<", i.Var("unknown"), i.Const(4)), None),
    ],
)
def test_decided(test: i.Compare, expected: bool | None) -> None:
    assert decided_comparison(test, RANGES) == (test if expected is None else i.Const(expected))


def test_an_element_is_a_term() -> None:
    element = i.Access("X", None, ((A, False),))
    assert as_linear(binary("*", element, 3), RANGES) == Linear(0, {element: 3})
    assert linear_range(Linear(0, {element: 3}), RANGES) is None
