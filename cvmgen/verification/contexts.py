"""What is known at each place of a kernel, found once for all claims there.

Places inside have the facts of those around them and some more, so that what is known of a place
begins with what is known around it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field

from cvmgen.verification import terms as t
from cvmgen.verification.elimination import Elimination, quotient, shown
from cvmgen.verification.ranges import Bounds, ProductRanges
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


@dataclass(eq=False)
class Context:
    """What is known where some facts hold, with all that is known of their symbols, of kernels of
    which the same is known: `inner` are contexts with more facts, `asked` is what was shown."""

    ranges: ProductRanges
    names: frozenset[str] = frozenset()
    inner: dict[Hashable, Context] = field(default_factory=dict)
    asked: dict[Formula, bool] = field(default_factory=dict)


Interned = dict[tuple[Formula, ...], int]


class Contexts:
    """The ranges of the symbols of one kernel, at its places. Kernels that share `root` share what
    is known where it is the same: those of an operator for other types differ in little. What is
    not `deep` is known of facts as they are, which takes far less time than what follows from
    several together."""

    def __init__(
        self,
        symbols: Symbols,
        root: Context | None = None,
        interned: Interned | None = None,
        *,
        deep: bool = True,
    ) -> None:
        self.symbols, self.deep = symbols, deep
        self.order: dict[str, int] = {}
        self.ordered()
        self.found: dict[Path, Context] = {(): root or Context(ProductRanges({}))}
        self.interned: Interned = {} if interned is None else interned
        self.numbers: dict[str, tuple[tuple[Formula, ...], int]] = {}  # of axioms, by symbol

    def shown(self, path: Path, claim: Formula) -> bool:
        """Whether a claim is shown by elimination at a place, or by ranges alone."""
        context = self.of(path, claim)
        if claim not in context.asked:
            known = context.ranges
            plain = known.false or known.value(claim) is True
            context.asked[claim] = plain or (self.deep and shown(known, self.order, claim, 0))
        return context.asked[claim]

    def range(self, path: Path, operand: Term) -> Bounds:
        """The least and the greatest value of a term at a place, as far as they are known."""
        known = self.known(path, operand)
        found = known.resolved(operand)
        return known.at_least(found), known.at_most(found)

    def known(self, path: Path, operand: Term) -> ProductRanges:
        """What is known at a place of the symbols of a term."""
        return self.of(path, Holds(">=", operand)).ranges

    def ordered(self) -> None:
        """Symbols as they were made; behind all others those that are made of later ones."""
        for name in self.symbols.axioms:
            late = LATE if name in self.symbols.late else 0
            self.order.setdefault(name, len(self.order) + late)

    def at(self, path: Path) -> Context:
        """What is known where these facts hold, and of which symbols."""
        known = next(n for n in range(len(path), -1, -1) if path[:n] in self.found)
        if known < len(path):
            self.found[path] = self.more(self.found[path[:known]], path[known:], frozenset())
        return self.found[path]

    def of(self, path: Path, claim: Formula) -> Context:
        """The same, with what is known of the symbols of a claim."""
        if len(self.order) < len(self.symbols.axioms):  # some were made since
            self.ordered()
        context = self.at(path)
        others = names_of(claim) - context.names
        return self.more(context, (), others) if others else context

    def begin_anew(self) -> None:
        """Places are looked at again: more is known of symbols than when they were."""
        self.found = {(): self.found[()]}

    def _place(self, name: str) -> tuple[int, str]:
        return self.order.get(name, len(self.order)), name

    def number(self, name: str) -> int:
        """The same for the same axioms."""
        axioms = self.symbols.axioms.get(name, ())
        known = self.numbers.get(name)
        if known is None or known[0] is not axioms:
            known = axioms, self.interned.setdefault(axioms, len(self.interned))
            self.numbers[name] = known
        return known[1]

    def more(self, context: Context, facts: Path, others: frozenset[str]) -> Context:
        """A context with more facts, and with what is known of their symbols and of others."""
        axioms, names, new = self.symbols.axioms, context.names, list(facts)
        left = others.union(*map(names_of, facts)) - names
        key: list[Hashable] = [facts]
        while left:
            names |= left
            key += [(name, self.number(name)) for name in sorted(left)]
            more = [each for name in sorted(left) for each in axioms.get(name, ())]
            new += more
            left = frozenset().union(*map(names_of, more)) - names
        if (known := tuple(key)) not in context.inner:
            if not self.deep:  # in the order in which they are computed: each is known at once
                made = sorted(names - context.names, key=self._place)
                new = [*facts, *(each for name in made for each in axioms.get(name, ()))]
            ranges = self.learned(context.ranges, new, names)
            context.inner[known] = Context(ranges, names)
        return context.inner[known]

    def learned(
        self, ranges: ProductRanges, facts: list[Formula], names: frozenset[str]
    ) -> ProductRanges:
        ranges = ranges.ordered_by(self.order)
        if not self.deep:
            return ranges.extended(dict.fromkeys(facts))
        made = self.bounded(ranges, ranges.extended(dict.fromkeys(facts)))
        if quotients := list(self.quotients(made, names)):
            made = made.extended(quotients)
        for _ in range(ROUNDS):
            before = made
            made = self.bounded(ranges, self.decided(ranges, made))
            if made is before:
                break
        return made

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
