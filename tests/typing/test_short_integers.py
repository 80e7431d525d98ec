"""Integers in loops of vectors: what takes 32 bits and what keeps 64, and that no value changes."""

from __future__ import annotations

import ctypes
from itertools import product
from random import Random

import numpy as np
import pytest

from cvmgen.build import compile_library
from cvmgen.driver import emitted
from cvmgen.emit import c_support
from cvmgen.ir import nodes as i
from cvmgen.ranges import Range
from cvmgen.typing.short_integers import ShortIntegers
from tests.conformance.calls import Call, Conformance
from tests.conformance.together import CLIP, operator_text, together
from tests.specs import operator

HEAD = """input A : int32[N]
input B : int32[N]
input E : int32[N]
input H : int8[N]
attr  z = 0 in [-128, 128)
attr  s = 0 in [-31, 32)
"""
REAL = "input F : float32[N]\n"  # where powers are functions
LOW, HIGH = -(1 << 31), (1 << 31) - 1
EXPONENT = "clip(E[i], 0, 31)"
HALF = f"2^{EXPONENT} div 2"
# A value, a part of its text in C, why.
ROWS = [
    (f"clip(A[i] + B[i], {LOW}, {HIGH})", "cvmgen_saturating_add_i32(A[i], B[i])", "a sum"),
    (
        f"clip(A[i] - B[i], {LOW}, {HIGH})",
        "min_i64((int64_t)A[i] - B[i]",
        "a difference, whose ends may be beyond 32 bits if they move",
    ),
    (f"clip(A[i] + B[i], {LOW}, {HIGH - 1})", "min_i64((int64_t)A[i] + B[i]", "another end"),
    (
        f"clip(A[i] * 2^{EXPONENT}, {LOW}, {HIGH})",
        "cvmgen_saturating_shl_i32(A[i], cvmgen_max_i32(0, cvmgen_min_i32(E[i], 31)))",
        "a power of two",
    ),
    (f"clip(A[i] * B[i], {LOW}, {HIGH})", "(int64_t)A[i] * B[i]", "a product of any two"),
    (
        f"clip((x + {HALF}) div 2^{EXPONENT}, -128, 127) where x = A[i]",
        "cvmgen_shr_sum_i32(A[i], (int32_t)((1u << clip) >> 1), clip)",
        "a half more",
    ),
    (
        "clip((x + h - (1 if x < 0 and e > 0 else 0)) div 2^e, -128, 127)"
        f" where x = A[i], e = {EXPONENT}, h = 2^e div 2",
        "(x < 0 && e > 0 ? 1 : 0), e)",
        "halves away from 0",
    ),
    (
        f"clip((A[i] + 2^e + 1) div 2^e, -128, 127) where e = {EXPONENT}",
        "min_i64(",
        "more than the power",
    ),
    (
        f"clip((x - (1 if x < 0 else 0)) div 2^e, -128, 127) where x = A[i], e = {EXPONENT}",
        "min_i64(((int64_t)x - (x < 0 ? 1 : 0)) >>",
        "less than nothing",
    ),
    ("clip(A[i] + z, -128, 127)", "cvmgen_min_i32(A[i], (int32_t)(127 - z))", "moved ends"),
    ("clip(z - A[i], -5, 127)", "min_i64(z - A[i], 127)", "a number of the call"),
    ("clip(-A[i], -5, 127)", "cvmgen_max_i32(-5, -cvmgen_max_i32(-127, A[i]))", "turned ends"),
    ("(H[i] - z) * H[i]", "(H[i] - (int32_t)z) * H[i]", "a number of the call that fits"),
    (
        "int(roundeven(max(-512.0, min(float32(F[i] * F[i]), 512.0)))) + z",
        "cvmgen_cut_to_int_f32(cvmgen_roundeven_f32(F[i] * F[i]), -512.0f, 512.0f) + (int32_t)z",
        "a number that is cut",
    ),
    (
        "int(max(-512.0, min(F[i], 0.0)))",
        "cvmgen_cut_to_int_f32(F[i], -512.0f, 0.0f)",
        "cut at 0, of which there are two",
    ),
    (
        "clip(int(roundeven(F[i]) + 0.0), 0, 255)",
        "cvmgen_cut_to_int_f32(cvmgen_roundeven_f32(F[i]), (float)0, (float)255)",
        "cut behind a zero point of 0",
    ),
    (
        "clip(int(roundeven(float32(real(A[i]) * 0.5)) + 128.0), 0, 255)",
        "(float)-128, (float)127) + 128",
        "cut behind a zero point",
    ),
    ("clip(int(roundeven(F[i]) + 128.0), 0, 255)", "cvmgen_to_int(", "perhaps NaN, which is 0"),
    ("clip(int(F[i] + 128.0), 0, 255)", "cvmgen_to_int(", "rounded behind the sum"),
    ("int(max(-512.0, min(F[i], 0.5)))", "cvmgen_to_int(", "cut at no integer"),
]


