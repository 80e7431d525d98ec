"""The numbers with which `quick_reals` and the C header begin exp, log, tanh, erf and sigmoid.

A number of more than 53 bits is the sum of two doubles. A first one of `HEAD` bits has an exact
product with another of as many.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction
from math import factorial

from ._elementary import erf_of, exp_of, two_over_root_pi
from ._powers import exp2_of, ln_of

WIDTH = 256
HEAD = 26  # bits
STEPS = 64  # to 2: exp has an entry for each
PARTS = 128  # of [1, 2), of which log has one each
LOG_HALVED = 53  # the first of those that count as halves, from about sqrt(2) on
ROWS = 16  # of erf for each unit
FIRST_ROW, LAST_ROW = 2, 96
TERMS = 14  # of the series of erf around a row


@dataclass(frozen=True, slots=True)
class DoubleDouble:
    """A number as a sum of two doubles."""

    high: float
    low: float


def parts_of(value: Fraction, unit: Fraction) -> DoubleDouble:
    """The first one a whole multiple of a unit."""
    high = round(value / unit) * unit
    return DoubleDouble(float(high), float(value - high))


def headed(value: Fraction) -> DoubleDouble:
    """The first one with no more than `HEAD` bits."""
    size = abs(value)
    exponent = 0
    while size >= 2:
        size, exponent = size / 2, exponent + 1
    while 0 < size < 1:
        size, exponent = size * 2, exponent - 1
    return parts_of(value, Fraction(2) ** (exponent - HEAD + 1))


def in_units(number: int, scale: int) -> Fraction:
    return Fraction(number) * Fraction(2) ** scale


@functools.cache
def ln2() -> Fraction:
    return in_units(ln_of(2, 1, WIDTH), -WIDTH)


@functools.cache
def exp_step() -> DoubleDouble:
    """ln(2) / STEPS; the first double times a count of steps is exact."""
    return parts_of(ln2() / STEPS, Fraction(1, 1 << 42))


@functools.cache
def exp_table() -> tuple[DoubleDouble, ...]:
    """2^(k / STEPS)."""
    steps = range(0, 1 << WIDTH, (1 << WIDTH) // STEPS)
    return tuple(headed(in_units(exp2_of(each, WIDTH), -WIDTH)) for each in steps)


@functools.cache
def exp_terms() -> tuple[float, ...]:
    """1 / k! from k = 3 on."""
    return tuple(1 / factorial(k) for k in range(3, 9))


@functools.cache
def log_unit() -> DoubleDouble:
    """ln(2); the first double times an exponent is exact."""
    return parts_of(ln2(), Fraction(1, 1 << 42))


@functools.cache
def log_inverses() -> tuple[float, ...]:
    """For each part of [1, 2) a number of 10 bits near its inverse; next to 1 and 2 their own."""
    found = [round(512 * 2 * PARTS / (2 * PARTS + 2 * k + 1)) / 512 for k in range(PARTS)]
    found[0], found[-1] = 1.0, 0.5
    return tuple(found)


@functools.cache
def log_table() -> tuple[DoubleDouble, ...]:
    """-ln of the inverses, of those of halves from LOG_HALVED on."""
    unit, found = Fraction(1, 1 << 42), []
    for k, each in enumerate(log_inverses()):
        ratio = Fraction(each) * (2 if k >= LOG_HALVED else 1)
        value = in_units(ln_of(ratio.denominator, ratio.numerator, WIDTH), -WIDTH)
        found.append(parts_of(value, unit))
    return tuple(found)


@functools.cache
def log_terms() -> tuple[float, ...]:
    """1/3, -1/4, 1/5, ..."""
    return tuple((1 if k % 2 else -1) / k for k in range(3, 12))


# ---------------------------------------------------------------- erf


@functools.cache
def erf_slope() -> Fraction:
    """2 / sqrt(pi)."""
    return in_units(two_over_root_pi(WIDTH), -WIDTH)


@functools.cache
def erf_first() -> tuple[DoubleDouble, DoubleDouble]:
    """The first two coefficients of the series of erf around 0, without signs."""
    return headed(erf_slope()), headed(erf_slope() / 3)


@functools.cache
def erf_terms() -> tuple[float, ...]:
    """Those that follow, of x^5 and on."""
    return tuple(
        float((-1) ** n * erf_slope() / (factorial(n) * (2 * n + 1))) for n in range(2, 10)
    )


@dataclass(frozen=True, slots=True)
class ErfPiece:
    """erf(c), its derivative there, and the coefficients of x^3 and on of the series of what erf is
    divided by that derivative."""

    value: DoubleDouble
    slope: DoubleDouble
    terms: tuple[float, ...]


@functools.cache
def erf_rows() -> tuple[ErfPiece, ...]:
    return tuple(erf_row(Fraction(k, ROWS)) for k in range(FIRST_ROW, LAST_ROW + 1))


def erf_row(c: Fraction) -> ErfPiece:
    value = in_units(*erf_of(float(c), WIDTH))
    slope = erf_slope() * in_units(*exp_of(-float(c * c), WIDTH))
    # exp(-2ct - t^2) is 1 - 2ct + ..., by what its derivative is of it.
    before, last, terms = Fraction(0), Fraction(1), []
    for k in range(TERMS - 1):
        terms.append(last / (k + 1))
        before, last = last, (-2 * c * last - 2 * before) / (k + 1)
    return ErfPiece(
        parts_of(value, Fraction(1, 1 << 53)), headed(slope), tuple(map(float, terms[2:]))
    )
