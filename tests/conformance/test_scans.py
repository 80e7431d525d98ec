"""Reductions of all terms so far: a local of the loop along them; long rows in parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cvmgen.driver import C, lower
from cvmgen.lower.scan_parts import LONG, PART
from cvmgen.source import Source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from tests.conformance.calls import Call, Conformance
from tests.conformance.together import together

FORMULAS = """
operator cumsum {
  "The sum of each row so far."
  input  X : int32[N, K]
  output Y : int64[N, K]
  let    S[n, k] = X[n, k] + (S[n, k - 1] if k > 0 else 0)
  Y[n, k] = S[n, k]
}
operator cummax {
  "The greatest so far, doubled."
  input  X : int32[K]
  output Y : int64[K]
  let    S[k] = max(X[k], S[k - 1]) if k > 0 else X[k]
  Y[k] = 2 * S[k]
}
operator prefix {
  "The sum so far, which int32 may not hold, and the least so far."
  input  X : int32[K]
  output Y : int32[K]
  output Z : int32[K]
  Y[k] = sum[j < k + 1](X[j])
  Z[k] = min[j < 1 + k](X[j]) - X[k]
}
operator down {
  "Sums along columns, of two kinds."
  input  X : int16[N, K]
  output Y : int64[N, K]
  Y[n, k] = sum[j < n + 1](X[j, k] * (k + 1 if k < 5 else 2)) + max[j < k + 1](X[n, j])
}
operator before {
  "Sums and counts of what stands before each, of some of it, and of all so far."
  input  X : int32[N, K]
  output Y : int64[N, K + 1]
  output Z : int64[N, K]
  output C : int32[N, K]
  output P : int32[N, K]
  Y[n, k] = sum[j < k](X[n, j])
  Z[n, k] = sum[j < k + 1 if X[n, j] > 3](X[n, j]) + X[n, k]
  C[n, k] = count[j < k if X[n, j] > 0](X[n, j] mod 2 == 1) * 3
  P[n, k] = 5 - count[j < 1 + k](X[n, j] mod 4 == 1)
}
operator some {
  "The sum of what stands before, which not all ask for."
  input  X : int32[K]
  output Y : int64[3*K]
  Y[k] = sum[j < k](X[j]) if k <= K else -1
}
operator some_so_far {
  "The greatest one so far, which not all ask for, and sums in a reduction."
  input  X : int32[K]
  output Y : int64[3*K]
  output Z : int64[K]
  Y[k] = max[j < k + 1](X[j]) if k < K else -1
  Z[k] = max[m < 3](sum[j < k + 1](X[j] * m))
}
operator means {
  "Of real numbers: means so far, and how far the greatest so far is away."
  input  X : float32[N, K]
  output Y : float64[N, K]
  output Z : float32[N, K]
  Y[n, k] = sum[j < k + 1](X[n, j] * X[n, j]) over real(k + 1)
  Z[n, k] = max[j < k + 1](X[n, j]) - X[n, k]
}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    return together(Path(tmp_path_factory.mktemp("scans")), (FORMULAS,))


def drawn(shape: tuple[int, ...], dtype: Any = np.int32) -> Any:
    ends = np.iinfo(dtype)
    return np.random.default_rng(7).integers(ends.min, ends.max, shape, endpoint=True).astype(dtype)


def test_every_target(made: Conformance) -> None:
    """The bits of each target, and what is refused, are the reference's."""
    reals = np.array([[0.1, -0.0, np.nan, 3e38], [-0.0, 1e-40, np.inf, 5]], np.float32)
    rows = [
        ("cumsum", drawn((3, 17))),
        ("cummax", drawn((19,))),
        ("prefix", drawn((1,))),
        ("prefix", drawn((9,)) >> 4),
        ("down", drawn((6, 13), np.int16)),
        ("before", drawn((3, 17))),
        ("before", drawn((1, 1))),
        ("before", drawn((2, 40)) >> 28),
        ("some", drawn((7,))),
        ("some_so_far", drawn((7,))),
        ("means", reals),
    ]
    for name, array in rows:
        assert made.check(Call(f"tried.{name}", (array,))).refusal == "", name
    much = np.full(5, 2**30, np.int32)
    refusal = made.check(Call("tried.prefix", (much,))).refusal
    assert refusal == "tried.prefix: Y: element (1,) does not fit int32"


def test_what_only_some_ask_for() -> None:
    """The others may not read so far: theirs are no running sums."""
    at = [name for name, _ in C].index("scans")
    for operator in check_files([SpecFile(Source("tried.cvm", FORMULAS), "tried")]):
        before, after = (lower(operator, C[: at + more]) for more in (0, 1))
        assert (before == after) == operator.name.startswith("some"), operator.name


@pytest.mark.parametrize("length", [LONG - 1, LONG, LONG + 1, 17 * PART + 1])
@pytest.mark.parametrize("rows", [1, 31, 32])
def test_long_rows(made: Conformance, rows: int, length: int) -> None:
    array = drawn((rows, length))
    for target in ("c", "cuda-cpu"):
        operators = made.libraries[target]
        found = operators["tried.cumsum"](array)
        assert (found == np.cumsum(array, 1, dtype=np.int64)).all(), target
        wanted = 2 * np.maximum.accumulate(array[0].astype(np.int64))
        assert (operators["tried.cummax"](array[0]) == wanted).all(), target
        before, counted = operators["tried.before"](array)[::2]
        assert (before[:, 0] == 0).all()
        assert (before[:, 1:] == np.cumsum(array, 1, np.int64)).all()
        odd = np.cumsum((array > 0) & (array % 2 == 1), 1)
        assert (counted[:, 1:] == 3 * odd[:, :-1]).all(), target
        found = operators["tried.prefix"](array[-1] >> 17)[0]
        assert (found == np.cumsum(array[-1] >> 17)).all(), target
