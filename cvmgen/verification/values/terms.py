"""Values for all inputs at once: integers as polynomials over atoms, conditions, real numbers.

A term is an exact integer: a polynomial with integer coefficients over atoms, which are input
elements and what is no polynomial of them (maxima, quotients, choices). Equal polynomials are
equal terms; each term has bounds that hold for all inputs. A condition is a comparison of terms,
or made of others; one that the bounds decide is True or False. Real numbers are operations that
stand as they were done, since none may be done in another order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Union

from cvmgen.verification.values.assumed import assumed, decide
from cvmgen.verification.values.table import TABLE, Atom

Monomial = tuple[int, ...]  # numbers of atoms, ascending
Integer = Union["Term", int]
Truth = Union["Condition", bool]


class Term:
    """An integer that depends on inputs: never a constant, which is an int."""

    __slots__ = ("code", "exact", "high", "low", "parts")

    def __init__(self, parts: dict[Monomial, int], low: int, high: int) -> None:
        self.parts, self.low, self.high = parts, low, high
        self.code: int | None = None
        self.exact = False

    def __hash__(self) -> int:
        if self.code is None:
            self.code = hash(frozenset(self.parts.items()))
        return self.code

    def same(self, other: object) -> bool:
        return self is other or (isinstance(other, Term) and self.parts == other.parts)

    def __add__(self, other: Integer) -> Integer:
        return add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Integer) -> Integer:
        return add(self, negated(other))

    def __rsub__(self, other: Integer) -> Integer:
        return add(negated(self), other)

    def __mul__(self, other: Integer) -> Integer:
        return multiply(self, other)

    __rmul__ = __mul__

    def __neg__(self) -> Integer:
        return negated(self)

    def __lt__(self, other: Integer) -> Truth:
        return at_least(other - self, 1)

    def __le__(self, other: Integer) -> Truth:
        return at_least(other - self, 0)

    def __gt__(self, other: Integer) -> Truth:
        return at_least(self - other, 1)

    def __ge__(self, other: Integer) -> Truth:
        return at_least(self - other, 0)

    def __eq__(self, other: object) -> Truth:  # type: ignore[override]
        return equal(self, other) if isinstance(other, (Term, int)) else NotImplemented

    def __ne__(self, other: object) -> Truth:  # type: ignore[override]
        return opposite(equal(self, other)) if isinstance(other, (Term, int)) else NotImplemented

    def __bool__(self) -> bool:
        return bool(opposite(equal(self, 0)))

    def __index__(self) -> int:
        """The number that it is on the way that is gone."""
        low, high = bounds_here(self)
        for value in range(low, high):
            if equal(self, value):
                return value
        return high


class Condition:
    """What holds or does not, depending on inputs. Of a condition and its opposite, one has
    `holds` False and the same `core`."""

    __slots__ = ("core", "holds", "number", "other")

    def __init__(self, core: tuple[Any, ...], holds: bool) -> None:
        self.core, self.holds = core, holds
        self.number = 2 * len(TABLE.conditions) + holds
        self.other: Condition = self

    def __bool__(self) -> bool:
        return decide(self)

    def __invert__(self) -> Condition:
        return self.other


def bounds_here(value: Term) -> tuple[int, int]:
    """Bounds on the way that is gone."""
    tighten(value)
    facts = assumed()
    return (value.low, value.high) if facts is None else facts.bounds(value)


# ---------------------------------------------------------------- polynomials


def atom(key: tuple[Any, ...], low: int, high: int) -> Integer:
    """The atom with this key as a term."""
    if low == high:
        return low
    found = TABLE.by_key.get(key)
    if found is None:
        found = Atom(len(TABLE.atoms), key, low, high)
        TABLE.atoms.append(found)
        TABLE.by_key[key] = found
        if key[0] == "if" and (known := _where_not_zero(*key[1:])) is not None:
            TABLE.factors[found.number] = known
    return Term({(found.number,): 1}, found.low, found.high)


def element(name: str, position: int, low: int, high: int) -> Integer:
    """An element of an input."""
    return atom(("input", name, position), low, high)


def of_parts(parts: dict[Monomial, int], low: int, high: int) -> Integer:
    if not parts:
        return 0
    if len(parts) == 1 and () in parts:
        return parts[()]
    return Term(parts, low, high)


def bounds(value: Integer) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value.low, value.high)


def add(a: Integer, b: Integer) -> Integer:
    if isinstance(a, int):
        a, b = b, a
    if isinstance(a, int):
        return a + b
    if isinstance(b, int):
        if b == 0:
            return a
        parts = dict(a.parts)
        parts[()] = parts.get((), 0) + b
        if parts[()] == 0:
            del parts[()]
        return Term(parts, a.low + b, a.high + b)
    if len(a.parts) < len(b.parts):
        a, b = b, a
    parts = dict(a.parts)
    for monomial, factor in b.parts.items():
        total = parts.get(monomial, 0) + factor
        if total:
            parts[monomial] = total
        else:
            del parts[monomial]
    return of_parts(parts, a.low + b.low, a.high + b.high)


def negated(a: Integer) -> Integer:
    if isinstance(a, int):
        return -a
    return Term({monomial: -factor for monomial, factor in a.parts.items()}, -a.high, -a.low)


def multiply(a: Integer, b: Integer) -> Integer:
    if isinstance(a, int):
        a, b = b, a
    if isinstance(b, int):
        if isinstance(a, int):
            return a * b
        if b == 0:
            return 0
        ends = (a.low * b, a.high * b)
        return Term({key: factor * b for key, factor in a.parts.items()}, min(ends), max(ends))
    assert isinstance(a, Term)
    parts: dict[Monomial, int] = {}
    for one, first in a.parts.items():
        for other, second in b.parts.items():
            key = tuple(sorted(one + other)) if one and other else one + other
            parts[key] = parts.get(key, 0) + first * second
    for number in TABLE.factors.keys() & {each for key in parts for each in key}:
        for key in [key for key in parts if number in key and TABLE.factors[number][0] in key]:
            return _without_choice(parts, key, number)
    ends4 = (a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high)
    low = 0 if a.same(b) and min(ends4) < 0 else min(ends4)
    return of_parts({key: factor for key, factor in parts.items() if factor}, low, max(ends4))


def _where_not_zero(test: Condition, yes: Any, no: Any) -> tuple[int, Any] | None:
    """Of a choice by whether an atom is 0 that atom, and what is chosen where it is not."""
    kind, key, number = test.core if test.core[0] in ("ge", "eq") else ("", (), 0)
    atoms = [monomial[0] for monomial, factor in key if len(monomial) == 1 and factor == 1]
    if len(key) != 1 or not atoms:
        return None
    least = TABLE.atoms[atoms[0]].low
    if kind == "eq" and number == 0:
        return atoms[0], no
    return (atoms[0], yes) if kind == "ge" and number == 1 and least == 0 else None


def _without_choice(parts: dict[Monomial, int], key: Monomial, number: int) -> Integer:
    """A sum in which x (a if x is 0 else b) is x b: where x is 0 both are."""
    left = list(key)
    left.remove(number)
    own = multiply(of_monomial(tuple(left), parts[key]), of_key(TABLE.factors[number][1]))
    rest = {each: factor for each, factor in parts.items() if each != key and factor}
    return add(of_parts(rest, *bounds_of(rest)), own)


def of_monomial(monomial: Monomial, factor: int) -> Integer:
    return of_parts({monomial: factor}, *bounds_of({monomial: factor}))


def tighten(a: Term) -> None:
    """Bounds from the polynomial itself, where those of how it was made are wider."""
    if a.exact:
        return
    a.exact = True
    low, high, parts = _unsigned_parts(a.parts)
    for monomial, factor in parts.items():
        least, most = product_bounds(monomial)
        ends = (least * factor, most * factor)
        low, high = low + min(ends), high + max(ends)
    a.low, a.high = max(a.low, low), min(a.high, high)


def _unsigned_parts(parts: dict[Monomial, int]) -> tuple[int, int, dict[Monomial, int]]:
    """Bounds of what is read without a sign, x + 2^b (1 if x < 0 else 0), and the other parts."""
    low = high = 0
    signs = [each for each in parts if len(each) == 1 and each[0] in TABLE.signs]
    if not signs:
        return low, high, parts
    left = dict(parts)
    for sign in signs:
        number, whole = TABLE.signs[sign[0]]
        times, rest = divmod(left[sign], whole)
        if rest or left.get((number,)) != times:
            continue
        del left[sign], left[number,]
        ends = (0, times * (whole - 1))
        low, high = low + min(ends), high + max(ends)
    return low, high, left


def _own_range(number: int) -> tuple[int, int]:
    each = TABLE.atoms[number]
    return each.low, each.high


def product_bounds(
    monomial: Monomial, range_of: Callable[[int], tuple[int, int]] = _own_range
) -> tuple[int, int]:
    """Bounds of a product from those of its atoms."""
    low = high = 1
    for number in monomial:
        least, most = range_of(number)
        ends = (low * least, low * most, high * least, high * most)
        low, high = min(ends), max(ends)
    if low < 0 and len(monomial) % 2 == 0 and monomial[::2] == monomial[1::2]:
        low = 0  # a square
    return low, high


def bounds_of(parts: dict[Monomial, int]) -> tuple[int, int]:
    made = Term(parts, -(1 << 9999), 1 << 9999)
    tighten(made)
    return made.low, made.high


# ---------------------------------------------------------------- keys


def key_of(a: Any) -> Any:
    """What stands for a value within a key."""
    return frozenset(a.parts.items()) if isinstance(a, Term) else a


def is_polynomial(key: frozenset[Any]) -> bool:
    """Whether a set within a key is the parts of a term, and not several values."""
    return all(isinstance(each, tuple) and isinstance(each[0], tuple) for each in key)


def of_key(key: Any) -> Any:
    """The value that a key stands for."""
    if not isinstance(key, frozenset):
        return key
    if key not in TABLE.values:
        parts = dict(key)
        TABLE.values[key] = of_parts(parts, *bounds_of(parts))
    return TABLE.values[key]


def single(value: Any) -> Atom | None:
    """The atom that a term is; None where it is more."""
    if not isinstance(value, Term) or len(value.parts) != 1:
        return None
    ((monomial, factor),) = value.parts.items()
    return TABLE.atoms[monomial[0]] if factor == 1 and len(monomial) == 1 else None


# ---------------------------------------------------------------- conditions


def condition(core: tuple[Any, ...], holds: bool = True) -> Condition:
    """The condition with this core, or its opposite."""
    found = TABLE.conditions.get(core)
    if found is None:
        found, other = Condition(core, True), Condition(core, False)
        found.other, other.other = other, found
        TABLE.conditions[core] = found
    return found if holds else found.other


def opposite(a: Truth) -> Truth:
    return a.other if isinstance(a, Condition) else not a


def at_least(a: Integer, least: int) -> Truth:
    """Whether a >= least."""
    if isinstance(a, int):
        return a >= least
    if a.low < least <= a.high:
        tighten(a)
    if a.low >= least:
        return True
    if a.high < least:
        return False
    pushed = _pushed(a, at_least, least)
    if pushed is not None:
        return pushed
    parts = dict(a.parts)
    least -= parts.pop((), 0)
    divisor = math.gcd(*parts.values())
    least = -(-least // divisor)
    turned = parts[min(parts)] < 0
    # least <= P where P leads with a negative factor: not (-P >= 1 - least)
    sign = -divisor if turned else divisor
    key = frozenset((monomial, factor // sign) for monomial, factor in parts.items())
    return condition(("ge", key, 1 - least), False) if turned else condition(("ge", key, least))


def equal(a: Integer, b: Integer) -> Truth:
    difference = add(a, negated(b))
    if isinstance(difference, int):
        return difference == 0
    if difference.low > 0 or difference.high < 0:
        return False
    tighten(difference)
    if difference.low > 0 or difference.high < 0:
        return False
    pushed = _pushed(difference, equal, 0)
    if pushed is not None:
        return pushed
    if difference.low == 0:
        return opposite(at_least(difference, 1))
    if difference.high == 0:
        return at_least(difference, 0)
    parts = dict(difference.parts)
    constant = -parts.pop((), 0)
    divisor = math.gcd(*parts.values())
    if constant % divisor:
        return False
    sign = -divisor if parts[min(parts)] < 0 else divisor
    key = frozenset((monomial, factor // sign) for monomial, factor in parts.items())
    return condition(("eq", key, constant // sign))


def _pushed(a: Term, test: Callable[[Integer, int], Truth], number: int) -> Truth | None:
    """A test of a choice and a constant as a test of what is chosen, where that decides one; of a
    choice and the number that it depends on as one of where that number lies. It is remembered,
    since choices by choices by choices are asked the same."""
    chosen = [each for each in a.parts if len(each) == 1 and TABLE.atoms[each[0]].key[0] == "if"]
    if len(chosen) != 1:
        return None
    rest = {monomial: factor for monomial, factor in a.parts.items() if monomial != chosen[0]}
    apart = rest.keys() <= {()}
    if not apart and TABLE.atoms[chosen[0][0]].key[1].core[:2] != ("ge", _without_constant(rest)):
        return None
    key = test, number, chosen[0][0], a.parts[chosen[0]], frozenset(rest.items())
    if key not in TABLE.pushed:
        TABLE.pushed[key] = _pushed_anew(*key, apart)
    return TABLE.pushed[key]


def _pushed_anew(
    test: Callable[[Integer, int], Truth],
    number: int,
    chosen: int,
    factor: int,
    rest: frozenset[Any],
    apart: bool,
) -> Truth | None:
    _, by, *ways = TABLE.atoms[chosen].key
    yes, no = (test(add(multiply(of_key(each), factor), of_key(rest)), number) for each in ways)
    sides = both(by, yes), both(by.other, no)
    if apart:
        decided = not (isinstance(yes, Condition) and isinstance(no, Condition))
    else:  # a range, or what is beside one, as a test of a number without a sign is
        ends = [not isinstance(each, bool) and each.core[0] in ("ge", "eq") for each in sides]
        decided = all(ends) or any(isinstance(each, bool) for each in sides)
    return either(*sides) if decided else None


def _without_constant(parts: dict[Monomial, int]) -> frozenset[Any]:
    """The polynomial that a test of these parts compares with a number."""
    left = {monomial: factor for monomial, factor in parts.items() if monomial}
    divisor = math.gcd(*left.values()) * (-1 if left[min(left)] < 0 else 1)
    return frozenset((monomial, factor // divisor) for monomial, factor in left.items())


def both(a: Truth, b: Truth) -> Truth:
    if a is True or a is b:
        return b
    if b is True:
        return a
    return every((a, b))


def every(tests: Iterable[Truth]) -> Truth:
    """Whether all of them hold."""
    parts = set[Condition]()
    for each in tests:
        if isinstance(each, Condition):
            parts |= _conjuncts(each)
        elif not each:
            return False
    if any(each.other in parts for each in parts):
        return False
    return _all_of(frozenset(parts)) if parts else True


def _all_of(parts: frozenset[Condition]) -> Truth:
    """Several conditions, those on where one polynomial lies as few as say the same."""
    about = dict[Any, list[Condition]]()
    for each in parts:
        if each.core[0] in ("ge", "eq"):
            about.setdefault(each.core[1], []).append(each)
    for key, several in about.items():
        if len(several) > 1:
            made = _within_all(key, several)
            if made is None:
                return False
            parts = parts.difference(several) | made
    return condition(("and", parts)) if len(parts) > 1 else next(iter(parts))


def _within_all(key: Any, several: list[Condition]) -> frozenset[Condition] | None:
    """Where a polynomial lies: the nearest ends, and numbers between that it is not."""
    said = {(kind, holds): set[int]() for kind in ("ge", "eq") for holds in (True, False)}
    for each in several:
        said[each.core[0], each.holds].add(each.core[2])
    low, high = max(said["ge", True], default=None), min(said["ge", False], default=None)
    values, others = said["eq", True], said["eq", False]
    while low in others and low is not None:
        low += 1
    while high is not None and high - 1 in others:
        high -= 1
    if values:
        value = min(values)
        below = low is not None and value < low
        beyond = high is not None and value >= high
        apart = len(values) > 1 or value in others or below or beyond
        return None if apart else frozenset([condition(("eq", key, value))])
    if low is not None and high is not None and low >= high:
        return None
    within = (e for e in others if (low is None or e > low) and (high is None or e < high))
    ends = [] if low is None else [condition(("ge", key, low))]
    ends += [] if high is None else [condition(("ge", key, high), False)]
    return frozenset((*ends, *(condition(("eq", key, each), False) for each in within)))


def _conjuncts(a: Condition) -> frozenset[Condition]:
    return a.core[1] if a.holds and a.core[0] == "and" else frozenset([a])


def either(a: Truth, b: Truth) -> Truth:
    return opposite(both(opposite(a), opposite(b)))
