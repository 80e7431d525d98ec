"""SystemML's matrices: arithmetic, biases and copies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from tests.opsets import systemml_oracles as oracles
from tests.opsets.bits import Array, same_bits
from tests.opsets.systemml_calls import INF, NAN, SPECIAL, TINY, matrix, refusal

# ---------------------------------------------------------------- channels


@pytest.mark.parametrize(
    ("name", "combine"), [("bias_add", np.add), ("bias_multiply", np.multiply)]
)
def test_biases(ops: Operators, name: str, combine: Any) -> None:
    for images, channels, places in ((1, 1, 1), (2, 3, 4), (3, 2, 1), (1, 1, 5)):
        x, bias = matrix(images, channels * places, 1), matrix(channels, 1, 2)
        expected = combine(x.reshape(images, channels, places), bias)
        same_bits(ops[f"systemml.{name}"](x, bias), expected.reshape(x.shape))
    x, bias = np.array([SPECIAL * 2]), np.array([[-0.0], [INF]])
    with np.errstate(all="ignore"):
        expected = combine(x.reshape(1, 2, -1), bias).reshape(x.shape)
    same_bits(ops[f"systemml.{name}"](x, bias), expected)


# ---------------------------------------------------------------- arithmetic


@pytest.mark.parametrize("name", oracles.ELEMENTWISE)
def test_arithmetic(ops: Operators, name: str) -> None:
    """Every pair of special numbers, and many others."""
    x, y = (np.ravel(each) for each in np.meshgrid(SPECIAL, SPECIAL))
    random = np.random.default_rng(1)
    x = np.concatenate([x, random.standard_normal(300), random.integers(-20, 20, 300)])
    y = np.concatenate([y, random.standard_normal(300), random.integers(-20, 20, 300)])
    with np.errstate(all="ignore"):
        expected = oracles.ELEMENTWISE[name](x, y)
    found = ops[f"systemml.{name}"](x[None], y[None])[0]
    if name == "pow":
        near(found, expected)
    else:
        same_bits(found, expected, name)


def near(found: Array, expected: Array) -> None:
    """Of `pow` the last bit may differ from library to library."""
    assert found.dtype == expected.dtype
    exact = ~np.isfinite(expected) | (expected == 0)
    same_bits(found[exact], expected[exact])
    np.testing.assert_array_max_ulp(found[~exact], expected[~exact], maxulp=1)


@pytest.mark.parametrize(
    ("name", "x", "y", "result"),
    [
        ("intdiv", 7.0, 2.0, 3.0),
        ("intdiv", -7.0, 2.0, -4.0),
        ("intdiv", 7.0, -2.0, -4.0),
        ("intdiv", -7.0, -2.0, 3.0),
        ("intdiv", 7.5, 0.5, 15.0),
        ("intdiv", 1.0, 0.0, INF),
        ("intdiv", -1.0, 0.0, -INF),
        ("intdiv", 1.0, -0.0, -INF),
        ("intdiv", 0.0, 0.0, NAN),
        ("intdiv", 5.0, INF, 0.0),
        ("intdiv", -5.0, INF, -0.0),
        ("intdiv", INF, 2.0, INF),
        ("intdiv", INF, INF, NAN),
        ("mod", 7.0, 2.0, 1.0),
        ("mod", -7.0, 2.0, 1.0),
        ("mod", 7.0, -2.0, -1.0),
        ("mod", -7.0, -2.0, -1.0),
        ("mod", 5.5, 2.0, 1.5),
        ("mod", 1.0, 0.0, NAN),
        ("mod", 0.0, 0.0, NAN),
        ("mod", INF, 2.0, NAN),
        ("mod", 5.0, INF, NAN),
        ("mod", -5.0, INF, NAN),
        ("mod", NAN, 2.0, NAN),
        ("pow", 2.0, 10.0, 1024.0),
        ("pow", 2.0, 0.5, math.sqrt(2.0)),
        ("pow", -2.0, 3.0, -8.0),
        ("pow", -2.0, 0.5, NAN),
        ("pow", 0.0, -1.0, INF),
        ("pow", -0.0, -1.0, -INF),
        ("pow", -0.0, -2.0, INF),
        ("pow", 10.0, 400.0, INF),
        ("pow", -10.0, 401.0, -INF),
        ("pow", 10.0, -400.0, 0.0),
        ("pow", 0.0, 0.0, 1.0),
        ("pow", NAN, 0.0, 1.0),
        ("pow", 1.0, NAN, NAN),
        ("pow", 1.0, INF, NAN),
        ("pow", 1.0, -INF, NAN),
        ("pow", 1.0, 1e300, 1.0),
        ("pow", -1.0, INF, 1.0),
        ("pow", INF, -1.0, 0.0),
        ("div", 1.0, 0.0, INF),
        ("div", -1.0, 0.0, -INF),
        ("div", 0.0, 0.0, NAN),
        ("div", 1.0, 3.0, 1.0 / 3.0),
        ("add", -0.0, -0.0, -0.0),
        ("sub", INF, INF, NAN),
        ("mul", 0.0, -INF, NAN),
        ("mul", TINY, 0.5, 0.0),
    ],
)
def test_single_numbers(ops: Operators, name: str, x: float, y: float, result: float) -> None:
    same_bits(ops[f"systemml.{name}"](np.array([[x]]), np.array([[y]])), np.array([[result]]))


def test_negation(ops: Operators) -> None:
    x = np.array([SPECIAL])
    same_bits(ops.systemml.neg(x), -x)
    assert np.signbit(ops.systemml.neg(np.array([[0.0]]))).all()


SHAPES = [
    ((2, 3), (2, 3)),
    ((2, 3), (1, 3)),
    ((2, 3), (2, 1)),
    ((2, 1), (1, 3)),
    ((1, 1), (4, 2)),
    ((3,), (2, 3)),
    ((2, 1, 3), (4, 1)),
    ((2, 3, 4, 5), (2, 1, 4, 5)),
    ((1, 1, 4, 5), (2, 3, 4, 5)),
]


@pytest.mark.parametrize(("one", "other"), SHAPES)
def test_shapes_broadcast(ops: Operators, one: tuple[int, ...], other: tuple[int, ...]) -> None:
    random = np.random.default_rng(2)
    x, y = random.standard_normal(one), random.standard_normal(other)
    for name, compute in oracles.ELEMENTWISE.items():
        if name != "pow":
            same_bits(ops[f"systemml.{name}"](x, y), compute(x, y), name)
            same_bits(ops[f"systemml.{name}"](y, x), compute(y, x), name)


def test_copies(ops: Operators) -> None:
    z = matrix(2, 3, 1)
    for count in (1, 2, 5):
        same_bits(ops.systemml.rep(z, C=count), np.concatenate([z] * count, axis=1))


# The examples of the document: the shapes of X and Y, and which of them is repeated.
N, C, H, W = 2, 3, 2, 2
REPEATED = [
    ((N, C, H, W), (1, C, H, W), ""),
    ((1, C, H, W), (N, C, H, W), ""),
    ((N, C, H, W), (N, 1, H, W), "Y"),
    ((N, C, H, W), (1, 1, H, W), "Y"),
    ((N, 1, H, W), (N, C, H, W), "X"),
    ((1, 1, H, W), (N, C, H, W), "X"),
]


@pytest.mark.parametrize(("one", "other", "repeated"), REPEATED)
def test_broadcasting_over_channels(
    ops: Operators, one: tuple[int, ...], other: tuple[int, ...], repeated: str
) -> None:
    """`rep` does what numpy's broadcasting of the tensors does."""
    random = np.random.default_rng(3)
    x, y = random.standard_normal(one), random.standard_normal(other)
    left, right = x.reshape(one[0], -1), y.reshape(other[0], -1)
    left = ops.systemml.rep(left, C=C) if repeated == "X" else left
    right = ops.systemml.rep(right, C=C) if repeated == "Y" else right
    same_bits(ops.systemml.add(left, right), (x + y).reshape(N, -1))


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize("name", ["bias_add", "bias_multiply"])
def test_biases_that_do_not_fit(ops: Operators, name: str) -> None:
    for x, bias, message in [
        ((2, 7), (3, 1), "the columns must split into the channels (K = 7, C = 3)"),
        ((2, 2), (3, 1), "the columns must split into the channels (K = 2, C = 3)"),
        ((2, 6), (3, 2), "bias = shape (3, 2): extent 1 must be 1"),
        ((2, 6), (3,), "bias = shape (3,): 2 dimensions needed"),
    ]:
        assert refusal(ops, name, [np.zeros(x), np.zeros(bias)], {}) == message


def test_shapes_that_do_not_broadcast(ops: Operators) -> None:
    for name in oracles.ELEMENTWISE:
        message = "the shapes do not broadcast (Q = 2, em = (2, 3), en = (1, 2))"
        assert refusal(ops, name, [np.zeros((2, 3)), np.zeros(2)], {}) == message


def test_copies_that_cannot_be_made(ops: Operators) -> None:
    z = np.zeros((2, 3))
    assert refusal(ops, "rep", [z], {}) == "C: this attribute is missing"
    for count in (0, -1, 2**31):
        assert refusal(ops, "rep", [z], {"C": count}) == f"C = {count}: must be in [1, 2147483648)"
    assert refusal(ops, "rep", [z[0]], {"C": 2}) == "Z = shape (3,): 2 dimensions needed"
