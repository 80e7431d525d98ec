"""Attributes that are real numbers, on every target: defaults, ranges, refusals."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cvmgen.errors import OperatorError
from tests.conformance.calls import Call, Conformance
from tests.conformance.together import together

FORMULAS = """
operator normalised {
  "Rows less their means, over their deviations."
  type   T in float16, float32, float64
  input  X : T[N, K]
  attr   eps = 1e-5 in (0, 1]
  attr   shift : real optional in [-2.5, inf)
  attr   least : real = -10
  let    mean[i] = sum[k < K](X[i, k]) over real(K)
  output Y : T[N, K]
  output Z : int64[N]
  Y[i, k] = max((X[i, k] - mean[i]) over sqrt(eps + sum[j < K]((X[i, j] - mean[i])^2))
                + (shift if present(shift) else 0), least)
  Z[i] = int(eps * 100.0) + (7 if present(shift) else 0)
}
operator cut {
  "Elements of at least so much, chosen by places too, and this often added."
  input  X : float64[N]
  attr   low : real
  attr   unread : real optional
  output Y : float64[N]
  output Z : float64[]
  output W : float64[N]
  Y[i] = X[i] if X[i] > low else low
  Z[] = sum[i < N](low)
  W[i] = X[min(i, N - 1 if low > 0.5 else 0)] + (1.0 if present(unread) else 0.0)
}
operator near {
  "Elements that are no farther from 0 than a number."
  input  X : float32[N]
  attr   most = 1.5 in [0.5, 2.5]
  attr   least : real = -1
  require -1e300 <= least < most or most == 2.5 : "the range is empty"
  require abs(X[i]) <= most : "elements must be near 0"
  output Y : bool[N]
  Y[i] = X[i] == most or isnan(most)
}
operator affine {
  "Each channel by its factor; the first is read by itself, the last ones by other indices."
  input  X : float64[N, C]
  attr   w : real list in [-4, 4)
  attr   k = 0 in [0, inf)
  require len(w) == C and C >= 2 : "a factor for each channel is needed"
  require w[0] <= w[1] and w[0] != 0 : "the first factor is the smaller one"
  output Y : float64[N, C]
  output Z : float32[N]
  Y[i, c] = X[i, c] * w[c]
  Z[i] = X[i, 0] * w[0] + w[len(w) - 1] + (w[k] if k < len(w) else 0)
}
operator weighted {
  "Sums of neighbours, cut; factors, ends and what is added are of the call."
  type   T in int32, float32
  input  X : T[N]
  attr   w : real list = (0.5, 0.25) in (-10, 10]
  attr   cut (low, high) = (-2.5, 100.0) in [-1e300, inf]
  attr   more : real list optional
  attr   rest : int list optional
  output Y : float32[N]
  output Z : int64[]
  Y[i] = max(low, min(sum[k < len(w) if i + k < N](real(X[i + k]) * w[k]) + extra, high))
    where extra = more[0] if present(more) and len(more) > 0 else 0
  Z[] = int(sum[k < len(w)](w[k]) * 8.0) + (rest[0] if present(rest) and len(rest) > 0 else 0)
}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    return together(Path(tmp_path_factory.mktemp("real_attributes")), (FORMULAS,))


