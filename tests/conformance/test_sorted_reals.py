"""Lists sorted by real numbers: one order of all of them, NaN above infinity and -0 below +0."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.conformance.calls import Call, Conformance
from tests.conformance.together import together

FORMULAS = """
operator sorted_up {
  "Elements in their order, and their ranks."
  type   T in float32, float64
  input  X : T[N]
  let    S = sort[i < N] by (X[i])
  output Y : T[N]
  output R : int64[N]
  Y[i] = X[S[i]]
  R[i] = S[i]
}
operator greatest_first {
  "The k greatest of each row with their places, the first of equal ones in front."
  input  X : float32[B, N]
  attr   k = 1 in [1, N]
  let    S[b] = sort[i < N] by (-X[b, i])
  output Y : float32[B, k]
  output I : int32[B, k]
  Y[b, j] = X[b, S[b][j]]
  I[b, j] = S[b][j]
}
operator among_the_best {
  "Above 0, by whole parts, then by the greater rest."
  input  X : float64[N]
  let    V = select[i < N](X[i] > 0)
  let    S = sort[i in V] by (int(X[i]), trunc(X[i]) - X[i])
  output Y : float64[N]
  output Z : int64[N]
  Y[i] = X[S[i]] if i < count(S) else 0.0
  Z[i] = order(X[i])
}
"""
FORMULAS += """
operator least_and_next {
  "The k least by two keys with others between them, how many there are, and the first one again."
  input  X : cvm[N]
  input  Z : int8[N]
  attr   k = 1 in [0, N]
  let    S = sort[i < N if Z[i] != 0] by (Z[i], -X[i])
  output Y : int64[k + 1]
  output C : int64[1]
  Y[j] = (X[S[j]] if j < count(S) else -1) forall j < k
  Y[k] = X[S[0]] if count(S) > 0 else -2
  C[0] = count(S)
}
"""
SPECIAL = (float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.5, -1.5, 5e-324, -5e-324, 3.0)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    return together(Path(tmp_path_factory.mktemp("sorted")), (FORMULAS,))


def drawn(random: Random, *shape: int, dtype: Any = np.float32) -> Any:
    values = [random.choice((*SPECIAL, random.gauss(0, 4))) for _ in range(int(np.prod(shape)))]
    return np.array(values, dtype).reshape(shape)


@pytest.mark.parametrize("n", [1, 2, 10, 67, 300])
def test_sorted(made: Conformance, n: int) -> None:
    random = Random(n)
    for dtype in (np.float32, np.float64):
        found = made.check(Call("tried.sorted_up", (drawn(random, n, dtype=dtype),))).outputs[0]
        kept = [each for each in found.nested() if each == each]
        assert kept == sorted(kept)
    made.check(Call("tried.greatest_first", (drawn(random, 3, n),), {"k": (n + 1) // 2}))
    made.check(Call("tried.among_the_best", (drawn(random, n, dtype=np.float64),)))


def test_places_of_special_numbers(made: Conformance) -> None:
    X = np.array([np.nan, 0.0, -0.0, np.inf, -np.inf, -np.nan, 1.0])
    found = made.check(Call("tried.sorted_up", (X,))).outputs[1]
    assert found.nested() == [4, 2, 1, 6, 3, 0, 5]


@pytest.mark.parametrize("n", [1, 9, 100, 700])
def test_first_entries(made: Conformance, n: int) -> None:
    """Of a list that is long beside what is read of it the first entries alone are sorted."""
    random = Random(n)
    X = np.array([random.randint(-3, 3) for _ in range(n)], np.int32)
    Z = np.array([random.randint(-2, 2) for _ in range(n)], np.int8)
    for k in sorted({0, 1, n // 9, n // 8, n // 2, n}):
        made.check(Call("tried.least_and_next", (X, Z), {"k": k}))
        if k > 0:
            made.check(Call("tried.greatest_first", (drawn(random, 2, n),), {"k": k}))
