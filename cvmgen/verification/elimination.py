"""Claims shown without a solver: their symbols are eliminated by the facts that bound them.

A claim is g >= 0. If f >= 0 is a fact and m >= 0, then g >= 0 follows from g - m*f >= 0; m and f
are chosen so that the last symbol of g is not in g - m*f, or less of it is. So i*K + k < M*K loses
k by k < K, and i, of which the factor is -K, by i < M; 0 is left. That m is not negative is shown
in the same way. Factors may be products of symbols, which linear arithmetic knows nothing of.

Each step is one that leaves a stronger claim, whatever the search chooses, so that a claim that is
shown follows from the facts. A claim that is not shown may be true.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush
from itertools import chain
from math import gcd

from cvmgen.verification import terms as t
from cvmgen.verification.ranges import ProductRanges
from cvmgen.verification.terms import Formula, Holds, Monomial, Term

MOST_STEPS = 24  # of one claim, with those that show that a factor is not negative
STEPS_DOWN = 48  # of one claim, by its last symbol
FEW_STEPS = 4  # of one such factor
MOST_NUMBER = 1 << 16  # that stands for a symbol: what limits tensors leads nowhere
MOST_SYMBOLS = 3  # the last of a claim, of which each is tried
LOSS = 4  # as many parts of a claim
TIGHT, FEW = 12, 64  # the same for a claim that is true for few values at the best


class Elimination:
    """One search for a proof from facts; `order` are symbols in the order in which they are made:
    what bounds one mostly speaks of those before it."""

    def __init__(
        self, facts: ProductRanges, order: Mapping[str, int], *, deep: bool = True
    ) -> None:
        self.facts, self.order, self.deep = facts, order, deep

    def shows(self, goal: Term) -> bool:
        """Whether goal >= 0. Of several sets of claims, each of which is enough, the one with the
        least that may be negative is gone on with."""
        first = self.left((goal,))
        if first is None or not first:
            return first is not None
        return (self.deep and self.downward(first)) or self.searched(first)

    def downward(self, first: tuple[Term, ...]) -> bool:
        """By the last symbol alone, each time, and facts: from what is computed to what it is
        computed from. What comes nearest to the first symbols is gone on with."""
        heap, tried = [(0, 0, first)], Tried()
        tried.is_new(first)
        for _ in range(STEPS_DOWN):
            if not heap:
                break
            *_, (chosen, *others) = heappop(heap)
            name = max(chosen.names, key=self.at)
            factor = factor_of(chosen, name)
            if not self.sign(t.ZERO - factor) and not self.sign(factor):
                continue
            ways = (self.without(chosen, name, factor), self.by_values(chosen, name, factor))
            for each in chain(*ways):
                if (made := self.left((*each, *others))) == ():
                    return True
                if made is not None and tried.is_new(made):
                    last = max(self.at(other) for claim in made for other in claim.names)
                    heappush(heap, (last, tried.count, made))
        return False

    def searched(self, first: tuple[Term, ...]) -> bool:
        heap, tried = [(0, 0, 0, first)], Tried()
        tried.is_new(first)
        for _ in range(MOST_STEPS if self.deep else FEW_STEPS):
            if not heap:
                break
            _, _, lost, (chosen, *others) = heappop(heap)
            for loses, each in self.stronger(chosen):
                if (made := self.left((*each, *others))) == ():
                    return True
                if made is not None and tried.is_new(made):
                    much = lost + loses
                    heappush(heap, (much + sum(map(self.doubts, made)), tried.count, much, made))
        return False

    def left(self, goals: Iterable[Term]) -> tuple[Term, ...] | None:
        """Those claims that ranges do not show; None if one of them is wrong there."""
        found = []
        for each in dict.fromkeys(_lowest(self.facts.resolved(goal)) for goal in goals):
            if not self.facts.not_negative(each):
                if self.facts.negative(each):
                    return None
                found.append(each)
        return tuple(found)

    def doubts(self, goal: Term) -> int:
        """How far a claim seems to be from what ranges show."""
        lows = (self.facts.part(*each)[0] for each in goal.parts)
        wrong = sum(low is None or low < 0 for low in lows)
        most = self.facts.greatest(goal)
        narrow = TIGHT if most is not None and most < FEW else 0
        return len(goal.parts) + len(goal.names) + 2 * wrong + narrow

    def stronger(self, goal: Term) -> Iterator[tuple[int, tuple[Term, ...]]]:
        """Claims that are enough for a goal: all of one of these. A number in the place of a symbol
        loses how it hangs together with others."""
        names = sorted(goal.names, key=self.at, reverse=True)
        for name in names[:MOST_SYMBOLS]:
            factor = factor_of(goal, name)
            upward = self.sign(factor)
            if not upward and not self.sign(t.ZERO - factor):
                continue
            for each in self.without(goal, name, factor):
                yield 0, each
            for each in self.by_values(goal, name, factor):
                yield 0, each
            for each in self.by_number(goal, name, factor, upward=upward):
                yield LOSS, each
            if not upward:
                for each in self.widened(goal, name):
                    yield 0, each

    def at(self, name: str) -> int:
        return self.order.get(name, len(self.order))

    def sign(self, factor: Term) -> bool:
        """Whether a factor is not negative, with little effort."""
        if self.facts.not_negative(factor):
            return True
        if not self.deep or self.facts.negative(factor):
            return False
        if (found := self.facts.signs.get(factor)) is None:
            found = Elimination(self.facts, self.order, deep=False).shows(factor)
            self.facts.signs[factor] = found
        return found

    def without(self, goal: Term, name: str, factor: Term) -> Iterator[tuple[Term, ...]]:
        """By a fact that bounds a symbol from the right side."""
        at = self.at(name)
        for fact in self.facts.of(name):
            if any(self.at(each) > at for each in fact.names - goal.names):
                continue
            found = quotient(factor, factor_of(fact, name))
            if found is None:
                continue
            times, by = found
            if not far(by, fact) and self.sign(by):
                yield (goal * times - by * fact,)

    def by_values(self, goal: Term, name: str, factor: Term) -> Iterator[tuple[Term, ...]]:
        """A symbol that is one of several values, a minimum."""
        for values in self.facts.values.get(name, ()):
            rest = goal - factor * t.symbol(name)
            yield tuple(rest + factor * each for each in values)

    def by_number(
        self, goal: Term, name: str, factor: Term, *, upward: bool
    ) -> Iterator[tuple[Term, ...]]:
        bound = (self.facts.low if upward else self.facts.high).get(name)
        if bound is not None and abs(bound) <= MOST_NUMBER:
            yield (goal - factor * t.symbol(name) + factor * bound,)

    def widened(self, goal: Term, name: str) -> Iterator[tuple[Term, ...]]:
        """By a fact that bounds a product, or a greater one: x*y <= x*y*z, where z is 1 at least.
        The fact may speak of x*z alone, and is multiplied by y."""
        for monomial, number in goal.parts:
            if number >= 0 or name not in monomial or not self.positive(monomial, 0):
                continue
            for fact in self.facts.of(name):
                for other, factor in fact.parts:
                    if factor >= 0 or name not in other:
                        continue
                    rest = _difference(other, monomial)
                    if self.positive(rest, 1):
                        greater = t.term_of({tuple(sorted((*monomial, *rest))): number})
                        wider = goal - t.term_of({monomial: number}) + greater
                        times = -factor // gcd(factor, number)
                        by = t.term_of({_difference(monomial, other): times * number // factor})
                        if not far(by, fact):
                            yield (wider * times - by * fact,)

    def positive(self, monomial: Monomial, least: int) -> bool:
        return all(self.facts.low.get(name, least - 1) >= least for name in monomial)


class Tried:
    """The claims of a search. What differs from others in its numbers alone, of which none is
    larger, is harder than they are, and leads nowhere that they do not."""

    def __init__(self) -> None:
        self.count = 0
        self.numbers: dict[tuple[Term, ...], list[tuple[int, ...]]] = {}

    def is_new(self, claims: tuple[Term, ...]) -> bool:
        numbers = tuple(each.poly.get((), 0) for each in claims)
        bare = tuple(each - number for each, number in zip(claims, numbers, strict=True))
        before = self.numbers.setdefault(bare, [])
        if any(all(map(int.__le__, numbers, each)) for each in before):
            return False
        before.append(numbers)
        self.count += 1
        return True


def shown(facts: ProductRanges, order: Mapping[str, int], claim: Formula, splits: int) -> bool:
    """Whether a claim follows from facts; cases are told apart at `splits` places at most."""
    if facts.false or facts.value(claim) is True:
        return True
    match claim:
        case t.Every(parts=parts):
            return all(shown(facts, order, each, splits) for each in parts)
        case Holds(op="==", term=operand):
            ends = (Holds(">=", operand), Holds(">=", t.ZERO - operand))
            return all(shown(facts, order, each, splits) for each in ends)
        case t.Some(parts=(first, *others)):
            rest = facts.extended(map(t.negation, others))
            return shown(rest, order, first, splits)
        case Holds(term=operand):
            if Elimination(facts, order).shows(operand):
                return True
        case _:
            return False
    if splits <= 0 or (chosen := _split(facts, order, claim)) is None:
        return False
    case = chosen.parts[0]
    ways = ((case,), (t.negation(case), t.some(*chosen.parts[1:])))
    return all(shown(facts.extended(each), order, claim, splits - 1) for each in ways)


def _split(facts: ProductRanges, order: Mapping[str, int], claim: Formula) -> t.Some | None:
    """The cases that speak of the last symbol of a claim."""
    names: frozenset[str] = frozenset()
    for each in t.comparisons(claim):
        names |= facts.resolved(each.term).names
    near = [each for each in facts.cases if not t.names_of(each).isdisjoint(names)]

    def last(each: t.Some) -> int:
        return max(order.get(name, len(order)) for name in t.names_of(each) & names)

    return max(near, key=last, default=None)


def factor_of(operand: Term, name: str) -> Term:
    """What a symbol is multiplied by."""
    found: dict[Monomial, int] = {}
    for monomial, coefficient in operand.poly.items():
        if name in monomial:
            at = monomial.index(name)
            found[monomial[:at] + monomial[at + 1 :]] = coefficient
    return Term(found)


def quotient(whole: Term, part: Term) -> tuple[int, Term] | None:
    """A positive number n and a term q of which n * whole = q * part."""
    if not part.parts or not whole.parts:
        return None
    (first, number), (other, divisor) = whole.parts[0], part.parts[0]
    if (rest := t.without(first, other)) is None:
        return None
    times = abs(divisor) // gcd(number, divisor)
    by = t.term_of({rest: times * number // divisor})
    if len(part.parts) == 1 and len(whole.parts) > 1:
        return quotient_by_monomial(whole, other, divisor)
    return (times, by) if by * part == whole * times else None


def quotient_by_monomial(whole: Term, other: Monomial, divisor: int) -> tuple[int, Term] | None:
    found: dict[Monomial, int] = {}
    times = abs(divisor)
    for monomial, number in whole.parts:
        if (rest := t.without(monomial, other)) is None:
            return None
        found[rest] = times * number // divisor
    return times, t.term_of(found)


def far(factor: Term, fact: Term) -> bool:
    """Whether a fact is one of the limits of all tensors, which are of no use for a part."""
    return factor.value is None and abs(fact.poly.get((), 0)) > MOST_NUMBER


def _difference(monomial: Monomial, factors: Monomial) -> Monomial:
    """The factors of a product that others have not got."""
    left = Counter(monomial)
    left.subtract(factors)
    return tuple(sorted(left.elements()))


def _lowest(goal: Term) -> Term:
    """goal >= 0 with the least coefficients; of integers, what is left of a number is rounded."""
    common = gcd(*(number for monomial, number in goal.poly.items() if monomial))
    if common <= 1:
        return goal
    return t.term_of({monomial: number // common for monomial, number in goal.poly.items()})
