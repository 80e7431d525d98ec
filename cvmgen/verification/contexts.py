"""What is known at each place of a kernel, found once for all claims there.

Places inside have the facts of those around them and some more, so that what is known of a place
begins with what is known around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cvmgen.verification import terms as t
from cvmgen.verification.elimination import Elimination, quotient, shown
from cvmgen.verification.ranges import ProductRanges
from cvmgen.verification.symbols import Symbols
from cvmgen.verification.terms import Formula, Holds, Monomial, Term, names_of

Path = tuple[Formula, ...]
LATE = 1 << 20
ROUNDS = 2  # in which cases that are left out bound symbols, which leave out others


def both_factors(fact: Term, name: str) -> Iterator[tuple[str, Monomial]]:
    """Of a - q*b >= 0, where q is a name, the name a and the factors b."""
    products = [each for each, number in fact.parts if number == -1 and len(each) > 1]
    if len(products) != 1 or products[0].count(name) != 1:
        return
    factor = tuple(each for each in products[0] if each != name)
    for each, number in fact.parts:
        if number == 1 and len(each) == 1 and len(fact.parts) <= 3:
            yield each[0], factor


class Contexts:
    """The ranges of the symbols of one kernel, at its places."""

    def __init__(self, symbols: Symbols) -> None:
        self.symbols = symbols
        self.order: dict[str, int] = {}
        self.ordered()
        self.found: dict[Path, tuple[ProductRanges, frozenset[str]]] = {
            (): (ProductRanges(self.order), frozenset())
        }

        self.asked: dict[tuple[Path, Formula], bool] = {}
        self.others: dict[tuple[Path, frozenset[str]], ProductRanges] = {}

    def shown(self, path: Path, claim: Formula) -> bool:
        """Whether a claim is shown by elimination at a place."""
        if len(self.order) < len(self.symbols.axioms):  # some were made since
            self.ordered()
        key = path, claim
        if key not in self.asked:
            self.asked[key] = shown(self.of(path, claim), self.order, claim, 0)
        return self.asked[key]

    def ordered(self) -> None:
        """Symbols as they were made; behind all others those that are made of later ones."""
        for name in self.symbols.axioms:
            late = LATE if name in self.symbols.late else 0
            self.order.setdefault(name, len(self.order) + late)

    def at(self, path: Path) -> tuple[ProductRanges, frozenset[str]]:
        """What is known where these facts hold, and of which symbols."""
        known = next(n for n in range(len(path), -1, -1) if path[:n] in self.found)
        if known < len(path):
            ranges, names = self.found[path[:known]]
            self.found[path] = self.more(ranges, names, path[known:], ())
        return self.found[path]

    def of(self, path: Path, claim: Formula) -> ProductRanges:
        """The same, with what is known of the symbols of a claim."""
        ranges, names = self.at(path)
        if names_of(claim) <= names:
            return ranges
        key = path, names_of(claim) - names
        if key not in self.others:
            self.others[key] = self.more(ranges, names, (), names_of(claim))[0]
        return self.others[key]

    def more(
        self, ranges: ProductRanges, names: frozenset[str], facts: Path, others: Iterable[str]
    ) -> tuple[ProductRanges, frozenset[str]]:
        axioms = self.symbols.axioms
        left = frozenset(others).union(*map(names_of, facts)) - names
        new = list(facts)
        while left:
            names |= left
            more = [each for name in sorted(left) for each in axioms.get(name, ())]
            new += more
            left = frozenset().union(*map(names_of, more)) - names
        made = self.bounded(ranges, ranges.extended(dict.fromkeys(new)))
        if quotients := list(self.quotients(made, names)):
            made = made.extended(quotients)
        for _ in range(ROUNDS):
            before = made
            made = self.bounded(ranges, self.decided(ranges, made))
            if made is before:
                break
        return made, names

    def quotients(self, ranges: ProductRanges, names: Iterable[str]) -> Iterator[Formula]:
        """What follows for a factor: q*b <= a and a < c*b give b*(c - q) >= 1, and q < c."""
        for name in names:
            for fact in ranges.of(name):
                for other, factor in both_factors(fact, name):
                    if not ranges.not_negative(t.term_of({factor: 1})):
                        continue
                    for upper in ranges.of(other):
                        if upper.poly.get((other,)) == -1 and len(upper.parts) > 1:
                            rest = fact + upper
                            number = rest.poly.get((), 0)
                            whole = quotient(rest - number, t.term_of({factor: 1}))
                            if number < 0 and whole is not None and whole[0] == 1:
                                yield t.at_most(1, whole[1])

    def decided(self, before: ProductRanges, ranges: ProductRanges) -> ProductRanges:
        """With the new cases as far as they are left: one that cannot be is dropped."""
        old = set(before.cases)
        for case in ranges.cases:
            if case not in old:
                left = tuple(each for each in case.parts if not self.excluded(ranges, each))
                if len(left) < len(case.parts):
                    ranges = ranges.extended((t.some(*left),))
        return ranges

    def excluded(self, ranges: ProductRanges, case: Formula) -> bool:
        """A term that is not negative, or 0, is below 0; or 0 and above it."""
        return any(
            self.shows(ranges, t.term(-1) - each.term)
            or (each.op == "==" and self.shows(ranges, each.term - 1))
            for each in t.conjuncts(case)
            if isinstance(each, Holds)
        )

    def shows(self, ranges: ProductRanges, claim: Term) -> bool:
        return Elimination(ranges, self.order, deep=False).shows(claim)

    def bounded(self, before: ProductRanges, ranges: ProductRanges) -> ProductRanges:
        """With the signs of symbols that are one of several values."""
        facts = list[Formula]()
        for name in ranges.values.keys() - before.values.keys() - ranges.defined.keys():
            for least in (1, 0):
                if ranges.low.get(name, least - 1) >= least:
                    break
                if self.shows(ranges, t.symbol(name) - least):
                    facts.append(t.at_most(least, t.symbol(name)))
                    break
        return ranges.extended(facts) if facts else ranges
