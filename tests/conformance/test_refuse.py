"""`refuse` as a branch of choices: which calls are refused, by which point, on every target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conformance.calls import Call, Conformance
from tests.conformance.together import together

FORMULAS = """
def checked(x, low) = x if x >= low else refuse "too small"
def twice(x) = checked(x, -4) + checked(x, -5)

operator root {
  "Square roots; sums of what is large enough, times the first element."
  input  X : int32[N, K]
  attr   axis = 0 in [-9, 9]
  let    a = axis if axis < 2 else refuse "the axis must be below 2"
  let    m[i] = max[k < K](X[i, k]) if X[i, 0] != 7 else refuse "7 is no first element"
  output Y : int32[N, K]
  output Z : int32[N]
  Y[i, k] = (refuse "negative elements have no root" if X[i, k] < 0 and a == 0
             else isqrt(abs(X[i, k]))) + a
  Z[i] = sum[k < K if X[i, k] != 50](twice(X[i, k]) * w) + m[i]
    where w = X[i, 0] if X[i, 0] < 100 else refuse "the first element must be below 100"
}
operator gathered {
  "Elements by their places, and conditions of these."
  type   T in int32, float32
  input  X : T[N]
  input  I : int32[K]
  attr   most : real = 2.5
  require most >= 0 or true : "nothing"
  output Y : T[2 * K]
  output W : bool[K]
  Y[2 * k]     = X[I[k]] if 0 <= I[k] < N else refuse "places must lie in X"  forall k < K
  Y[2 * k + 1] = X[0] if most <= 3.0 else refuse "too much"  forall k < K
  W[k] = refuse "not 5" if I[k] == 5 else
         I[k] == 0 or (I[k] > 2 and (true if I[k] != 3 else refuse "not 3"))
}
operator cases {
  "In cases, for each row, over open ranks; and of no dimensions."
  input  X : cvm[n...]
  case len(n) == 2 {
    let    rows = n[0] if n[0] != 3 else refuse "no three rows"
    output Y : cvm[n...] precision 32
    within i < n[0] {
      Y[i, k] = X[i, k] + rows if X[i, k] != 9 else refuse "no nines"  forall k < n[1]
    }
  }
  case len(n) != 2 {
    output Y : cvm[n...] precision 32
    Y[d...] = X[d...] if all[j < len(n)](d[j] < 4) and X[d...] != 9 else refuse "not here"
  }
}
operator several {
  "The inputs one behind the other, none of which has a 9."
  input  each i < M : X[i] : cvm[n[i]...]
  let    start[i] = sum[j < i](size(n[j]))
  output Y : cvm[start[M]]
  Y[start[i] + flatten_index(d..., n[i]...)] =
      X[i][d...] if X[i][d...] != 9 else refuse "no nines"  forall i < M, d... < n[i]...
}
operator total {
  "A sum that must not be 0."
  input  X : int32[N]
  let    s[] = sum[i < N](X[i])
  output Y : int64[]
  Y[] = s[] if s[] != 0 else refuse "the sum is 0"
}
""".replace('  require most >= 0 or true : "nothing"\n', "").replace("s[]", "s")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    return together(Path(tmp_path_factory.mktemp("refuse")), (FORMULAS,))


def of(*values: Any, dtype: Any = np.int32) -> Any:
    return np.array(values[0] if len(values) == 1 else values, dtype)


CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("root", (of([[4, 9], [8, 0]]),), {}, ""),
    ("root", (of([[4, 9], [8, -1], [-1, 2]]),), {}, "Y: negative elements have no root, at (1, 1)"),
    ("root", (of([[4, -4]]),), {"axis": 1}, ""),
    ("root", (of([[4, -5], [4, -6]]),), {"axis": 1}, "Z: too small, at (0,)"),
    ("root", (of([[4, 9], [100, 0]]),), {}, "Z: the first element must be below 100, at (1,)"),
    ("root", (of([[50, 50], [7, 0]]),), {}, "Z: 7 is no first element, at (1,)"),
    ("root", (of([[4, 9]]),), {"axis": 2}, "the axis must be below 2 (axis = 2)"),
    *(
        ("gathered", (of([4, 5, 6, 7, 8, 9], dtype=dtype), of(places)), given, refused)
        for dtype in (np.int32, np.float32)
        for places, given, refused in (
            ([2, 0, 4], {}, ""),
            ([2, 0, 6], {}, "Y: places must lie in X, at (2,)"),
            ([-1, 5], {}, "Y: places must lie in X, at (0,)"),
            ([1, 5], {}, "W: not 5, at (1,)"),
            ([1, 3, 3], {}, "W: not 3, at (1,)"),
            ([1], {"most": 3.5}, "Y: too much, at (0,)"),
        )
    ),
    ("cases", (of([[1, 2], [3, 4]]),), {}, ""),
    ("cases", (of([[1, 2], [3, 9]]),), {}, "Y: no nines, at (1, 1)"),
    ("cases", (of([[1], [2], [3]]),), {}, "no three rows (n = (3, 1))"),
    ("cases", (of([1, 2, 3]),), {}, ""),
    ("cases", (of([1, 2, 3, 4, 5]),), {}, "Y: not here, at (4,)"),
    ("cases", (of([[[1, 2], [9, 9]]]),), {}, "Y: not here, at (0, 1, 0)"),
    ("several", ([of([1, 2]), of([[3], [4]])],), {}, ""),
    ("several", ([of([1, 2]), of([[9], [4]])],), {}, "Y: no nines"),
    ("total", (of([1, 2]),), {}, ""),
    ("total", (of([1, -1]),), {}, "Y: the sum is 0"),
]


def test_every_target(made: Conformance) -> None:
    for name, arrays, attributes, refused in CALLS:
        expected = made.check(Call(f"tried.{name}", arrays, attributes))
        assert expected.refusal == (f"tried.{name}: {refused}" if refused else ""), name