X, W = i.Load("X", None, i.ZERO), i.Load("W", None, i.ZERO)
LESS = i.Binary("-", X, i.Convert("i32", i.Var("zx")))
# A product, the type of X, the greatest number that zx is, whether 16 bits have it.
PRODUCTS = [
    (i.Binary("*", LESS, W), "i8", 127, True, "of 8 bits less a number of 8"),
    (i.Binary("*", LESS, W), "i8", 129, False, "-257 * -128"),
    (i.Binary("*", LESS, W), "i16", 127, False, "of 16 bits"),
    (i.Binary("*", X, W), "i8", 127, False, "of elements, which compilers see"),
]


@pytest.mark.parametrize(
    ("term", "kind", "most", "short", "why"), PRODUCTS, ids=[row[-1] for row in PRODUCTS]
)
def test_products_of_16_bits(term: i.Expr, kind: str, most: int, short: bool, why: str) -> None:
    span = operator("output Y : int32[1]\nY[i] = i").span
    loops = ShortIntegers(
        {"X": kind, "W": "i8"}, {"total": "i32"}, {"zx": Range(-128, most)}, frozenset({"total"})
    )
    found = loops.statement(i.Accumulate("total", "+", term, span))
    assert found == i.Accumulate("total", "+", i.Convert("i16", term) if short else term, span), why


@pytest.mark.parametrize(("value", "part", "why"), ROWS, ids=[row[-1] for row in ROWS])
def test_forms(value: str, part: str, why: str) -> None:
    head = HEAD + REAL * ("F[" in value)
    text = emitted("c", operator(f"{head}output Y : int32[N]\nY[i] = {value}"))
    assert "".join(part.split()) in "".join(text.split()), why


def invented(random: Random, depth: int) -> str:
    """An integer of the elements of some inputs, many of its parts cut or shifted."""
    if depth == 0:
        leaves = ("A[i]", "B[i]", "A[i]", "H[i]", "z", "s", "E[i]", EXPONENT, "clip(-s, 0, 31)")
        return random.choice((*leaves, "1", "127", f"{HIGH}", f"{1 << 30}"))
    one, other = (invented(random, random.randrange(depth)) for _ in range(2))
    exponent = random.choice((EXPONENT, "clip(-E[i], 0, 31)", "clip(s, 0, 30)", "3", "31"))
    match random.randrange(12):
        case 0 | 1:
            return f"clip({one} {random.choice('+-')} {other}, {LOW}, {HIGH})"
        case 2:
            return f"clip(clip({one}, {LOW}, {HIGH}) * 2^{exponent}, {LOW}, {HIGH})"
        case 3 | 4:
            more = random.choice((f"2^{exponent} div 2", "1", "0", other, f"2^{exponent} - 1"))
            sign = random.choice(("", " - (1 if A[i] < 0 and E[i] > 0 else 0)"))
            return f"((clip({one}, {LOW}, {HIGH}) + {more}{sign}) div 2^{exponent})"
        case 5:
            cut = f"clip({one}, {LOW}, {HIGH}) * clip({other}, {LOW}, {HIGH})"
            return f"min(({cut} + {1 << 30}) div {1 << 31}, {HIGH})"
        case 6 | 7:
            ends = random.choice(("-128, 127", "0, 31", "-z, z + 300", f"{LOW}, 0", "z, -z"))
            return f"clip({one}, {ends})"
        case 8:
            return f"{random.choice(('min', 'max'))}({one}, {other})"
        case 9:
            return f"({one} if {other} {random.choice(('<', '>='))} B[i] else {other})"
        case 10:
            return f"abs({one})"
        case _:
            return f"({one} {random.choice('+-')} {other})"


