"""Arithmetic of 32 bits: what takes that form and what keeps 64, and that no bit depends on it."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest

from cvmgen.driver import emitted
from tests.conformance.calls import Call, Conformance
from tests.conformance.together import operator_text, together
from tests.specs import operator

HEAD = """input A : float32[N]
input B : float32[N]
input H : int16[N]
input L : int32[N]
"""
# What an element of float32 is, its text in C, why.
ROWS = [
    ("A[i] * B[i]", "cvmgen_canonical_f32(A[i] * B[i])", "rounded once, at the store"),
    (
        "A[i] * B[i] + 1.0",
        "cvmgen_stored_f32((double)A[i] * (double)B[i] + 1.0)",
        "a sum of a product of 64 bits",
    ),
    (
        "float32(A[i] * B[i]) + 0.5",
        "cvmgen_canonical_f32(A[i] * B[i] + 0.5f)",
        "of a product that is rounded",
    ),
    ("A[i] + 0.1", "cvmgen_stored_f32((double)A[i] + 0.1)", "a number that 32 bits do not hold"),
    (
        "fma(A[i], B[i], A[i])",
        "cvmgen_stored_f32(cvmgen_fma_f64((double)A[i], (double)B[i], (double)A[i]))",
        "a sum that is rounded to 64 bits may be a tie of 32 that the exact one is not",
    ),
    (
        "A[i] * float32(1.0000000596046448)",
        "cvmgen_canonical_f32(A[i] * (float)1.0000000596046448)",
        "one that is rounded to 64 bits, and then to 32",
    ),
    ("sqrt(A[i]) if A[i] > B[i] else 0.0", "A[i] > B[i] ? cvmgen_sqrt_f32(A[i]) : 0.0f", "choices"),
    (
        "min(max(A[i] + B[i], -1.0), inf)",
        "cvmgen_min_f32(cvmgen_max_f32(A[i] + B[i], -1.0f), (float)CVMGEN_INFINITY)",
        "of two that are rounded the greater is the greater one, rounded",
    ),
    ("floor(-A[i])", "cvmgen_canonical_f32(cvmgen_floor_f32(-A[i]))", "of what is exact"),
    ("floor(A[i] + B[i])", "cvmgen_stored_f32(cvmgen_floor_f64(", "of what is not: 1 - 2^-60"),
    ("A[i] * real(H[i])", "cvmgen_canonical_f32(A[i] * (float)H[i])", "an integer of 16 bits"),
    (
        "A[i] * real(L[i])",
        "cvmgen_stored_f32((double)A[i] * (double)L[i])",
        "one that 24 digits do not hold",
    ),
    (
        "A[i] * float32(real(L[i]))",
        "cvmgen_canonical_f32(A[i] * (float)L[i])",
        "one that is rounded at once",
    ),
]


@pytest.mark.parametrize(("value", "part", "why"), ROWS, ids=[row[-1] for row in ROWS])
def test_forms(value: str, part: str, why: str) -> None:
    formula = operator(f"{HEAD}output Y : float32[N]\nY[i] = {value}")
    in_c, in_cuda = ("".join(emitted(target, formula).split()) for target in ("c", "cuda"))
    assert "".join(part.split()) in in_c, why
    # There elements are loaded several at once.
    assert ("cvmgen_stored_f32(" in in_cuda) == ("cvmgen_stored_f32(" in part), why


def invented(random: Random, depth: int) -> str:
    """A real number of the elements of two inputs, parts of it rounded to 32 bits."""
    if depth == 0:
        leaves = ("A[i]", "B[i]", "A[i]", "B[i]", "real(H[i])", "float32(real(L[i]))")
        return random.choice((*leaves, "0.5", "0.0", "-1.5", "0.1", "2e38", "1e-45", "inf"))
    one, other = (invented(random, random.randrange(depth)) for _ in range(2))
    match random.randrange(12):
        case 0 | 1 | 2:
            return f"float32({invented(random, depth - 1)})"
        case 3 | 4 | 5 | 6:
            return f"({one} {random.choice(('+', '-', '*', 'over'))} {other})"
        case 7 | 8:
            return f"{random.choice(('min', 'max'))}({one}, {other})"
        case 9:
            return f"{random.choice(('sqrt', 'floor', 'ceil', 'trunc', 'abs', '-'))}({one})"
        case 10:
            return f"fma({one}, {other}, {invented(random, 0)})"
        case _:
            test = f"{one} {random.choice(('<', '<=', '=='))} {other}"
            return f"({one} if {test} else {invented(random, depth - 1)})"


OPERATIONS = ("A[i] + B[i]", "A[i] - B[i]", "A[i] * B[i]", "A[i] over B[i]", "sqrt(A[i])")
OF_32 = (
    *OPERATIONS,
    "min(A[i], B[i])",
    "max(A[i], B[i])",
    "-A[i]",
    "ceil(A[i])",
    "trunc(A[i])",
    "roundeven(A[i])",
)
# A tie of 32 bits that 64 bits make of what is none, and what is too large or too small for these.
TWICE_ROUNDED = ("1.0000000596046448", "3.4028235677973366e38", "1e39", "1e-46")
# Zeros and infinities, NaN quiet and not, the least and the greatest numbers, normal and not, and
# those beside powers of two, whose products and quotients lie beside ties.
EDGES = [
    *(0x00000000, 0x7F800000, 0x7FC00000, 0x7F800001, 0x7FFFFFFF, 0x00000001, 0x00000003),
    *(0x007FFFFF, 0x00800000, 0x00800001, 0x7F7FFFFF, 0x7F000000, 0x3F800000, 0x3F7FFFFF),
    *(0x3F800001, 0x3FFFFFFF, 0x40000000, 0x4B7FFFFF, 0x4B800001, 0x33800000, 0x1F800001),
]


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    random = Random(32)
    values = [
        *OF_32,
        *(f"A[i] * float32({each})" for each in TWICE_ROUNDED),
        *(invented(random, 4) for _ in range(26)),
    ]
    texts = []
    for at in range(0, len(values), 12):
        some = values[at : at + 12]
        outputs = "".join(f"output Y{n} : float32[N]\n" for n in range(len(some)))
        lines = "".join(f"Y{n}[i] = {value}\n" for n, value in enumerate(some))
        every = "output Z : float64[N]\nZ[i] = A[i] + B[i] + real(H[i]) + real(L[i])\n"
        texts.append(operator_text(at // 12, HEAD + outputs + every + lines))
    return together(tmp_path_factory.mktemp("short"), texts)


@pytest.mark.parametrize("at", range(3))
def test_bits(tried: Conformance, at: int) -> None:
    """Every pair of edges, of both signs, and pairs of any bits, near in magnitude or not."""
    random = Random(at)
    edges = [each | sign for each in EDGES for sign in (0, 1 << 31)]
    pairs = [*product(edges, edges)]
    pairs += [(random.getrandbits(32), random.getrandbits(32)) for _ in range(200)]
    near = (0x3F000000 + random.getrandbits(24) for _ in range(400))
    pairs += zip(near, near, strict=False)
    a, b = np.array(pairs, np.uint32).view(np.float32).T.copy()
    h = np.array([random.randrange(-(1 << 15), 1 << 15) for _ in pairs], np.int16)
    low = np.array([random.randrange(-(1 << 31), 1 << 31) for _ in pairs], np.int32)
    assert tried.check(Call(f"tried.f{at}", (a, b, h, low))).refusal == ""
