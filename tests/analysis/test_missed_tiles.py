"""What is in the way of tiles, and what computes a value again and again."""

from __future__ import annotations

import pytest

from cvmgen import driver
from cvmgen.schedule.schedules import packaged
from tests.specs import operator

X, W = "input X : cvm[M, K]\n", "input W : cvm[N, K]\n"
DENSE = X + W + "output Y : cvm[M, N]\n"
ALONE = "what is added is not the product of two elements alone"
COUNT = "how many terms are added is not the same for all results"
LINEAR = "places, or conditions on them, are not linear in one index and one tap"

# A formula, and what is in its way.
MISSED = [
    (DENSE + "Y[i, j] = sum[k < K](max(X[i, k], 0) * W[j, k])", ALONE),
    (DENSE + "Y[i, j] = sum[k < K](X[i, k] * W[j, k] div 2)", ALONE),
    (
        DENSE + "Y[i, j] = sum[k < K](X[i, k] * W[j, k]) + sum[k < K](X[i, k])",
        "a result is more than one sum of products",
    ),
    (
        DENSE + "Y[i, j] = sum[k < K](X[i, k] * W[j, k]) if i > 0 else 0",
        "results are summed on a condition",
    ),
    (DENSE + "Y[i, j] = sum[k < min(K, i + 1)](X[i, k] * W[j, k])", COUNT),
    (DENSE + "Y[i, j] = sum[k < K if k <= i](X[i, k] * W[j, k])", LINEAR),
    (
        DENSE.replace("X : cvm", "X : int32") + "Y[i, j] = sum[k < K](X[i, k] * W[j, k])",
        "'X' is no input of int8",
    ),
    (
        DENSE.replace(": cvm[M", ": uint8[M").replace(": cvm[N", ": uint8[N")
        + "Y[i, j] = sum[k < K](X[i, k] * W[j, k])",
        "both factors are bytes without a sign",
    ),
    (
        DENSE + "input G : cvm[M]\nY[i, j] = sum[k < K](X[max(0, min(G[i], M - 1)), k] * W[j, k])",
        "elements of another tensor decide which ones are multiplied",
    ),
    (
        X + "output Y : cvm[M, M]\nY[i, j] = sum[k < K](X[i, k] * X[j, k])",
        "both factors are elements of 'X'",
    ),
]

NOTHING_MISSED = {
    "tiles": DENSE + "Y[i, j] = sum[k < K](X[i, k] * W[j, k])",
    "bytes without a sign": DENSE.replace("X : cvm", "X : uint8").replace("W : cvm", "W : int8")
    + "Y[i, j] = sum[k < K](X[i, k] * W[j, k])",
    "a factor behind the sum": DENSE + "Y[i, j] = 2 * sum[k < K](X[i, k] * W[j, k])",
    "a factor in the sum": DENSE + "Y[i, j] = sum[k < K](2 * X[i, k] * W[j, k])",
    "a sign": DENSE + "Y[i, j] = sum[k < K](-X[i, k] * W[j, k])",
    "a zero point": "attr z in [0, 9)\n" + DENSE + "Y[i, j] = sum[k < K]((X[i, k] - z) * W[j, k])",
    "another sum": DENSE + "Y[i, j] = sum[k < K](X[i, k] * W[j, k] + W[j, k])",
    "no columns": X + "input V : cvm[K]\noutput Y : cvm[M]\nY[i] = sum[k < K](X[i, k] * V[k])",
    "each channel by itself": "input X : cvm[C, H]\ninput W : cvm[C, R]\nrequire H >= R : 'a'\n"
    "output Y : cvm[C, H - R + 1]\nY[c, y] = sum[r < R](X[c, y + r] * W[c, r])".replace("'", '"'),
    "real numbers": DENSE.replace("cvm", "float32")
    + "Y[i, j] = sum[k < K](X[i, k] * X[i, k] * W[j, k])",
}


@pytest.mark.parametrize(("items", "reason"), MISSED)
def test_what_is_in_the_way(items: str, reason: str) -> None:
    found = driver.schedule_effects(operator(items), packaged()).untiled
    assert {number: why.reason for number, why in found.items()} == {0: reason}


@pytest.mark.parametrize("name", NOTHING_MISSED)
def test_nothing_in_the_way(name: str) -> None:
    assert not driver.schedule_effects(operator(NOTHING_MISSED[name]), packaged()).untiled


# ---------------------------------------------------------------- sums that a let would keep

TABLE = "input X : cvm[M, N]\noutput Y : cvm[M, N]\n"


@pytest.mark.parametrize(
    "equation",
    [
        "Y[i, j] = X[i, j] - sum[k < M](X[k, j])",
        "Y[i, j] = X[i, j] - s where s = sum[k < M](X[k, j])",
    ],
)
def test_sums_of_columns_are_computed_again_and_again(equation: str) -> None:
    (found,) = driver.costly_lets(operator(TABLE + equation))
    assert found.message == "this is computed M*N times, and has N values"
    assert "let s[j] = " in found.hint
    assert found.span.text == "sum[k < M](X[k, j])"


@pytest.mark.parametrize(
    "equation",
    [
        "Y[i, j] = X[i, j] - sum[k < N](X[i, k])",
        "Y[i, j] = X[i, j] - sum[k < M, l < N](X[k, l])",
        "let s[j] = sum[k < M](X[k, j])\nY[i, j] = X[i, j] - s[j]",
        "Y[i, j] = sum[k < N](X[i, k] * X[i, j])",
    ],
)
def test_sums_that_are_computed_once_for_each_value(equation: str) -> None:
    assert not driver.costly_lets(operator(TABLE + equation))


# ---------------------------------------------------------------- lets of packs

SOFTMAX = """
input X : float32[n..., K]
output Y : float32[n..., K]
let top[d...] = max[k < K](X[d..., k])
let exps[d..., k] = exp(X[d..., k] - top[d...])
let total[d...] = sum[k < K](exps[d..., k])
Y[d..., k] = exps[d..., k] over total[d...]
"""
FIRST = """
input X : float32[K, n...]
output Y : float32[K, n...]
let top[d...] = max[k < K](X[k, d...])
Y[k, d...] = X[k, d...] - top[d...]
"""
THROUGH_OTHERS = """
input X : float32[n..., K]
output Y : float32[K, n...]
let top[d...] = max[k < K](X[d..., k])
let less[d..., k] = X[d..., k] - top[d...]
Y[k, d...] = at(k) where at(j) = less[d..., j] + X[d..., j]
"""
PLAIN = """
input X : float32[K, n...]
output Y : float32[K, n...]
let twice[d...] = 2 * X[0, d...]
Y[k, d...] = X[k, d...] - twice[d...]
"""


@pytest.mark.parametrize(
    ("items", "names"), [(SOFTMAX, ()), (PLAIN, ()), (FIRST, ("top",)), (THROUGH_OTHERS, ("top",))]
)
def test_lets_of_packs(items: str, names: tuple[str, ...]) -> None:
    """One is told of where loops that it does not depend on are around those that it does."""
    found = driver.costly_lets(operator(items))
    said = "is computed K*size(n) times, and has size(n) values"
    assert [each.message for each in found] == [f"'{name}' {said}" for name in names]
