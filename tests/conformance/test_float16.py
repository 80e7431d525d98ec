"""Real numbers of 16 bits, rounded once, at the store: the same bits on every target."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from cvmgen.errors import OperatorError
from tests.conformance.calls import Call, Conformance
from tests.conformance.together import together

FORMULAS = """
operator narrowed {
  "Numbers of 64 bits as elements of each type."
  type   T in float16, bfloat16, float32
  input  X : float64[N]
  input  like : T[1]
  output Y : T[N]
  Y[i] = X[i] + (0.0 if true else like[0])
}
operator widened {
  "Twice each element, its square root, and the greatest."
  type   T in float16, bfloat16, float32, float64
  input  X : T[N]
  output Y : T[N]
  output Z : float64[N]
  output M : T[]
  Y[i] = 2 * X[i]
  Z[i] = sqrt(X[i])
  M[] = max[i < N](X[i])
}
operator products {
  "A matrix times a matrix, sums in their order; rows in another order."
  type   E in float16, bfloat16
  input  A : E[M, K]
  input  B : E[K, N]
  output Y : E[M, N]
  output T : E[K, M]
  Y[i, j] = sum[k < K](A[i, k] * B[k, j])
  T[k, i] = A[M - 1 - i, k]
}
operator ones {
  "Ones that lists and arrays do not bring the type of."
  input  X : float64[N]
  output Y : bfloat16[N]
  Y[i] = 0 * X[i] + 1
}
operator parts {
  "Whole parts, as far as int8 holds them."
  type   E in float16, bfloat16
  input  X : E[N]
  output Y : int8[N]
  Y[i] = int(max(-128.0, min(X[i], 127.0)))
}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    return together(Path(tmp_path_factory.mktemp("float16")), (FORMULAS,))


BFLOAT16 = ml_dtypes.bfloat16
ENDS = {
    np.float16: [65504.0, 65519.999, 65520.0, 65536.0, 2.0**-25],
    BFLOAT16: [2.0**128 - 2.0**120, 2.0**128 - 2.0**119, 2.0**-134, 1 + 2.0**-8 + 2.0**-40],
}


def edges(dtype: Any = np.float16) -> Any:
    """Every finite number of 16 bits would be many: those where exponents change, what lies half
    way to their neighbours, and next to that."""
    digits = 10 if dtype == np.float16 else 7
    lows = (0, 1, 2, 1 << (digits - 1), (1 << digits) - 2, (1 << digits) - 1)
    places = [at << digits | low for at in range((1 << (15 - digits)) - 1) for low in lows]
    held = np.array(places, np.uint16).view(dtype).astype(np.float64)
    half = (held[:-1] + np.sort(held)[1:]) / 2
    near = [np.nextafter(half, np.inf), np.nextafter(half, -np.inf)]
    ends = [*ENDS[dtype], 1e300, np.inf, np.nan, 5e-324, 0.0]
    found = np.concatenate([held, half, *near, ends])
    return np.concatenate([found, -found])


@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16, np.float32])
def test_each_is_rounded_once(made: Conformance, dtype: Any) -> None:
    of = np.float16 if dtype == np.float32 else dtype
    made.check(Call("tried.narrowed", (edges(of), np.zeros(1, dtype))))


@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16, np.float32, np.float64])
def test_arithmetic_is_of_64_bits(made: Conformance, dtype: Any) -> None:
    with np.errstate(over="ignore"):
        X = edges(dtype if dtype in ENDS else np.float16)[::3].astype(dtype)
    made.check(Call("tried.widened", (X,)))
    made.check(Call("tried.widened", (X[-3:],)))


@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16])
def test_sums_and_moves(made: Conformance, dtype: Any) -> None:
    random = Random(16)
    for m, k, n in ((1, 1, 1), (3, 5, 4), (17, 40, 33)):
        values = np.array([random.gauss(0, 2) for _ in range(m * k + k * n)]).astype(dtype)
        A, B = values[: m * k].reshape(m, k), values[m * k :].reshape(k, n)
        made.check(Call("tried.products", (A, B)))
    made.check(Call("tried.parts", (np.array([1.5, -2.75, 300, -6e4, 0.0]).astype(dtype),)))


def test_every_element_of_16_bits(made: Conformance) -> None:
    """What is not a number too: all are in each library, moved as they are."""
    every = np.arange(1 << 16, dtype=np.uint16).view(BFLOAT16).reshape(256, 256)
    one = np.ones((256, 1), BFLOAT16)
    bits = every.view(np.uint16)
    given = np.where((bits & 0x7FFF) > 0x7F80, 0x7FC0, bits).astype(np.uint16)
    for target, operators in made.libraries.items():
        found = operators["tried.products"](every, one)[1]
        assert found.tobytes() == given[::-1].T.tobytes(), target


def test_without_the_package(made: Conformance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(OperatorError) as caught:
        made.libraries["numpy"]["tried.ones"](np.ones(1, np.float64))
    rule = "Y = dtype bfloat16: the package ml_dtypes is needed"
    assert str(caught.value) == f"tried.ones: {rule}"
