"""Both ends of every precision and of every attribute, and sums that just fit 32 bits."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.conformance.calls import Array, Call, Conformance, data, largest
from tests.targets import TARGETS

ALL = range(1, 33)


def ends(precision: int, dtype: Any = np.int32) -> Array:
    """The ends of a precision, what is next to them, and numbers around 0."""
    most = largest(precision)
    values = {0, most, -most, most - 1, 1 - most, 1, -1, most // 2, -(most // 2) - 1}
    return np.array(sorted(each for each in values if abs(each) <= most), dtype)


def pairs(first: int, second: int) -> tuple[Array, Array]:
    """Every pair of the ends of two precisions, as two tensors of one shape."""
    a, b = np.meshgrid(ends(first), ends(second))
    return a, b


# ---------------------------------------------------------------- precisions


@pytest.mark.parametrize("name", ["abs", "cvm_precision", "negative", "relu", "flatten", "max"])
def test_ends_of_each_precision(conformance: Conformance, name: str) -> None:
    for precision in ALL:
        operand = ends(precision)
        expected = conformance.check(Call(f"cvm.{name}", (operand,), {}, (precision,)))
        assert expected.refusal == ""


@pytest.mark.parametrize(
    ("name", "high"),
    [
        ("elemwise_add", 31),
        ("elemwise_sub", 31),
        ("broadcast_add", 31),
        ("broadcast_sub", 31),
        ("broadcast_div", 32),
        ("broadcast_max", 32),
        ("broadcast_greater", 32),
    ],
)
def test_ends_of_two_precisions(conformance: Conformance, name: str, high: int) -> None:
    for first, second in product((1, 2, 8, 9, 16, high - 1, high), repeat=2):
        expected = conformance.check(Call(f"cvm.{name}", pairs(first, second), {}, (first, second)))
        assert expected.refusal == ""


def test_ends_of_products(conformance: Conformance) -> None:
    for first in range(1, 32):
        for second in {1, (32 - first + 1) // 2, 32 - first}:
            call = Call("cvm.broadcast_mul", pairs(first, second), {}, (first, second))
            assert conformance.check(call).refusal == ""


# ---------------------------------------------------------------- attributes


@pytest.mark.parametrize("precision", ALL)
def test_right_shifts(conformance: Conformance, precision: int) -> None:
    for shift in ALL:
        halves = [each << shift >> 1 for each in (-3, -2, -1, 1, 2, 3)]
        near = {each + step for each in halves for step in (-1, 0, 1)}
        values = np.array([each for each in near if abs(each) < 2**31], np.int64)
        operand = np.concatenate([ends(32), values.astype(np.int32)])
        attributes = {"precision": precision, "shift_bit": shift}
        assert not conformance.check(Call("cvm.cvm_right_shift", (operand,), attributes)).refusal


@pytest.mark.parametrize("shift", range(1, 32))
def test_left_shifts(conformance: Conformance, shift: int) -> None:
    for precision, given in product(
        (1, 2, 8, 16, 31, 32), {1, 2, (33 - shift) // 2 + 1, 32 - shift}
    ):
        operand = ends(min(given, 32 - shift))
        attributes = {"precision": precision, "shift_bit": shift}
        assert not conformance.check(Call("cvm.cvm_left_shift", (operand,), attributes)).refusal


def test_left_shift_by_32_is_always_refused(conformance: Conformance) -> None:
    call = Call("cvm.cvm_left_shift", (ends(1),), {"precision": 8, "shift_bit": 32})
    rule = "the shifted value must fit 32 bits (p(X) = 1, shift_bit = 32)"
    assert conformance.check(call).refusal == f"cvm.cvm_left_shift: {rule}"


@pytest.mark.parametrize("precision", ALL)
def test_cvm_clips(conformance: Conformance, precision: int) -> None:
    operand = np.concatenate([ends(each) for each in (1, precision, min(precision + 1, 32), 32)])
    assert not conformance.check(Call("cvm.cvm_clip", (operand,), {"precision": precision})).refusal


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (-(2**31) + 2, 2**31 - 2),
        (-(2**31) + 2, -(2**31) + 3),
        (2**31 - 3, 2**31 - 2),
        (-1, 0),
        (0, 1),
        (-127, 126),
        (-128, 127),
    ],
)
def test_clips(conformance: Conformance, low: int, high: int) -> None:
    near = [end + step for end in (low, high) for step in (-1, 0, 1) if abs(end + step) < 2**31]
    operand = np.concatenate([ends(32), np.array(near, np.int32)])
    call = Call("cvm.clip", (operand,), {"a_min": low, "a_max": high})
    assert not conformance.check(call).refusal


# Operator, shapes of the inputs, attributes: what each row is the end of.
WIDE = [
    ("conv2d", [(1, 1, 1, 1), (1, 1, 1, 1)], {"padding": (4095, 0), "stride": (4095, 1)}),
    ("conv2d", [(1, 1, 1, 2), (1, 1, 1, 2)], {"padding": (0, 4095), "stride": (1, 4095)}),
    ("conv2d", [(1, 1, 3, 2), (1, 1, 2, 1)], {"padding": (2047, 0), "dilation": (4095, 1)}),
    ("conv2d", [(1, 1, 1, 4), (2, 1, 1, 3)], {"padding": (0, 4095), "dilation": (1, 4095)}),
    ("conv2d", [(1, 1, 4, 4), (1, 1, 2, 2)], {"stride": (4095, 4095)}),
    ("conv2d", [(2, 7, 3, 3), (7, 1, 2, 2), (7,)], {"groups": 7}),
    ("conv2d", [(1, 7, 3, 3), (14, 1, 3, 3)], {"groups": 7, "padding": (1, 1)}),
    ("conv2d", [(1, 1, 1, 1), (1, 1, 1, 1), (1,)], {}),
    ("conv2d", [(1, 1, 5, 5), (1, 1, 5, 5)], {}),
    (
        "max_pool2d",
        [(1, 1, 1, 1)],
        {"pool_size": (4096, 1), "padding": (4095, 0), "strides": (4095, 1)},
    ),
    ("max_pool2d", [(1, 1, 1, 3)], {"pool_size": (1, 8193), "padding": (0, 4095)}),
    ("max_pool2d", [(1, 1, 5, 5)], {"pool_size": (1, 1), "strides": (4095, 4095)}),
    ("max_pool2d", [(1, 2, 5, 5)], {"pool_size": (5, 5)}),
    ("max_pool2d", [(1, 2, 5, 4)], {"pool_size": (2, 1), "strides": (3, 3), "ceil_mode": True}),
    ("upsampling", [(1, 1, 1, 1)], {"scale": 64}),
    ("sum", [(2, 3, 2)], {"axes": (-3, 2)}),
    ("sum", [(2, 3, 2)], {"axes": (0, 1, 2)}),
    ("max", [(1,) * 16], {"axes": (-16, 15), "keepdims": True}),
    ("max", [(2,) + (1,) * 14 + (3,)], {"axes": tuple(range(16)), "exclude": True}),
    ("sum", [(1,) * 7 + (3,) + (1,) * 8], {"axes": tuple(range(-16, 0))}),
]


@pytest.mark.parametrize(("name", "shapes", "attributes"), WIDE)
def test_ends_of_attributes(
    conformance: Conformance, name: str, shapes: list[Any], attributes: dict[str, Any]
) -> None:
    random = Random(name)
    operands = tuple(data(random, shape, 8) for shape in shapes)
    missing = (None,) * (3 - len(shapes)) if name == "conv2d" else ()
    assert conformance.check(Call(f"cvm.{name}", operands + missing, attributes)).refusal == ""


def test_the_largest_scale(conformance: Conformance) -> None:
    """The 16 million equal elements are too many for the reference and for Python."""
    X, scale = np.array([[[[-7]]]], np.int8), 4095
    found = conformance.libraries[TARGETS[0]].cvm.upsampling(X, scale=scale)
    assert found.dtype == np.int8
    assert found.shape == (1, 1, scale, scale)
    assert (found == -7).all()


# ---------------------------------------------------------------- sums at the limit of 32 bits

# p(X), p(W) and the number K of products: p(X) + p(W) + bits(K) = 32.
SUMS = [
    (8, 8, 2**16 - 1),
    (8, 12, 2**12 - 1),
    (14, 14, 15),
    (14, 14, 8),
    (15, 16, 1),
    (2, 29, 1),
    (1, 30, 1),
    (10, 20, 3),
    (20, 10, 2),
    (16, 7, 2**9 - 1),
    (7, 16, 2**8),
]
SIGNS = [(1, 1), (1, -1), (-1, -1)]


def filled(shape: tuple[int, ...], precision: int, sign: int) -> Array:
    dtype = np.int8 if precision <= 8 else np.int32
    return np.full(shape, sign * largest(precision), dtype)


@pytest.mark.parametrize(("first", "second", "count"), SUMS)
def test_dense_at_the_limit(conformance: Conformance, first: int, second: int, count: int) -> None:
    for left, right in SIGNS:
        X, W = filled((1, count), first, left), filled((1, count), second, right)
        expected = conformance.check(Call("cvm.dense", (X, W, None), {}, (first, second, None)))
        assert expected.outputs[0].precision == 32
        wanted = left * right * count * largest(first) * largest(second)
        assert expected.outputs[0].values == [wanted]


@pytest.mark.parametrize(("first", "second", "count"), SUMS)
def test_conv2d_at_the_limit(conformance: Conformance, first: int, second: int, count: int) -> None:
    side = int(count**0.5)
    inner = count // (side * side)
    for left, right in SIGNS:
        X = filled((1, inner, side, side), first, left)
        W = filled((1, inner, side, side), second, right)
        expected = conformance.check(Call("cvm.conv2d", (X, W, None), {}, (first, second, None)))
        wanted = left * right * inner * side * side * largest(first) * largest(second)
        assert expected.outputs[0].values == [wanted]


@pytest.mark.parametrize(("first", "second", "count"), [(8, 8, 2**15 - 1), (14, 14, 7), (1, 29, 1)])
@pytest.mark.parametrize("operator", ["dense", "conv2d"])
def test_bias_at_the_limit(
    conformance: Conformance, operator: str, first: int, second: int, count: int
) -> None:
    """A sum of 31 bits and a bias of 31 bits give 32."""
    tail = (1, 1) if operator == "conv2d" else ()
    for left, right in SIGNS:
        X, W = filled((1, count, *tail), first, left), filled((1, count, *tail), second, right)
        B = filled((1,), 31, left * right)
        call = Call(f"cvm.{operator}", (X, W, B), {}, (first, second, 31))
        expected = conformance.check(call)
        assert expected.outputs[0].precision == 32
        total = count * largest(first) * largest(second) + largest(31)
        assert expected.outputs[0].values == [left * right * total]


@pytest.mark.parametrize("precision", range(16, 32))
def test_sum_at_the_limit(conformance: Conformance, precision: int) -> None:
    count = (1 << (32 - precision)) - 1
    for sign in (1, -1):
        operand = filled((count,), precision, sign)
        expected = conformance.check(Call("cvm.sum", (operand,), {}, (precision,)))
        assert expected.outputs[0].precision == 32
        assert expected.outputs[0].values == [sign * count * largest(precision)]


@pytest.mark.parametrize("name", ["sum", "max"])
def test_long_reductions(conformance: Conformance, name: str) -> None:
    operand = data(Random(name), (3, 20000), 8, np.int8)
    for axes in [(), (0,), (1,)]:
        assert not conformance.check(Call(f"cvm.{name}", (operand,), {"axes": axes})).refusal
