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


@pytest.mark.parametrize("word", ["div", "tdiv"])
def test_axioms_of_remainders_and_of_quotients_in_order_are_true(word: str) -> None:
    """A remainder is below the least of the divisor and what is above what is divided; of multiples
    of one symbol the lesser one has no greater quotient."""
    symbols = Symbols()
    a, x, z, y = (symbols.fresh(name) for name in "axzy")
    least = symbols.extreme("min", z, y)
    quotients = [symbols.quotient(word, each, y) for each in (a * x, a * z)]
    rest = symbols.factor(symbols.remainder(word, a * x, y))
    assert rest.is_plain
    made = (least, *quotients, rest)
    axioms = [fact for each in made for name in each.names for fact in symbols.axioms[name]]
    assert any(rest.names | least.names <= t.names_of(fact) for fact in axioms)
    divide = {"div": int.__floordiv__, "tdiv": towards_zero}[word]
    for one, first, second, by in product(range(-3, 4), range(-3, 4), range(-3, 4), range(-3, 4)):
        found = [divide(one * each, by) if by else 0 for each in (first, second)]
        numbers = (min(second, by), *found, one * first - found[0] * by)
        values = dict(zip("axzy", (one, first, second, by), strict=True))
        values |= {name: n for each, n in zip(made, numbers, strict=True) for name in each.names}
        assert all(holds(fact, values) for fact in axioms), values


def test_axioms_of_powers_and_remainders_are_true() -> None:
    symbols = Symbols()
    x, y = symbols.fresh("x"), symbols.fresh("y")
    power, rest = symbols.power_of_two(x), symbols.rest("div", x, y)
    (one,), (other,) = power.names, rest.names
    quotient = symbols.floordiv(x, y)
    for left, right in product(range(-7, 8), repeat=2):
        values = {"x": left, "y": right, one: 1 << max(left, 0)}
        values |= dict.fromkeys(quotient.names, left // right if right else 0)
        values[other] = left % right if right else left
        for name in (one, other):
            assert all(holds(each, values) for each in symbols.axioms[name]), values
