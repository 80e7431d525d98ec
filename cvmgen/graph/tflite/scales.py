"""What real scales come to in fixed point, by the arithmetic of TensorFlow Lite itself: in float
and double, rounded where it rounds."""

from __future__ import annotations

import math
from typing import Final

from cvmgen.reals import to_float32

INT8: Final = (-128, 127)
LEAST_SHIFT: Final = -31


def single(x: float) -> float:
    """The nearest number of 32 bits."""
    return to_float32(x)


def rounded(x: float) -> int:
    """The nearest integer, of two that are as near the one farther from zero."""
    return math.floor(abs(x) + 0.5) * (1 if x >= 0 else -1)


def multiplier_of(real: float) -> tuple[int, int]:
    """The multiplier of 31 bits and the shift for a real factor: m * 2^(s - 31)."""
    if real == 0:
        return 0, 0
    fraction, shift = math.frexp(real)
    multiplier = rounded(fraction * 2.0**31)
    if abs(multiplier) == 1 << 31:
        multiplier, shift = multiplier // 2, shift + 1
    if shift < LEAST_SHIFT:
        return 0, 0
    return multiplier, shift


def radius_of(bits: int, multiplier_shift: int) -> int:
    """The least distance from zero at which a fixed-point input has no place any more: one with
    `bits` before its point, of 31."""
    largest = ((1 << bits) - 1) * 2.0 ** (31 - bits)
    return math.floor(largest / 2.0**multiplier_shift)


def activation_ends(activation: str, scale: float, zero: int) -> tuple[int, int]:
    """What a fused activation leaves of int8; KeyError for another one."""
    ends = {
        "NONE": (None, None),
        "RELU": (0.0, None),
        "RELU6": (0.0, 6.0),
        "RELU_N1_TO_1": (-1.0, 1.0),
    }[activation]
    low, high = ends
    places = [
        None if end is None else zero + rounded(single(single(end) / single(scale)))
        for end in (low, high)
    ]
    first = INT8[0] if places[0] is None else max(INT8[0], places[0])
    last = INT8[1] if places[1] is None else min(INT8[1], places[1])
    return first, last


def padding_of(kind: str, size: int, window: int, stride: int) -> tuple[int, int]:
    """How many places stand before and behind an axis: SAME gives a result for each stride."""
    if kind == "VALID":
        return 0, 0
    total = max((-(-size // stride) - 1) * stride + window - size, 0)
    return total // 2, total - total // 2
