"""What needs no solver: a claim that stands among the facts, or that ranges of symbols show."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from cvmgen.verification.terms import FALSE, ZERO, Formula, Holds, Monomial, Term, conjuncts


def plain(facts: Iterable[Formula], claim: Formula) -> bool:
    """Whether facts show a claim at once; False means "not known"."""
    known = [part for each in facts for part in conjuncts(each)]
    return all(_shown(known, each) for each in conjuncts(claim))


def _shown(known: list[Formula], claim: Formula) -> bool:
    if claim in known or FALSE in known:
        return True
    match claim:
        case Holds(op=">=", term=wanted):
            ranges = SymbolRanges(known)
            facts = (each.term for each in known if isinstance(each, Holds))
            return any(ranges.not_negative(wanted - each) for each in (ZERO, *facts))
        case _:
            return False


ROUNDS = 3  # in which a bound of one symbol becomes that of another


class SymbolRanges:
    """The least and the greatest value of each symbol, as far as numbers bound it."""

    def __init__(self, known: list[Formula]) -> None:
        self.low: dict[str, int] = {}
        self.high: dict[str, int] = {}
        for _ in range(ROUNDS):
            for each in known:
                if isinstance(each, Holds):
                    self.learn(each)

    def learn(self, fact: Holds) -> None:
        match [part for part in fact.term.parts if part[0]]:
            case [((name,), 1)]:
                least = -fact.term.poly.get((), 0)
                self.low[name] = max(least, self.low.get(name, least))
            case [((name,), -1)]:
                most = fact.term.poly.get((), 0)
                self.high[name] = min(most, self.high.get(name, most))
            case [((one,), 1), ((other,), -1)] | [((other,), -1), ((one,), 1)]:
                self.ordered(other, one, -fact.term.poly.get((), 0))
            case _:
                pass

    def ordered(self, small: str, large: str, gap: int) -> None:
        """small + gap <= large."""
        if (low := self.low.get(small)) is not None:
            self.low[large] = max(low + gap, self.low.get(large, low + gap))
        if (high := self.high.get(large)) is not None:
            self.high[small] = min(high - gap, self.high.get(small, high - gap))

    def not_negative(self, operand: Term) -> bool:
        least = self.least(operand)
        return least is not None and least >= 0

    def least(self, operand: Term) -> int | None:
        """A value that a term is not below."""
        parts = [self.least_part(*part) for part in operand.parts]
        known = [each for each in parts if each is not None]
        return sum(known) if len(known) == len(parts) else None

    def least_part(self, monomial: Monomial, coefficient: int) -> int | None:
        lows = [self.low.get(name) for name in monomial]
        if any(low is None or low < 0 for low in lows):
            return None
        if coefficient >= 0:
            return coefficient * prod(low for low in lows if low is not None)
        highs = [self.high.get(name) for name in monomial]
        if any(high is None for high in highs):
            return None
        return coefficient * prod(high for high in highs if high is not None)
