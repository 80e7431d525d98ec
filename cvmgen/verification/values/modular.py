"""Terms as integers of so many bits: what is congruent, and what bits are read as."""

from __future__ import annotations

from cvmgen.verification.values import choices, pieces, quotients
from cvmgen.verification.values import terms as t


def in_signed(a: t.Term, bits: int) -> bool:
    half = 1 << (bits - 1)
    if -half <= a.low and a.high < half:
        return True
    t.tighten(a)
    return -half <= a.low and a.high < half


def fits(a: t.Integer, bits: int) -> t.Truth:
    """Whether a number is one of `bits` bits with a sign."""
    half = 1 << (bits - 1)
    return t.both(t.at_least(a, -half), t.at_least(t.negated(a), 1 - half))


def signed(a: t.Integer, bits: int) -> t.Integer:
    """The number that `bits` bits are, read with a sign; `a` is congruent to it."""
    half = 1 << (bits - 1)
    if isinstance(a, int):
        return (a + half) % (2 * half) - half
    if in_signed(a, bits):
        return a
    a = reduced(a, bits)
    if isinstance(a, int):
        return signed(a, bits)
    if in_signed(a, bits):
        return a
    return t.add(remainder_by(t.add(a, half), 2 * half), -half)


def unsigned(a: t.Integer, bits: int) -> t.Integer:
    """The number that `bits` bits are, read without a sign."""
    whole = 1 << bits
    if isinstance(a, int):
        return a % whole
    if a.low < 0 or a.high >= whole:
        t.tighten(a)
    if a.low >= 0 and a.high < whole:
        return a
    a = reduced(a, bits)
    if isinstance(a, int):
        return a % whole
    t.tighten(a)
    if -whole <= a.low and a.high < whole:
        negative = t.at_least(t.negated(a), 1)
        sign = choices.choose(negative, 1, 0)
        note_sign(sign, a, whole)
        made = t.add(a, t.multiply(sign, whole))
        return t.of_parts(made.parts, 0, whole - 1) if isinstance(made, t.Term) else made
    return remainder_by(a, whole)


def note_sign(sign: t.Integer, a: t.Term, whole: int) -> None:
    """Let bounds know that a + whole * sign is from 0 to whole - 1, where `a` is an atom."""
    own, of = t.single(sign), t.single(a)
    if own is not None and of is not None:
        t.TABLE.signs[own.number] = of.number, whole


def spread(value: t.Integer) -> t.Integer:
    """A number that was joined of bytes as their sum, of which a shift takes some."""
    parts = pieces.parts_of(value)
    if parts is None:
        return value
    total: t.Integer = 0
    at, several = 0, pieces.wholes(parts)
    for size, key in several:
        part, at = t.of_key(key), at + size
        read = signed if at == len(parts) else unsigned
        total = t.add(total, t.multiply(read(part, 8 * size), 1 << 8 * (at - size)))
    return total


def remainder_by(a: t.Integer, whole: int) -> t.Integer:
    """The remainder of a floor division by a positive constant."""
    if isinstance(a, int):
        return a % whole
    return t.add(a, t.multiply(quotients.floor_quotient(a, whole), -whole))


def reduced(a: t.Term, bits: int) -> t.Integer:
    """A congruent polynomial modulo 2^bits, with small coefficients."""
    half = 1 << (bits - 1)
    parts: dict[t.Monomial, int] = {}
    for monomial, factor in a.parts.items():
        small = (factor + half) % (2 * half) - half
        if small:
            parts[monomial] = small
    return t.of_parts(parts, *t.bounds_of(parts))


def congruent(a: t.Integer, b: t.Integer, bits: int) -> bool:
    """Whether the polynomials are equal modulo 2^bits."""
    difference = t.add(a, t.negated(b))
    if isinstance(difference, int):
        return difference % (1 << bits) == 0
    left = reduced(difference, bits)
    return isinstance(left, int) and left % (1 << bits) == 0
