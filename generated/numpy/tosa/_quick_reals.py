"""exp, log, tanh, erf and sigmoid of arrays, with the bits of `elementary`.

Pairs of doubles, which hold more than 53 bits, come first: a result is taken where all numbers
within `slack` of it are rounded alike, and `elementary` makes the few others. Each function says
what its error is made of; the slack is at least twice as much. Nothing here is contracted or
reordered: a sum of doubles `a + b` with |a| >= |b| is off by `b - (sum - a)`, which is exact.

The numpy target carries a copy of this file beside its operators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np

from . import _elementary as elementary
from . import _quick_tables as quick_tables
from ._indices import Array

BLOCK = 1 << 12  # elements, whose arrays stay in the cache
Quick = Callable[[Array], tuple[Array, Array]]
Pair = tuple[Array, Array]  # of the first and of the second doubles of numbers


def pair(numbers: Iterable[quick_tables.DoubleDouble]) -> Pair:
    high, low = zip(*((each.high, each.low) for each in numbers), strict=True)
    return np.array(high), np.array(low)


def head(x: Any, bits: int = quick_tables.HEAD) -> Any:
    """The first bits of numbers (Veltkamp)."""
    more = x * float((1 << (53 - bits)) + 1)
    return more - (more - x)


def entry(values: Any, at: Array) -> Any:
    return np.asarray(values)[at]


def polynomial(x: Array, terms: Any) -> Any:
    result = terms[-1]
    for each in terms[-2::-1]:
        result = each + x * result
    return result


def power_of_two(exponent: Array) -> Array:
    return ((exponent + 1023) << 52).view(np.float64)


def scaled(x: Array, exponent: Array) -> Array:
    """Numbers times powers of two, which are not below the least normal one."""
    return (x.view(np.int64) + (exponent << 52)).view(np.float64)


def rounded(high: Array, low: Array, slack: Any) -> tuple[Array, Array]:
    """The sum of two doubles, and whether all numbers within the slack of it are rounded to it."""
    result = high + (low - slack)
    return result, result == high + (low + slack)


def each_block(value: Any, quick: Quick, exact: Callable[[float], float]) -> Any:
    """A function of all elements: by blocks, and one by one where those do not decide."""
    array = np.asarray(value, np.float64)
    flat = array.reshape(-1)
    result = np.empty_like(flat)
    for at in range(0, flat.size, BLOCK):
        block = flat[at : at + BLOCK]
        found, sure = quick(block)
        for place in np.flatnonzero(~sure).tolist():
            found[place] = exact(float(block[place]))
        result[at : at + BLOCK] = found
    return result.reshape(array.shape)


# ---------------------------------------------------------------- exp, tanh, sigmoid


class Powers:
    """exp(x) as 2^whole * (first + second + rest), first in [1, 2) and below it by 2^-7, exactly up
    to 2^-75: x = k ln(2) / 64 + r with r below 2^-7.5, whose square is exact but for its last part,
    so that of the series (exp(r) - 1) only the third power is rounded, which is below 2^-25. Of
    exp(r) - 1 the error relative to r is below 2^-68."""

    def __init__(self, x: Array) -> None:
        step = quick_tables.exp_step()
        k = np.rint(x * (quick_tables.STEPS / float(quick_tables.ln2())))
        r1, r2 = x - k * step.high, k * -step.low
        s = head(r1)
        t, r = (r1 - s) + r2, r1 + r2
        cubic = r * r * r * polynomial(r, quick_tables.exp_terms())
        half = 0.5 * s * s
        q = r1 + half
        low = (half - (q - r1)) + (r2 + (t * (s + 0.5 * t) + cubic))
        whole = k.astype(np.int64)
        at = whole & (quick_tables.STEPS - 1)
        self.whole = whole >> 6
        self.first, second = (entry(each, at) for each in exp_entries())
        front = head(q)
        self.second = self.first * front
        self.rest = self.first * (q - front) + (second + (second * (q + low) + self.first * low))

    def pair(self) -> tuple[Array, Array]:
        total = self.first + self.second
        return total, (self.second - (total - self.first)) + self.rest


@cache
def exp_entries() -> Pair:
    return pair(quick_tables.exp_table())


def exp(value: Any) -> Any:
    return each_block(value, quick_exp, elementary.exp)


def quick_exp(x: Array) -> tuple[Array, Array]:
    inside = (x > -708.0) & (x < 709.0)
    powers = Powers(np.where(inside, x, 0.0))
    found, sure = rounded(*powers.pair(), 2.0**-70)
    found = scaled(found, powers.whole)
    far = (x >= elementary.EXP_HIGH) | (x <= elementary.EXP_LOW)
    return np.where(far, np.where(x > 0, np.inf, 0.0), found), sure & inside | far


def quotient(high: Array, low: Array, divisor: Array, rest: Array) -> tuple[Array, Array]:
    """(high + low) / (divisor + rest), exactly up to 2^-100 and what these are off by."""
    first = high / divisor
    s, d = head(first), head(divisor)
    product = first * divisor
    error = ((s * d - product) + s * (divisor - d) + (first - s) * d) + (first - s) * (divisor - d)
    return first, (((high - product) - error) + (low - first * rest)) / divisor


def tanh(value: Any) -> Any:
    return each_block(value, quick_tanh, elementary.tanh)


def quick_tanh(x: Array) -> tuple[Array, Array]:
    """(1 - e) / (1 + e) with e = exp(-2 |x|): 1 - e is off by what exp(r) - 1 is where k is 0, and
    by 2^-75 where it is not and 1 - e above 2^-7: below 2^-68 of it."""
    size = np.abs(x)
    inside = (size >= elementary.TANH_NEAR) & (size < elementary.TANH_HIGH)
    powers = Powers(np.where(inside, -2.0 * size, -1.0))
    scale = power_of_two(powers.whole)
    first, second = scale * powers.first, scale * powers.second
    one = 1.0 - first
    total = one - second
    rest = ((1.0 - one) - first) + ((one - total) - second) - scale * powers.rest
    high = total + rest
    low = rest - (high - total)
    divisor = 2.0 - high
    found, more = quotient(high, low, divisor, ((2.0 - divisor) - high) - low)
    result, sure = rounded(found, more, found * 2.0**-66)
    result = np.where(inside, result, np.where(size < 1.0, size, 1.0))
    return np.copysign(result, x), sure & inside | ~inside & (x == x)


def sigmoid(value: Any) -> Any:
    return each_block(value, quick_sigmoid, elementary.sigmoid)


def quick_sigmoid(x: Array) -> tuple[Array, Array]:
    """1 / (1 + e) or, below 0, e / (1 + e), with e = exp(-|x|)."""
    inside = (x > -707.0) & (x < elementary.SIGMOID_HIGH)
    powers = Powers(np.where(inside, -np.abs(x), -1.0))
    total, rest = powers.pair()
    high = total + rest
    low = rest - (high - total)
    scale, below = power_of_two(powers.whole), x < 0
    divisor = 1.0 + scale * high
    less = (scale * high - (divisor - 1.0)) + scale * low
    found, more = quotient(np.where(below, high, 1.0), np.where(below, low, 0.0), divisor, less)
    result, sure = rounded(found, more, found * 2.0**-68)
    result = scaled(result, np.where(below, powers.whole, 0))
    far = (x >= elementary.SIGMOID_HIGH) | (x <= elementary.EXP_LOW)
    return np.where(far, np.where(x > 0, 1.0, 0.0), result), sure & inside | far


# ---------------------------------------------------------------- log


@cache
def log_entries() -> tuple[Array, Pair]:
    """1/c and, as pairs, -ln(c)."""
    return np.array(quick_tables.log_inverses()), pair(quick_tables.log_table())


def log(value: Any) -> Any:
    return each_block(value, quick_log, elementary.log)


def quick_log(x: Array) -> tuple[Array, Array]:
    """x = 2^e m and log(x) = e ln(2) - ln(c) + ln(1 + r) with r = m c - 1, which is exact, as the
    sum of the first two. The square of r is exact but for its last part, so that only the third
    power is rounded: by |r|^3 / 2^53. Next to 1 the first two are 0."""
    inside = (x >= 2.0**-1022) & (x < np.inf)
    bits = np.where(inside, x, 1.0).view(np.int64)
    at = bits >> 45 & (quick_tables.PARTS - 1)
    e = ((bits >> 52) - 1023 + (at >= quick_tables.LOG_HALVED)).astype(np.float64)
    m = bits & ((1 << 52) - 1) | 1023 << 52
    front = (m & -(1 << 27)).view(np.float64)
    inverses, logarithms = log_entries()
    c = entry(inverses, at)
    r1, r2 = front * c - 1.0, (m.view(np.float64) - front) * c
    r = r1 + r2
    more = r2 - (r - r1)
    s = head(r)
    t, half = r - s, 0.5 * s * s
    cubic = r * r * r
    unit = quick_tables.log_unit()
    minus_ln, minus_ln_rest = (entry(each, at) for each in logarithms)
    whole = e * unit.high + minus_ln
    one = whole + r
    two = one - half
    low = (r - (one - whole)) + ((one - two) - half)
    low += (e * unit.low + minus_ln_rest) + (more - more * r) - t * (s + 0.5 * t)
    low += cubic * polynomial(r, quick_tables.log_terms())
    found, sure = rounded(two, low, np.abs(two) * 2.0**-71 + np.abs(cubic) * 2.0**-51)
    return found, sure & inside


# ---------------------------------------------------------------- erf


def erf(value: Any) -> Any:
    return each_block(value, quick_erf, elementary.erf)


def quick_erf(x: Array) -> tuple[Array, Array]:
    size = np.abs(x)
    near, far = size < 0.125, size >= elementary.ERF_HIGH
    result, sure = np.ones_like(x), far.copy()
    between = ~near & (size < elementary.ERF_HIGH)
    result[near], sure[near] = erf_near_0(size[near])
    result[between], sure[between] = erf_by_rows(size[between])
    return np.copysign(result, x), sure


def erf_near_0(x: Array) -> tuple[Array, Array]:
    """x (a - b x^2 + ...): a - b x^2 is exact, the rest below 2^-15 of it, and rounded: 2^-67."""
    a, b = quick_tables.erf_first()
    tiny = x < 2.0**-900
    x = np.where(tiny, 1.0, x)
    s = head(x)
    t = x - s
    square, more = s * s, t * (x + s)
    z = square + more
    front = head(square)
    exact = b.high * front
    high = a.high - exact
    low = (a.low - (b.high * ((square - front) + more) + b.low * z)) + z * z * polynomial(
        z, quick_tables.erf_terms()
    )
    low += (a.high - high) - exact
    factor = head(high)
    first, rest = s * factor, t * factor + x * (high - factor) + x * low
    found, sure = rounded(first, rest, first * 2.0**-65)
    return found, sure & ~tiny


@cache
def erf_entries() -> tuple[Pair, Pair, Array]:
    """Values, slopes, and the terms of the series."""
    rows = quick_tables.erf_rows()
    values, slopes = (row.value for row in rows), (row.slope for row in rows)
    return pair(values), pair(slopes), np.array([row.terms for row in rows]).T


def erf_by_rows(x: Array) -> tuple[Array, Array]:
    """erf(c) + g (h - c h^2 + ...) with h = x - c below 2^-5: that square is exact, so that only
    the third power is rounded, of which g times the coefficient is below 0.4."""
    row = np.rint(x * quick_tables.ROWS).astype(np.int64)
    c = row / quick_tables.ROWS
    at = row - quick_tables.FIRST_ROW
    h = x - c
    values, slopes, terms = erf_entries()
    s = head(h, 22)
    cubic = h * h * h
    exact = c * (s * s)
    sum_ = h - exact
    low = ((h - sum_) - exact) + (cubic * polynomial(h, terms[:, at]) - c * ((h - s) * (h + s)))
    high, more = (entry(each, at) for each in slopes)
    value, less = (entry(each, at) for each in values)
    front = head(sum_)
    first = high * front
    total = value + first
    rest = (first - (total - value)) + (
        high * (sum_ - front) + (more * (sum_ + low) + high * low) + less
    )
    return rounded(total, rest, np.abs(cubic) * 2.0**-51 + 2.0**-73)
