"""Functions of real numbers: what Python computes has the bits of what C computes."""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cvmgen import reals
from cvmgen.build import compile_library
from cvmgen.emit import c_support

SPECIAL = (
    *(math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, 1e-40, 2.0**-149),
    *(2.0**-150, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.0, 0.1, 2.0**24 + 1, 2.0**53, 1e300),
    *(2.0**63, -(2.0**63), 2.0**63 - 1024, reals.FLOAT32_END, -reals.FLOAT32_END, -1e300),
    math.nextafter(reals.FLOAT32_END, 0.0),
)
ONE: dict[str, Callable[[float], Any]] = {
    "abs_f64": abs,
    "floor_f64": reals.floor,
    "ceil_f64": reals.ceil,
    "trunc_f64": reals.trunc,
    "sqrt_f64": reals.sqrt,
    "round_f64": reals.round_away,
    "roundeven_f64": reals.round_even,
    "stored_f32": reals.to_float32,
    "stored_f64": float,
    "to_int": reals.to_int,
    "isnan": reals.isnan,
}
TWO: dict[str, Callable[[float, float], Any]] = {
    "minus": lambda a, b: a - b,
    "min_f64": reals.minimum,
    "max_f64": reals.maximum,
    "power_f64": reals.power,
    "over": reals.over,
}
# By way of integers that keep the order of numbers.
KEYS = {f"{op}_f{bits}": (op, bits) for op in ("max", "min") for bits in (32, 64)}
RESULTS = {"to_int": "int64_t", "isnan": "bool", "stored_f32": "float"}
KINDS = {"int64_t": ctypes.c_int64, "bool": ctypes.c_bool, "float": ctypes.c_float}


@pytest.fixture(scope="module")
def helpers() -> ctypes.CDLL:
    """The functions of the header, to be called from here; a quotient is written as it is."""
    lines = ['#include "cvmgen_runtime.h"', '#include "cvmgen_power.h"']
    lines += ["int32_t call_cut(float a, float low, float high);"]
    lines.append("int32_t call_cut(float a, float low, float high) {")
    lines.append("    return cvmgen_cut_to_int_f32(cvmgen_roundeven_f32(a), low, high);\n}")
    lines += ["double call_over(double a, double b);"]
    lines.append("double call_over(double a, double b) { return a / b; }")
    for name in sorted((ONE | TWO).keys() - {"over"}):
        names = ("a",) if name in ONE else ("a", "b")
        parameters = ", ".join(f"double {each}" for each in names)
        head = f"{RESULTS.get(name, 'double')} call_{name}({parameters})"
        lines += [f"{head};", f"{head} {{ return cvmgen_{name}({', '.join(names)}); }}"]
    for op, bits in KEYS.values():
        kind, type_name = f"{op}_key_f{bits}", "float" if bits == 32 else "double"
        keys = ", ".join(f"cvmgen_{kind}(({type_name}){each})" for each in "ab")
        head = f"double call_{kind}(double a, double b)"
        chosen = f"cvmgen_of_{kind}(cvmgen_{op}_i{bits}({keys}))"
        lines += [f"{head};", f"{head} {{ return {chosen}; }}"]
    headers = {name: text for name, text in c_support.emit_support().items() if name.endswith(".h")}
    sources = headers | {"helpers.c": "\n".join(lines) + "\n"}
    return ctypes.CDLL(str(compile_library(sources, name="helpers")))


def called(helpers: ctypes.CDLL, name: str, *values: float) -> Any:
    function = getattr(helpers, f"call_{name}")
    function.argtypes = [ctypes.c_double] * len(values)
    function.restype = KINDS.get(RESULTS.get(name, ""), ctypes.c_double)
    return function(*values)


def same(one: Any, other: Any) -> bool:
    """The same value, and of zeros the same sign; NaN is NaN."""
    if isinstance(one, float) and isinstance(other, float):
        return (one != one and other != other) or struct.pack("d", one) == struct.pack("d", other)
    return bool(one == other)


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_number(helpers: ctypes.CDLL, name: str) -> None:
    for value in SPECIAL:
        assert same(called(helpers, name, value), ONE[name](value)), value


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_numbers(helpers: ctypes.CDLL, name: str) -> None:
    for pair in product(SPECIAL, repeat=2):
        assert same(called(helpers, name, *pair), TWO[name](*pair)), pair


@pytest.mark.parametrize("name", KEYS)
def test_extremes_by_integers(helpers: ctypes.CDLL, name: str) -> None:
    op, bits = KEYS[name]
    extreme = reals.maximum if op == "max" else reals.minimum
    rounded = reals.to_float32 if bits == 32 else float
    for pair in product((*SPECIAL, math.copysign(math.nan, -1.0)), repeat=2):
        one, other = map(rounded, pair)
        found = called(helpers, f"{op}_key_f{bits}", one, other)
        assert same(found, extreme(one, other)), pair


def test_integers_of_numbers_that_are_cut(helpers: ctypes.CDLL) -> None:
    """To even before they are cut, or behind, with the bits of every magnitude."""
    function = helpers.call_cut
    function.argtypes, function.restype = [ctypes.c_float] * 3, ctypes.c_int32
    tried = [struct.unpack("f", struct.pack("I", at << 18))[0] for at in range(1 << 14)]
    tried += [each / 2 for each in range(-1050, 1050)]
    ends = ((-512, 512), (-1, 127), (-(1 << 24), 1), (0, 255), (-9, 0))
    for value, (low, high) in product(tried, ends):
        wanted = reals.to_int(reals.round_even(reals.maximum(low, reals.minimum(value, high))))
        assert function(value, low, high) == wanted, (value, low, high)


def test_straight_code_rounds_to_32_bits() -> None:
    """Vectors that gcc 12 makes of it by itself leave that out."""
    lines = (f"y[{at}] = (double)(float)x[{at}];" for at in range(2))
    head = "void rounded(const double *restrict x, double *restrict y)"
    text = f"{head};\n{head} {{ {' '.join(lines)} }}\n"
    rounded = ctypes.CDLL(str(compile_library({"rounded.c": text}, name="rounded"))).rounded
    array = ctypes.c_double * 2
    numbers, found = array(1 / 3, 2 / 3), array()
    rounded(numbers, found)
    assert [*found] == [reals.to_float32(each) for each in numbers]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.floats(), st.floats())
def test_functions_of_any_numbers(helpers: ctypes.CDLL, one: float, other: float) -> None:
    for name, function in ONE.items():
        assert same(called(helpers, name, one), function(one)), name
    for name, binary in TWO.items():
        assert same(called(helpers, name, one, other), binary(one, other)), name


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.floats() | st.sampled_from(SPECIAL), min_size=1, max_size=5))
def test_extremes_do_not_depend_on_the_order(values: list[float]) -> None:
    for function in (reals.minimum, reals.maximum):
        assert same(function(*values), function(*values[::-1]))
        found = function(*values)
        assert any(same(found, value) for value in values)


ENDS = [
    (reals.INT64_HIGH, reals.INT64_HIGH, "integers stay"),
    (-(10**30), -(10**30), "whatever their size"),
    (True, 1, "conditions are 1 or 0"),
    (1e300, reals.INT64_HIGH, "the end of int64"),
    (-math.inf, reals.INT64_LOW, "the other end"),
    (math.nan, 0, "no number"),
]


@pytest.mark.parametrize(("value", "expected", "why"), ENDS, ids=[row[-1] for row in ENDS])
def test_integers_of_numbers(value: Any, expected: int, why: str) -> None:
    found = reals.to_int(value)
    assert (found, type(found)) == (expected, int), why
