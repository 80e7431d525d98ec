"""Intervals against every value of small ranges."""

from itertools import product
from typing import Any

import pytest

from cvmgen import ranges
from cvmgen.functions import divide_toward_zero
from cvmgen.ranges import Range

SMALL = [Range(low, high) for low in range(-4, 4) for high in range(low, 4)]
RULES = [
    ("floordiv", ranges.floordiv, lambda a, b: a // b),
    ("truncdiv", ranges.truncdiv, divide_toward_zero),
    ("modulo", ranges.modulo, lambda a, b: a % b),
    ("ceildiv", ranges.ceildiv, lambda a, b: -(-a // b)),
    ("times", ranges.times, lambda a, b: a * b),
    ("plus", ranges.plus, lambda a, b: a + b),
    ("minus", ranges.minus, lambda a, b: a - b),
    ("bitand", ranges.bit_and, lambda a, b: a & b),
    ("bitor", ranges.bit_or, lambda a, b: a | b),
    ("bitxor", ranges.bit_xor, lambda a, b: a ^ b),
    ("max", lambda a, b: ranges.extreme("max", (a, b)), max),
    ("min", lambda a, b: ranges.extreme("min", (a, b)), min),
]


@pytest.mark.parametrize(("rule", "exact"), [row[1:] for row in RULES], ids=[r[0] for r in RULES])
def test_every_value_lies_in_the_range(rule, exact) -> None:
    for left, right in product(SMALL, SMALL):
        found = rule(left, right)
        for a in range(left.low, left.high + 1):
            for b in range(right.low, right.high + 1):
                if b != 0:
                    assert found.low <= exact(a, b) <= found.high, (left, right, a, b)


def test_every_power_and_shift_lies_in_the_range() -> None:
    for left, right in product(SMALL, SMALL):
        powers, shifts = ranges.power(left, right), ranges.shift_right(left, right)
        for a in range(left.low, left.high + 1):
            for b in range(max(right.low, 0), right.high + 1):
                assert powers.low <= a**b <= powers.high, (left, right, a, b)
                assert shifts.low <= a >> b <= shifts.high, (left, right, a, b)


@pytest.mark.parametrize(
    ("function", "left", "right", "found"),
    [
        ("bitand", (-(1 << 40), 1 << 40), (0, 255), (0, 255)),
        ("bitand", (-4, 5), (-3, -2), (-4, 5)),
        ("bitor", (0, 5), (8, 8), (8, 13)),
        ("bitor", (-100, 3), (-7, 2), (-100, 3)),
        ("bitxor", (-5, 3), (-1, -1), (-4, 4)),
        ("bitxor", (-4, -1), (0, 7), (-8, -1)),
    ],
)
def test_bits_are_no_more_than_needed(function: str, left: Any, right: Any, found: Any) -> None:
    assert ranges.RULES[function](Range(*left), Range(*right)) == Range(*found)


def test_square_roots() -> None:
    assert ranges.square_root(Range(-5, 99)) == Range(0, 9)
    assert ranges.square_root(Range(16, 1 << 126)) == Range(4, 1 << 63)


def test_magnitude() -> None:
    for value in SMALL:
        values = [abs(each) for each in range(value.low, value.high + 1)]
        assert ranges.magnitude(value) == Range(min(values), max(values))


@pytest.mark.parametrize(
    ("low", "high", "bits", "fits"),
    [
        (-(1 << 31), (1 << 31) - 1, 32, True),
        (-(1 << 31) - 1, 0, 32, False),
        (0, 1 << 31, 32, False),
        (0, (1 << 63) - 1, 64, True),
    ],
)
def test_fits(low: int, high: int, bits: int, fits: bool) -> None:
    assert Range(low, high).fits(bits) is fits
