"""Whether two terms are equal for all inputs, and where they are not.

Equal terms mostly are the same polynomial. Where they are not, cases are distinguished by the
conditions that stand in them; what is left of each case must be the same. Inputs that show a
difference are looked for among edges and at random.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from cvmgen.verification.values import arithmetic, choices, extremes, modular, quotients
from cvmgen.verification.values import real_terms as rt
from cvmgen.verification.values import terms as t
from cvmgen.verification.values.evaluate import REALS, CallTooLarge, OpenEquality, same
from cvmgen.verification.values.facts import Contradiction, PathFacts
from cvmgen.verification.values.solver import possible
from cvmgen.verification.values.table import TABLE, Atom
from cvmgen.verification.values.text import value_text

MOST_CASES = 3000
MOST_REBUILT = 60_000  # atoms under assumptions, of a call
PAIRS = 4  # members of extremes that are compared, which take as long as an atom


class Comparison:
    """Compares the elements of one call."""

    def __init__(self, facts: PathFacts | None = None) -> None:
        self.facts = PathFacts() if facts is None else facts
        self.cases = 0

    def equal(self, one: Any, other: Any, bits: int) -> bool:
        """Whether a value of `bits` bits is what the formula says; Open where that is not known."""
        if same(one, other):
            return True
        if (
            bits
            and not isinstance(other, float)
            and _fits(other, bits)
            and modular.congruent(one, other, bits)
        ):
            return True
        self.cases = 0
        return self._by_cases(one, other)

    def _by_cases(self, one: Any, other: Any) -> bool:
        self.cases += 1
        if self.cases > MOST_CASES:
            raise CallTooLarge(f"more than {MOST_CASES} cases")
        if TABLE.rebuilt > MOST_REBUILT:
            raise CallTooLarge(f"more than {MOST_REBUILT} atoms under assumptions")
        rebuilt = Rebuilt(self.facts)
        one, other = rebuilt.value(one), rebuilt.value(other)
        if same(one, other) or self._no_numbers(one, other):
            return True
        tests = (test for value in (one, other) for test in _tests(value, set()))
        test = next((test for test in tests if self.facts.says(test) is None), None)
        if test is None:
            return self._excluded(one, other)
        for each in (test, test.other):
            try:
                with self.facts.assuming(each):
                    self._by_cases(one, other)
            except Contradiction:
                continue
        return True

    def _no_numbers(self, one: Any, other: Any) -> bool:
        """Whether both are known to be no number, which has one form."""
        real = all(isinstance(each, (float, rt.RealTerm)) for each in (one, other))
        rebuilt = Rebuilt(self.facts)
        return real and all(rebuilt.condition(rt.is_nan(each)) is True for each in (one, other))

    def _excluded(self, one: Any, other: Any) -> bool:
        """True where no inputs of this case tell the values apart, as a solver knows it."""
        numbers = all(isinstance(each, (int, t.Term)) for each in (one, other))
        unlike = t.opposite(t.equal(one, other)) if numbers else True
        if unlike is False:
            return True
        more = [unlike] if isinstance(unlike, t.Condition) else []
        assumed = [*self.facts.conditions(), *more]
        if not possible(assumed) or self._contradictory(assumed):
            return True
        raise OpenEquality(f"{value_text(one)} against {value_text(other)}", assumed)

    def _contradictory(self, assumed: list[t.Condition]) -> bool:
        """Whether one of them is not so where real numbers are what the others say."""
        rebuilt = Rebuilt(self.facts)
        return any(rebuilt.core(each.core) is (not each.holds) for each in assumed)


def _fits(value: t.Integer, bits: int) -> bool:
    if isinstance(value, t.Term):
        return modular.in_signed(value, bits)
    return -(1 << (bits - 1)) <= value < 1 << (bits - 1)


# ---------------------------------------------------------------- terms under assumptions


class Rebuilt:
    """Terms as they are where some conditions are known."""

    def __init__(self, facts: PathFacts) -> None:
        self.facts = facts
        self.atoms: dict[int, t.Integer] = {}
        self.reals: dict[int, Any] = {}
        self.conditions: dict[t.Condition, t.Truth] = {}

    def value(self, value: Any) -> Any:
        match value:
            case t.Term():
                return self.integer(value)
            case t.Condition():
                return self.condition(value)
            case rt.RealTerm():
                return self.real(value)
            case _:
                pass
        return value

    def integer(self, value: t.Term) -> t.Integer:
        kept = [self._kept(number) for monomial in value.parts for number in monomial]
        if all(kept):
            return value
        total: t.Integer = 0
        for monomial, factor in value.parts.items():
            product: t.Integer = factor
            for number in monomial:
                product = t.multiply(product, self.atoms[number])
            total = t.add(total, product)
        if isinstance(total, t.Term):
            t.tighten(total)
        return total

    def _kept(self, number: int) -> bool:
        atom = TABLE.atoms[number]
        if number not in self.atoms:
            self.atoms[number] = self.atom(atom)
        found = self.atoms[number]
        return isinstance(found, t.Term) and found.parts == {(number,): 1}

    def key(self, key: Any) -> Any:
        return self.value(t.of_key(key))

    def atom(self, atom: Atom) -> t.Integer:
        TABLE.rebuilt += 1
        own = t.Term({(atom.number,): 1}, atom.low, atom.high)
        fixed = self._fixed(own)
        if fixed is not None:
            return fixed
        match atom.key:
            case ("if", test, yes, no):
                held = self.condition(test)
                if isinstance(held, t.Condition):
                    return choices.choose(held, self.key(yes), self.key(no))  # type: ignore[no-any-return]
                return self.key(yes if held else no)  # type: ignore[no-any-return]
            case ("max" | "min" as name, members):
                return self.extreme(name, [self.key(member) for member in members])
            case ("div", a, b):
                return quotients.floor_quotient(self.key(a), self.key(b))
            case ("tdiv", a, b):
                return self.toward_zero(self.key(a), self.key(b))
            case ("entry", index, first, entries):
                return self.entry(self.key(index), first, entries)  # type: ignore[no-any-return]
            case ("int", rt.RealTerm() as whole):
                found = self.real(whole)
                if isinstance(found, rt.RealTerm):
                    return arithmetic.integer_of_real(found, (-atom.low).bit_length())
            case _:
                pass
        return own

    def _fixed(self, value: t.Term) -> int | None:
        """The number that a term is, where it is known."""
        key = frozenset(value.parts.items())
        low, high = self.facts.range_of(key)
        return low if low == high else None

    def extreme(self, name: str, members: list[t.Integer]) -> t.Integer:
        left = list(members)
        TABLE.rebuilt += len(members) ** 2 // PAIRS
        for one in members:
            for other in left:
                if one is not other and self._beyond(name, other, one):
                    left = [each for each in left if each is not one]
                    break
        return (extremes.maximum if name == "max" else extremes.minimum)(left)

    def _beyond(self, name: str, one: t.Integer, other: t.Integer) -> bool:
        more, less = (one, other) if name == "max" else (other, one)
        return self.condition(t.at_least(t.add(more, t.negated(less)), 0)) is True

    def toward_zero(self, a: t.Integer, b: t.Integer) -> t.Integer:
        signs = [self.sign(each) for each in (a, b)]
        if None in signs:
            return quotients.quotient_toward_zero(a, b)
        turned = [
            each if sign == 1 else t.negated(each) for each, sign in zip((a, b), signs, strict=True)
        ]
        quotient = quotients.floor_quotient(*turned)
        return quotient if signs[0] == signs[1] else t.negated(quotient)

    def sign(self, value: t.Integer) -> int | None:
        """1 where a number is known not to be negative, -1 where it is known not to be positive."""
        if self.condition(t.at_least(value, 0)) is True:
            return 1
        return -1 if self.condition(t.at_least(t.negated(value), 0)) is True else None

    def entry(self, index: t.Integer, first: int, entries: Sequence[Any]) -> Any:
        """The entry at an index, or those that it may be at; one that lies beside them all cannot
        be in this case, of which any number is right."""
        low, high = (index, index) if isinstance(index, int) else self.facts.bounds(index)
        low = max(0, min(low - first, len(entries) - 1))
        high = max(low, min(high - first, len(entries) - 1))
        if low == high or isinstance(index, int):
            return self.real_key(t.of_key(entries[low]))
        left = [self.real_key(t.of_key(each)) for each in entries[low : high + 1]]
        return choices.entry_of(index, first + low, left)

    def condition(self, test: t.Truth) -> t.Truth:
        if not isinstance(test, t.Condition):
            return test
        if test not in self.conditions:
            self.conditions[test] = self._condition(test)
        return self.conditions[test]

    def _condition(self, test: t.Condition) -> t.Truth:
        said = self.facts.says(test)
        if said is not None:
            return said
        made = self.core(test.core)
        return made if test.holds else t.opposite(made)

    def core(self, core: tuple[Any, ...]) -> t.Truth:
        match core:
            case ("ge", key, least):
                made = t.at_least(self.key(key), least)
            case ("eq", key, value):
                made = t.equal(self.key(key), value)
            case ("and", parts):
                made = True
                for part in parts:
                    made = t.both(made, self.condition(part))
            case ("<" | "<=" as sign, one, other):
                made = rt.real_test(sign, self.real_key(one), self.real_key(other))
            case ("nan", one):
                made = rt.is_nan(self.real_key(one))
            case _:
                return t.condition(core)
        if isinstance(made, t.Condition):
            said = self.facts.says(made)
            return made if said is None else said
        return made

    def real_key(self, key: Any) -> Any:
        if isinstance(key, tuple) and key[:1] == ("real",):
            return float.fromhex(key[1]) if key[1] != "nan" else math.nan
        return self.value(key)

    def real(self, value: rt.RealTerm) -> Any:
        if id(value) not in self.reals:
            self.reals[id(value)] = self._real(value)
        return self.reals[id(value)]

    def _real(self, value: rt.RealTerm) -> Any:
        match value.key:
            case ("input", *_) | (
                "float32" | "float16" | "bfloat16",
                rt.RealTerm(key=("input", *_)),
            ):
                return self._number(value)
            case ("if", test, yes, no):
                held = self.condition(test)
                if isinstance(held, t.Condition):
                    return choices.choose(held, self.real_key(yes), self.real_key(no))
                return self.real_key(yes if held else no)
            case ("of", whole):
                return rt.as_real(
                    self.value(t.of_key(whole) if isinstance(whole, frozenset) else whole)
                )
            case ("entry", index, first, *entries):
                return self.entry(self.key(index), first, entries)
            case ("of bits", *_):
                return value
            case ("+", one, other):
                return rt.real_sum(self.real_key(one), self.real_key(other))
            case (name, *operands):
                found = [self.real_key(each) for each in operands]
                if name in REALS and all(isinstance(each, float) for each in found):
                    return REALS[name](*found)
                return rt.real(name, *found)
            case _:
                pass
        return value

    def _number(self, value: rt.RealTerm) -> Any:
        """The number that an element is known to be equal to; 0 has two forms."""
        for core, holds in self.facts.known.items():
            if holds and core[0] == "same" and value in core[1]:
                for each in core[1]:
                    if isinstance(each, tuple) and self.real_key(each) != 0:
                        return self.real_key(each)
        return value


def _tests(value: Any, seen: set[int]) -> Iterator[t.Condition]:
    match value:
        case t.Term():
            for monomial in value.parts:
                for number in monomial:
                    if number not in seen:
                        seen.add(number)
                        yield from _atom_tests(TABLE.atoms[number], seen)
        case t.Condition():
            yield from _literals(value, seen)
        case rt.RealTerm():
            if id(value) in seen:
                return
            seen.add(id(value))
            for each in value.key[1:]:
                yield from _tests(t.of_key(each), seen)
        case _:
            pass


def _literals(test: t.Condition, seen: set[int]) -> Iterator[t.Condition]:
    match test.core:
        case ("and", parts):
            for part in parts:
                yield from _literals(part, seen)
        case ("ge" | "eq", key, _):
            yield from _tests(t.of_key(key), seen)
            yield test
        case _:
            yield test


def _atom_tests(atom: Atom, seen: set[int]) -> Iterator[t.Condition]:
    match atom.key:
        case ("if", test, *ways):
            yield from _literals(test, seen)
            for way in ways:
                yield from _tests(t.of_key(way), seen)
        case ("max" | "min", members):
            values = [t.of_key(member) for member in members]
            for value in values:
                yield from _tests(value, seen)
            test = t.at_least(t.add(values[0], t.negated(values[1])), 0)
            if isinstance(test, t.Condition):
                yield test
        case ("tdiv", *parts):
            for part in parts:
                test = t.at_least(t.of_key(part), 0)
                if isinstance(test, t.Condition):
                    yield test
                yield from _tests(t.of_key(part), seen)
        case ("entry", index, first, entries):
            yield from _tests(t.of_key(index), seen)
            for at in range(first, first + len(entries)):
                test = t.equal(t.of_key(index), at)
                if isinstance(test, t.Condition):
                    yield test
                    break
        case (_, *parts):
            for part in parts:
                yield from _tests(t.of_key(part) if isinstance(part, frozenset) else part, seen)
        case _:
            pass
