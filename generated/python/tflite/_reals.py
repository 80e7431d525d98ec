"""Real numbers of formulas: IEEE 754 arithmetic of 64 bits, where Python's own is not that.

Python's floats are such numbers and `+ - *` and comparisons mean the same; what follows is what
Python refuses (a division by zero), does otherwise (the maximum of NaN) or lacks.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from . import _powers as powers
from ._elementary import erf as erf
from ._elementary import exp as exp
from ._elementary import log as log
from ._elementary import sigmoid as sigmoid
from ._elementary import tanh as tanh

Number = TypeVar("Number", int, float)
INT64_LOW = -(1 << 63)
INT64_HIGH = (1 << 63) - 1
# The least magnitude that rounds to no finite number of 32 bits: half a unit beyond the largest.
FLOAT16_END = (2.0 - 2.0**-11) * 2.0**15
FLOAT32_END = (2.0 - 2.0**-24) * 2.0**127
BFLOAT16_END = (2.0 - 2.0**-8) * 2.0**127


def minimum(*values: Number) -> Number:
    """The least; NaN where one is NaN, and -0 below +0 (IEEE 754-2019 `minimum`)."""
    result = values[0]
    for value in values[1:]:
        if value != value or (result == result and below(value, result)):
            result = value
    return result


def maximum(*values: Number) -> Number:
    """The greatest; NaN where one is NaN, and -0 below +0 (IEEE 754-2019 `maximum`)."""
    result = values[0]
    for value in values[1:]:
        if value != value or (result == result and below(result, value)):
            result = value
    return result


def below(one: float, other: float) -> bool:
    """one < other, with -0 below +0."""
    if one == other == 0:
        return math.copysign(1.0, one) < math.copysign(1.0, other)
    return one < other


def over(left: float, right: float) -> float:
    """The quotient; by zero an infinity, or NaN."""
    if right != 0:
        return float(left) / float(right)
    if left == 0 or left != left:
        return math.nan
    return math.copysign(math.inf, math.copysign(1.0, left) * math.copysign(1.0, right))


def number_power(base: float, exponent: float) -> float:
    """A power of integers, exactly, or of real numbers."""
    if isinstance(base, int) and isinstance(exponent, int):
        return int(base**exponent)
    return power(base, exponent)


def power(base: float, exponent: float) -> float:
    """`pow` of C, rounded to nearest even: a square is a product."""
    return base * base if exponent == 2 else powers.power(float(base), float(exponent))


def floor(value: float) -> float:
    return math.copysign(float(math.floor(value)), value) if math.isfinite(value) else float(value)


def ceil(value: float) -> float:
    return math.copysign(float(math.ceil(value)), value) if math.isfinite(value) else float(value)


def trunc(value: float) -> float:
    return math.copysign(float(math.trunc(value)), value) if math.isfinite(value) else float(value)


def round_away(value: float) -> float:
    """The nearest integer; of two the one that is farther from 0."""
    size = abs(value)
    if not math.isfinite(value):
        return float(value)
    whole = math.floor(size)
    return math.copysign(float(whole + (size - whole >= 0.5)), value)


def round_even(value: float) -> float:
    """The nearest integer; of two the even one."""
    return math.copysign(float(round(value)), value) if math.isfinite(value) else float(value)


def fma(a: float, b: float, c: float) -> float:
    """a * b + c, of which only the whole is rounded."""
    a, b, c = float(a), float(b), float(c)
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if not exact:
        return a * b + c if 0.0 in (a, b) else 0.0  # signs of zeros
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def sqrt(value: float) -> float:
    return math.sqrt(value) if value >= 0 else math.nan


def isnan(value: float) -> bool:
    return value != value


def to_int(value: float) -> int:
    """Toward zero; 0 of NaN, and the nearest end of int64 beyond it. Integers stay."""
    if isinstance(value, int):
        return int(value)
    if value != value:
        return 0
    if not math.isfinite(value):
        return INT64_HIGH if value > 0 else INT64_LOW
    return max(INT64_LOW, min(math.trunc(value), INT64_HIGH))


def order(value: float) -> int:
    """An integer that is the greater, the greater the number is: -0 below +0, NaN above all."""
    if value != value:
        return INT64_HIGH
    (bits,) = struct.unpack("q", struct.pack("d", value))
    return int(bits if bits >= 0 else bits ^ INT64_HIGH)


def to_float16(value: float) -> float:
    """Rounded to 16 bits at once, to nearest even; what is too large becomes an infinity."""
    if value != value or math.isinf(value):
        return float(value)
    if abs(value) >= FLOAT16_END:
        return math.copysign(math.inf, value)
    return float(struct.unpack("e", struct.pack("e", value))[0])


def to_bfloat16(value: float) -> float:
    """Rounded at once to eight bits of a number with the exponents of float32, to nearest even;
    what is too large becomes an infinity."""
    if value != value or math.isinf(value):
        return float(value)
    if abs(value) >= BFLOAT16_END:
        return math.copysign(math.inf, value)
    step = max(math.frexp(value)[1] - 8, -133)  # of neighbours; below 2^-126 all are as near
    return math.copysign(math.ldexp(round(math.ldexp(value, -step)), step), value)


def is_float32(value: float) -> bool:
    """Whether 32 bits hold a number."""
    return to_float32(value) == value


def to_float32(value: float) -> float:
    """Rounded to 32 bits, to nearest even; what is too large becomes an infinity."""
    if value != value or math.isinf(value):
        return float(value)
    if abs(value) >= FLOAT32_END:
        return math.copysign(math.inf, value)
    return float(struct.unpack("f", struct.pack("f", value))[0])


# What an element of each type is of a real number.
STORED: dict[str, Callable[[float], float]] = {
    "float16": to_float16,
    "bfloat16": to_bfloat16,
    "float32": to_float32,
    "float64": float,
}
