"""Lets that are memory of the call, and those that stay formulas, mean the same on every target."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from cvmgen.driver import C, lower
from cvmgen.errors import OperatorError
from cvmgen.inside.checks import stay_inside
from cvmgen.lower.translate import operator_program
from cvmgen.source import Source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from tests.conformance.calls import Call, Conformance
from tests.conformance.together import CLIP, MATRIX, VECTOR, drawn, operator_text, together


@dataclass(frozen=True, slots=True)
class Row:
    why: str
    block: str
    kept: tuple[str, ...]  # the lets in memory
    shapes: tuple[tuple[tuple[int, ...], ...], ...]  # of the inputs, call by call
    types: tuple[Any, ...] = (np.int8,)
    filled: tuple[str, ...] = ()  # those of which C fills a part


ATTENTION = """
  input Q : {0}[T, D]
  input K : {0}[T, D]
  input V : {0}[T, D]
  output Y : {1}[T, D]
  let s[t, u] = sum[d < D](Q[t, d] * K[u, d])
  let m[t] = max[u < t + 1](s[t, u])
  let w[t, u] = clip(64 - (m[t] - s[t, u]) div 8, 0, 64)
  let z[t] = sum[u < t + 1](w[t, u])
  Y[t, d] = sum[u < t + 1](w[t, u] * V[u, d]) div max(1, z[t])
"""
SOFTMAX = """
  input X : {0}[N, K]
  output Y : {0}[N, K]
  let m[n] = max[k < K](X[n, k])
  let e[n, k] = 1.0 over (1.0 + (m[n] - X[n, k]) * (m[n] - X[n, k]) + sqrt(abs(X[n, k])))
  let z[n] = sum[k < K](e[n, k])
  Y[n, k] = e[n, k] over z[n] + (e[n, 0] if k > 0 else 0.0)
"""
REAL_ATTENTION = """
  input Q : float32[T, D]
  input K : float32[T, D]
  input V : float32[T, D]
  output Y : float32[T, D]
  let s[t, u] = sum[d < D](Q[t, d] * K[u, d])
  let m[t] = max[u < t + 1](s[t, u])
  let w[t, u] = exp(0.125 * (s[t, u] - m[t]))
  let z[t] = sum[u < t + 1](w[t, u])
  Y[t, d] = sum[u < t + 1](w[t, u] * V[u, d]) over z[t]
