"""Products of matrices of real numbers, made in blocks, mean the same on every target."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from tests.conformance.calls import Call, Conformance
from tests.conformance.together import drawn, operator_text, together

F32, F64 = np.float32, np.float64
TWO = "input A : {0}[M, K]\n input B : {1}[N, K]\n output Y : {2}[M, N]\n "
# Why, formula, and for each call shapes and types of the inputs.
ROWS: list[tuple[str, str, list[tuple[tuple[int, ...], Any]]]] = [
    (
        "rows by rows",
        TWO.format("float32", "float32", "float32") + "Y[i, j] = sum[k < K](A[i, k] * B[j, k])",
        [((70, 66), F32), ((35, 66), F32)],
    ),
    (
        "what is made of sums reads other elements",
        TWO.format("float64", "float32", "float64")
        + "input C : float32[N]\n Y[i, j] = C[j] + A[i, 0] * sum[k < K](A[i, k] * B[j, k])",
        [((9, 67), F64), ((40, 67), F32), ((40,), F32)],
    ),
    (
        "batches, and columns side by side",
        "input A : float32[H, M, K]\n input B : float32[H, K, N]\n output Y : float32[M, H, N]\n"
        "Y[i, h, j] = sum[k < K](A[h, i, k] * B[h, k, j])",
        [((2, 9, 5), F32), ((2, 5, 33), F32)],
    ),
    (
        "several sums in each other",
        "input A : float32[M, C, K]\n input B : float64[C, K, N]\n output Y : float64[M, N]\n"
        "Y[i, j] = sum[c < C, k < K](A[i, c, k] * B[c, k, j])",
        [((11, 3, 5), F32), ((3, 5, 17), F64)],
    ),
    (
        "more terms for later rows",
        TWO.format("float32", "float64", "float64") + "require M <= K : 'no more rows than terms'\n"
        "Y[i, j] = sum[k < i + 1](A[i, k] * B[j, k])",
        [((68, 70), F32), ((9, 70), F64)],
    ),
    (
        "fewer terms for later rows, none for the last",
        TWO.format("float32", "float32", "float64") + "require M > K : 'more rows than terms'\n"
        "Y[i, j] = sum[k < max(0, K - i)](A[i, k] * B[j, k])",
        [((21, 20), F32), ((9, 20), F32)],
    ),
    (
        "places that begin behind the first and go back",
        "input A : float32[M, K]\n input B : float32[N, K]\n output Y : float32[M div 2, N]\n"
        "require M > 1 : 'rows'\n Y[i, j] = sum[k < K](A[2 * i + 1, K - 1 - k] * B[N - 1 - j, k])",
        [((19, 12), F32), ((18, 12), F32)],
    ),
    (
        "a factor is memory of the call, that of a later row is longer",
        "input Q : float32[T, D]\n input V : float32[T, D]\n output Y : float32[T, D]\n"
        "let s[t, u] = sum[d < D](Q[t, d] * V[u, d])\n let m[t] = max[u < t + 1](s[t, u])\n"
        "let w[t, u] = exp(s[t, u] - m[t])\n let z[t] = sum[u < t + 1](w[t, u])\n"
        "Y[t, d] = sum[u < t + 1](w[t, u] * V[u, d]) over z[t]",
        [((23, 9), F32), ((23, 9), F32)],
    ),
    (
        "several sums in a result, and one that a function is made of",
        TWO.format("float32", "float64", "float32")
        + "output Z : float64[M, N]\n let s[i, j] = sum[k < K](A[i, k] * B[j, k])\n"
        "Y[i, j] = s[i, j] - 2.0 * sum[k < K](B[j, k] * A[M - 1 - i, k])\n Z[i, j] = tanh(s[i, j])",
        [((9, 12), F32), ((7, 12), F64)],
    ),
]


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    texts = [operator_text(at, block.replace("'", '"')) for at, (_, block, _) in enumerate(ROWS)]
    return together(tmp_path_factory.mktemp("products"), texts)


@pytest.mark.parametrize("at", range(len(ROWS)), ids=[why for why, _, _ in ROWS])
def test_products(at: int, tried: Conformance) -> None:
    why, _, inputs = ROWS[at]
    random = Random(why)
    plain = [drawn(random, shape, dtype) for shape, dtype in inputs]
    wild = [each.copy() for each in plain]
    for each in wild:
        for special in (np.inf, np.nan, -0.0, 1e-40, 3e38):
            each.flat[random.randrange(each.size)] = special
    for operands in (plain, wild):
        assert tried.check(Call(f"tried.f{at}", tuple(operands))).refusal == ""
