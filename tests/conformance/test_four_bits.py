"""Elements of int4 and uint4, each in a byte: results that fit, bytes that hold no such number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from cvmgen.errors import OperatorError
from tests.conformance.calls import Call, Conformance
from tests.conformance.together import together

INT4, UINT4 = ml_dtypes.int4, ml_dtypes.uint4
FORMULAS = """
operator doubled {
  "Twice each element, and the least of its type."
  type   T in int8, int4, uint4
  input  X : T[N]
  output Y : T[N]
  output L : int32[]
  Y[i] = 2 * X[i]
  L[] = least(T)
}
operator dense {
  "A matrix times weights of four bits."
  input  X : int8[M, K]
  input  W : int4[K, N]
  output Y : int32[M, N]
  output T : int4[N, K]
  Y[i, j] = sum[k < K](X[i, k] * W[k, j])
  T[j, k] = W[k, j]
}
operator cut {
  "Cut to four bits, around a zero point where there is one."
  input  X : int32[n...]
  input  Z : uint4[n...] optional
  output Y : int4[n...]
  output U : uint4[n...]
  Y[d...] = max(least(int4), min(X[d...], greatest(int4)))
  U[d...] = X[d...] + Z[d...] if present(Z) else X[d...]
}
operator totals {
  "The sum of each of several tensors, which may be empty."
  input  each i < M : I[i] : int4[n[i]...] or empty
  output Y : int32[M]
  Y[i] = sum[d... < n[i]...](I[i][d...])
}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    return together(Path(tmp_path_factory.mktemp("four_bits")), (FORMULAS,))


def of(dtype: Any, *values: int) -> Any:
    return np.array(values, np.int8).astype(dtype)


EVERY = np.arange(-8, 8).astype(INT4)
CALLS = [
    ("doubled", (of(INT4, -4, 3, 0),)),
    ("doubled", (of(INT4, -4, 3, 4),)),
    ("doubled", (of(INT4, -5),)),
    ("doubled", (of(UINT4, 0, 7),)),
    ("doubled", (of(UINT4, 0, 8),)),
    ("doubled", (of(np.int8, 8),)),
    ("dense", (np.arange(-60, 60, dtype=np.int8).reshape(40, 3)[:, :2], EVERY.reshape(2, 8))),
    ("cut", (np.array([[-9, -8], [7, 8]], np.int32), None)),
    ("cut", (np.array([[0, 15], [7, 8]], np.int32), None)),
    ("cut", (np.array([0, -15, 3], np.int32), of(UINT4, 15, 15, 0))),
    ("cut", (np.array([0, -15, 3], np.int32), of(UINT4, 15, 14, 0))),
    ("totals", ([EVERY, EVERY[:0], EVERY.reshape(2, 8)[:1]],)),
]


@pytest.mark.parametrize(("name", "inputs"), CALLS)
def test_every_target(made: Conformance, name: str, inputs: Any) -> None:
    made.check(Call(f"tried.{name}", inputs))


def bytes_of(dtype: Any, *values: int) -> Any:
    return np.array(values, np.uint8).view(dtype)


REFUSED = [
    ("doubled", (bytes_of(INT4, 7, 8, 200),), "X: int4 holds [-8, 7], at (2,)"),
    ("doubled", (bytes_of(INT4, 0xF8, 0xF7),), "X: int4 holds [-8, 7], at (1,)"),
    ("doubled", (bytes_of(UINT4, 15, 16),), "X: uint4 holds [0, 15], at (1,)"),
    (
        "dense",
        (np.ones((1, 2), np.int8), bytes_of(INT4, 0, 7, 16, 7).reshape(2, 2)),
        "W: int4 holds [-8, 7], at (1, 0)",
    ),
    (
        "cut",
        (np.zeros((1, 1), np.int32), bytes_of(UINT4, 255).reshape(1, 1)),
        "Z: uint4 holds [0, 15], at (0, 0)",
    ),
    ("totals", ([EVERY, bytes_of(INT4, 7, 128)],), "I: int4 holds [-8, 7]"),
]


@pytest.mark.parametrize(("name", "inputs", "fault"), REFUSED)
def test_other_bytes_are_refused(made: Conformance, name: str, inputs: Any, fault: str) -> None:
    for target, operators in made.libraries.items():
        with pytest.raises(OperatorError) as caught:
            operators[f"tried.{name}"](*inputs)
        assert str(caught.value) == f"tried.{name}: {fault}", target


def test_lists_get_the_first_type_that_holds_them(made: Conformance) -> None:
    for target, operators in made.libraries.items():
        assert operators["tried.dense"]([[1, 2]], [[3], [-8]])[0].tolist() == [[-13]], target
        with pytest.raises(OperatorError) as caught:
            operators["tried.dense"]([[1, 2]], [[3], [-9]])
        assert str(caught.value) == "tried.dense: W = dtype int8: must be int4", target
