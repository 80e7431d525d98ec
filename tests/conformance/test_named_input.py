"""Tensors that are called `input` and `output`, an optional input in front of others, families of
families with comparisons in their holes, products and sums rounded once: on every target."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from cvmgen.functions import FUNCTIONS
from tests.conformance.calls import Call, Conformance
from tests.conformance.together import together

FORMULAS = """
family compared(RELATION, T) {
  input  input : T[N]
  input  other : T[N] optional
  input  must : T[N]
  output output : bool[N]
  output count : int32[N]
  output[i] = RELATION(input[i], must[i])
  count[i] = 1 if present(other) and RELATION(other[i], 0) else 0
}
family compared_integers(OP) = compared(OP, int32) {
  output most : bool[]
  most[] = all[i < N](OP(must[i], input[i]))
}
operator less = compared(<, float32) { "Which are less." }
operator unequal = compared_integers(!=) { "Which differ." }
operator at_least = compared_integers(>=) { "Which are as great." }
operator fused {
  "Products plus others, rounded once."
  type   T in float32, float64
  input  input : T[N]
  input  B : T[N]
  input  C : T[N]
  output output : float64[N]
  output mixed : T[N]
  output[i] = fma(input[i], B[i], C[i])
  mixed[i] = fma(2, B[i], -C[0]) if i > 0 else 0
}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    return together(Path(tmp_path_factory.mktemp("named")), (FORMULAS,))


def test_comparisons(made: Conformance) -> None:
    for name, dtype in (("less", np.float32), ("unequal", np.int32), ("at_least", np.int32)):
        one, other = np.array([1, 2, -3], dtype), np.array([2, 2, -4], dtype)
        for given in ((one, None, other), (one, other, other), (one, one, one)):
            assert not made.check(Call(f"tried.{name}", given)).refusal
        for target, operators in made.libraries.items():
            found = operators[f"tried.{name}"](one, must=other)
            assert found.count.tolist() == [0, 0, 0], target
            with pytest.raises(ValueError, match="must: this input is missing"):
                operators[f"tried.{name}"](one, one)


EDGES = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e308, -1e308]
NEAR = [1 + 2.0**-52, 1 - 2.0**-53, 2.0**-1074, 2.0**-537, 2.0**-538, 1e16, 0.1]


def test_fused(made: Conformance) -> None:
    random = Random(7)
    every = [(a, b, c) for a in EDGES for b in EDGES for c in EDGES]
    near = [(a, b, c) for a in NEAR for b in NEAR for c in (*NEAR, *(-a * b for b in NEAR))]
    drawn = [
        tuple(random.gauss(0, 1) * 2.0 ** random.randint(-600, 600) for _ in "abc") for _ in near
    ]
    for values in (every, near, drawn):
        rows: Any = np.array(values).T
        for dtype in (np.float64, np.float32):
            with np.errstate(over="ignore"):
                made.check(Call("tried.fused", tuple(rows.astype(dtype))))


def test_it_is_the_exact_value_rounded_once() -> None:
    random = Random(8)
    for _ in range(300):
        a, b = (random.gauss(0, 1) * 2.0 ** random.randint(-30, 30) for _ in "ab")
        c = -a * b * random.choice((1.0, 1 + 2.0**-52, 0.5)) + random.choice((0.0, 2.0**-60))
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        found = FUNCTIONS["fma"].exact(a, b, c)
        error = abs(Fraction(found) - exact)
        for near in (math.nextafter(found, math.inf), math.nextafter(found, -math.inf)):
            assert error <= abs(Fraction(near) - exact)
