"""Powers of real numbers: x^y as IEEE 754 and C have it, rounded once to the nearest of 64 bits.

C libraries are free in the last bit, and differ in it; here it is that of the exact power, ties to
even. Logarithm and exponential are computed with integers, in as many bits as it takes to decide:
more only where the power is exactly between two numbers, or next to it.
"""

from __future__ import annotations

import functools
import math

MOST = 1030.0  # powers of two from here on, or from minus 1080 down, are infinite or 0
LEAST = -1080.0
TINY = 2.0**-60  # exponents of 2 below this give 1, which is nearer than its neighbours
STEPS = 6  # bits by which tables bring arguments near 1


def power(base: float, exponent: float) -> float:
    """`pow` of C, with its last bit defined too."""
    if exponent == 0 or base == 1:
        return 1.0
    if base != base or exponent != exponent:
        return math.nan
    if math.isinf(exponent):
        if abs(base) == 1:
            return 1.0
        return math.inf if (abs(base) > 1) == (exponent > 0) else 0.0
    odd = exponent % 2 == 1
    sign = math.copysign(1.0, base) if odd else 1.0
    if base == 0 or math.isinf(base):
        return sign * (math.inf if (base == 0) == (exponent < 0) else 0.0)
    if base < 0 and exponent % 1 != 0:
        return math.nan
    return sign * positive(abs(base), exponent)


def positive(base: float, exponent: float) -> float:
    """A power of a finite number above 0."""
    about = exponent * math.log2(base)
    if about > MOST:
        return math.inf
    if about < LEAST:
        return 0.0
    if abs(about) < TINY:
        return 1.0
    bits = 128
    while True:
        number, scale = approximate(base, exponent, bits)
        slack = number >> bits
        low, high = nearest(number - slack, scale), nearest(number + slack, scale)
        if low == high:
            return low
        exact = exactly(base, exponent)
        if exact is not None:
            return nearest(*exact)
        bits *= 2


def nearest(number: int, scale: int) -> float:
    """number * 2^scale, rounded to nearest even; beyond all numbers an infinity."""
    try:
        # The quotient of integers is rounded once.
        return number / (1 << -scale) if scale < 0 else float(number << scale)
    except OverflowError:
        return math.inf


def split(value: float) -> tuple[int, int]:
    """An odd integer and the power of two that it is multiplied with."""
    number, divisor = value.as_integer_ratio()
    low = (number & -number).bit_length() - 1
    return number >> low, low - (divisor.bit_length() - 1)


def exactly(base: float, exponent: float) -> tuple[int, int] | None:
    """A power with few digits, as an integer and a power of two; None if it has more, or no end."""
    number, scale = split(base)
    times, halvings = split(exponent)
    while halvings < 0:
        root = math.isqrt(number)
        if scale % 2 or root * root != number:
            return None
        number, scale, halvings = root, scale // 2, halvings + 1
    times <<= halvings
    if number == 1:
        return 1, scale * times
    # The odd part of a number between two others has 54 bits.
    return (number**times, scale * times) if 0 < times <= 54 else None


def approximate(base: float, exponent: float, bits: int) -> tuple[int, int]:
    """The power as an integer and a power of two, with a relative error below 2^-bits.

    Exponents are below 2^75 in magnitude, or the power is infinite, 0 or 1; so the logarithm, whose
    error is below 2^9 units, is made with as many bits more, and the rest is for the series.
    """
    width = bits + 140
    times, scale = split(exponent)
    logarithm = times * log2_of(base, width)
    logarithm = logarithm << scale if scale >= 0 else logarithm >> -scale
    whole = logarithm >> width
    return exp2_of(logarithm - (whole << width), width), whole - width


def log2_of(value: float, width: int) -> int:
    """The logarithm in units of 2^-width."""
    number, scale = split(value)
    size = number.bit_length()
    if number << 1 >= 3 << (size - 1):  # from 3/2 on, as half of it
        size += 1
    # value = 2^(scale + size - 1) * number / 2^(size - 1), and that quotient lies in [3/4, 3/2).
    one = 1 << (size - 1)
    near = ((2 * one << STEPS) + number) // (2 * number)
    rest = ln_of(number * near, one << STEPS, width) - ln_table(near, width)
    return ((scale + size - 1) << width) + (rest << width) // ln_table(2 << STEPS, width)


@functools.cache
def ln_table(number: int, width: int) -> int:
    """ln(number / 2^STEPS) in units of 2^-width."""
    return ln_of(number, 1 << STEPS, width)


def ln_of(number: int, divisor: int, width: int) -> int:
    """ln(number / divisor) = 2 artanh(z), z = (number - divisor) / (number + divisor)."""
    term = (abs(number - divisor) << width) // (number + divisor)
    square = term * term >> width
    total, count = 0, 1
    while term:
        total += term // count
        term = term * square >> width
        count += 2
    return 2 * total if number >= divisor else -2 * total


def exp2_of(fraction: int, width: int) -> int:
    """2^x for 0 <= x < 1, both in units of 2^-width."""
    step = fraction >> (width - STEPS)
    rest = fraction - (step << (width - STEPS))
    return exp2_table(step, width) * exp2_series(rest, width) >> width


@functools.cache
def exp2_table(step: int, width: int) -> int:
    return exp2_series(step << (width - STEPS), width)


def exp2_series(fraction: int, width: int) -> int:
    natural = fraction * ln_table(2 << STEPS, width) >> width
    total, term, count = 0, 1 << width, 1
    while term:
        total += term
        term = (term * natural >> width) // count
        count += 1
    return total
