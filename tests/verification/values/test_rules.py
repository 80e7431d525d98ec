"""Rules by which terms become others keep their values: invented programs run on terms, with what
is known of elements, and on numbers that are so."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest

from cvmgen.verification.values import choices, extremes, library, modular, quotients
from cvmgen.verification.values import terms as t
from cvmgen.verification.values.arithmetic import binary, comparison
from cvmgen.verification.values.assumed import on_way
from cvmgen.verification.values.compare import Rebuilt
from cvmgen.verification.values.evaluate import Evaluation
from cvmgen.verification.values.facts import PathFacts
from cvmgen.verification.values.table import forget_all

NUMBERS = 10  # inputs of each program
PLAIN = frozenset[str]()
Operate = Callable[..., Any]


def between(value: Any, low: int, high: int) -> Any:
    return extremes.maximum([low, extremes.minimum([value, high])])


def _second(operate: Operate, number: int, value: Any) -> Any:
    return operate(value, number)


def operations(pick: Random, bits: int) -> list[tuple[int, Operate]]:
    """How many operands each has; what it does with terms or numbers of so many bits."""
    number = pick.choice([1, 2, 3, 5, 7, 8, pick.randint(-200, 200)])
    tests = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
    test = comparison(pick.choice(tests), bits)
    small = pick.randint(0, 5)

    def read(value: Any) -> Any:
        return modular.signed(value, bits)

    def chosen(test: Any, yes: Any, no: Any) -> Any:
        test = test if isinstance(test, t.Condition) else bool(test)
        return choices.choose(test, read(yes), read(no))

    def entry(value: Any) -> Any:
        at = between(read(value), -small, small)
        return choices.lookup(at, lambda k: (k * 37) % 11)

    def divided(of: Operate, bound: int) -> Operate:
        return lambda a, b: read(of(read(a), between(read(b), 1, bound)))

    plain: list[Operate] = [binary(each, bits, PLAIN) for each in ("add", "sub", "mul", "xor")]
    by_number = (binary(each, bits, PLAIN) for each in ("ashr", "lshr", "shl"))
    quotient = library._quotient(64, quotients.quotient_toward_zero)
    return [
        *((2, each) for each in plain),
        *((1, partial(_second, each, small)) for each in by_number),
        (1, lambda a: binary("mul", bits, PLAIN)(a, number)),
        (1, lambda a: binary("and", bits, PLAIN)(a, (1 << small) - 1)),
        (1, lambda a: read(quotients.floor_quotient(read(a), abs(number) + 1))),
        (1, lambda a: read(quotients.quotient_toward_zero(read(a), abs(number) + 1))),
        (2, divided(quotients.floor_quotient, 9)),
        (2, lambda a, b: read(quotient(None, [read(a), read(b)]))),  # type: ignore[arg-type]
        (1, lambda a: between(read(a), min(number, 3), max(number, 3))),
        (2, lambda a, b: extremes.maximum([read(a), read(b)])),
        (3, lambda a, b, c: chosen(test(a, b), b, c)),
        (2, lambda a, b: chosen(test(a, number % (1 << bits - 1)), b, a)),
        (1, lambda a: chosen(test(read(a), 0), 0, a)),
        (2, lambda a, b: binary("mul", bits, PLAIN)(a, chosen(t.equal(read(a), 0), 0, b))),
        (1, entry),
        (1, lambda a: library._whole_power(bits)(None, [2, between(read(a), -1, 6)])),  # type: ignore[arg-type]
        (1, lambda a: read(quotients.floor_quotient(modular.unsigned(a, bits), abs(number) + 1))),
    ]  # fmt: skip


def program(pick: Random) -> Callable[[list[Any]], list[Any]]:
    """Some instructions on what came before."""
    bits = pick.choice((8, 16, 32))
    lines = []
    for line in range(pick.randint(2, 7)):
        count, operate = pick.choice(operations(pick, bits))
        lines.append((operate, [pick.randrange(3 + line) for _ in range(count)]))

    def run(values: list[Any]) -> list[Any]:
        values = [modular.signed(each, bits) for each in values]
        for operate, operands in lines:
            values.append(operate(*(values[at] for at in operands)))
        return [modular.signed(each, bits) for each in values]

    return run


def facts_about(pick: Random, elements: list[Any]) -> list[t.Condition]:
    """What is assumed: ends of elements, of a sum, and numbers that one is not."""
    first, second, third = elements
    several = (
        t.at_least(first, pick.randint(-9, 3)),
        t.at_least(t.negated(first), pick.randint(-9, 0)),
        t.opposite(t.equal(second, pick.randint(-2, 2))),
        t.at_least(t.add(second, t.multiply(third, -2)), pick.randint(-9, 3)),
        t.both(t.at_least(third, 0), t.at_least(t.negated(third), -5)),
        t.equal(third, pick.randint(-3, 3)),
    )
    return [each for each in pick.sample(several, pick.randint(0, 3)) if not isinstance(each, bool)]


def attacked(seed: int) -> int:
    """How many inputs a program was compared for."""
    forget_all()
    pick = Random(seed)
    ranges = [pick.choice([(-128, 127), (0, 255), (-3, 3), (-20, 100)]) for _ in range(3)]
    elements = [t.element("x", at, *ends) for at, ends in enumerate(ranges)]
    run, facts = program(pick), PathFacts()
    inputs = []
    assumed = facts_about(pick, elements)
    for _ in range(40):
        numbers = [pick.choice((low, high, pick.randint(low, high), 0, 1)) for low, high in ranges]
        given = Evaluation({("x", at): each for at, each in enumerate(numbers)})
        if all(map(given.value, assumed)):
            inputs.append((given, numbers))
    if not inputs:
        return 0
    for each in assumed:
        facts.assume(each)
    with on_way(facts):
        made = run(elements)
        again = [Rebuilt(facts).value(each) for each in made]
    for given, numbers in inputs[:NUMBERS]:
        wanted = run(numbers)
        for one, other, number in zip(made, again, wanted, strict=True):
            assert given.value(one) == given.value(other) == number, (seed, numbers)
    return len(inputs)


@pytest.mark.parametrize("part", range(3))
def test_programs_on_terms_give_what_they_give_on_numbers(part: int) -> None:
    assert sum(attacked(100 * part + seed) for seed in range(100)) > 1000