ROWS = np.array([[0.1, -3.0, 2.5], [1e-3, 7.0, 0.0]])
CALLS: list[tuple[str, Any, dict[str, Any]]] = [
    *(
        ("normalised", ROWS.astype(dtype), given)
        for dtype in (np.float16, np.float32, np.float64)
        for given in (
            {},
            {"eps": 1.0},
            {"eps": 1, "least": 0.1},
            {"eps": 5e-324, "shift": -2.5},
            {"shift": 1e300, "least": -math.inf},
            {"eps": np.float32(0.1), "least": math.nan},
            {"eps": 0.0},
            {"eps": 1.0000000000000002},
            {"eps": math.nan},
            {"eps": -1e-5},
            {"shift": math.inf},
            {"shift": -1234567.5},
            {"shift": -3},
        )
    ),
    *(("cut", ROWS[0], {"low": low}) for low in (0.5, 0.75, -0.0, math.nan, math.inf, 3)),
    ("cut", ROWS[0], {"low": 0.1, "unread": 2.0}),
    *(("near", np.array([0.5, -1.5], np.float32), {"most": most}) for most in (1.5, 2.5, 1.25)),
    ("near", np.array([0.5], np.float32), {}),
    ("near", np.array([0.5], np.float32), {"most": 2.6}),
    ("near", np.array([0.5], np.float32), {"most": 1.0, "least": 1}),
    ("near", np.array([0.5], np.float32), {"most": 2.5, "least": math.nan}),
    ("near", np.array([0.5], np.float32), {"least": math.nan}),
    *(
        ("affine", ROWS, given)
        for given in (
            {"w": (0.1, 0.2, -0.0)},
            {"w": [np.float32(-4), 3, 3.9999999999999996], "k": 2},
            {"w": (1.0, 2.0), "k": 5},
            {"w": (2.0, 1.0, 0.0)},
            {"w": (-0.0, 1.0, 0.0)},
            {"w": (0.5, 4.0, 0.0)},
            {"w": (0.5, math.nan, 0.0)},
        )
    ),
    *(
        ("weighted", array, given)
        for array in (np.array([1, -7, 3, 300], np.int32), np.array([0.1, 1e30, -5], np.float32))
        for given in (
            {},
            {"w": ()},
            {"w": (0.1,) * 16, "more": (), "rest": ()},
            {"w": (10, -9.5), "more": (0.125, 7), "cut": (-1, 1e300), "rest": (3, 4)},
            {"cut": (3, 2)},
            {"cut": (-math.inf, 2)},
            {"w": (-10.0,)},
        )
    ),
]


def test_every_target(made: Conformance) -> None:
    """The bits, and the words of refusals, are those of the reference."""
    refused = []
    for name, array, attributes in CALLS:
        expected = made.check(Call(f"tried.{name}", (array,), attributes))
        refused.append(expected.refusal)
    assert "tried.normalised: eps = 1.0000000000000002: must be in (0, 1]" in refused
    assert "tried.normalised: shift = -1234567.5: must be in [-2.5, inf)" in refused
    assert "tried.near: X: elements must be near 0, at (1,)" in refused
    assert refused.count("tried.near: the range is empty") == 2
    assert "tried.affine: w = (0.5, nan, 0): must be in [-4, 4)" in refused
    assert "tried.affine: the first factor is the smaller one" in refused
    assert "tried.weighted: cut = (-inf, 2): must be in [-1e300, inf]" in refused
    assert "tried.weighted: w = (-10,): must be in (-10, 10]" in refused
    assert sum(map(bool, refused)) == 7 * 3 + 4 + 5 + 2 * 2


@pytest.mark.parametrize("value", [True, "1", None, [1.0]])
def test_what_is_no_real_number(made: Conformance, value: Any) -> None:
    rule = "this attribute is missing" if value is None else "a real number is needed"
    for target, operators in made.libraries.items():
        with pytest.raises(OperatorError) as caught:
            operators["tried.cut"](ROWS[0], low=value)
        assert caught.value.rule == rule, target


def test_integers_that_are_no_real_numbers(made: Conformance) -> None:
    for target, operators in made.libraries.items():
        with pytest.raises(OperatorError) as caught:
            operators["tried.cut"](ROWS[0], low=1 << 60)
        assert caught.value.rule.startswith("an integer of at most 53 bits"), target


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"w": np.array(2.0)}, "a tuple of real numbers is needed"),
        ({"w": {1.0, 2.0}}, "a tuple of real numbers is needed"),
        ({"w": (1.0,) * 17}, "at most 16 entries"),
        ({"w": 2.0}, "a tuple of real numbers is needed"),
        ({"w": "12"}, "a tuple of real numbers is needed"),
        ({"w": (1.0, "2")}, "a real number is needed"),
        ({"cut": (1.0,)}, "2 entries needed"),
    ],
)
def test_what_is_no_list_of_them(made: Conformance, given: Any, rule: str) -> None:
    for target, operators in made.libraries.items():
        with pytest.raises(OperatorError) as caught:
            operators["tried.weighted"](np.ones(2, np.int32), **given)
        assert caught.value.rule == rule, target


def test_bound_calls_keep_them(made: Conformance) -> None:
    for target, operators in made.libraries.items():
        operator = operators["tried.normalised"]
        for given in ({"shift": 0.5}, {"eps": 0.25, "least": 0.0}):
            bound = operator.bind(ROWS, **given)
            wanted = operator(ROWS, **given)
            for found, each in zip(bound(), wanted, strict=True):
                assert found.tobytes() == each.tobytes(), target
