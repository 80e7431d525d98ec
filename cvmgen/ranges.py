"""Intervals of integers: what values an expression can take, exactly bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import isqrt

MOST_EXPONENT = 200


@dataclass(frozen=True, slots=True)
class Range:
    """All integers low <= value <= high."""

    low: int
    high: int

    def fits(self, bits: int) -> bool:
        """Whether a two's complement type of `bits` holds every value."""
        return -(1 << (bits - 1)) <= self.low and self.high < 1 << (bits - 1)

    def join(self, other: Range) -> Range:
        return Range(min(self.low, other.low), max(self.high, other.high))

    @property
    def size(self) -> int:
        """The greatest magnitude of a value."""
        return max(abs(self.low), abs(self.high))


def corners(left: Range, right: Range, op: Callable[[int, int], int]) -> Range:
    """The range of an operation that is monotonic in each argument."""
    values = [op(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
    return Range(min(values), max(values))


def plus(left: Range, right: Range) -> Range:
    return Range(left.low + right.low, left.high + right.high)


def minus(left: Range, right: Range) -> Range:
    return Range(left.low - right.high, left.high - right.low)


def times(left: Range, right: Range) -> Range:
    return corners(left, right, lambda a, b: a * b)


def extreme(function: str, found: Iterable[Range]) -> Range:
    """Of the maximum or the minimum of several values."""
    known = tuple(found)
    choose = max if function == "max" else min
    return Range(choose(each.low for each in known), choose(each.high for each in known))


def floordiv(left: Range, right: Range) -> Range:
    """Quotient rounded down; a divisor of 0 is left out (a guard excludes it)."""
    divisors = [d for d in (right.low, right.high, -1, 1) if d and right.low <= d <= right.high]
    values = [a // d for a in (left.low, left.high) for d in divisors] or [0]
    return Range(min(values), max(values))


def truncdiv(left: Range, right: Range) -> Range:
    if left.low >= 0 and right.low >= 0:
        return Range(left.low // max(right.high, 1), left.high // max(right.low, 1))
    divisors = magnitude(right)
    quotient = left.size // max(divisors.low, 1)
    return Range(-quotient, quotient)


def modulo(left: Range, right: Range) -> Range:
    """The floor remainder has the sign of the divisor."""
    high = max(right.high - 1, 0)
    low = min(right.low + 1, 0)
    if left.low >= 0 and right.low >= 0:
        return Range(0, min(high, left.high))
    return Range(low, high)


def ceildiv(left: Range, right: Range) -> Range:
    down = floordiv(negative(left), right)
    return negative(down)


def negative(value: Range) -> Range:
    return Range(-value.high, -value.low)


def exponents(found: Range) -> Range:
    """What powers and shifts are computed for; larger ones are beyond every type anyway."""
    low, high = (min(max(end, 0), MOST_EXPONENT) for end in (found.low, found.high))
    return Range(low, high)


def shift_left(left: Range, right: Range) -> Range:
    return corners(left, exponents(right), lambda a, b: a << b)


def shift_right(left: Range, right: Range) -> Range:
    return corners(left, exponents(right), lambda a, b: a >> b)


def power(base: Range, exponent: Range) -> Range:
    """Exponents below 0 give no integer; anything to the power of 0 is 1."""
    least, most = exponents(exponent).low, exponents(exponent).high
    size = max(base.size, 1) ** most
    if base.low >= 1:
        return Range(base.low**least, size)
    even = least == most and most % 2 == 0
    return Range(0 if even or base.low >= 0 else -size, size)


def magnitude(value: Range) -> Range:
    low = 0 if value.low <= 0 <= value.high else min(abs(value.low), abs(value.high))
    return Range(low, value.size)


def inverted(value: Range) -> Range:
    """Of -1 - x, which has all other bits."""
    return Range(-1 - value.high, -1 - value.low)


def bit_or(left: Range, right: Range) -> Range:
    """Bits that are added to a number raise it, but for the sign's: of numbers with other signs
    the result is negative and not below the negative one, of two negative ones below neither."""
    lows = []
    if left.high < 0 or right.low >= 0:
        lows.append(left.low)
    if right.high < 0 or left.low >= 0:
        lows.append(right.low)
    low = max(lows, default=min(left.low, right.low))
    if min(left.high, right.high) < 0:
        return Range(low, -1)
    bits = max(left.high, right.high).bit_length()
    return Range(low, min((1 << bits) - 1, left.high + right.high))


def bit_and(left: Range, right: Range) -> Range:
    return inverted(bit_or(inverted(left), inverted(right)))


def bit_xor(left: Range, right: Range) -> Range:
    """As many bits as the longer one has; the sign is that of a product."""
    for one, other in ((left, right), (right, left)):
        if one.low == one.high == -1:
            return inverted(other)
    ends = (left.low, left.high, right.low, right.high)
    most = 1 << max(max(each, -1 - each).bit_length() for each in ends)
    apart = (left.high < 0 <= right.low) or (right.high < 0 <= left.low)
    alike = min(left.low, right.low) >= 0 or max(left.high, right.high) < 0
    return Range(0 if alike else -most, -1 if apart else most - 1)


def square_root(value: Range) -> Range:
    """Rounded down; there is none of a number below 0."""
    return Range(isqrt(max(value.low, 0)), isqrt(max(value.high, 0)))


RULES: Mapping[str, Callable[[Range, Range], Range]] = {
    "+": plus,
    "-": minus,
    "*": times,
    "floordiv": floordiv,
    "truncdiv": truncdiv,
    "mod": modulo,
    "shl": shift_left,
    "shr": shift_right,
    "bitand": bit_and,
    "bitor": bit_or,
    "bitxor": bit_xor,
}
