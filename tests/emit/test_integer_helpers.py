"""Quotients and powers of integers in C, which proofs of values take for what they are called."""

from __future__ import annotations

import ctypes
from itertools import product

from cvmgen.build import compile_library
from cvmgen.emit import c_support

MANY = """\
#include "cvmgen_kernel.h"
#define OF(name, call) \\
    int64_t name(int64_t a, int64_t b); \\
    int64_t name(int64_t a, int64_t b) { return call; }
OF(truncated, cvmgen_trunc_div(a, b))
OF(floored, cvmgen_floor_div(a, b))
OF(truncated_wide, (int64_t)cvmgen_trunc_div_i128(a, b))
OF(floored_wide, (int64_t)cvmgen_floor_div_i128(a, b))
OF(power, cvmgen_power(a, b))
OF(power_wide, (int64_t)(cvmgen_power_i128(a, b) >> 64))
"""
LOW, HIGH = -(1 << 63), (1 << 63) - 1
EDGES = (LOW, LOW + 1, -9, -2, -1, 0, 1, 2, 3, 8, 1 << 31, HIGH - 1, HIGH)


def truncated(a: int, b: int) -> int:
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def in_64_bits(value: int) -> int:
    return (value - LOW) % (1 << 64) + LOW


def test_quotients_and_powers_are_those_of_numbers() -> None:
    headers = {name: text for name, text in c_support.emit_support().items() if name.endswith(".h")}
    library = ctypes.CDLL(str(compile_library({**headers, "whole.c": MANY}, name="whole")))

    def found(name: str, a: int, b: int) -> int:
        function = getattr(library, name)
        function.argtypes, function.restype = [ctypes.c_int64] * 2, ctypes.c_int64
        return int(function(a, b))

    for a, b in product(EDGES, EDGES):
        floor = 0 if b == 0 else a // b
        assert found("truncated", a, b) == min(truncated(a, b), HIGH), (a, b)
        assert found("floored", a, b) == min(floor, HIGH), (a, b)
        assert found("truncated_wide", a, b) == in_64_bits(truncated(a, b)), (a, b)
        assert found("floored_wide", a, b) == in_64_bits(floor), (a, b)
    for a, b in product((-3, -1, 0, 1, 2, 10), (-1, 0, 1, 2, 62, 63, 64, 65, 127, 128)):
        whole = a ** max(b, 0)
        assert found("power", a, b) == in_64_bits(whole), (a, b)
        assert found("power_wide", a, b) == in_64_bits(whole >> 64), (a, b)
