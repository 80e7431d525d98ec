"""Types that attributes decide, and tests of types, on every target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.conformance.calls import Call, Conformance
from tests.conformance.together import together

FORMULAS = """
operator cast {
  "Integers of one type as those of another, of which they keep the lowest bits."
  type   A in int8, uint8, int16, int32
  type   B in int8, uint8, int16, int32, int64
  input  X : A[n...]
  attr   to : type = int16 in B
  output Y : B[n...]
  Y[d...] = (X[d...] - least(B)) mod (greatest(B) - least(B) + 1) + least(B)
  example cast([1, -200], to="int8") == [1, 56]
}
operator doubled {
  "Twice each element, in a wider type; long vectors stay in theirs."
  type   A, B in (int8, int8), (int8, int16), (int16, int32)
  input  X : A[N]
  attr   to : type in B
  require N < 5 or A == B : "a long vector does not get wider"
  output Y : B[N]
  Y[i] = 2 * X[i]
}
operator shifted {
  "Elements in fixed point, of which each type has its own, around a zero point in the type."
  type   T in int8, uint8, int16
  input  X : T[N]
  attr   zp = 0
  let    high = greatest(T)
  let    shift = 4 if T == int8 else 2 if T != int16 else 1
  let    scaled[i] = (X[i] - zp) * 2^shift div 3
  require least(T) <= zp <= high : "the zero point must be in the type"
  output Y : T[N]
  output narrow : bool[]
  Y[i] = max(least(T), min(scaled[i] + zp, high))
  narrow[] = T != int16
}
operator counted {
  "The first integers or their halves, in a type."
  type   T in int8, int32, float32
  attr   count in [0, 1000]
  attr   first : word = "zero" in {"zero", "one"}
  attr   to : type in T
  require count < 128 or T != int8 : "int8 holds no such integers"
  output Y : T[count] or empty
  Y[i] = 1
}
operator moved {
  "Elements as they are; the type is stated, and has to be theirs."
  type   T in int8, float16
  input  X : T[1] optional
  input  each j < M : Z[j] : T[m[j]...]
  attr   stated : type in T
  require all[j < M](size(m[j]) == size(m[0]) and len(m[j]) == len(m[0])) : "shapes must agree"
  output Y : T[M, m[0]...]
  Y[j, d...] = Z[j][d...]  forall j < M, d... < m[j]...
}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    return together(tmp_path_factory.mktemp("decided"), (FORMULAS,))


def of(dtype: str, *values: Any) -> Any:
    return np.array(values, dtype)


def ends(dtype: str) -> Any:
    held = np.iinfo(dtype)
    return of(dtype, held.min, held.max, 0, 1, held.max // 2 + 1, *range(50))


TYPES = ("int8", "uint8", "int16", "int32")


@pytest.mark.parametrize("to", [None, *TYPES, "int64"])
def test_every_pair_of_types(made: Conformance, to: str | None) -> None:
    for given in TYPES:
        X = ends(given)
        call = Call("tried.cast", (X,), {} if to is None else {"to": to})
        found = made.check(call).outputs[0]
        assert found.dtype == (to or "int16")
        assert found.nested() == X.astype(found.dtype).tolist()


RESULTS: list[tuple[str, tuple[Any, ...], dict[str, Any], Any]] = [
    ("doubled", (of("int8", 60, -64),), {"to": "int8"}, [120, -128]),
    ("doubled", (of("int8", 127, -128),), {"to": "int16"}, [254, -256]),
    ("doubled", (of("int16", 2**15 - 1),), {"to": "int32"}, [2**16 - 2]),
    ("doubled", (of("int8", *range(9)),), {"to": "int8"}, list(range(0, 18, 2))),
    ("shifted", (of("int8", 3, 127, -128),), {"zp": 1}, [11, 127, -128]),
    ("shifted", (of("uint8", 3, 127, 255),), {"zp": 255}, [0, 84, 255]),
    ("shifted", (of("int16", 3, 127),), {"zp": -32768}, [-10921, -10838]),
    ("counted", (), {"count": 2, "to": "float32"}, [1.0, 1.0]),
    ("counted", (), {"count": 0, "to": "int8"}, []),
    ("counted", (), {"count": 300, "to": "int32"}, [1] * 300),
    ("moved", (None, [of("int8", 3)]), {"stated": "int8"}, [[3]]),
    (
        "moved",
        (None, [of("float16", 0.5), of("float16", 3)]),
        {"stated": "float16"},
        [[0.5], [3.0]],
    ),
]


@pytest.mark.parametrize(("name", "inputs", "given", "result"), RESULTS, ids=lambda each: None)
def test_results(
    made: Conformance, name: str, inputs: tuple[Any, ...], given: dict[str, Any], result: Any
) -> None:
    assert made.check(Call(f"tried.{name}", inputs, given)).outputs[0].nested() == result


TABLE = "the types of (X, to) are (int8, int8), (int8, int16), (int16, int32)"
REFUSED: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("cast", (of("int8", 1),), {"to": "bool"}, "to = 'bool': "),
    ("doubled", (of("int8", 1),), {}, "to: this attribute is missing"),
    (
        "doubled",
        (of("int8", 1),),
        {"to": "int32"},
        f"to = dtype int32: must be one of int8, int16: {TABLE}",
    ),
    ("doubled", (of("int16", 1),), {"to": "int8"}, f"to = dtype int8: must be int32: {TABLE}"),
    ("doubled", (of("int8", 100),), {"to": "int8"}, "Y: element (0,) does not fit int8"),
    (
        "doubled",
        (of("int8", *range(9)),),
        {"to": "int16"},
        "X: a long vector does not get wider",
    ),
    ("shifted", (of("int8", 1),), {"zp": 128}, "X: the zero point must be in the type"),
    ("shifted", (of("uint8", 1),), {"zp": -1}, "X: the zero point must be in the type"),
    ("counted", (), {"count": 128, "to": "int8"}, "to: int8 holds no such integers"),
    (
        "moved",
        (None, [of("int8", 1)]),
        {"stated": "float16"},
        "stated = dtype float16: must be int8: the types of (X, Z[0], stated) are (int8, int8,"
        " int8), (float16, float16, float16)",
    ),
]


@pytest.mark.parametrize(("name", "inputs", "given", "refusal"), REFUSED, ids=lambda each: None)
def test_refusals(
    made: Conformance, name: str, inputs: tuple[Any, ...], given: dict[str, Any], refusal: str
) -> None:
    found = made.check(Call(f"tried.{name}", inputs, given)).refusal
    assert found is not None
    assert found.startswith(f"tried.{name}: {refusal}")


def test_rows_name_attributes(made: Conformance) -> None:
    for operators in made.libraries.values():
        doubled = operators.tried.doubled
        assert doubled.types[1] == {"X": "int8", "to": "int16", "Y": "int16"}
        assert doubled.infer([(3,)], to="int16").shapes == ((3,),)
        step = doubled.bind(given := of("int8", 1, 2), to="int16")
        given[...] = 100
        assert step().tolist() == [200, 200]