"""
CUBE = """
  input X : int8[B, K]
  output Y : int64[B, K, 3]
  let w[b, k, j] = (X[b, k] - X[b, j]) * X[b, j] div max(1, X[b, k]) div 3 + X[b, k]
  Y[b, k, i] = sum[{0}](w[b, k, j] * i) + sum[{1}](w[b, k, j] + i)"""
CUBES = (((1, 1),), ((3, 5),), ((2, 37),))
SQUARES = tuple((((t, d),) * 3) for t, d in ((1, 1), (5, 3), (33, 16)))
VECTORS = (((1,),), ((4,),), ((67,),))
MATRICES = (((1, 1),), ((3, 5),), ((17, 40),))

ROWS = [
    Row(
        "causal attention",
        ATTENTION.format("cvm", "cvm"),
        ("s", "m", "w", "z"),
        SQUARES,
        (np.int8, np.int32),
        ("w",),
    ),
    Row(
        "of a storage type",
        ATTENTION.format("int8", "int32"),
        ("s", "m", "w", "z"),
        SQUARES,
        filled=("w",),
    ),
    Row("real attention", REAL_ATTENTION, ("s", "m", "w", "z"), SQUARES, (np.float32,), ("s", "w")),
    Row("all before each", CUBE.format("j < k", "j < k"), ("w",), CUBES, filled=("w",)),
    Row(
        "up to twice the index",
        CUBE.format("j < 2*k + 1 - k", "j < k+1"),
        ("w",),
        CUBES,
        filled=("w",),
    ),
    Row("ends that differ", CUBE.format("j < k", "j < k + 1"), ("w",), CUBES),
    Row(
        "an end for each row",
        CUBE.format("j < b + 1 if j < K", "j < b + 1 if j < K"),
        ("w",),
        CUBES,
    ),
    Row("read to the end", CUBE.format("j < K", "j < k + 1"), ("w",), CUBES),
    Row("from behind the first", CUBE.format("1 <= j < k + 1", "j < k + 1"), ("w",), CUBES),
    Row(
        "read in the other direction",
        CUBE.format("j < k + 1", "j < k + 1") + " + sum[j < k + 1](w[b, j, k])",
        ("w",),
        CUBES,
    ),
    Row("real numbers", SOFTMAX.format("float32"), ("m", "e", "z"), MATRICES, (np.float32,)),
    Row("wide real numbers", SOFTMAX.format("float64"), ("m", "e", "z"), MATRICES, (np.float64,)),
    Row(
        "one number for all",
        VECTOR.format("int16", "int64") + "let total = sum[i < N](X[i])\n Y[i] = X[i] * N - total",
        ("total",),
        VECTORS,
        (np.int16,),
    ),
    Row(
        "one number of others",
        MATRIX.format("int32", "int64") + "let row[n] = sum[k < K](X[n, k] * X[n, k])\n"
        "let all = max[n < N](row[n])\n Y[n, k] = row[n] div 1024 - all div 1024 + X[n, k]",
        ("row", "all"),
        MATRICES,
        (np.int32,),
    ),
    Row(
        "more than 64 bits",
        VECTOR.format("cvm", "cvm") + "let c[i] = sum[j < N](X[i] * X[j])\n"
        "Y[i] = max[j < N](c[j] div (1 + abs(X[i]))) mod 1000003",
        ("c",),
        VECTORS,
        (np.int8, np.int32),
    ),
    Row(
        "more than a kernel computes with is a formula, whose lowest bits are kept",
        VECTOR.format("cvm", "cvm") + "let c[i] = sum[j < N](X[i] * X[j] * X[j])\n"
        "Y[i] = sum[j < N](c[j] * X[i])",
        (),
        VECTORS,
        (np.int8,),
    ),
    Row(
        "cheap ones stay formulas",
        VECTOR.format("int8", "int32") + "let f[i] = X[i] * X[i]\n Y[i] = sum[j < N](f[j] - f[i])",
        (),
        VECTORS,
    ),
    Row(
        "what is read once for each element stays a formula",
        MATRIX.format("int8", "int32") + "let f[n, k] = sum[j < K](X[n, j] * X[n, k])\n"
        "Y[n, k] = f[n, k]",
        (),
        MATRICES,
    ),
    Row(
        "an element may not be there",
        VECTOR.format("int8", "int32") + "let f[i] = sum[j < N](X[i + 1] * X[j] + X[i])\n"
        "Y[i] = sum[j < N if j + 1 < N](f[j]) + i",
        (),
        VECTORS,
    ),
    Row(
        "a divisor may be 0",
        VECTOR.format("int8", "int32") + "let f[i] = sum[j < N](X[j] div X[i])\n"
        "Y[i] = sum[j < N if X[j] != 0](f[j]) + i",
        (),
        VECTORS,
    ),
    Row(
        "a divisor is not 0",
        VECTOR.format("int8", "int32") + "let f[i] = sum[j < N](X[j] div max(1, X[i]))\n"
        "Y[i] = sum[j < N](f[j]) + i",
        ("f",),
        VECTORS,
    ),
    Row(
        "a guard keeps a divisor from 0",
        VECTOR.format("int8", "int32") + "let f[i] = sum[j < N](X[j] div X[i] if X[i] > 0 else 1)\n"
        "Y[i] = sum[j < N](f[j]) + i",
        ("f",),
        VECTORS,
    ),
    Row(
        "the largest of none",
        VECTOR.format("int8", "int32") + "let f[i] = max[j < N if X[j] > X[i]](X[j])\n"
        "Y[i] = sum[j < N if any[k < N](X[k] > X[j])](f[j]) + i",
        (),
        VECTORS,
    ),
    Row(
        "read beside its elements",
        VECTOR.format("int8", "int32") + "let f[i] = X[i] + sum[j < i](X[j])\n"
        "Y[i] = sum[j < N](f[j - 1] if j > 0 else 0) + f[(i + 1) mod N]",
        ("f",),
        VECTORS,
    ),
    Row(
        "an index of a sum is called as a local that it comes to stand behind",
        MATRIX.format("int8", "int32")
        + "let f[n, j] = max(X[max(j - 2, 0), n] if j > 3 else X[j, n], 2 * X[j, n]) - X[j, 0]\n"
        "Y[i, n] = sum[j < N](j) + (X[i, n] if X[i, 0] == f[n, min(i + 2, N - 1)] else 2)",
        (),
        MATRICES,
    ),
    Row(
        "products of one tensor with itself",
        "input X : int8[N, K]\n output Y : int32[N, N]\nY[n, m] = sum[k < K](X[n, k] * X[m, k])",
        (),
        MATRICES,
    ),
    Row(
        "in a list's condition",
        VECTOR.format("int8", "int32") + "let f[i] = sum[j < N](abs(X[i] - X[j]))\n"
        "let V = sort[i < N] by (f[i] mod 7, f[i])\n Y[i] = f[V[i]] + V[N - 1 - i]",
        ("f",),
        VECTORS,
    ),
    Row(
        "in a case alone",
        "input X : int8[N]\n attr sum_up : bool = true\n"
        "output Y : int32[N]\n let f[i] = X[i] + sum[j < i](X[j])\n"
        "case sum_up { Y[i] = sum[j < N](f[j]) - f[i] }\n case not sum_up { Y[i] = X[i] }",
        ("f",),
        VECTORS,
    ),
    Row(
        "inside of a block",
        MATRIX.format("int8", "int32")
        + "within n < N { let t = sum[k < K](X[n, k])\n Y[n, k] = X[n, k] * K - t }",
        ("t",),
        MATRICES,
    ),
    Row(
        "as an index that is proved",
        VECTOR.format("int8", "int32")
        + "let at[i] = clip(sum[j < N](X[j] * X[i]), 0, N - 1)\n Y[i] = sum[j < N](X[at[j]])",
        (),
        VECTORS,
    ),
    Row(
        "a type parameter",
        "type T in int8, int32\n input X : T[N]\n output Y : int64[N]\n"
        "let f[i] = X[i] + sum[j < i](X[j])\n Y[i] = sum[j < N](f[j] * 2) - f[i]",
        ("f",),
        VECTORS,
        (np.int8, np.int32),
    ),
    Row(
        "integers or real numbers",
        "type T in int32, float32\n input X : T[N]\n output Y : T[N]\n"
        "let f[i] = max[j < i + 1](X[j])\n Y[i] = max[j < N](f[j])",
        (),
        VECTORS,
        (np.int32, np.float32),
    ),
    Row(
        "two outputs",
        "input X : int8[N, K]\n output Y : int32[N]\n output Z : int32[N]\n"
        "let g[n] = sum[k < K](X[n, k] * X[n, k])\n"
        "Y[n] = g[n] div 3\n Z[n] = max[j < N](g[j]) - g[n]",
        ("g",),
        MATRICES,
    ),
]


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    texts = [CLIP, *(operator_text(at, row.block) for at, row in enumerate(ROWS))]
    return together(tmp_path_factory.mktemp("lets"), texts)


@pytest.mark.parametrize("at", range(len(ROWS)), ids=[row.why for row in ROWS])
def test_lets(at: int, tried: Conformance) -> None:
    row = ROWS[at]
    random = Random(row.why)
    for shapes in row.shapes:
        for dtype in row.types:
            call = Call(f"tried.f{at}", tuple(drawn(random, shape, dtype) for shape in shapes))
            assert tried.check(call).refusal == ""
            if "sum_up" in row.block:
                other = Call(call.operator, call.inputs, {"sum_up": False})
                assert tried.check(other).refusal == ""


def test_more_memory_than_there_is(tmp_path: Path) -> None:
    """One row, which the host looks at no more than at its shape."""
    block = (
        VECTOR.format("int8", "int64") + "let s[i, j, k] = X[i] * X[j] + X[j] * X[k] div 7 + 3\n"
    )
    block += "Y[i] = max[j < N, k < N](s[i, j, k] - s[k, j, i] + s[j, i, k] - s[k, i, j])"
    tried = together(tmp_path, [operator_text(0, block)])
    said = "tried.f0: s = 64000000000000 elements: there is no memory for so many"
    for target in ("c", "python", "numpy"):
        with pytest.raises(OperatorError) as caught:
            tried.libraries[target]["tried.f0"](np.ones(40000, np.int8))
        assert str(caught.value) == said, target


@pytest.mark.parametrize("row", ROWS, ids=[row.why for row in ROWS])
def test_what_is_memory(row: Row) -> None:
    text = CLIP + operator_text(0, row.block)
    (operator,) = check_files([SpecFile(Source("f.cvm", text), "tried")])
    assert tuple(stay_inside(operator_program(operator)).lets) == row.kept
    lets = lower(operator, C).lets.values()
    assert tuple(each.name for each in lets if each.filled is not None) == row.filled
