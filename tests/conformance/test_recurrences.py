"""Recurrences mean the same on every target, and such as have no order are refused."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pytest

from cvmgen.driver import COMMON, lower, typed_kernels
from cvmgen.driver import C as FOR_C
from cvmgen.lower.scan_parts import BEFORE_PARTS, OF_PARTS
from cvmgen.reference import Reference, Tensor
from cvmgen.source import CvmgenError, Source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.spec.formula import Operator
from tests.conformance.calls import Call, Conformance
from tests.conformance.together import CLIP, MATRIX, VECTOR, drawn, operator_text, together

VECTORS = (((1,),), ((2,),), ((300,),))
MATRICES = (((1, 1),), ((3, 5),), ((17, 40),), ((40, 7),))


@dataclass(frozen=True, slots=True)
class Row:
    why: str
    block: str
    shapes: tuple[tuple[tuple[int, ...], ...], ...] = MATRICES
    types: tuple[Any, ...] = (np.int8,)


ROWS = [
    Row(
        "sums along rows",
        MATRIX.format("int8", "int64")
        + "let S[n, k] = X[n, k] + (S[n, k - 1] if k > 0 else 0)\n Y[n, k] = S[n, k]",
    ),
    Row(
        "down columns",
        MATRIX.format("int8", "int64")
        + "let S[n, k] = (S[n - 1, k] if n > 0 else 0) - X[n, k]\n Y[n, k] = S[n, k]",
    ),
    Row(
        "of a vector",
        VECTOR.format("int16", "int64")
        + "let S[i] = X[i] + (S[i - 1] if i >= 1 else 0)\n Y[i] = S[i]",
        VECTORS,
        (np.int16,),
    ),
    Row(
        "two steps back",
        VECTOR.format("int8", "int64")
        + "let S[i] = X[i] - (S[i - 2] if i >= 2 else 3)\n Y[i] = S[i] + i",
        VECTORS,
    ),
    Row(
        "the largest so far",
        MATRIX.format("cvm", "cvm")
        + "let M[n, k] = max(X[n, k], M[n, k - 1]) if k > 0 else X[n, k]\n Y[n, k] = M[n, k]",
        MATRICES,
        (np.int8, np.int32),
    ),
    Row(
        "sums with a precision that follows",
        MATRIX.format("cvm", "cvm").replace(
            "cvm[N, K]\n out", 'cvm[N, K]\n require p(X) <= 8 : "small"\n out'
        )
        + "let S[n, k] = X[n, k] + (S[n, k - 1] if k > 0 else 0)\n Y[n, k] = S[n, k]",
        MATRICES,
        (np.int8, np.int32),
    ),
    Row(
        "a moving mean",
        MATRIX.format("int32", "int32")
        + "let E[n, k] = (X[n, k] + 7 * E[n, k - 1]) div 8 if k > 0 else X[n, k]\n"
        "Y[n, k] = E[n, k]",
        MATRICES,
        (np.int32,),
    ),
    Row(
        "cut at each step",
        MATRIX.format("int32", "int32")
        + "let S[n, k] = clip(X[n, k] + 3 * (S[n, k - 1] if k > 0 else 0), -1000, 1000)\n"
        "Y[n, k] = S[n, k] * 2",
        MATRICES,
        (np.int32,),
    ),
    Row(
        "real numbers in their order",
        MATRIX.format("float32", "float32")
        + "let S[n, k] = X[n, k] + (0.5 * S[n, k - 1] if k > 0 else 0.0)\n Y[n, k] = S[n, k]",
        MATRICES,
        (np.float32,),
    ),
    Row(
        "each step from all of the one before",
        "input X : int8[T, H]\n input W : int8[H, H]\n output Y : int32[T, H]\n"
        "let h[t, j] = clip(X[t, j] + (sum[i < H](W[j, i] * h[t - 1, i]) div 64 if t > 0 else 0),"
        " -127, 127)\n Y[t, j] = h[t, j]",
        (((1, 1), (1, 1)), ((5, 3), (3, 3)), ((20, 9), (9, 9))),
    ),
    Row(
        "one along both",
        MATRIX.format("int8", "int32")
        + "let D[n, k] = clip(X[n, k] - (D[n - 1, k - 1] if n > 0 and k > 0 else 0), -99, 99)\n"
        "Y[n, k] = D[n, k]",
    ),
    Row(
        "of another let",
        MATRIX.format("int8", "int64") + "let r[n] = sum[k < K](X[n, k])\n"
        "let S[n, k] = X[n, k] * r[n] + (S[n, k - 1] if k > 0 else 0)\n Y[n, k] = S[n, K - 1 - k]",
    ),
    Row(
        "more than 64 bits on the way",
        VECTOR.format("int64", "int64")
        + "let S[i] = clip(3 * ((S[i - 1] if i > 0 else 3) - X[i]), -2147483647, 2147483647)\n"
        "Y[i] = S[i]",
        VECTORS,
        (np.int64,),
    ),
    Row(
        "more than 64 bits on the way of whole rows",
        MATRIX.format("int64", "int64")
        + "let S[n, k] = clip(5 * (S[n - 1, k] if n > 0 else 3) * X[n, k] div 3,"
        " -1000000000000000000, 1000000000000000000)\n Y[n, k] = S[n, k]",
        MATRICES,
        (np.int64,),
    ),
    Row(
        "more than 64 bits on the way, over a list",
        VECTOR.format("int64", "int64") + "let P = select[j < N](X[j] > 0)\n"
        "let S[i] = clip(sum[j in P if i > 0](3 * S[i - 1] - X[j]) + X[i], -999999999, 999999999)\n"
        "Y[i] = S[i]",
        VECTORS,
        (np.int64,),
    ),
    Row(
        "read again and again",
        VECTOR.format("int8", "int64") + "let S[i] = X[i] + (S[i - 1] if i > 0 else 0)\n"
        "Y[i] = sum[j < i + 1](S[j]) - S[N - 1]",
        VECTORS,
    ),
    Row(
        "a sum stored at other places, in arithmetic",
        "input X : int16[N, K]\n output Y : int64[K, N]\n"
        "let S[n, k] = (S[n, k - 1] if k != 0 else 0) + (3 * X[n, k] - X[n, K - 1 - k])\n"
        "Y[i, j] = S[j, i] * X[j, 0] - S[j, i]",
        types=(np.int16,),
    ),
    Row(
        "a sum that begins with a number, and a minimum",
        MATRIX.format("int8", "int64") + "let S[n, k] = X[n, k] + (S[n, k - 1] if k >= 1 else 5)\n"
        "let M[n, k] = X[n, k] if k == 0 else min(M[n, k - 1], X[n, k])\n"
        "Y[n, k] = S[n, k] - M[n, k]",
    ),
    Row(
        "zeros of either sign",
        MATRIX.format("float64", "float64")
        + "let S[n, k] = 0.0 * X[n, k] + (S[n, k - 1] if k > 0 else 0.0)\n"
        "let T[n, k] = S[n, k - 1] * 2 + 0.0 * X[n, k] if k > 0 else 0.0 * X[n, k]\n"
        "let U[n, k] = U[n, k - 1] + 0.0 * X[n, k] if k > 0 else 0.0 * X[n, k]\n"
        "Y[n, k] = (1 over S[n, k]) + (1 over U[n, k]) if k mod 2 == 0 else 1 over T[n, k]",
        types=(np.float64,),
    ),
    Row(
        "zeros of either sign in one sum",
        MATRIX.format("float64", "float64")
        + "let S[n, k] = S[n, k - 1] + 0.0 * X[n, k] if k > 0 else 0.0 * X[n, k]\n"
        "Y[n, k] = 1 over S[n, k]",
        types=(np.float64,),
    ),
    Row(
        "zeros of either sign, from 0 on",
        MATRIX.format("float64", "float64")
        + "let S[n, k] = (S[n, k - 1] if k > 0 else 0.0) + 0.0 * X[n, k]\n"
        "Y[n, k] = 1 over S[n, k]",
        types=(np.float64,),
    ),
    Row(
        "extremes and products of real numbers",
        MATRIX.format("float64", "float64")
        + "let M[n, k] = max(M[n, k - 1], 0.0 * X[n, k]) if k > 0 else 0.0 * X[n, k]\n"
        "let P[n, k] = X[n, k] * (P[n, k - 1] if k > 0 else 1.0)\n"
        "Y[n, k] = (1 over M[n, k]) + P[n, k]",
        types=(np.float64,),
    ),
    Row(
        "in a case alone",
        VECTOR.format("int8", "int64") + "attr up : bool = true\n"
        "let S[i] = X[i] + (S[i - 1] if i > 0 else 0)\n"
        "case up { Y[i] = S[i] }\n case not up { Y[i] = X[i] }",
        VECTORS,
    ),
    Row(
        "inside of a block",
        MATRIX.format("int8", "int64")
        + "within n < N { let S[k] = X[n, k] + (S[k - 1] if k > 0 else 0)\n Y[n, k] = S[k] }",
    ),
]


def checked(block: str) -> Operator:
    (operator,) = check_files([SpecFile(Source("f.cvm", CLIP + operator_text(0, block)), "tried")])
    return operator


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    texts = [CLIP, *(operator_text(at, row.block) for at, row in enumerate(ROWS))]
    return together(tmp_path_factory.mktemp("recurrences"), texts)


@pytest.mark.parametrize("at", range(len(ROWS)), ids=[row.why for row in ROWS])
def test_recurrences(at: int, tried: Conformance) -> None:
    row = ROWS[at]
    random = Random(row.why)
    for shapes in row.shapes:
        for dtype in row.types:
            inputs = tuple(drawn(random, shape, dtype) for shape in shapes)
            assert tried.check(Call(f"tried.f{at}", inputs)).refusal == ""


def test_no_memory_for_what_one_output_stores() -> None:
    """A running sum is a local of the loop that stores it; what is read otherwise is memory."""
    for row in ROWS:
        program = lower(checked(row.block), FOR_C)
        local = row.why in (
            *("sums along rows", "of a vector", "the largest so far", "in a case alone"),
            *("sums with a precision that follows", "zeros of either sign in one sum"),
            *("a sum stored at other places, in arithmetic", "zeros of either sign, from 0 on"),
            "inside of a block",
        )
        memory = [each for each in program.scratch if each.why not in (OF_PARTS, BEFORE_PARTS)]
        assert bool(memory) != local, row.why


REFUSED = [
    ("let S[i] = X[i] + S[i]\n Y[i] = S[i]", "recursion, in which no index becomes smaller"),
    ("let S[i] = X[i] + (S[i + 1] if i + 1 < N else 0)\n Y[i] = S[i]", "no index becomes smaller"),
    ("let S[i] = X[i] + (S[i div 2] if i > 0 else 0)\n Y[i] = S[i]", "no index becomes smaller"),
    ("let S[i] = X[i] + S[i - 1]\n Y[i] = S[i]", "recursion, and it is not proved"),
    ("let S[i] = X[i] + (S[i - 2] if i > 0 else 0)\n Y[i] = S[i]", "recursion, and it is not"),
    ("let S[i] = X[i] + 2 * (S[i - 1] if i > 0 else 0)\n Y[i] = S[i]", "not known how large"),
    ("let S[i] = X[i] * (S[i - 1] if i > 0 else 1)\n Y[i] = S[i]", "not known how large"),
    ("let S[i] = 1 + (S[i - 1] if i > 0 else 0)\n Y[i] = S[i] + X[i]", "indices without a range"),
    ("let S = X[0] + S\n Y[i] = S", "'S' is defined by itself: recursion"),
]


@pytest.mark.parametrize(("block", "message"), REFUSED)
def test_what_has_no_order_or_no_end(block: str, message: str) -> None:
    with pytest.raises(CvmgenError) as caught:
        typed_kernels(lower(checked(VECTOR.format("int8", "int64") + block), FOR_C))
    assert message in str(caught.value)
    assert "f.cvm:" in str(caught.value)
    assert "hint: " in str(caught.value)


NEITHER = [
    ("let S[i] = R[i] + (0.5 * S[i - 1] if i > 0 else Q)", "unknown name 'Q'"),
    ("let S[i] = X[i] + (S[i - 1] if i > 0 else Q)", "unknown name 'Q'"),
    ("let S[i] = (S[i - 1] + X[i] if i > 0 and R[i] > 0.5 else Q)", "unknown name 'Q'"),
    ("let S[i] = R[i] + (S[i - 1] if i > 0 else X[i])", "write real(X[i])"),
    ("let S[i] = R[i] + (S[i - 1] mod 3 if i > 0 else 0.0)", "'mod' has a meaning for integers"),
]


@pytest.mark.parametrize(("block", "message"), NEITHER)
def test_what_is_at_fault_is_told_of_the_kind_that_was_meant(block: str, message: str) -> None:
    with pytest.raises(CvmgenError) as caught:
        checked(f"input R : float32[N]\n {VECTOR.format('int8', 'int64')} {block}\n Y[i] = X[i]")
    assert message in str(caught.value)


def test_a_long_way_back_needs_no_stack() -> None:
    """The last element alone is asked for."""
    block = "input X : int8[N]\n output Y : int64[1]\n"
    block += "let S[i] = X[i] + (S[i - 1] if i > 0 else 0)\n Y[j] = S[N - 1] forall j < 1"
    operator = checked(block)
    found = Reference(operator).evaluate({"X": Tensor((20000,), [1] * 20000, 0, "int8")})
    assert found.outputs["Y"].values == [20000]
    assert lower(operator, COMMON).lets.keys() == {"S"}
