"""Intervals of integers: what values an expression can take, exactly bounded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


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


def corners(left: Range, right: Range, op: Callable[[int, int], int]) -> Range:
    """The range of an operation that is monotonic in each argument."""
    values = [op(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
    return Range(min(values), max(values))


def floordiv(left: Range, right: Range) -> Range:
    """Quotient rounded down; a divisor of 0 is left out (a guard excludes it)."""
    divisors = [d for d in (right.low, right.high, -1, 1) if d and right.low <= d <= right.high]
    values = [a // d for a in (left.low, left.high) for d in divisors] or [0]
    return Range(min(values), max(values))


def truncdiv(left: Range, right: Range) -> Range:
    quotient = floordiv(
        Range(min(abs(left.low), abs(left.high)) * 0, max(abs(left.low), abs(left.high))),
        Range(1, max(abs(right.low), abs(right.high), 1)),
    ).high
    if left.low >= 0 and right.low >= 0:
        return Range(left.low // max(right.high, 1), left.high // max(right.low, 1))
    return Range(-quotient, quotient)


def modulo(left: Range, right: Range) -> Range:
    """The floor remainder has the sign of the divisor."""
    high = max(right.high - 1, 0)
    low = min(right.low + 1, 0)
    if left.low >= 0 and right.low >= 0:
        return Range(0, min(high, left.high))
    return Range(low, high)


def magnitude(value: Range) -> Range:
    low = 0 if value.low <= 0 <= value.high else min(abs(value.low), abs(value.high))
    return Range(low, max(abs(value.low), abs(value.high)))


MOST_POWER = 256  # bits of powers that are told apart


def power(base: Range, exponent: Range) -> Range:
    """A power with an exponent that is not negative."""
    most = max(abs(base.low), abs(base.high), 1)
    times = min(max(exponent.high, 0), MOST_POWER) if most > 1 else 1
    high = 1 << MOST_POWER if times * most.bit_length() > MOST_POWER else int(most**times)
    return Range(0 if base.low >= 0 else -high, high)
