"""What is known at each place of a kernel, found once for all claims there.

Places inside have the facts of those around them and some more, so that what is known of a place
begins with what is known around it.
"""

from __future__ import annotations

from collections.abc import Iterable

from cvmgen.verification import terms as t
from cvmgen.verification.elimination import Elimination, shown
from cvmgen.verification.ranges import Ranges
from cvmgen.verification.symbols import Symbols
from cvmgen.verification.terms import Formula, Holds, Term, names_of

Path = tuple[Formula, ...]


class Contexts:
    """The ranges of the symbols of one kernel, at its places."""

    def __init__(self, symbols: Symbols) -> None:
        self.symbols = symbols
        self.order = {name: at for at, name in enumerate(symbols.axioms)}
        self.found: dict[Path, tuple[Ranges, frozenset[str]]] = {
            (): (Ranges(self.order), frozenset())
        }

        self.asked: dict[tuple[Path, Formula], bool] = {}
        self.others: dict[tuple[Path, frozenset[str]], Ranges] = {}

    def shown(self, path: Path, claim: Formula) -> bool:
        """Whether a claim is shown by elimination at a place."""
        key = path, claim
        if key not in self.asked:
            self.asked[key] = shown(self.of(path, claim), self.order, claim, 0)
        return self.asked[key]

    def at(self, path: Path) -> tuple[Ranges, frozenset[str]]:
        """What is known where these facts hold, and of which symbols."""
        known = next(n for n in range(len(path), -1, -1) if path[:n] in self.found)
        if known < len(path):
            ranges, names = self.found[path[:known]]
            self.found[path] = self.more(ranges, names, path[known:], ())
        return self.found[path]

    def of(self, path: Path, claim: Formula) -> Ranges:
        """The same, with what is known of the symbols of a claim."""
        ranges, names = self.at(path)
        if names_of(claim) <= names:
            return ranges
        key = path, names_of(claim) - names
        if key not in self.others:
            self.others[key] = self.more(ranges, names, (), names_of(claim))[0]
        return self.others[key]

    def more(
        self, ranges: Ranges, names: frozenset[str], facts: Path, others: Iterable[str]
    ) -> tuple[Ranges, frozenset[str]]:
        axioms = self.symbols.axioms
        left = frozenset(others).union(*map(names_of, facts)) - names
        new = list(facts)
        while left:
            names |= left
            more = [each for name in sorted(left) for each in axioms.get(name, ())]
            new += more
            left = frozenset().union(*map(names_of, more)) - names
        made = self.bounded(ranges, ranges.extended(dict.fromkeys(new)))
        return self.bounded(ranges, self.decided(ranges, made)), names

    def decided(self, before: Ranges, ranges: Ranges) -> Ranges:
        """With the new cases as far as they are left: one that cannot be is dropped."""
        old = set(before.cases)
        for case in ranges.cases:
            if case not in old:
                left = tuple(each for each in case.parts if not self.excluded(ranges, each))
                if len(left) < len(case.parts):
                    ranges = ranges.extended((t.some(*left),))
        return ranges

    def excluded(self, ranges: Ranges, case: Formula) -> bool:
        return any(
            isinstance(each, Holds) and self.shows(ranges, t.term(-1) - each.term)
            for each in t.conjuncts(case)
        )

    def shows(self, ranges: Ranges, claim: Term) -> bool:
        return Elimination(ranges, self.order, deep=False).shows(claim)

    def bounded(self, before: Ranges, ranges: Ranges) -> Ranges:
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
