"""Powers of real numbers: rounded once from the exact value, in Python and in C alike."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from cvmgen import reals, vectors
from cvmgen.build import compile_library
from cvmgen.emit import c_support

INF, NAN, LEAST = math.inf, math.nan, 5e-324
MANY = """\
#include "cvmgen_power.h"
void powers(const double *x, const double *y, double *z, int64_t count);
void powers(const double *x, const double *y, double *z, int64_t count) {
    for (int64_t i = 0; i < count; ++i) z[i] = cvmgen_power_f64(x[i], y[i]);
}
"""
Array = np.ndarray[Any, Any]
Many = Callable[[Array, Array], Array]


def compiled(*flags: str) -> Many:
    """The function of the header, for many pairs."""
    headers = {name: text for name, text in c_support.emit_support().items() if name.endswith(".h")}
    made = compile_library({**headers, "powers.c": MANY}, name="powers", flags=flags)
    library = ctypes.CDLL(str(made))

    def many(x: Array, y: Array) -> Array:
        z = np.empty_like(x)
        pointers = [ctypes.c_void_p(each.ctypes.data) for each in (x, y, z)]
        library.powers(*pointers, ctypes.c_int64(x.size))
        return z

    return many


@pytest.fixture(scope="module")
def in_c() -> Many:
    return compiled()


@pytest.fixture(scope="module")
def in_c_again() -> Many:
    """All powers as those are made that 128 bits do not decide."""
    return compiled("-DCVMGEN_POWER_AGAIN=true", "-O1")


def bits(values: Any) -> list[int]:
    return list(np.asarray(values, np.float64).reshape(-1).view(np.int64))


def all_ways(x: list[float], y: list[float], *in_c: Many) -> list[list[float]]:
    """The same powers by Python, by numpy, and by C."""
    one, other = np.array(x), np.array(y)
    made = [vectors.power(one, other), *(each(one, other) for each in in_c)]
    return [[reals.power(*pair) for pair in zip(x, y, strict=True)], *map(np.ndarray.tolist, made)]


# ---------------------------------------------------------------- what C says

SPECIAL = [
    (2.0, 10.0, 1024.0, "exact"),
    (-2.0, 3.0, -8.0, "an odd exponent keeps the sign"),
    (-2.0, 4.0, 16.0, "an even one does not"),
    (-2.0, 0.5, NAN, "no real number"),
    (-2.0, 2.0**53 + 2, INF, "numbers of that size are even"),
    (-1.0, 2.0**52 + 1, -1.0, "the last odd ones"),
    (-1.0, 1e300, 1.0, "even"),
    (NAN, 0.0, 1.0, "whatever the base"),
    (1.0, NAN, 1.0, "whatever the exponent"),
    (NAN, 1.0, NAN, "no number"),
    (2.0, NAN, NAN, "no number"),
    (0.0, -1.0, INF, "division by 0"),
    (-0.0, -1.0, -INF, "division by -0"),
    (-0.0, -3.5, INF, "not odd"),
    (-0.0, 5.0, -0.0, "odd"),
    (-0.0, 4.0, 0.0, "even"),
    (-1.0, INF, 1.0, "of magnitude 1"),
    (-1.0, -INF, 1.0, "of magnitude 1"),
    (0.5, INF, 0.0, "below 1"),
    (-0.5, -INF, INF, "below 1"),
    (-1.5, INF, INF, "above 1"),
    (1.5, -INF, 0.0, "above 1"),
    (-INF, -3.0, -0.0, "odd and negative"),
    (-INF, 3.0, -INF, "odd"),
    (-INF, -2.0, 0.0, "even and negative"),
    (-INF, 0.5, INF, "not odd"),
    (INF, -0.25, 0.0, "negative"),
]


@pytest.mark.parametrize(("x", "y", "expected", "why"), SPECIAL, ids=[row[-1] for row in SPECIAL])
def test_special_values(x: float, y: float, expected: float, why: str, in_c: Many) -> None:
    for ((found,),) in zip(all_ways([x], [y], in_c), strict=True):
        same = found != found if expected != expected else bits(found) == bits(expected)
        assert same, (why, found)


# ---------------------------------------------------------------- rounding

ROUNDED = [
    (3.0, 33.0, 5559060566555523.0, "the last power of 3 with 53 bits"),
    (3.0, 34.0, 16677181699666568.0, "54 bits, exactly between two numbers: the even one"),
    (5.0, 23.0, 11920928955078124.0, "exactly between two others"),
    (9.0, 17.0, 16677181699666568.0, "a power of a square"),
    (0.25, -3.5, 128.0, "a root that is exact"),
    ((2.0**27 - 1) ** 2, 0.5, 2.0**27 - 1, "a square root"),
    (3.0**32, 0.03125, 3.0, "the highest root"),
    (2.0**-1074, 0.5, 2.0**-537, "of the least number"),
    (2.0, -1074.0, LEAST, "the least number"),
    (2.0, -1075.0, 0.0, "half of it: the even one is 0"),
    (2.0, -1074.9999999999998, LEAST, "a little more"),
    (0.5, 1075.0000000000002, 0.0, "a little less"),
    (2.0, -1022.5, 1.5733648139913585e-308, "below the normal numbers"),
    (2.0, 1023.9999999999999, 1.7976931348621742e308, "near the largest"),
    (2.0, 1024.0, INF, "beyond it"),
    (1.7976931348623157e308, 1.0, 1.7976931348623157e308, "the largest"),
    (1.7976931348623157e308, 1.0000000000000002, INF, "a little more"),
    (1.0 + 2.0**-52, 0.5, 1.0, "2^-107 below the middle"),
    (1.0 - 2.0**-53, 0.5, 1.0 - 2.0**-53, "2^-109 below the middle"),
    (1.0 + 2.0**-52, 2.0**62, INF, "large exponents near 1"),
    (1.0 + 2.0**-52, -(2.0**52), 0.3678794411714424, "1/e"),
    (1.0 + 2.0**-52, 2.0**-60, 1.0, "next to 1"),
    (1.7, 2.0, 1.7 * 1.7, "a square is a product"),
]


@pytest.mark.parametrize(("x", "y", "expected", "why"), ROUNDED, ids=[row[-1] for row in ROUNDED])
def test_rounded_once(
    x: float, y: float, expected: float, why: str, in_c: Many, in_c_again: Many
) -> None:
    for found in all_ways([x], [y], in_c, in_c_again):
        assert bits(found) == bits([expected]), why
    assert expected == nearest(x, y), why


def nearest(x: float, y: float) -> float:
    """What mpmath makes of it with 2000 bits, rounded as a quotient of integers."""
    with mpmath.workprec(2000):
        _, number, scale, _ = mpmath.power(x, y)._mpf_
    try:
        return int(number) / (1 << -scale) if scale < 0 else float(int(number) << scale)
    except OverflowError:
        return INF
