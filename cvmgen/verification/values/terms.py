"""Values for all inputs at once: integers as polynomials over atoms, conditions, real numbers.

A term is an exact integer: a polynomial with integer coefficients over atoms, which are input
elements and what is no polynomial of them (maxima, quotients, choices). Equal polynomials are
equal terms; each term has bounds that hold for all inputs. A condition is a comparison of terms,
or made of others; one that the bounds decide is True or False. Real numbers are operations that
stand as they were done, since none may be done in another order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Union

Monomial = tuple[int, ...]  # numbers of atoms, ascending
Integer = Union["Term", int]
Truth = Union["Condition", bool]


class Atom:
    """What polynomials are made of; `key` says all of it, so atoms with equal keys are one."""

    __slots__ = ("high", "key", "low", "number")

    def __init__(self, number: int, key: tuple[Any, ...], low: int, high: int) -> None:
        self.number, self.key, self.low, self.high = number, key, low, high


class TermTable:
    """The atoms and conditions that there are."""

    def __init__(self) -> None:
        self.atoms: list[Atom] = []
        self.by_key: dict[tuple[Any, ...], Atom] = {}
        self.conditions: dict[tuple[Any, ...], Condition] = {}
        self.reals: dict[tuple[Any, ...], Any] = {}
        self.signs: dict[int, tuple[int, int]] = {}  # 1 where an atom is negative; its range
        self.answers: dict[Any, Any] = {}  # what a solver said of conditions
        self.elements: dict[Condition, frozenset[tuple[str, int]]] = {}  # that one speaks of
        self.pushed: dict[tuple[Any, ...], Truth | None] = {}  # tests of choices
        self.values: dict[frozenset[Any], Integer] = {}  # that keys stand for
        self.rebuilt = 0  # atoms under assumptions
        self.spent: list[int] = []  # steps of the solver since it began, after each question


TABLE = TermTable()


def work() -> int:
    """What was done since all was forgotten, in about a thousandth of a second each."""
    return TABLE.rebuilt // 25 + (max(TABLE.spent, default=0) - min(TABLE.spent, default=0)) // 1700


def forget_all() -> None:
    """Begin anew; terms made before must not be used any more."""
    TABLE.rebuilt = 0
    for each in vars(TABLE).values():
        if not isinstance(each, int):
            each.clear()


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
        tighten(self)
        for value in range(self.low, self.high):
            if equal(self, value):
                return value
        return self.high


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


class Undecided(Exception):
    """A condition on elements is asked for where nothing can decide it."""

    def __init__(self, condition: Condition) -> None:
        super().__init__("a condition that nothing decides")
        self.condition = condition


_deciding: list[Callable[[Condition], bool]] = []


def decide(condition: Condition) -> bool:
    """What whoever explores says of a condition that text asks for."""
    if not _deciding:
        raise Undecided(condition)
    return _deciding[-1](condition)


@contextmanager
def decided_by(decider: Callable[[Condition], bool]) -> Iterator[None]:
    """Within, this decides."""
    _deciding.append(decider)
    try:
        yield
    finally:
        _deciding.pop()


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
    ends4 = (a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high)
    low = 0 if a.same(b) and min(ends4) < 0 else min(ends4)
    return of_parts({key: factor for key, factor in parts.items() if factor}, low, max(ends4))


def tighten(a: Term) -> None:
    """Bounds from the polynomial itself, where those of how it was made are wider."""
    if a.exact:
        return
    a.exact = True
    low, high, parts = _unsigned_parts(a.parts)
    for monomial, factor in parts.items():
        least, most = _product_bounds(monomial)
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


def _product_bounds(monomial: Monomial) -> tuple[int, int]:
    low = high = 1
    for number in monomial:
        each = TABLE.atoms[number]
        ends = (low * each.low, low * each.high, high * each.low, high * each.high)
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
    """A test of a choice and a constant as a test of what is chosen, where that decides one; it
    is remembered, since choices by choices by choices are asked the same."""
    if len(a.parts) > 2 or (len(a.parts) == 2 and () not in a.parts):
        return None
    ((monomial, factor),) = ((key, each) for key, each in a.parts.items() if key)
    if len(monomial) != 1 or TABLE.atoms[monomial[0]].key[0] != "if":
        return None
    key = test, number, monomial[0], factor, a.parts.get((), 0)
    if key not in TABLE.pushed:
        TABLE.pushed[key] = _pushed_anew(*key)
    return TABLE.pushed[key]


def _pushed_anew(
    test: Callable[[Integer, int], Truth], number: int, chosen: int, factor: int, shift: int
) -> Truth | None:
    _, by, *ways = TABLE.atoms[chosen].key
    yes, no = (test(add(multiply(of_key(each), factor), shift), number) for each in ways)
    if isinstance(yes, Condition) and isinstance(no, Condition):
        return None
    return either(both(by, yes), both(by.other, no))


def both(a: Truth, b: Truth) -> Truth:
    if a is True or a is b:
        return b
    if b is True:
        return a
    if a is False or b is False:
        return False
    assert isinstance(a, Condition)
    assert isinstance(b, Condition)
    if a.other is b:
        return False
    parts = _conjuncts(a) | _conjuncts(b)
    if any(each.other in parts for each in parts):
        return False
    return condition(("and", parts))


def _conjuncts(a: Condition) -> frozenset[Condition]:
    return a.core[1] if a.holds and a.core[0] == "and" else frozenset([a])


def either(a: Truth, b: Truth) -> Truth:
    return opposite(both(opposite(a), opposite(b)))
