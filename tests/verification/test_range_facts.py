"""What ranges of operands say of a result is true of numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import combinations_with_replacement, product

import pytest

from cvmgen.ranges import Range
from cvmgen.verification import terms as t
from cvmgen.verification.range_facts import RULES, RangeFacts, within
from cvmgen.verification.symbols import Symbols
from tests.verification.test_symbols import towards_zero

ENDS = (-9, -4, -1, 0, 1, 3, 8)
EXACT: dict[str, Callable[..., int]] = {
    "power of two": lambda x: 1 << max(x, 0),
    "div": lambda x, y: x // y if y else 0,
    "tdiv": lambda x, y: towards_zero(x, y) if y else 0,
    "mod": lambda x, y: x % y if y else x,
    "bitand": operator.and_,
    "bitor": operator.or_,
    "bitxor": operator.xor,
    "floor_log2": lambda x: x.bit_length() - 1 if x >= 1 else 0,
    "ceil_log2": lambda x: (x - 1).bit_length() if x >= 1 else 0,
}
UNARY = ("power of two", "floor_log2", "ceil_log2")


@pytest.mark.parametrize("rule", RULES)
def test_results_are_in_the_range_that_is_told(rule: str) -> None:
    exact, several = EXACT[rule], 1 if rule in UNARY else 2
    pairs = [Range(*each) for each in combinations_with_replacement(ENDS, 2)]
    for given in product(pairs, repeat=several):
        if (found := RULES[rule](*given)) is not None:
            for values in product(*(range(each.low, each.high + 1) for each in given)):
                assert found.low <= exact(*values) <= found.high, (given, values)


@pytest.mark.parametrize("rule", RULES)
def test_axioms_are_true_of_all_numbers(rule: str) -> None:
    """Wherever they were made: those outside of the ranges of that place are not spoken of."""
    symbols, several = Symbols(), 1 if rule in UNARY else 2
    given = [symbols.fresh(name) for name in "xy"[:several]]
    made = symbols.fresh("made")
    path = (within(given[0], Range(1, 6)), *(within(each, Range(1, 3)) for each in given[1:]))
    RangeFacts(symbols).know(made, rule, given, path)
    assert symbols.axioms["made"], "there is something to say"
    for values in product(range(-8, 9), repeat=several):
        named = dict(zip("xy", values, strict=False)) | {"made": EXACT[rule](*values)}
        assert all(t.holds(each, named) for each in symbols.axioms["made"]), named


def test_ranges_follow_from_facts_of_the_place() -> None:
    symbols = Symbols()
    x, e = symbols.fresh("x"), symbols.fresh("e")
    clipped = symbols.extreme("max", symbols.extreme("min", e, t.term(30)), t.ZERO)
    facts, path = RangeFacts(symbols), (within(x, Range(-128, 127)),)
    assert facts.of(e, path) is None
    assert facts.of(clipped, path) == Range(0, 30)
    power = facts.know(symbols.power_of_two(clipped), "power of two", (clipped,), path)
    assert facts.of(x * power, path) == Range(-128 << 30, 127 << 30)
    quotient = facts.know(symbols.floordiv(x, power), "div", (x, power), path)
    assert facts.of(quotient, path) == Range(-128, 127)


def test_products_of_sums_keep_the_range_of_their_factors() -> None:
    symbols = Symbols()
    x, y = symbols.fresh("x"), symbols.fresh("y")
    facts, path = RangeFacts(symbols), (within(x, Range(4, 5)), within(y, Range(1, 3)))
    one, other = x - 9, y - x
    facts.know_product(one * other, one, other, path)
    assert facts.of(one * other, path) == Range(4, 20)
    for values in product(range(-2, 9), repeat=2):
        named = dict(zip("xy", values, strict=True))
        assert all(t.holds(each, named) for name in "xy" for each in symbols.axioms[name]), named


def test_long_chains_of_cases_are_followed() -> None:
    """Each is known as soon as what it is made of is."""
    symbols = Symbols()
    at, facts = symbols.fresh("x"), RangeFacts(symbols)
    path = (within(at, Range(0, 100)),)
    for number in range(20):
        half = symbols.floordiv(at, t.term(2))
        at = symbols.choice(symbols.fresh_truth("t"), half + number, at)
    assert facts.of(at, path) == Range(0, 100)
