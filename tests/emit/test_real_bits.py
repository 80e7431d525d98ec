"""Real numbers have the same bits on the reference, in Python, in C and in CUDA."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.conformance.calls import Array, Call, Conformance, bits
from tests.targets import TARGETS

INF, NAN = np.inf, np.nan
# The largest number of 32 bits, half a unit beyond it, and the least ones that are normal or not.
MOST32, HALF32 = 2.0**128 - 2.0**104, 2.0**103
TINY32, TINY64, NORMAL64 = 2.0**-149, 2.0**-1074, 2.0**-1022
NAN32, NAN64 = 0x7FC00000, 0x7FF8000000000000
ZERO32, ZERO64 = 0x80000000, 0x8000000000000000  # with a sign
INF32, INF64 = 0x7F800000, 0x7FF0000000000000


def single(*values: float) -> Array:
    return np.array(values, np.float32)


def double(*values: float) -> Array:
    return np.array(values, np.float64)


def single_bits(*words: int) -> Array:
    return np.array(words, np.uint32).view(np.float32)


def double_bits(*words: int) -> Array:
    return np.array(words, np.uint64).view(np.float64)


def words(array: Array) -> list[int]:
    """What lies in memory, element by element."""
    found: list[int] = array.view(f"u{array.itemsize}").ravel().tolist()
    return found


# Every form that a NaN has: quiet and signalling, of both signs, with a payload.
NANS32 = single_bits(0x7FC00000, 0xFFC00000, 0x7F800001, 0xFF800001, 0x7FFFFFFF, 0x7FC12345)
NANS64 = double_bits(NAN64, NAN64 | ZERO64, INF64 + 1, ZERO64 | (INF64 + 1), 2**63 - 1)

# Operator, inputs, attributes, what lies in each output (None: that does not count), why.
Row = tuple[str, list[Array], dict[str, Any], list[list[int] | None], str]
ROWS: list[Row] = [
    ("reversed_types", [NANS32], {}, [[NAN32] * 6], "a NaN is stored in one form"),
    ("reversed_types", [NANS64], {}, [[NAN64] * 5], "a NaN is stored in one form"),
    ("rounded_once", [NANS64], {}, [[NAN32] * 5], "a NaN is narrowed to the same form"),
    ("widened", [NANS32], {}, [[NAN64] * 6], "a NaN is widened to the same form"),
    (
        "reversed_types",
        [single(-0.0, 0.0, -INF, INF, TINY32, -TINY32)],
        {},
        [[ZERO32, 0, INF32 | ZERO32, INF32, 1, ZERO32 | 1]],
        "signs and denormals are kept",
    ),
    (
        "reversed_types",
        [double(-0.0, -INF, TINY64, NORMAL64 - TINY64)],
        {},
        [[ZERO64, INF64 | ZERO64, 1, 2**52 - 1]],
        "signs and denormals are kept",
    ),
    # ------------------------------------------------------------ rounding to 32 bits
    ("rounded_once", [double(1 + 2.0**-24)], {}, [[0x3F800000]], "a tie goes to the even one"),
    ("rounded_once", [double(1 + 3 * 2.0**-24)], {}, [[0x3F800002]], "which may be above"),
    ("rounded_once", [double(1 + 2.0**-24 + 2.0**-52)], {}, [[0x3F800001]], "beyond a tie"),
    ("rounded_once", [double(MOST32 + HALF32)], {}, [[INF32]], "half a unit beyond the largest"),
    ("rounded_once", [double(-MOST32 - HALF32)], {}, [[INF32 | ZERO32]], "and below the least"),
    ("rounded_once", [double(np.nextafter(MOST32 + HALF32, 0))], {}, [[0x7F7FFFFF]], "just not"),
    ("rounded_once", [double(TINY32 / 2, TINY32 * 1.5)], {}, [[0, 2]], "denormals tie to even"),
    ("rounded_once", [double(-TINY32 / 2)], {}, [[ZERO32]], "a zero keeps the sign"),
    ("rounded_once", [double(TINY64, 2.0**-126 - 2.0**-150)], {}, [[0, 0x800000]], "to normal"),
    (
        "exact_totals",
        [single(2**24, 1, 1).reshape(1, 3)],
        {},
        [[0x4B800001]],
        "terms are added in 64 bits; 32 would lose both",
    ),
    (
        "exact_totals",
        [single(1, 2.0**-24, 2.0**-60).reshape(1, 3)],
        {},
        [[0x3F800000]],
        "the sum is rounded to 64 bits, and that to 32",
    ),
    (
        "exact_totals",
        [single(MOST32, MOST32, -MOST32).reshape(1, 3)],
        {},
        [[0x7F7FFFFF]],
        "no partial sum is an infinity of 32 bits",
    ),
    ("exact_totals", [single(MOST32, MOST32).reshape(1, 2)], {}, [[INF32]], "the whole one is"),
    (
        "product_and_sum",
        [single(1 + 2.0**-12), single(1 + 2.0**-12), single(-1)],
        {},
        [[words(single(2.0**-11 + 2.0**-24))[0]]],
        "products of 32 bits are exact in 64",
    ),
    (
        "product_and_sum",
        [double(1 + 2.0**-30), double(1 + 2.0**-30), double(-1 - 2.0**-29)],
        {},
        [[0]],
        "a fused operation would keep 2^-60",
    ),
    (
        "widened",
        [np.array([2**53 + 1, -(2**53) - 3, 2**63 - 1])],
        {},
        [words(double(2.0**53, -(2.0**53) - 4, 2.0**63))],
        "an integer goes to the nearest even",
    ),
    ("widened", [np.array([True, False])], {}, [words(double(1, 0))], "a condition is 1 or 0"),
    # ------------------------------------------------------------ zeros and sums
    ("exact_totals", [single(-0.0).reshape(1, 1)], {}, [[0]], "a sum starts from +0"),
    ("products", [single(-0.0)], {}, [[ZERO32]], "a product starts from 1"),
    ("products", [double(-0.0, -3.0)], {}, [[0]], "the signs are multiplied"),
    ("exact_totals", [double(INF, -INF).reshape(1, 2)], {}, [[NAN64]], "no difference is there"),
    ("exact_totals", [double(1e308, 1e308, -INF).reshape(1, 3)], {}, [[NAN64]], "inf - inf"),
    ("products", [double(0.0, INF)], {}, [[NAN64]], "0 times infinity"),
    ("products", [double(1e200, 1e200, 0.0)], {}, [[NAN64]], "in this order"),
    ("products", [double(0.0, 1e200, 1e200)], {}, [[0]], "in that order"),
    ("products", [double(2.0**-600, 2.0**-474)], {}, [[1]], "denormals are not flushed"),
    ("products", [double(2.0**-600, 2.0**-475)], {}, [[0]], "half of the least ties to 0"),
    ("exact_totals", [double(TINY64, TINY64).reshape(1, 2)], {}, [[2]], "denormals add"),
    # ------------------------------------------------------------ maximum and minimum
    ("extremes", [single(0.0, -0.0)], {}, [[0], [ZERO32]], "-0 is below +0"),
    ("extremes", [single(-0.0, 0.0)], {}, [[0], [ZERO32]], "whichever comes first"),
    ("extremes", [double(-0.0, -0.0)], {}, [[ZERO64], [ZERO64]], "of two that are alike"),
    ("extremes", [single(1, NAN, 2)], {}, [[NAN32], [NAN32]], "NaN propagates"),
    ("extremes", [single(NAN, 1)], {}, [[NAN32], [NAN32]], "from the first place"),
    ("extremes", [double(-INF, NAN)], {}, [[NAN64], [NAN64]], "from the last, past infinities"),
    (
        "extremes",
        [single(1, NAN, -2)],
        {"skip": True},
        [words(single(1)), words(single(-2))],
        "or is left out",
    ),
    (
        "extremes",
        [single(NAN)],
        {"skip": True},
        [[INF32 | ZERO32], [INF32]],
        "without a number the ends of the type remain",
    ),
    ("extremes", [single(-INF)], {}, [[INF32 | ZERO32]] * 2, "an infinity is a number"),
    # ------------------------------------------------------------ quotients and roundings
    (
        "floor_quotient",
        [double(1, -1, 0, INF, -0.0), double(0, 0, 0, INF, 5)],
        {},
        [[INF64, INF64 | ZERO64, NAN64, NAN64, ZERO64], None],
        "nothing divides by 0 without a value",
    ),
    (
        "floor_quotient",
        [double(1, -1, 5), double(-0.0, -0.0, -INF)],
        {},
        [[INF64 | ZERO64, INF64, ZERO64], None],
        "the sign of a zero counts; 5 / -inf is -0, whose floor is -0",
    ),
    (
        "floor_quotient",
        [double(-0.5, 0.5, -7), double(1, 1, 2)],
        {},
        [words(double(-1, 0, -4)), words(double(0.5, 0.5, 1))],
        "down, and what is left",
    ),
    (
        "squares_and_roots",
        [double(-0.0)],
        {},
        [[0, ZERO64, words(double(1))[0], ZERO64, ZERO64, ZERO64, ZERO64]],
        "x^2, root, 2^x, up, toward zero, -|x|, narrowed, of -0",
    ),
    (
        "squares_and_roots",
        [double(-0.5)],
        {},
        [[*words(double(0.25, NAN, 2.0**-0.5)), ZERO64, ZERO64, *words(double(-0.5, -0.5))]],
        "no root of a negative number; up from -0.5 to -0",
    ),
    ("squares_and_roots", [double(NAN)], {}, [[NAN64] * 7], "NaN propagates"),
    (
        "squares_and_roots",
        [double(-INF)],
        {},
        [[INF64, NAN64, 0, *[INF64 | ZERO64] * 4]],
        "of an infinity",
    ),
    (
        "squares_and_roots",
        [double(1024.5)],
        {},
        [words(double(1024.5**2, 1024.5**0.5, INF, 1025, 1024, -1024.5, 1024.5))],
        "2^x overflows",
    ),
    (
        "squares_and_roots",
        [double(-1074)],
        {},
        [[*words(double(1074.0**2, NAN)), 1, *words(double(-1074, -1074, -1074, -1074))]],
        "2^x is the least denormal",
    ),
    (
        "squares_and_roots",
        [double(0.1)],
        {},
        [
            [
                *words(double(0.1 * 0.1, 0.1**0.5, 2.0**0.1, 1, 0, -0.1)),
                words(double(np.float32(0.1)))[0],
            ]
        ],
        "0.1 narrowed to 32 bits and widened again",
    ),
    (
        "converted",
        [double(NAN, INF, -INF, 1e19, -1e19, 2.9, -2.9, -0.0)],
        {},
        [
            words(single(NAN, 1.5, -1.5, 1.5, -1.5, 1.45, -1.45, -0.0)),
            words(np.array([0, 2**63 - 1, -(2**63), 2**63 - 1, -(2**63), 2, -2, 0])),
        ],
        "toward zero; 0 of NaN, the ends of int64 beyond them",
    ),
    (
        "converted",
        [double(2.0**63, -(2.0**63), 2.0**63 - 1024)],
        {},
        [None, words(np.array([2**63 - 1, -(2**63), 2**63 - 1024]))],
        "where int64 ends",
    ),
    # ------------------------------------------------------------ comparisons
    (
        "compared",
        [double(NAN, NAN, 1, -0.0, INF), double(NAN, 1, NAN, 0.0, INF), single(*[NAN] * 5)],
        {},
        [
            [0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1],
            [NAN32] * 5,
        ],
        "NaN is neither less nor equal nor more; -0 equals 0",
    ),
    (
        "positive_places",
        [double(NAN, 1, 2)],
        {},
        [words(np.array([-1, -1, -1], np.int32))],
        "nothing is above NaN",
    ),
    (
        "positive_places",
        [double(-INF, 1, 2)],
        {},
        [words(np.array([1, 2, -1], np.int32))],
        "numbers are above -inf",
    ),
]


@pytest.mark.parametrize(
    ("name", "inputs", "attributes", "expected", "why"), ROWS, ids=[row[-1] for row in ROWS]
)
def test_bits(
    conformance: Conformance,
    name: str,
    inputs: list[Array],
    attributes: dict[str, Any],
    expected: list[list[int] | None],
    why: str,
) -> None:
    found = conformance.check(Call(f"extra.{name}", tuple(inputs), attributes))
    assert found.refusal == ""
    for output, wanted in zip(found.outputs, expected, strict=True):
        if wanted is not None:
            assert list(map(hex, words(bits(output)))) == list(map(hex, wanted)), why


def test_conditions_are_stored_as_0_and_1(conformance: Conformance) -> None:
    """Whatever byte the caller has for true."""
    X = np.array([0, 1, 2, 128, 255], np.uint8).view(np.bool_)
    for target in TARGETS:
        found = conformance.libraries[target].extra.reversed_types(X)
        assert found.view(np.uint8).tolist() == [0, 1, 1, 1, 1], target
        rows = conformance.libraries[target].extra.verdicts(X.reshape(1, 5))
        assert rows.view(np.uint8).tolist() == [[0, 1]], target
        assert conformance.libraries[target].extra.widened(X).tolist() == [0, 1, 1, 1, 1], target
