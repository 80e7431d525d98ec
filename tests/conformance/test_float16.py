"""Elements of float16: real numbers rounded once, at the store, the same bits on every target."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.conformance.calls import Call, Conformance
from tests.conformance.together import together

FORMULAS = """
operator narrowed {
  "Numbers of 64 bits as elements of each type."
  type   T in float16, float32
  input  X : float64[N]
  input  like : T[1]
  output Y : T[N]
  Y[i] = X[i] + (0.0 if true else like[0])
}
operator widened {
  "Twice each element, its square root, and the greatest."
  type   T in float16, float32, float64
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
  input  A : float16[M, K]
  input  B : float16[K, N]
  output Y : float16[M, N]
  output T : float16[K, M]
  Y[i, j] = sum[k < K](A[i, k] * B[k, j])
  T[k, i] = A[M - 1 - i, k]
}
operator parts {
  "Whole parts, as far as int8 holds them."
  input  X : float16[N]
  output Y : int8[N]
  Y[i] = int(max(-128.0, min(X[i], 127.0)))
}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    return together(Path(tmp_path_factory.mktemp("float16")), (FORMULAS,))


def edges() -> Any:
    """Every finite number of 16 bits would be many: those where exponents change, what lies half
    way to their neighbours, and next to that."""
    places = [at << 10 | low for at in range(31) for low in (0, 1, 2, 512, 1022, 1023)]
    held = np.array(places, np.uint16).view(np.float16).astype(np.float64)
    half = (held[:-1] + np.sort(held)[1:]) / 2
    near = [np.nextafter(half, np.inf), np.nextafter(half, -np.inf)]
    ends = [65504.0, 65519.999, 65520.0, 65536.0, 1e300, np.inf, np.nan, 2.0**-25, 5e-324, 0.0]
    found = np.concatenate([held, half, *near, ends])
    return np.concatenate([found, -found])


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_each_is_rounded_once(made: Conformance, dtype: Any) -> None:
    made.check(Call("tried.narrowed", (edges(), np.zeros(1, dtype))))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_arithmetic_is_of_64_bits(made: Conformance, dtype: Any) -> None:
    with np.errstate(over="ignore"):
        X = edges()[::3].astype(dtype)
    made.check(Call("tried.widened", (X,)))
    made.check(Call("tried.widened", (X[-3:],)))


def test_sums_and_moves(made: Conformance) -> None:
    random = Random(16)
    for m, k, n in ((1, 1, 1), (3, 5, 4), (17, 40, 33)):
        values = [random.gauss(0, 2) for _ in range(m * k + k * n)]
        A = np.array(values[: m * k], np.float16).reshape(m, k)
        B = np.array(values[m * k :], np.float16).reshape(k, n)
        made.check(Call("tried.products", (A, B)))
    made.check(Call("tried.parts", (np.array([1.5, -2.75, 300, -6e4, 0.0], np.float16),)))
