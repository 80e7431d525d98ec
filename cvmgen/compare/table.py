"""What expressions of two formulas come to, for all sizes and all values at once.

An integer is a polynomial of symbols, a condition is made of comparisons of them, a real number and
a list are known by what made them. Of both formulas the same is the same symbol: what is written
down of a symbol says all that it depends on, so that one that stands in both has one value in
every call. The laws of a symbol hold whatever the others are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from math import gcd
from typing import Any

from cvmgen.verification import terms as t
from cvmgen.verification.terms import FALSE, TRUE, Formula, Term

INDEX = "@"  # what the symbols of bound indices begin with, a number of their depth behind it


@dataclass(frozen=True, slots=True)
class RealValue:
    """A real number, by the number of what made it: no law of real numbers is used."""

    number: int


@dataclass(frozen=True, slots=True)
class ListValue:
    """A list, by the number of what made it; its entries where they are known one by one, and
    whether these are lists."""

    number: int
    entries: tuple[Value, ...] | None = None
    nested: bool = False


Value = Term | t.Formula | RealValue | ListValue


@dataclass(frozen=True, slots=True)
class Applied:
    """A symbol for what a function, or a tensor, gives for arguments."""

    name: str
    arguments: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Reduced:
    """A symbol for a reduction: `ranges` say what it runs over, `inside` what holds of its indices,
    `around` what holds of those that are bound around it."""

    name: str
    function: str
    ranges: tuple[Hashable, ...]
    inside: tuple[Formula, ...]
    condition: Formula
    body: Term | Formula
    around: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class ListingValue:
    """A list of an element for each point of ranges at which a condition holds."""

    ranges: tuple[Hashable, ...]
    inside: tuple[Formula, ...]
    condition: Formula
    element: Value


@dataclass(slots=True)
class ValueTable:
    """The symbols of both formulas."""

    numbers: dict[Hashable, int] = field(default_factory=dict)
    laws: dict[str, list[Formula]] = field(default_factory=dict)
    applied: dict[Hashable, list[Applied]] = field(default_factory=dict)
    of_name: dict[str, Hashable] = field(default_factory=dict)  # the function of what is applied
    reduced: dict[str, Reduced] = field(default_factory=dict)
    keys: dict[str, Hashable] = field(default_factory=dict)  # what each symbol is known by
    floors: dict[int, int] = field(default_factory=dict)  # what no entry of a list is below
    reals: dict[int, Hashable] = field(default_factory=dict)  # what each real number is made of
    free: dict[Hashable, frozenset[str]] = field(default_factory=dict)  # indices, by what has them
    lists: dict[int, tuple[Any, ...]] = field(default_factory=dict)  # what each list is made of
    listings: dict[int, ListingValue] = field(default_factory=dict)  # those that have ranges

    def number(self, key: Hashable) -> int:
        return self.numbers.setdefault(key, len(self.numbers))

    def name(self, key: Hashable) -> tuple[str, bool]:
        """The symbol for what is known by a key, and whether it is new."""
        name = f"v{self.number(key)}"
        new = name not in self.laws
        self.keys[name] = key
        self.laws.setdefault(name, [])
        return name, new

    def real(self, *key: Hashable) -> RealValue:
        number = self.number(("real", *key))
        self.reals[number] = key
        return RealValue(number)

    def listed(self, *key: Hashable, nested: bool = False) -> ListValue:
        number = self.number(("list", *key))
        self.lists[number] = key
        return ListValue(number, nested=nested)

    def listing(self, kind: str, made: ListingValue) -> ListValue:
        """The list of what an expression is for all points of ranges."""
        found = self.listed(
            kind,
            made.ranges,
            made.condition,
            made.element,
            nested=isinstance(made.element, ListValue),
        )
        self.listings[found.number] = made
        return found

    def tuple_of(self, entries: tuple[Value, ...]) -> ListValue:
        return ListValue(self.number(("entries", entries)), entries)

    def truth(self, *key: Hashable) -> Formula:
        return t.TruthSymbol(self.name(("truth", *key))[0])

    def apply(
        self, function: Hashable, *arguments: Term, low: int | None = None, high: int | None = None
    ) -> Term:
        """What a function gives; for equal arguments it is the same, and it is within bounds."""
        name, new = self.name(("apply", function, arguments))
        found = t.symbol(name)
        if new:
            self.applied.setdefault(function, []).append(Applied(name, arguments))
            self.of_name[name] = function
            self.laws[name] += [t.at_most(low, found)] if low is not None else []
            self.laws[name] += [t.at_most(found, high)] if high is not None else []
        return found

    # -------------------------------------------------------- operations

    def choice(self, condition: Formula, yes: Value, no: Value) -> Value:
        if condition in (TRUE, FALSE) or yes == no:
            return yes if condition == TRUE or yes == no else no
        if leads_negative(condition):
            condition, yes, no = t.negation(condition), no, yes
        if isinstance(yes, Term) and isinstance(no, Term):
            return self.chosen(condition, yes, no)
        if isinstance(yes, ListValue) and isinstance(no, ListValue):
            return self.listed("if", condition, yes, no, nested=yes.nested)
        if isinstance(yes, (Term, RealValue)) and isinstance(no, (Term, RealValue)):
            return self.real("if", condition, self.as_real(yes), self.as_real(no))
        assert not isinstance(yes, (Term, RealValue, ListValue))
        assert not isinstance(no, (Term, RealValue, ListValue))
        return t.every(t.implies(condition, yes), t.some(condition, no))

    def chosen(self, condition: Formula, yes: Term, no: Term) -> Term:
        """One of two integers; what both have in common stands outside."""
        common = t.term_of({each: f for each, f in yes.parts if no.poly.get(each) == f})
        yes, no = yes - common, no - common
        name, new = self.name(("if", condition, yes, no))
        found = t.symbol(name)
        if new:
            is_yes, is_no = t.equal(found, yes), t.equal(found, no)
            self.laws[name] += [t.implies(condition, is_yes), t.some(condition, is_no)]
        return found + common

    def as_real(self, value: Term | RealValue) -> RealValue:
        return value if isinstance(value, RealValue) else self.real("of", value)

    def quotient(self, a: Term, b: Term) -> Term:
        """Rounded down; what is divided by 0 is asked about elsewhere."""
        divisor = b.value
        if divisor is not None and divisor < 0:
            return self.quotient(a * -1, b * -1)
        if divisor is not None and divisor > 0:
            whole = t.term_of({each: f // divisor for each, f in a.parts})
            rest = a - whole * divisor
            if rest == t.ZERO:
                return whole
            return whole + self.rounded_down(rest, b)
        return self.rounded_down(a, b)

    def rounded_down(self, a: Term, b: Term) -> Term:
        name, new = self.name(("div", a, b))
        found = t.symbol(name)
        if new:
            rest = a - b * found
            up = t.every(t.at_most(0, rest), t.below(rest, b))
            down = t.every(t.at_most(rest, 0), t.below(b, rest))
            self.laws[name] += [t.implies(t.below(0, b), up), t.implies(t.below(b, 0), down)]
        return found

    def toward_zero(self, a: Term, b: Term) -> Term:
        negative = [t.below(each, 0) for each in (a, b)]
        sizes = [
            self.chosen(test, each * -1, each) for test, each in zip(negative, (a, b), strict=True)
        ]
        quotient = self.quotient(*sizes)
        alike = t.every(t.implies(negative[0], negative[1]), t.implies(negative[1], negative[0]))
        return self.chosen(alike, quotient, quotient * -1)

    def extreme(self, word: str, values: Iterable[Term]) -> Term:
        members = tuple(sorted(set(values), key=t.term_text))
        if len(members) == 1:
            return members[0]
        name, new = self.name((word, members))
        found = t.symbol(name)
        if new:
            self.laws[name].append(t.some(*(t.equal(found, each) for each in members)))
            beyond = (
                (lambda each: t.at_most(each, found))
                if word == "max"
                else (lambda each: t.at_most(found, each))
            )
            self.laws[name] += map(beyond, members)
        return found

    def power(self, base: Term, exponent: Term) -> Term:
        """Of an exponent that is known it is a product; else of a base that is at least 1."""
        if exponent.value is not None:
            return t.product([base] * exponent.value)
        found = self.apply(("power", base), exponent)
        (name,) = found.names
        if len(self.laws[name]) == 0:
            self.laws[name].append(t.implies(t.at_most(1, base), t.at_most(1, found)))
            self.laws[name] += self.steps_of_power(base, exponent, found)
        return found

    def steps_of_power(self, base: Term, exponent: Term, found: Term) -> Iterator[Formula]:
        """b^(n + k) = b^k b^n for the other powers of a base, where n is not negative."""
        for other in self.applied["power", base]:
            apart = (exponent - other.arguments[0]).value
            if apart:
                less = other.arguments[0] if apart > 0 else exponent
                low, high = (t.symbol(other.name), found)[:: 1 if apart > 0 else -1]
                step = t.equal(high, low * t.product([base] * abs(apart)))
                yield t.implies(t.at_most(0, less), step)

    # -------------------------------------------------------- reductions

    def reduction(
        self,
        function: str,
        ranges: tuple[Hashable, ...],
        inside: tuple[Formula, ...],
        condition: Formula,
        body: Term | Formula,
        around: tuple[Formula, ...],
    ) -> tuple[Value, str]:
        """What a reduction of integers or conditions comes to, and its symbol. Factors that all
        terms of a sum have stand in front of it; `all` is that there is not `any` that is not."""
        if function == "all":
            assert not isinstance(body, Term)
            found, name = self.reduction("any", ranges, inside, condition, t.negation(body), around)
            assert not isinstance(found, (Term, RealValue, ListValue))
            return t.negation(found), name
        factor = 1
        if function == "sum" and isinstance(body, Term):
            if body == t.ZERO:
                return t.ZERO, ""
            factor = gcd(*(f for _, f in body.parts)) * (-1 if body.parts[0][1] < 0 else 1)
            body = t.term_of({each: f // factor for each, f in body.parts})
        name, new = self.name((function, ranges, condition, body))
        if new:
            self.reduced[name] = Reduced(name, function, ranges, inside, condition, body, around)
            if function == "count":
                self.laws[name].append(t.at_most(0, t.symbol(name)))
        if function == "any":
            return t.TruthSymbol(name), name
        return t.symbol(name) * factor, name

    # -------------------------------------------------------- bound indices

    def outside(self, given: Iterable[Formula], ranges: Iterable[Any]) -> tuple[Formula, ...]:
        """What is given that speaks of no index which these ranges bind: within them such an index
        is another one, of which nothing else is known."""
        bound = {each[0] for each in ranges}
        return tuple(each for each in given if self.indices_of(each).isdisjoint(bound))

    def indices_of(self, part: Any) -> frozenset[str]:
        """The indices that a value, a condition or a key depends on."""
        match part:
            case Term():
                return self.of_names(part.names)
            case ListValue(number=number, entries=entries):
                return self.indices_of((self.lists.get(number, ()), entries or ()))
            case RealValue(number=number):
                return self.indices_of(self.reals.get(number, ()))
            case str():
                return frozenset([part]) if part.startswith(INDEX) else frozenset()
            case tuple():
                found = frozenset[str]().union(*map(self.indices_of, part))
                return found - frozenset[str]().union(*map(_bound_by, part))
            case t.Holds() | t.TruthSymbol() | t.Every() | t.Some() | t.Negation():
                return self.of_names(t.names_of(part))
            case _:
                return frozenset()

    def of_names(self, names: Iterable[str]) -> frozenset[str]:
        found: frozenset[str] = frozenset()
        for name in names:
            if name not in self.free:
                own = frozenset([name]) if name.startswith(INDEX) else frozenset()
                self.free[name] = own or self.indices_of(self.keys.get(name, ()))
            found |= self.free[name]
        return found

    # -------------------------------------------------------- what is known of symbols

    def laws_of(self, formulas: Iterable[Formula], more: Iterable[Formula]) -> list[Formula]:
        """The laws of all symbols that conditions speak of, and of those that these speak of; of
        `more` conditions those that speak of nothing else, as far as these do."""
        names = names_in(formulas)
        found: dict[Formula, None] = {}
        left, left_over = list(names), list(more)
        while left:
            name = left.pop()
            others = [each for each in left_over if name in t.names_of(each)]
            left_over = [each for each in left_over if each not in others]
            for law in (*self.laws.get(name, ()), *others):
                found[law] = None
                new = t.names_of(law) - names
                names |= new
                left += new
        return [*found, *self.congruences(names)]

    def congruences(self, names: set[str]) -> Iterator[Formula]:
        """Of equal arguments a function gives the same."""
        for function in {self.of_name[each] for each in sorted(names) if each in self.of_name}:
            there = [each for each in self.applied[function] if each.name in names]
            for at, one in enumerate(there):
                for other in there[at + 1 :]:
                    if len(one.arguments) == len(other.arguments):
                        pairs = zip(one.arguments, other.arguments, strict=True)
                        alike = t.every(*(t.equal(*pair) for pair in pairs))
                        same = t.equal(t.symbol(one.name), t.symbol(other.name))
                        yield t.implies(alike, same)


def _bound_by(part: Any) -> frozenset[str]:
    """The indices that a part of a key binds for the others: those of its ranges."""
    if not isinstance(part, tuple) or not part:
        return frozenset()
    ranges = all(
        isinstance(each, tuple) and each and isinstance(each[0], str) and each[0][:1] == INDEX
        for each in part
    )
    return frozenset(each[0] for each in part) if ranges else frozenset()


def leads_negative(condition: Formula) -> bool:
    """Whether a comparison is written as the opposite of the one that choices are made by."""
    match condition:
        case t.Negation():
            return True
        case t.Holds(op=">=", term=left):
            return left.parts[0][1] < 0
        case _:
            return False


def names_in(formulas: Iterable[Formula]) -> set[str]:
    return {name for each in formulas for name in t.names_of(each)}
