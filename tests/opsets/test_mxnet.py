"""MXNet's index_array against numpy's indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from cvmgen.errors import OperatorError
from tests.conformance.calls import Call, Conformance
from tests.opsets.bits import Array, same_bits

TYPES = ["bool", "int8", "int16", "int32", "int64", "float32", "float64"]
SHAPES = [(1,), (4,), (2, 3), (3, 1, 2), (2, 3, 2, 2), (1, 2, 1, 2, 1, 2, 1, 2)]
EMPTY = [(0,), (0, 3), (3, 0), (2, 0, 4), (0, 0)]


def oracle(shape: Sequence[int], axes: Sequence[int] | None = None) -> Array:
    """numpy has the entries of the indices in front."""
    indices = np.moveaxis(np.indices(tuple(shape), np.int64), 0, -1)
    return indices if axes is None else indices[..., list(axes)]


@pytest.mark.parametrize("dtype", TYPES)
def test_whole_indices(ops: Operators, dtype: str) -> None:
    for shape in SHAPES:
        same_bits(ops.mxnet.index_array(np.ones(shape, dtype)), oracle(shape), f"{shape}")


def test_the_words_of_the_request(ops: Operators) -> None:
    """idx[i_1, ..., i_n, :] = [i_1, ..., i_n], and with axes idx[..., j] = i_{axes[j]}."""
    data = np.zeros((2, 3, 4), np.float32)
    idx = ops.mxnet.index_array(data)
    chosen = ops.mxnet.index_array(data, axes=(2, 0))
    assert (idx.shape, chosen.shape) == ((2, 3, 4, 3), (2, 3, 4, 2))
    assert idx.dtype == chosen.dtype == np.int64
    for index in np.ndindex(2, 3, 4):
        assert idx[index].tolist() == list(index)
        assert chosen[index].tolist() == [index[2], index[0]]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    "axes",
    [(), (0,), (2,), (-1,), (-3,), (1, 0), (2, 1, 0), (0, 0), (-2, -1, -2, -1), (1, -2), (0,) * 16],
)
def test_chosen_entries(ops: Operators, dtype: str, axes: tuple[int, ...]) -> None:
    """Axes may count from the end, repeat, and be none at all."""
    data = np.ones((2, 3, 4), dtype)
    found = ops.mxnet.index_array(data, axes=axes)
    assert found.shape == (2, 3, 4, len(axes))
    same_bits(found, oracle(data.shape, axes))


@pytest.mark.parametrize("dtype", TYPES)
def test_extents_of_zero(ops: Operators, dtype: str) -> None:
    for shape in EMPTY:
        same_bits(ops.mxnet.index_array(np.ones(shape, dtype)), oracle(shape), f"{shape}")
        found = ops.mxnet.index_array(np.ones(shape, dtype), axes=(-1, 0, 0))
        same_bits(found, oracle(shape, (-1, 0, 0)), f"{shape}")


@pytest.mark.parametrize("dtype", TYPES)
def test_a_number_without_dimensions(ops: Operators, dtype: str) -> None:
    """Its index has no entries."""
    for axes in (None, ()):
        found = ops.mxnet.index_array(np.array(1, dtype), axes=axes)
        assert (found.shape, found.dtype) == ((0,), np.int64)


def test_elements_do_not_matter(ops: Operators) -> None:
    data = np.array([[np.nan, np.inf, -0.0], [1e300, -np.inf, 5e-324]])
    same_bits(ops.mxnet.index_array(data), oracle(data.shape))
    ends = np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max])
    same_bits(ops.mxnet.index_array(ends), oracle(ends.shape))


def test_strides_do_not_matter(ops: Operators) -> None:
    data = np.arange(24, dtype=np.int16).reshape(4, 6)
    for view in (data.T, data[::2, ::-3], np.broadcast_to(data[0], (3, 6))):
        same_bits(ops.mxnet.index_array(view), oracle(view.shape))


def test_many_indices(ops: Operators) -> None:
    data = np.zeros((3, 70, 90), np.int8)
    same_bits(ops.mxnet.index_array(data, axes=(2, 1)), oracle(data.shape, (2, 1)))


def test_inferred_shapes(ops: Operators) -> None:
    infer = ops.mxnet.index_array.infer
    assert infer([(2, 3)]).shapes == ((2, 3, 2),)
    assert infer([(2, 3)], axes=()).shapes == ((2, 3, 0),)
    assert infer([()]).shapes == ((0,),)


def test_rank_15_is_the_highest(ops: Operators) -> None:
    """The index stands in one dimension more."""
    shape = (1,) * 13 + (2, 3)
    same_bits(ops.mxnet.index_array(np.ones(shape, np.int8)), oracle(shape))


def test_the_reference_gives_the_same(conformance: Conformance) -> None:
    for shape in (*SHAPES[:4], *EMPTY, ()):
        for dtype in ("bool", "int64", "float32"):
            conformance.check(Call("mxnet.index_array", (np.ones(shape, dtype),), {}))
    call = Call("mxnet.index_array", (np.ones((2, 3), np.int8),), {"axes": (-1, 0, 1)})
    conformance.check(call)


ONES = np.ones((2, 3), np.float32)
REFUSED: list[tuple[Array, dict[str, Any], str]] = [
    (ONES, {"axes": (2,)}, "axes = (2,): must be in [-N, N) (N = 2)"),
    (ONES, {"axes": (0, -3)}, "axes = (0, -3): must be in [-N, N) (N = 2)"),
    (np.array(1.0), {"axes": (0,)}, "axes = (0,): must be in [-N, N) (N = 0)"),
    (ONES, {"axes": 1}, "axes = 1: a tuple of integers is needed"),
    (ONES, {"axes": (0,) * 17}, "axes = 17 entries: at most 16 entries"),
    (ONES.reshape((1,) * 14 + (2, 3)), {}, "idx = rank 17: this tensor has 0 to 16 dimensions"),
]


@pytest.mark.parametrize(("data", "attributes", "message"), REFUSED, ids=lambda each: None)
def test_refused_calls(
    ops: Operators, data: Array, attributes: dict[str, Any], message: str
) -> None:
    """An axis out of range too, which MXNet takes modulo the rank."""
    with pytest.raises(OperatorError) as caught:
        ops.mxnet.index_array(data, **attributes)
    assert str(caught.value) == f"mxnet.index_array: {message}"


@pytest.mark.parametrize("dtype", ["uint8", "uint64", "float16", "complex64"])
def test_other_types_are_refused(ops: Operators, dtype: str) -> None:
    with pytest.raises(OperatorError) as caught:
        ops.mxnet.index_array(np.ones((2, 2), dtype))
    wanted = f"data = dtype {dtype}: must be one of {', '.join(TYPES)}"
    assert str(caught.value) == f"mxnet.index_array: {wanted}"
