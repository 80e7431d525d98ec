"""exp, log, tanh, erf and sigmoid of real numbers, rounded once to the nearest of 64 bits.

As powers are: computed with integers, in as many bits as it takes to decide. Of numbers other than
0 (1 for log) none of these is a number of 64 bits or lies between two: they are transcendental, so
that there is an end of it. `quick_reals` and the C header try arithmetic of doubles first.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from ._powers import exp2_of, ln_table, log2_of, nearest, split

# Beyond these ends results are infinite, 0 or 1; next to 0 they are 1 or the argument.
EXP_HIGH, EXP_LOW, EXP_NEAR = 710.0, -746.0, 2.0**-54
SIGMOID_HIGH, TANH_HIGH, TANH_NEAR, ERF_HIGH = 40.0, 20.0, 2.0**-28, 6.0

Approximation = Callable[[float, int], tuple[int, int]]


def exp(x: float) -> float:
    if x != x:
        return math.nan
    if x >= EXP_HIGH or x <= EXP_LOW:
        return math.inf if x > 0 else 0.0
    return 1.0 if abs(x) < EXP_NEAR else decided(exp_of, x)


def log(x: float) -> float:
    """The natural logarithm; -inf of 0, NaN below."""
    if x != x or x < 0:
        return math.nan
    if x == 0 or x == math.inf or x == 1:
        return {0.0: -math.inf, 1.0: 0.0}.get(x, x)
    return decided(log_of, x)


def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x))."""
    if x != x:
        return math.nan
    if x >= SIGMOID_HIGH or x <= EXP_LOW:
        return 1.0 if x > 0 else 0.0
    return 0.5 if x == 0 else decided(sigmoid_of, x)


def tanh(x: float) -> float:
    if x != x:
        return math.nan
    if abs(x) >= TANH_HIGH:
        return math.copysign(1.0, x)
    return x if abs(x) < TANH_NEAR else math.copysign(decided(tanh_of, abs(x)), x)


def erf(x: float) -> float:
    """2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x."""
    if x != x:
        return math.nan
    if abs(x) >= ERF_HIGH:
        return math.copysign(1.0, x)
    return x if x == 0 else math.copysign(decided(erf_of, abs(x)), x)


# ---------------------------------------------------------------- as many bits as it takes


def decided(approximation: Approximation, x: float) -> float:
    bits = 128
    while True:
        number, scale = approximation(x, bits)
        slack = (abs(number) >> bits) + 1
        low, high = nearest(number - slack, scale), nearest(number + slack, scale)
        if low == high:
            return low
        bits *= 2


def fixed(x: float, width: int) -> int:
    """A number in units of 2^-width."""
    number, scale = split(x)
    return number << (width + scale) if width + scale >= 0 else number >> -(width + scale)


def exp_of(x: float, bits: int) -> tuple[int, int]:
    """As an integer and a power of two, with a relative error below 2^-bits: the exponent of 2 is
    below 2^11, and 80 bits more than those are computed."""
    width = bits + 160
    exponent = (fixed(x, width) << width) // ln_table(128, width)
    whole = exponent >> width
    return exp2_of(exponent - (whole << width), width), whole - width


def log_of(x: float, bits: int) -> tuple[int, int]:
    """A logarithm is no less than 2^-54 or so."""
    width = bits + 160
    return log2_of(x, width) * ln_table(128, width) >> width, -width


def exp_below_1(x: float, width: int) -> int:
    """exp(-|x|) in units of 2^-width."""
    number, scale = exp_of(-abs(x), width)
    return number >> -(scale + width)


def sigmoid_of(x: float, bits: int) -> tuple[int, int]:
    width = bits + 80
    one, part = 1 << width, exp_below_1(x, width)
    if x > 0:
        return (one << width) // (one + part), -width
    number, scale = exp_of(x, width)
    return (number << width) // (one + part), scale


def tanh_of(x: float, bits: int) -> tuple[int, int]:
    """(1 - e) / (1 + e) with e = exp(-2 x): the difference is at least 2^-28."""
    width = bits + 80
    one, part = 1 << width, exp_below_1(2 * x, width)
    return ((one - part) << width) // (one + part), -width


def erf_of(x: float, bits: int) -> tuple[int, int]:
    """By the series of x, whose terms are below e^36, or 2^52."""
    width = bits + 160
    number, scale = split(x)
    places = width + 2 * scale
    square = number**2 << places if places >= 0 else number**2 >> -places
    term, total, n = 1 << width, 0, 0
    while term:
        total += (-term if n % 2 else term) // (2 * n + 1)
        n += 1
        term = (term * square >> width) // n
    return number * total * two_over_root_pi(width), scale - 2 * width


@functools.cache
def two_over_root_pi(width: int) -> int:
    """2 / sqrt(pi) in units of 2^-width."""
    more = width + 20

    def inverse_tangent(divisor: int) -> int:
        term, total, n = (1 << more) // divisor, 0, 1
        while term:
            total += (-term if n % 4 == 3 else term) // n
            term //= divisor * divisor
            n += 2
        return total

    pi = 4 * (4 * inverse_tangent(5) - inverse_tangent(239))  # Machin
    return math.isqrt((4 << 3 * more) // pi) >> 20