SQUARE = "def square(x) = x * x\n"
FIXED = [
    "sum[k < 4](square(clip(A[min(i + k, N - 1)] + 1, -70000, 70000)) if i + k < N else 0) div 16",
    f"clip((x + h - (1 if x < 0 and e > 0 else 0)) div 2^e + z, -128, 127)"
    f" where x = A[i], e = {EXPONENT}, h = 2^e div 2",
    f"clip((x + h) div 2^e - z, -128 - z, 127) where x = A[i], e = {EXPONENT}, h = 2^e",
    f"clip(clip(A[i] + B[i], {LOW}, {HIGH}) * 2^{EXPONENT}, {LOW}, {HIGH})",
    f"min((clip(A[i] * 2^{EXPONENT}, {LOW}, {HIGH}) * B[i] + {1 << 30}) div {1 << 31}, {HIGH})",
]
TURNED = ["clip(-128 - A[i], 5, -5)", "clip(3 - A[i], z, -z)", "max(-7, min(9 - A[i], 200))"]
REALS = [
    "clip(int(roundeven(max(-512.0, min(float32(float32(real(A[i])) * F[i]), 512.0)))) + z, -9, 9)",
    "int(trunc(max(-100.0, min(F[i] + F[i], 7.0)))) - z",
    "int(min(50.0, max(-3.0, floor(F[i]))))",
]


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    random = Random(22)
    values = [*FIXED, *TURNED, *(f"clip({invented(random, 4)}, {LOW}, {HIGH})" for _ in range(40))]
    texts = []
    for at, some in enumerate([REALS, *(values[at : at + 12] for at in range(0, 48, 12))]):
        outputs = "".join(f"output Y{n} : int32[N]\n" for n in range(len(some)))
        lines = "".join(f"Y{n}[i] = {value}\n" for n, value in enumerate(some))
        every = "output Z : int64[N]\nZ[i] = A[i] + B[i] + E[i] + H[i] + z + s\n"
        texts.append(operator_text(at, HEAD + REAL * (at == 0) + outputs + every + lines))
    return together(tmp_path_factory.mktemp("short"), [CLIP, SQUARE, *texts])


EDGES = [LOW, LOW + 1, -(1 << 30), -129, -128, -2, -1, 0, 1, 2, 127, 1 << 30, HIGH - 1, HIGH]


@pytest.mark.parametrize("at", range(5))
def test_values(tried: Conformance, at: int) -> None:
    """Every pair of edges by every exponent, and any elements."""
    random = Random(at)
    rows = [*product(EDGES, EDGES, (-1, 0, 1, 5, 30, 31, 32))]
    rows += [
        (random.randrange(LOW, HIGH), random.randrange(LOW, HIGH) >> random.randrange(32),
         random.randrange(-35, 35))
        for _ in range(300)
    ]  # fmt: skip
    a, b, e = np.array(rows, np.int32).T.copy()
    h = np.array([random.randrange(-128, 128) for _ in rows], np.int8)
    f = np.array([random.getrandbits(32) for _ in rows], np.uint32).view(np.float32)
    f[::2] = np.array([random.gauss(0, 1) * 2.0 ** random.randrange(-33, 9) for _ in rows])[::2]
    for z, s in ((0, 0), (-128, 31), (127, -31)):
        inputs = (a, b, e, h, f) if at == 0 else (a, b, e, h)
        call = Call(f"tried.f{at}", inputs, {"z": z, "s": s})
        assert tried.check(call).refusal == ""


def test_helpers() -> None:
    """Sums, shifts to the left and quotients as Python has them, at every edge and exponent."""
    kinds = {"saturating_add": "ab", "saturating_shl": "ae", "shr_sum": "abe"}
    lines = ['#include "cvmgen_runtime.h"']
    for name, given in kinds.items():
        head = f"int32_t call_{name}({', '.join(f'int32_t {each}' for each in given)})"
        lines += [f"{head};", f"{head} {{ return cvmgen_{name}_i32({', '.join(given)}); }}"]
    headers = {name: text for name, text in c_support.emit_support().items() if name.endswith(".h")}
    sources = headers | {"helpers.c": "\n".join(lines) + "\n"}
    made = ctypes.CDLL(str(compile_library(sources, name="helpers")))
    random = Random(7)
    numbers = [*EDGES, *(random.randrange(LOW, HIGH) >> random.randrange(31) for _ in range(60))]
    for a, b in product(numbers, numbers):
        assert made.call_saturating_add(a, b) == max(LOW, min(a + b, HIGH)), (a, b)
    for a, e in product(numbers, range(32)):
        assert made.call_saturating_shl(a, e) == max(LOW, min(a << e, HIGH)), (a, e)
        most = min(1 << e, HIGH)
        for b in {0, 1, most >> 1, most - 1, most}:
            wanted = (a + b) >> e
            if wanted <= HIGH:
                assert made.call_shr_sum(a, b, e) == wanted, (a, b, e)
