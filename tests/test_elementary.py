"""exp, log, tanh, erf and sigmoid: the exact value rounded once, in Python, numpy and C alike."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from cvmgen import elementary, quick_reals, reals, vectors
from cvmgen.build import compile_library
from cvmgen.emit import c_support
from cvmgen.functions import ELEMENTARY
from cvmgen.schedule.actions.batch import MANY as MANY_AT_ONCE

Array = np.ndarray[Any, Any]
Many = Callable[[str, Array], Array]
NAMES = (*ELEMENTARY, "round", "roundeven")
INF, NAN = math.inf, math.nan
MANY = '#include "cvmgen_elementary.h"\n' + "".join(
    f"""void many_{name}(const double *x, double *z, int64_t count);
void many_{name}(const double *x, double *z, int64_t count) {{
    for (int64_t i = 0; i < count; ++i) z[i] = cvmgen_{name}_f64(x[i]);
}}
"""
    for name in NAMES
)
# Arguments next to ends, and where results are subnormal, next to 1, or tiny.
EDGES = [
    *(0.0, INF, NAN, 5e-324, 2.0**-1022, 1.0, 709.782712893384, 709.7827128933841, 708.4, 709.0),
    *(745.1332191019411, 745.1332191019412, 720.5, 2.0**-53, 2.0**-54, 3 * 2.0**-53, 2.0**-28),
    *(19.0615474653985, 5.9, 5.921587195794507, 6.0, 20.0, 40.0, 37.0, 0.125, 1e300, 2.0**-900),
]


def compiled(*flags: str) -> Many:
    """The functions of the header, for many numbers."""
    headers = {name: text for name, text in c_support.emit_support().items() if name.endswith(".h")}
    made = compile_library({**headers, "many.c": MANY}, name="elementary", flags=flags)
    library = ctypes.CDLL(str(made))

    def many(name: str, x: Array) -> Array:
        z = np.empty_like(x)
        pointers = [ctypes.c_void_p(each.ctypes.data) for each in (x, z)]
        library[f"many_{name}"](*pointers, ctypes.c_int64(x.size))
        return z

    return many


@pytest.fixture(scope="module")
def in_c() -> Many:
    return compiled()


@pytest.fixture(scope="module", params=[(), ("-UCVMGEN_X86_LEVEL", "-DCVMGEN_X86_LEVEL=3")])
def in_runs(request: pytest.FixtureRequest) -> Many:
    """Those of many numbers at once: for the machine, and for AVX2."""
    names = ("cvmgen_functions.c",)
    sources = {n: t for n, t in c_support.emit_support().items() if n.endswith(".h") or n in names}
    made = compile_library(sources, name="runs", flags=request.param)
    library = ctypes.CDLL(str(made))

    def run(name: str, x: Array) -> Array:
        z = x.copy()
        library[f"cvmgen_{name}_run"](ctypes.c_void_p(z.ctypes.data), ctypes.c_int64(z.size))
        return z

    return run


@pytest.fixture(scope="module")
def in_c_again() -> Many:
    """All of them as those are made that pairs of doubles do not decide."""
    return compiled("-DCVMGEN_ELEMENTARY_AGAIN=true", "-O1")


def bits(values: Any) -> list[int]:
    """Of NaN one form."""
    found = np.array(values, np.float64)
    found[np.isnan(found)] = np.nan
    return list(found.view(np.int64))


def drawn(name: str, count: int, seed: int = 1) -> Array:
    """Numbers of all sizes, of both signs if there is a result."""
    source = np.random.default_rng(seed)
    parts = [source.uniform(-most, most, count) for most in (1, 8, 40, 745)]
    parts += [np.exp2(source.uniform(-60, 5, count)), -np.exp2(source.uniform(-60, 5, count))]
    x = np.concatenate([*parts, EDGES, np.negative(EDGES)])
    if name == "log":
        near = [1 + source.uniform(-1, 1, count) * by for by in (1e-2, 1e-9)]
        x = np.abs(np.concatenate([x, *near, np.exp2(source.uniform(-1074, 1023, count))]))
    return x


def nearest(name: str, x: float) -> float:
    """The exact value rounded, by another library."""
    exact = {"sigmoid": lambda v: 1 / (1 + mpmath.exp(-v))}.get(name, getattr(mpmath, name, None))
    with mpmath.workprec(400):
        found = exact(mpmath.mpf(x))
        ratio = Fraction(abs(int(found.man))) * Fraction(2) ** int(found.exp)
    size = float(ratio) if ratio < Fraction(2) ** 1024 else INF
    return math.copysign(size, -1.0 if found < 0 else 1.0)


@pytest.mark.parametrize("name", ELEMENTARY)
def test_exact_values(name: str) -> None:
    for x in drawn(name, 40).tolist():
        if math.isfinite(x) and x not in (0.0, 1.0) and abs(x) < 1000 and abs(x) > 2.0**-300:
            assert getattr(elementary, name)(x) == nearest(name, x), x.hex()


@pytest.mark.parametrize("name", ELEMENTARY)
def test_all_ways(name: str, in_c: Many, in_c_again: Many) -> None:
    few, many = drawn(name, 25), drawn(name, 2000, 2)
    exact = bits([getattr(reals, name)(x) for x in few.tolist()])
    assert bits(in_c_again(name, few)) == exact
    assert bits(in_c(name, few)) == exact
    assert bits(getattr(vectors, name)(few)) == exact
    assert bits(in_c(name, many)) == bits(getattr(vectors, name)(many))


@pytest.mark.parametrize("name", sorted(MANY_AT_ONCE.values()))
def test_many_at_once(name: str, in_c: Many, in_runs: Many) -> None:
    x = drawn(name, 2000, 4)
    assert bits(in_runs(name, x)) == bits(in_c(name, x))
    for count in (0, 1, 7, 8, 63, 64, 65, 129):
        for at in (0, 3):
            part = x[at : at + count]
            assert bits(in_runs(name, part)) == bits(in_c(name, part.copy()))


@pytest.mark.parametrize("name", ELEMENTARY)
def test_few_are_made_again(name: str) -> None:
    x = np.random.default_rng(3).uniform(0.01, 30, quick_reals.BLOCK)
    _, sure = getattr(quick_reals, f"quick_{name}")(x)
    assert np.count_nonzero(~sure) < 8


@pytest.mark.parametrize("name", ["round", "roundeven"])
def test_roundings(name: str, in_c: Many) -> None:
    halves = [0.5, 1.5, 2.5, 0.49999999999999994, 2.0**52 - 0.5, 2.0**51 + 0.5, 2.0**53 - 1, 1e300]
    values = [*halves, *EDGES]
    x = np.array([*values, *(-each for each in values)])
    exact = getattr(reals, {"round": "round_away", "roundeven": "round_even"}[name])
    expected = bits([exact(each) for each in x.tolist()])
    assert bits(in_c(name, x)) == expected
    assert bits(vectors.round_away(x) if name == "round" else np.rint(x)) == expected
    found = [exact(each) for each in (0.5, 1.5, 2.5, -0.5, -2.5)]
    assert found == ([1, 2, 3, -1, -3] if name == "round" else [0, 2, 2, 0, -2])
