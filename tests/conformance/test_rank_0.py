"""Inputs and outputs of no dimensions, on every target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cvmgen.errors import OperatorError
from tests.conformance.calls import Array, Call, Conformance
from tests.conformance.together import together

FORMULAS = """
operator total {
  "The sum of all, and whether there is one below 0."
  input  X : cvm[n...] or empty
  output Y : cvm[]
  output below : int32[]
  Y[] = sum[d... < n...](X[d...])
  below[] = 1 if any[d... < n...](X[d...] < 0) else 0
}
operator scaled {
  "Elements times one number, and what that is halved."
  input  X : int32[N]
  input  s : int8[]
  output Y : int64[N]
  output half : float64[]
  output negative : bool[]
  Y[i] = X[i] * s[]
  half[] = real(s[]) over 2.0
  negative[] = s[] < 0
}
operator numbers {
  "Numbers alone, in their own type."
  type   T in int8, int16, int64
  input  a : T[]
  input  b : T[]
  output Y : T[]
  Y[] = a[] * b[] - 1
}
operator firsts {
  "The greatest along the first dimension; of a vector a tensor of no dimensions."
  input  X : cvm[n...]
  output Y : cvm[n[1:]...] or empty
  Y[d...] = max[i < n[0]](X[i, d...])
}
operator doubled {
  "Twice each element, of any rank."
  input  X : cvm[n...] or empty
  output Y : cvm[n...] or empty
  Y[d...] = 2 * X[d...]
}
operator biased {
  "Elements plus a number that may be left out."
  input  X : cvm[N]
  input  b : cvm[] optional
  output Y : cvm[N]
  Y[i] = X[i] + (b[] if present(b) else 1)
}
operator median {
  "The middle one, by sorting."
  input  X : cvm[N]
  let    S = sort[i < N] by (X[i])
  output Y : cvm[]
  Y[] = X[S[N div 2]]
}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    return together(tmp_path_factory.mktemp("rank"), (FORMULAS,))


def of(value: Any, dtype: Any = np.int32) -> Array:
    return np.array(value, dtype)


RESULTS: list[tuple[str, tuple[Any, ...], Any]] = [
    ("total", (of([1, 2, -4]),), -1),
    ("total", (of(5),), 5),
    ("total", (of([[]]),), 0),
    ("scaled", (of([1, -(2**31)]), of(-128, np.int8)), [-128, 2**38]),
    ("numbers", (of(-4, np.int8), of(31, np.int8)), -125),
    ("numbers", (of(2**31, np.int64), of(2**31, np.int64)), 2**62 - 1),
    ("firsts", (of([3, 9, 4]),), 9),
    ("firsts", (of([[3, 9], [4, 1]]),), [4, 9]),
    ("doubled", (of(-7),), -14),
    ("doubled", (of([[1, 2]]),), [[2, 4]]),
    ("biased", (of([1, 2]), of(10)), [11, 12]),
    ("biased", (of([1, 2]), None), [2, 3]),
    ("median", (of([5, -1, 3]),), 3),
]


@pytest.mark.parametrize(("name", "inputs", "result"), RESULTS, ids=lambda each: None)
def test_results(made: Conformance, name: str, inputs: tuple[Any, ...], result: Any) -> None:
    found = made.check(Call(f"tried.{name}", inputs)).outputs[0]
    assert found.shape == np.shape(result)
    assert found.nested() == result


REFUSED: list[tuple[str, tuple[Any, ...], str]] = [
    ("scaled", (of([1]), of([1], np.int8)), "s = shape (1,): 0 dimensions needed"),
    ("biased", (of([1]), of([[1]])), "b = shape (1, 1): 0 dimensions needed"),
    ("biased", (of(1), None), "X = shape (): a tensor has 1 to 16 dimensions"),
    ("numbers", (of(100, np.int8), of(100, np.int8)), "Y: element () does not fit int8"),
]


@pytest.mark.parametrize(("name", "inputs", "refusal"), REFUSED, ids=lambda each: None)
def test_refusals(made: Conformance, name: str, inputs: tuple[Any, ...], refusal: str) -> None:
    assert made.check(Call(f"tried.{name}", inputs)).refusal == f"tried.{name}: {refusal}"


def test_arrays_of_callers(made: Conformance) -> None:
    """`out`, bound calls and shapes without data."""
    X = of([1, 2, 3])
    for operators in made.libraries.values():
        total = operators.tried.total
        assert total.infer([(3,)], [8]).shapes == ((), ())
        out = np.zeros((), np.int32)
        found = total(X, precisions={"X": 8}, out=(out, np.zeros((), np.int32)))
        assert found.Y is out
        assert out.tolist() == 6
        doubled = operators.tried.doubled
        step = doubled.bind(given := of(3), out=out, precisions={"X": 8})
        for value in (4, -5):
            given[...] = value
            assert step().tolist() == 2 * value
        with pytest.raises(OperatorError, match=r"Y = shape \(1,\): the shape must be \(\)"):
            doubled(given, out=np.zeros(1, np.int32), precisions={"X": 8})
