"""Elimination: what it shows holds for all small values that meet the facts; plain products are
shown, and what is false is not."""

from itertools import product
from random import Random

import pytest

from cvmgen.verification import terms as t
from cvmgen.verification.contexts import Contexts
from cvmgen.verification.elimination import quotient, shown
from cvmgen.verification.ranges import ProductRanges
from cvmgen.verification.symbols import Symbols
from cvmgen.verification.terms import Formula, Term, symbol
from tests.verification.test_symbols import holds

NAMES = "wxyz"
W, X, Y, Z = map(symbol, NAMES)
ORDER = {name: at for at, name in enumerate(NAMES)}


def term(random: Random) -> Term:
    """A sum of a few products of few symbols."""
    found = t.term(random.randint(-4, 4))
    for _ in range(random.randint(1, 3)):
        factors = random.choices((W, X, Y, Z), k=random.choice((1, 1, 1, 2)))
        found = found + t.product(factors) * random.choice((-2, -1, 1, 1, 2, 3))
    return found


def fact(random: Random, depth: int = 2) -> Formula:
    match random.choice(("order", "order", "order", "equal", "cases", "not")):
        case "equal":
            return t.equal(term(random), 0)
        case "cases" if depth:
            return t.some(*(fact(random, depth - 1) for _ in range(2)))
        case "not" if depth:
            return t.negation(fact(random, depth - 1))
        case _:
            return t.at_most(0, term(random))


def models(facts: list[Formula]) -> list[dict[str, int]]:
    found = (dict(zip(NAMES, each, strict=True)) for each in product(range(-3, 4), repeat=4))
    return [each for each in found if all(holds(fact, each) for fact in facts)]


@pytest.mark.parametrize("seed", range(60))
def test_what_is_shown_holds(seed: int) -> None:
    random = Random(seed)
    box = [t.every(t.at_most(-3, each), t.at_most(each, 3)) for each in (W, X, Y, Z)]
    facts = [*box, *(fact(random) for _ in range(random.randint(1, 4)))]
    found = ProductRanges(ORDER).extended(facts)
    values = models(facts)
    assert not (found.false and values)
    for _ in range(12):
        claim = fact(random)
        if shown(found, ORDER, claim, 2):
            assert all(holds(claim, each) for each in values), t.text(claim)
        if (known := found.value(claim)) is not None:
            assert all(holds(claim, each) == known for each in values), t.text(claim)


def test_much_is_shown() -> None:
    """The random claims above are not all too hard."""
    shown_at_all = 0
    for seed in range(20):
        random = Random(seed)
        box = [t.every(t.at_most(0, each), t.at_most(each, 3)) for each in (W, X, Y, Z)]
        found = ProductRanges(ORDER).extended((*box, fact(random)))
        shown_at_all += sum(shown(found, ORDER, fact(random), 1) for _ in range(10))
    assert shown_at_all > 20


A, B, C, ROW, AT, LAST = map(symbol, "abcijk")
INSIDE = [t.every(t.at_most(0, at), t.below(at, n)) for at, n in ((ROW, A), (AT, B), (LAST, C))]
CLAIMS = [
    (t.below(ROW * B + AT, A * B), True, "a row and a place in it"),
    (t.below(AT * A + ROW, A * B), True, "the other way around"),
    (t.below((ROW * B + AT) * C + LAST, A * B * C), True, "three dimensions"),
    (t.below((ROW * B + AT) * C + LAST, 1 << 40), True, "no tensor has more elements"),
    (t.below(ROW * B, 1 << 40), True, "nor has a part of it"),
    (t.at_most(0, ROW * B - AT), False, "the first row has no place before it"),
    (t.below(ROW * B + AT + 1, A * B), False, "one beyond"),
    (t.below(ROW * C + AT, A * B), False, "a stride of another dimension"),
]


@pytest.mark.parametrize(("claim", "true", "why"), CLAIMS, ids=[why for *_, why in CLAIMS])
def test_products(claim: Formula, true: bool, why: str) -> None:
    symbols = Symbols()
    for name in "abcijk":
        symbols.fresh(name)
    size = t.below(A * B * C, 1 << 40)
    assert Contexts(symbols).shown((*INSIDE, size), claim) == true


QUOTIENTS = [
    (X * Y * 6, X * 3, (1, Y * 2)),
    (X * Y * 3, X * 2, (2, Y * 3)),
    (X * Y + X * 4, X * 2, (2, Y + 4)),
    (X * Y + Z, X, None),
    ((X + Y) * 2, X + Y, (1, t.term(2))),
    (X, X + Y, None),
]


@pytest.mark.parametrize(("whole", "part", "expected"), QUOTIENTS)
def test_quotients(whole: Term, part: Term, expected: tuple[int, Term] | None) -> None:
    found = quotient(whole, part)
    assert (found is None) == (expected is None)
    if found is not None:
        times, by = found
        assert times > 0
        assert by * part == whole * times
