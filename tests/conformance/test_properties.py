"""Laws that hold between operators and for all data: arithmetic."""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from cvmgen.api import Opset
from tests.conformance.strategies import arrays, budget, ints, shapes


def clipped(value: int, precision: int) -> int:
    most = (1 << (precision - 1)) - 1
    return max(-most, min(value, most))


# ---------------------------------------------------------------- shifts against big integers


@budget
@given(st.lists(ints, min_size=1, max_size=8), st.integers(1, 32), st.integers(1, 32))
def test_right_shift_divides_and_rounds_half_up(
    cvm: Opset, values: list[int], precision: int, shift: int
) -> None:
    X = np.array(values, np.int32)
    found = cvm.cvm_right_shift(X, precision=precision, shift_bit=shift)
    # floor(x / 2^s + 1/2) over Z.
    wanted = [clipped((2 * x + 2**shift) // 2 ** (shift + 1), precision) for x in values]
    assert found.tolist() == wanted


@budget
@given(st.data(), st.integers(1, 31), st.integers(1, 32))
def test_left_shift_multiplies(cvm: Opset, draw: st.DataObject, shift: int, precision: int) -> None:
    X = draw.draw(arrays((5,), 32 - shift))
    found = cvm.cvm_left_shift(X, precision=precision, shift_bit=shift)
    assert found.tolist() == [clipped(int(x) * 2**shift, precision) for x in X]


@budget
@given(st.lists(ints, min_size=1, max_size=8))
def test_precisions_are_bit_lengths(cvm: Opset, values: list[int]) -> None:
    found = cvm.cvm_precision(np.array(values, np.int32))
    assert found.tolist() == [max(1, abs(value).bit_length()) for value in values]


# ---------------------------------------------------------------- reductions


@budget
@given(st.data(), shapes())
def test_sums_over_axes_in_any_order(
    cvm: Opset, draw: st.DataObject, shape: tuple[int, ...]
) -> None:
    X = draw.draw(arrays(shape, 16))
    axes = draw.draw(st.permutations(range(len(shape))))
    count = draw.draw(st.integers(1, len(shape)))
    at_once = cvm.sum(X, axes=tuple(axes[:count]), keepdims=True)
    one_by_one = X
    for axis in axes[:count]:
        one_by_one = cvm.sum(one_by_one, axes=(axis - len(shape),), keepdims=True)
    assert np.array_equal(at_once, one_by_one)
    if count < len(shape):
        kept = cvm.sum(X, axes=tuple(axes[count:]), exclude=True, keepdims=True)
        assert np.array_equal(at_once, kept)
    assert np.array_equal(at_once, X.sum(axis=tuple(axes[:count]), keepdims=True, dtype=np.int64))


@budget
@given(st.data(), shapes())
def test_maxima_are_elements(cvm: Opset, draw: st.DataObject, shape: tuple[int, ...]) -> None:
    X = draw.draw(arrays(shape, 32))
    assert cvm.max(X).tolist() == [int(X.max())]
    axis = draw.draw(st.integers(0, len(shape) - 1))
    assert np.array_equal(cvm.max(X, axes=(axis,), keepdims=True), X.max(axis=axis, keepdims=True))


# ---------------------------------------------------------------- broadcasting


@budget
@given(
    st.data(), npst.mutually_broadcastable_shapes(num_shapes=2, min_dims=1, max_dims=4, max_side=4)
)
def test_broadcasting_commutes(
    cvm: Opset, draw: st.DataObject, found: npst.BroadcastableShapes
) -> None:
    A, B = (draw.draw(arrays(shape, 16)) for shape in found.input_shapes)
    for operator in (cvm.broadcast_add, cvm.broadcast_mul, cvm.broadcast_max):
        assert np.array_equal(operator(A, B), operator(B, A))
        assert operator(A, B).shape == found.result_shape
    assert np.array_equal(cvm.broadcast_sub(A, B), cvm.negative(cvm.broadcast_sub(B, A)))


@budget
@given(
    st.data(), npst.mutually_broadcastable_shapes(num_shapes=2, min_dims=1, max_dims=4, max_side=4)
)
def test_quotients_and_remainders(
    cvm: Opset, draw: st.DataObject, found: npst.BroadcastableShapes
) -> None:
    A, B = (draw.draw(arrays(shape, 32)) for shape in found.input_shapes)
    wide_a, wide_b = np.broadcast_arrays(A.astype(np.int64), B.astype(np.int64))
    quotient = cvm.broadcast_div(A, B).astype(np.int64)
    rest = wide_a - quotient * wide_b
    assert (np.abs(rest) < np.maximum(np.abs(wide_b), 1))[wide_b != 0].all()
    assert (rest * wide_a >= 0).all()
    assert (quotient[wide_b == 0] == 0).all()


@budget
@given(st.data(), shapes())
def test_broadcasting_equal_shapes_is_elementwise(
    cvm: Opset, draw: st.DataObject, shape: tuple[int, ...]
) -> None:
    A, B = draw.draw(arrays(shape, 31)), draw.draw(arrays(shape, 31))
    assert np.array_equal(cvm.broadcast_add(A, B), cvm.elemwise_add(A, B))
    assert np.array_equal(cvm.broadcast_sub(A, B), cvm.elemwise_sub(A, B))


# ---------------------------------------------------------------- clips


@budget
@given(st.data(), shapes(), ints, ints, st.integers(1, 32))
def test_clips_are_idempotent(
    cvm: Opset, draw: st.DataObject, shape: tuple[int, ...], one: int, other: int, precision: int
) -> None:
    X = draw.draw(arrays(shape, 32))
    low, high = sorted((one // 2, other // 2))
    cut = cvm.clip(X, a_min=low, a_max=high + 1)
    assert np.array_equal(cvm.clip(cut, a_min=low, a_max=high + 1), cut)
    once = cvm.cvm_clip(X, precision=precision)
    assert np.array_equal(cvm.cvm_clip(once, precision=precision), once)
    most = (1 << (precision - 1)) - 1
    if most > 0 and precision < 32:
        assert np.array_equal(cvm.clip(X, a_min=-most, a_max=most), once)


@budget
@given(st.data(), shapes())
def test_relu_and_abs(cvm: Opset, draw: st.DataObject, shape: tuple[int, ...]) -> None:
    X = draw.draw(arrays(shape, 31))
    positive, turned = cvm.relu(X), cvm.relu(cvm.negative(X))
    assert np.array_equal(cvm.relu(positive), positive)
    assert np.array_equal(cvm.elemwise_add(positive, turned), cvm.abs(X))
    assert np.array_equal(cvm.elemwise_sub(positive, turned), X)


# ---------------------------------------------------------------- networks


@budget
@given(st.data(), shapes(4, 4), st.integers(1, 4), st.booleans())
def test_convolution_with_a_kernel_of_one_is_dense(
    cvm: Opset, draw: st.DataObject, shape: tuple[int, ...], outputs: int, biased: bool
) -> None:
    X, W = draw.draw(arrays(shape, 8)), draw.draw(arrays((outputs, shape[1]), 8))
    B = draw.draw(arrays((outputs,), 16)) if biased else None
    convolved = cvm.conv2d(X, W.reshape(outputs, shape[1], 1, 1), B)
    pixels = np.moveaxis(X, 1, 3).reshape(-1, shape[1])
    wanted = cvm.dense(pixels, W, B).reshape(shape[0], *shape[2:], outputs)
    assert np.array_equal(np.moveaxis(convolved, 1, 3), wanted)


@budget
@given(st.data(), shapes(4, 4), st.integers(1, 3))
def test_groups_are_convolutions_apart(
    cvm: Opset, draw: st.DataObject, shape: tuple[int, ...], groups: int
) -> None:
    batch, inner, *size = shape
    X = draw.draw(arrays((batch, inner * groups, *size), 8))
    W = draw.draw(arrays((2 * groups, inner, 1, 1), 8))
    together = cvm.conv2d(X, W, groups=groups, padding=(1, 0))
    apart = [
        cvm.conv2d(X[:, at * inner :][:, :inner], W[2 * at :][:2], padding=(1, 0))
        for at in range(groups)
    ]
    assert np.array_equal(together, np.concatenate(apart, axis=1))


@budget
@given(st.data(), shapes(4, 4), st.integers(1, 4))
def test_pooling_undoes_upsampling(
    cvm: Opset, draw: st.DataObject, shape: tuple[int, ...], scale: int
) -> None:
    X = draw.draw(arrays(shape, 32))
    grown = cvm.upsampling(X, scale=scale)
    assert grown.dtype == X.dtype
    found = cvm.max_pool2d(grown, pool_size=(scale, scale), strides=(scale, scale))
    assert np.array_equal(found, X)


@budget
@given(st.data(), shapes(4, 4), st.integers(1, 4), st.integers(1, 4))
def test_pooling_is_the_maximum_of_a_window(
    cvm: Opset, draw: st.DataObject, shape: tuple[int, ...], height: int, width: int
) -> None:
    X = draw.draw(arrays(shape, 32))
    height, width = min(height, shape[2]), min(width, shape[3])
    windows = np.lib.stride_tricks.sliding_window_view(X, (height, width), (2, 3))
    found = cvm.max_pool2d(X, pool_size=(height, width))
    assert np.array_equal(found, windows.max(axis=(4, 5)))


@budget
@given(st.data(), shapes())
def test_flattened_shapes(cvm: Opset, draw: st.DataObject, shape: tuple[int, ...]) -> None:
    X = draw.draw(arrays(shape, 32))
    assert np.array_equal(cvm.flatten(X), X.reshape(-1))
    if len(shape) > 1:
        assert cvm.batch_flatten.infer([shape], [8]).shapes == ((shape[0], prod(shape[1:])),)
        assert np.array_equal(cvm.batch_flatten(X), X.reshape(shape[0], -1))
