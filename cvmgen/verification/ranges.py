"""What facts say of each symbol: the range of its values, what it is equal to, which cases remain.

Facts are added one at a time. An equality gives a symbol a value, which stands for it from then on;
an order bounds each of its symbols by the ranges of the others; of several cases, those that ranges
exclude are dropped, and a single one is a fact. All that is known here follows from the facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import gcd, prod

from cvmgen.verification import terms as t
from cvmgen.verification.terms import Formula, Holds, Monomial, Term

ROUNDS = 6  # in which what is learned of one symbol tells of others


class ProductRanges:
    """`low` and `high` bound symbols, `products` products from above; `values` are terms of which a
    symbol is one; `cases` are open; `false` if the facts cannot all hold. `whole`: what is known of
    terms as a whole bounds what is one of them, which would lead elimination astray."""

    def __init__(self, order: Mapping[str, int], *, whole: bool = False) -> None:
        self.order, self.whole = order, whole
        self.low: dict[str, int] = {}
        self.high: dict[str, int] = {}
        self.products: dict[Monomial, int] = {}  # what facts bound them by from above
        self.least_of: dict[Term, int] = {}  # of a term without its number: it is this at least
        self.defined: dict[str, Term] = {}
        self.by_name: dict[str, dict[Term, None]] = {}
        self.values: dict[str, tuple[tuple[Term, ...], ...]] = {}
        self.cases: tuple[t.Some, ...] = ()
        self.known: set[Formula] = set()
        self.signs: dict[Term, bool] = {}  # what is known already of whether terms are not negative
        self.false = False
        self.changed = False
        self.touched: set[str] = set()  # of which a bound is new
        self.moved: set[str] = set()  # of which something is new since cases were looked at

    def ordered_by(self, order: Mapping[str, int]) -> ProductRanges:
        """The same for symbols that were made in another order."""
        if self.order is order:
            return self
        made = self.extended(())
        made.order = order
        return made

    def extended(self, facts: Iterable[Formula]) -> ProductRanges:
        """The same with more facts."""
        made = ProductRanges(self.order, whole=self.whole)
        made.low, made.high = dict(self.low), dict(self.high)
        made.least_of, made.defined = dict(self.least_of), dict(self.defined)
        made.by_name = {name: dict(each) for name, each in self.by_name.items()}
        made.products = dict(self.products)
        made.values, made.cases = dict(self.values), self.cases
        made.known, made.false, made.moved = set(self.known), self.false, set(self.moved)
        if made.false:
            return made
        for each in facts:
            made.add(each)
        made.settle()
        return made

    # ------------------------------------------------------------ facts

    def add(self, fact: Formula) -> None:
        match fact:
            case t.Every(parts=parts):
                for each in parts:
                    self.add(each)
            case Holds(op="==", term=operand):
                self.add_equal(self.resolved(operand))
            case Holds(term=operand):
                self.add_order(self.resolved(operand))
            case t.Some():
                self.add_cases(fact)
            case t.Negation(operand=Holds(term=operand)):
                self.add_cases(
                    t.Some((Holds(">=", operand - 1), Holds(">=", t.term(-1) - operand)))
                )
            case _:
                self.false = self.false or t.negation(fact) in self.known
                self.known.add(fact)
                self.moved |= fact.names
                self.changed = True

    def add_equal(self, operand: Term) -> None:
        counts: dict[str, int] = {}
        for monomial, _ in operand.parts:
            for name in set(monomial):
                counts[name] = counts.get(name, 0) + 1
        alone = [
            monomial[0]
            for monomial, number in operand.parts
            if len(monomial) == 1 and abs(number) == 1 and counts[monomial[0]] == 1
        ]
        last = max(operand.names, key=self.at, default="")
        name = max(alone, key=self.at, default="")
        if name:
            value = (operand - t.symbol(name) * operand.poly[name,]) * -operand.poly[name,]
            if len(value.parts) <= 1 or name != last:
                self.define(name, value)
                return
        self.add_order(operand)
        self.add_order(t.ZERO - operand)

    def at(self, name: str) -> int:
        return self.order.get(name, len(self.order))

    def define(self, name: str, value: Term) -> None:
        """A symbol's value stands for it in all that is known of it."""
        for other, before in self.defined.items():
            if name in before.names:
                self.defined[other] = replaced(before, name, value)
        self.defined[name] = value
        self.moved.add(name)
        self.changed = True
        for fact in tuple(self.by_name.get(name, ())):
            self.drop(fact)
            self.add_order(replaced(fact, name, value))
        if name in self.low:
            self.add_order(value - self.low[name])
        if name in self.high:
            self.add_order(t.term(self.high[name]) - value)

    def drop(self, fact: Term) -> None:
        for name in fact.names:
            self.by_name[name].pop(fact, None)

    def add_order(self, operand: Term) -> None:
        """operand >= 0; of several that differ in their number, the strongest one."""
        number = operand.poly.get((), 0)
        bare = operand - number
        if not bare.parts:
            self.false = self.false or number < 0
            return
        common = gcd(*(n for _, n in bare.parts))
        if common > 1:
            bare = t.term_of({monomial: n // common for monomial, n in bare.parts})
            number //= common
        known = self.least_of.get(bare)
        if known is not None and known >= -number:
            return
        if known is not None:
            self.drop(bare - known)
        self.least_of[bare] = -number
        fact = bare + number
        self.moved |= fact.names
        for name in fact.names:
            self.by_name.setdefault(name, {})[fact] = None
        if len(fact.parts) <= 2:
            self.learn_product(bare, number)
        self.learn(fact)
        self.changed = True

    def learn_product(self, bare: Term, number: int) -> None:
        """n * x * y <= number."""
        match bare.parts:
            case [(monomial, factor)] if factor < 0 and len(monomial) > 1:
                bound = number // -factor
                self.products[monomial] = min(bound, self.products.get(monomial, bound))
            case _:
                pass

    def add_cases(self, fact: t.Some) -> None:
        left: list[Formula] = []
        for each in fact.parts:
            value = self.value(each)
            if value is True:
                return
            if value is None:
                left.append(each)
        if not left:
            self.false = True
        elif len(left) == 1:
            self.add(left[0])
        else:
            self.cases = (*self.cases, t.Some(tuple(left)))
            self.hull(self.cases[-1])  # what comes behind is mostly computed from it
            self.changed = self.changed or len(left) < len(fact.parts)

    def settle(self) -> None:
        """Learn until nothing changes, or for some rounds; of cases those are looked at again that
        speak of what is new."""
        for _ in range(ROUNDS):
            self.changed = False
            before, self.cases, moved = self.cases, (), self.news()
            for each in before:
                if each.names.isdisjoint(moved):
                    self.cases = (*self.cases, each)
                else:
                    self.add_cases(each)
            touched, self.touched = sorted(self.touched), set()
            near = (fact for name in touched for fact in self.by_name.get(name, ()))
            for fact in tuple(dict.fromkeys(near)):
                self.learn(fact)
            if self.false or not self.changed:
                return

    def news(self) -> set[str]:
        """The symbols of which something is new, and those that they are the value of."""
        moved, self.moved = self.moved, set()
        return moved | {
            name for name, value in self.defined.items() if not value.names.isdisjoint(moved)
        }

    def hull(self, fact: t.Some) -> None:
        """What a symbol is in one of several cases bounds it."""
        shared = frozenset.intersection(*(self.equals(each) for each in fact.parts))
        for name in shared:
            values = tuple(self.resolved(self.equal_to(each, name)) for each in fact.parts)
            self.values[name] = tuple(dict.fromkeys((*self.values.get(name, ()), values)))
            least, most = (
                (self.at_least, self.at_most) if self.whole else (self.least, self.greatest)
            )
            lows, highs = [least(e) for e in values], [most(e) for e in values]
            if None not in lows:
                self.raise_low(name, min(e for e in lows if e is not None))
            if None not in highs:
                self.lower_high(name, max(e for e in highs if e is not None))

    def equals(self, case: Formula) -> frozenset[str]:
        """The symbols that a case gives a value."""
        return frozenset(
            monomial[0]
            for operand in self.equal_terms(case)
            for monomial, number in operand.parts
            if len(monomial) == 1
            and abs(number) == 1
            and sum(monomial[0] in other for other, _ in operand.parts) == 1
        )

    def equal_terms(self, case: Formula) -> Iterator[Term]:
        """Terms that are 0 in a case, without symbols that have a value."""
        for each in t.conjuncts(case):
            if isinstance(each, Holds) and each.op == "==":
                yield self.resolved(each.term)

    def equal_to(self, case: Formula, name: str) -> Term:
        for operand in self.equal_terms(case):
            if (name,) in operand.poly:
                number = operand.poly[name,]
                return (operand - t.symbol(name) * number) * -number
        raise AssertionError(name)

    # ------------------------------------------------------------ ranges

    def learn(self, fact: Term) -> None:
        """The bound of each symbol of a fact by the ranges of the others."""
        for monomial, number in fact.parts:
            if len(set(monomial)) != len(monomial):
                continue
            for name in monomial:
                self.learn_symbol(fact, monomial, number, name)

    def learn_symbol(self, fact: Term, monomial: Monomial, number: int, name: str) -> None:
        """k * n * others + rest >= 0, of which the greatest value of rest is known."""
        others = tuple(each for each in monomial if each != name)
        least = prod(self.low.get(each, 0) for each in others)
        if least < 1 or any(self.low.get(each, -1) < 0 for each in others):
            return
        rest = self.greatest(fact - t.term_of({monomial: number}))
        if rest is None:
            return
        if number > 0:  # others * n >= -rest / k
            if rest < 0:
                most = self.product_high(others)
                if most is not None and most >= 1:
                    self.raise_low(name, -(rest // (number * most)))
            elif not others:
                self.raise_low(name, -(rest // number))
        elif rest >= 0:  # others * n <= rest / -k
            self.lower_high(name, rest // (-number * least))
        elif not others:
            self.lower_high(name, rest // -number)

    def product_high(self, monomial: Monomial) -> int | None:
        highs = [self.high.get(each) for each in monomial]
        return None if None in highs else prod(each for each in highs if each is not None)

    def raise_low(self, name: str, bound: int) -> None:
        if bound > self.low.get(name, bound - 1):
            self.low[name] = bound
            self.touched.add(name)
            self.moved.add(name)
            self.changed = True
            self.false = self.false or bound > self.high.get(name, bound)

    def lower_high(self, name: str, bound: int) -> None:
        if bound < self.high.get(name, bound + 1):
            self.high[name] = bound
            self.touched.add(name)
            self.moved.add(name)
            self.changed = True
            self.false = self.false or bound < self.low.get(name, bound)

    def least(self, operand: Term) -> int | None:
        """A value that a term is not below."""
        total = 0
        for monomial, number in operand.poly.items():
            found = self.part(monomial, number)[0]
            if found is None:
                return None
            total += found
        return total

    def greatest(self, operand: Term) -> int | None:
        total = 0
        for monomial, number in operand.poly.items():
            found = self.part(monomial, number)[1]
            if found is None:
                return None
            total += found
        return total

    def at_least(self, operand: Term) -> int | None:
        """The same, with what is known of the term as a whole."""
        number = operand.poly.get((), 0)
        whole, parts = self.least_of.get(operand - number), self.least(operand)
        ends = [*([] if whole is None else [whole + number]), *([] if parts is None else [parts])]
        return max(ends, default=None)

    def at_most(self, operand: Term) -> int | None:
        most = self.at_least(t.ZERO - operand)
        return None if most is None else -most

    def part(self, monomial: Monomial, number: int) -> Bounds:
        """The range of a number times symbols."""
        if not monomial:
            return number, number
        low, high = self.low.get(monomial[0]), self.high.get(monomial[0])
        for name in monomial[1:]:
            low, high = _times((low, high), (self.low.get(name), self.high.get(name)))
        if (bound := self.products.get(monomial)) is not None:
            high = bound if high is None else min(bound, high)
        if number < 0:
            low, high = high, low
        return None if low is None else low * number, None if high is None else high * number

    # ------------------------------------------------------------ questions

    def resolved(self, operand: Term) -> Term:
        """A term without the symbols that have a value."""
        for name in operand.names & self.defined.keys():
            operand = replaced(operand, name, self.defined[name])
        return operand

    def of(self, name: str) -> tuple[Term, ...]:
        """The facts that bound a symbol, those of few symbols first."""
        return tuple(sorted(self.by_name.get(name, ()), key=lambda each: len(each.names)))

    def not_negative(self, operand: Term) -> bool:
        least = self.least(operand)
        if least is not None and least >= 0:
            return True
        number = operand.poly.get((), 0)
        known = self.least_of.get(operand - number)
        return known is not None and known + number >= 0

    def negative(self, operand: Term) -> bool:
        """Whether a term is below 0 for all values, or for some that only ranges admit: nothing can
        show that it is not, if not by other facts about it."""
        greatest = self.greatest(operand)
        return greatest is not None and greatest < 0

    def value(self, formula: Formula) -> bool | None:
        """Whether a condition is known to hold, or not to hold."""
        match formula:
            case Holds(op=op, term=operand):
                operand = self.resolved(operand)
                below = self.not_negative(t.term(-1) - operand)
                if op == ">=":
                    return False if below else True if self.not_negative(operand) else None
                if below or self.not_negative(operand - 1):
                    return False
                same = self.not_negative(operand) and self.not_negative(t.ZERO - operand)
                return True if same else None
            case t.TruthSymbol():
                found = formula in self.known
                return True if found else False if t.Negation(formula) in self.known else None
            case t.Negation(operand=inner):
                other = self.value(inner)
                return None if other is None else not other
            case t.Every(parts=parts):
                values = [self.value(each) for each in parts]
                return False if False in values else None if None in values else True
            case t.Some(parts=parts):
                values = [self.value(each) for each in parts]
                return True if True in values else None if None in values else False
        raise AssertionError(formula)


Bounds = tuple[int | None, int | None]


def _times(left: Bounds, right: Bounds) -> Bounds:
    """The range of a product; None: there is no bound."""
    (low, high), (least, most) = left, right
    if low is not None and least is not None and low >= 0 and least >= 0:
        return low * least, None if high is None or most is None else high * most
    if low is None or high is None or least is None or most is None:
        return None, None
    ends = low * least, low * most, high * least, high * most
    return min(ends), max(ends)


def replaced(operand: Term, name: str, value: Term) -> Term:
    """A term with a value for a symbol."""
    found = Term({each: number for each, number in operand.poly.items() if name not in each})
    for monomial, number in operand.poly.items():
        if count := monomial.count(name):
            part = Term({tuple(each for each in monomial if each != name): number})
            found = found + part * t.product([value] * count)
    return found
