"""Symbols: no two are called alike, and their axioms are true of what they stand for."""

from itertools import product

import pytest

from cvmgen.verification import terms as t
from cvmgen.verification.symbols import Symbols
from cvmgen.verification.terms import Formula, Term


def test_names_are_new() -> None:
    symbols = Symbols()
    names = [symbols.named(name) for name in ("x", "x", "x'2", "x'2", "y'3", "y")]
    assert len(set(names)) == len(names)


def value(operand: Term, values: dict[str, int]) -> int:
    total = 0
    for monomial, coefficient in operand.parts:
        for name in monomial:
            coefficient *= values[name]
        total += coefficient
    return total


def holds(formula: Formula, values: dict[str, int]) -> bool:
    match formula:
        case t.Holds(op=op, term=operand):
            found = value(operand, values)
            return found >= 0 if op == ">=" else found == 0
        case t.Every(parts=parts):
            return all(holds(each, values) for each in parts)
        case t.Some(parts=parts):
            return any(holds(each, values) for each in parts)
        case t.Negation(operand=operand):
            return not holds(operand, values)
        case _:
            raise AssertionError


def towards_zero(left: int, right: int) -> int:
    found = abs(left) // abs(right)
    return found if (left < 0) == (right < 0) else -found


FUNCTIONS = [
    ("floordiv", lambda x, y: x // y if y else 0),
    ("truncdiv", lambda x, y: towards_zero(x, y) if y else 0),
    ("min", min),
    ("max", max),
]


@pytest.mark.parametrize(("name", "exact"), FUNCTIONS)
def test_axioms_are_true(name: str, exact) -> None:
    symbols = Symbols()
    x, y = symbols.fresh("x"), symbols.fresh("y")
    made = symbols.extreme(name, x, y) if name in ("min", "max") else getattr(symbols, name)(x, y)
    (result,) = made.names
    for left, right in product(range(-7, 8), repeat=2):
        values = {"x": left, "y": right, result: exact(left, right)}
        assert all(holds(each, values) for each in symbols.axioms[result]), values


@pytest.mark.parametrize(("name", "exact"), FUNCTIONS)
def test_axioms_of_positive_divisors_leave_one_value(name: str, exact) -> None:
    symbols = Symbols()
    x, y = symbols.fresh("x"), symbols.fresh("y")
    made = symbols.extreme(name, x, y) if name in ("min", "max") else getattr(symbols, name)(x, y)
    (result,) = made.names
    for left, right in product(range(-7, 8), range(1, 5)):
        found = [
            guess
            for guess in range(-9, 10)
            if all(
                holds(each, {"x": left, "y": right, result: guess})
                for each in symbols.axioms[result]
            )
        ]
        assert found == [exact(left, right)]
