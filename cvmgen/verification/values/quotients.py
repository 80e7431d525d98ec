"""Quotients of integers that are terms."""

from __future__ import annotations

import math

from cvmgen.verification.values import terms as t
from cvmgen.verification.values.choices import choose
from cvmgen.verification.values.table import TABLE


def floor_quotient(a: t.Integer, b: t.Integer) -> t.Integer:
    """Rounded down. Of a quotient by 0 nothing is known but that it is one."""
    if isinstance(b, int):
        if b < 0:
            return floor_quotient(t.negated(a), -b)
        if b == 1:
            return a
        if isinstance(a, int):
            return a // b if b else t.atom(("div", a, 0), -(1 << 64), 1 << 64)
        if b:
            return _quotient_by(a, b)
    if isinstance(a, int) and a == 0:
        return 0
    most = max(map(abs, t.bounds(a))) + 1
    return t.atom(("div", t.key_of(a), t.key_of(b)), -most, most)


def _quotient_by(a: t.Term, b: int) -> t.Integer:
    """By a constant above 1: whole multiples of it leave the quotient, so that what is left has
    factors as near to 0 as can be."""
    whole: dict[t.Monomial, int] = {}
    rest: dict[t.Monomial, int] = {}
    for monomial, factor in a.parts.items():
        times = -((b - 2 * factor) // (2 * b)) if monomial else factor // b
        left = factor - times * b
        if times:
            whole[monomial] = times
        if left:
            rest[monomial] = left
    outer = t.of_parts(whole, *t.bounds_of(whole))
    higher = _without_low(rest, b)
    if higher is not rest:
        return t.add(outer, floor_quotient(t.of_parts(higher, *t.bounds_of(higher)), b))
    inner = t.of_parts(rest, *t.bounds_of(rest))
    if isinstance(inner, int):
        return t.add(outer, inner // b)
    if not whole:
        inner = a
    low, high = (each // b for each in t.bounds_here(inner))
    if low == high:
        return t.add(outer, low)
    divisor = math.gcd(b, *inner.parts.values())
    if divisor > 1:
        smaller = {key: factor // divisor for key, factor in inner.parts.items()}
        inner = t.Term(smaller, -(-inner.low // divisor), inner.high // divisor)
        return t.add(outer, floor_quotient(inner, b // divisor))
    if (low, high) == (-1, 0):
        return t.add(outer, t.negated(_is_negative(inner)))
    return t.add(outer, t.atom(("div", t.key_of(inner), b), low, high))


def _without_low(parts: dict[t.Monomial, int], b: int) -> dict[t.Monomial, int]:
    """The parts without those read without a sign that lie below the lowest bit of the others and
    of the divisor: with l from 0 to g - 1, (g x + l) div (g c) is x div c."""
    signs = [each for each in parts if len(each) == 1 and each[0] in TABLE.signs]
    left, most = dict(parts), 0
    for sign in sorted(signs, key=lambda each: parts[each]):
        number, whole = TABLE.signs[sign[0]]
        times, odd = divmod(parts[sign], whole)
        if odd or times <= 0 or left.get((number,)) != times:
            break
        del left[sign], left[number,]
        most += times * (whole - 1)
        if most < math.gcd(b, *left.values()):
            return left
    return parts


def _is_negative(a: t.Integer) -> t.Integer:
    """1 where a number is, else 0."""
    return choose(t.at_least(t.negated(a), 1), 1, 0)  # type: ignore[no-any-return]


def quotient_toward_zero(a: t.Integer, b: t.Integer) -> t.Integer:
    if isinstance(a, int) and isinstance(b, int) and b:
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    if isinstance(b, int) and b > 0:
        low, high = _ends(a)
        if low >= 0:
            return floor_quotient(a, b)
        if high <= 0:
            return t.negated(floor_quotient(t.negated(a), b))
        if -2 * b < low and high < b:  # -1 or 0
            return choose(t.at_least(t.negated(a), b), -1, 0)  # type: ignore[no-any-return]
    if isinstance(a, int) and a == 0:
        return 0
    most = max(map(abs, t.bounds(a)))
    return t.atom(("tdiv", t.key_of(a), t.key_of(b)), -most, most)


def _ends(a: t.Integer) -> tuple[int, int]:
    return (a, a) if isinstance(a, int) else t.bounds_here(a)
