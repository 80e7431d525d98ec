"""Terms as integers of so many bits: what is congruent, and what bits are read as."""

from __future__ import annotations

from cvmgen.verification.values import choices, pieces, quotients
from cvmgen.verification.values import terms as t
from cvmgen.verification.values.table import TABLE


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
    a = _lowest(a, bits)
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
    a = _lowest(a, bits)
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


def _lowest(a: t.Term, bits: int) -> t.Integer:
    """A congruent polynomial modulo 2^bits, with small coefficients; of numbers that were joined of
    bytes with those bytes that count."""
    total: t.Integer = reduced(a, bits)
    for monomial, factor in a.parts.items() if isinstance(total, t.Term) else ():
        key = TABLE.atoms[monomial[0]].key if len(monomial) == 1 else ()
        if key[:1] != ("bytes",):
            continue
        size, zeros = 8 * len(key[1]), (factor & -factor).bit_length() - 1
        if bits - size < zeros < bits:
            whole = t.of_parts({monomial: 1}, *t.bounds_of({monomial: 1}))
            less = t.add(spread(whole), t.negated(whole))
            total = t.add(total, t.multiply(less, factor))
    return reduced(total, bits) if isinstance(total, t.Term) else total


def note_sign(sign: t.Integer, a: t.Term, whole: int) -> None:
    """Let bounds know that a + whole * sign is from 0 to whole - 1, where `a` is an atom."""
    own, of = t.single(sign), t.single(a)
    if own is not None and of is not None:
        TABLE.signs[own.number] = of.number, whole


def without_sign(value: t.Integer) -> t.Term | None:
    """The number with a sign of which this one is what `unsigned` reads."""
    if not isinstance(value, t.Term) or len(value.parts) != 2:
        return None
    for monomial, factor in value.parts.items():
        number, whole = TABLE.signs.get(monomial[0], (-1, 0)) if len(monomial) == 1 else (-1, 0)
        if factor == whole and value.parts.get((number,)) == 1:
            return t.of_parts({(number,): 1}, *t.bounds_of({(number,): 1}))  # type: ignore[return-value]
    return None


def spread(value: t.Integer) -> t.Integer:
    """A number that was joined of bytes as their sum, of which a shift takes some."""
    last, parts = signed, pieces.parts_of(value)
    if parts is None and (inner := without_sign(value)) is not None:
        last, parts = unsigned, pieces.parts_of(inner)
    if parts is None:
        return value
    total: t.Integer = 0
    at, several = 0, pieces.wholes(parts)
    for size, key in several:
        part, at = t.of_key(key), at + size
        read = last if at == len(parts) else unsigned
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
