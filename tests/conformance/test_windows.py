"""Windows along rows that are longer than the blocks in which C makes results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators

Array = np.ndarray[Any, Any]
WIDTH = 2500
PAIRS = [  # window, stride, padding, dilation
    ((3, 3), (1, 1), (1, 1), (1, 1)),
    ((3, 3), (2, 2), (1, 1), (1, 1)),
    ((2, 2), (2, 2), (0, 0), (1, 1)),
    ((2, 7), (1, 1), (1, 3), (1, 1)),
    ((3, 5), (2, 3), (0, 4), (1, 1)),
    ((4, 4), (1, 1), (3, 3), (1, 1)),
    ((3, 3), (1, 1), (2, 2), (2, 2)),
    ((3, 3), (2, 2), (3, 5), (3, 5)),
    ((3, 70), (1, 1), (1, 1), (1, 1)),
    ((3, 3), (1, 7), (1, 1), (1, 2)),
]


def windows(x: Array, case: Any, empty: int) -> Array:
    """The elements of each window as the last two dimensions."""
    window, stride, padding, dilation = case
    around = [(0, 0), (0, 0), *((each, each) for each in padding)]
    padded = np.pad(x.astype(np.int64), around, constant_values=empty)
    spans = tuple((k - 1) * d + 1 for k, d in zip(window, dilation, strict=True))
    found = np.lib.stride_tricks.sliding_window_view(padded, spans, axis=(2, 3))
    rows, columns = dilation
    return found[:, :, :: stride[0], :: stride[1], ::rows, ::columns]


def numbers(shape: tuple[int, ...], dtype: Any) -> Array:
    return (np.arange(np.prod(shape)) * 37 % 251 - 125).astype(dtype).reshape(shape)


@pytest.mark.parametrize("case", [case for case in PAIRS if case[3] == (1, 1)], ids=str)
@pytest.mark.parametrize("dtype", [np.int8, np.int32])
def test_pooling(libraries: dict[str, Operators], case: Any, dtype: Any) -> None:
    x = numbers((1, 3, 9, WIDTH), dtype)
    window, stride, padding, _ = case
    found = libraries["c"].cvm.max_pool2d(x, pool_size=window, strides=stride, padding=padding)
    np.testing.assert_array_equal(found, windows(x, case, -128).max(axis=(-2, -1)))


BY_TWO = [  # window, stride, padding: windows two columns apart, in rows of some vectors
    ((3, 3), (2, 2), (1, 1)),
    ((2, 2), (2, 2), (0, 0)),
    ((3, 2), (1, 2), (2, 1)),
    ((3, 3), (2, 2), (2, 0)),
    ((1, 3), (3, 2), (0, 2)),
    ((2, 1), (2, 2), (1, 0)),
    ((3, 4), (2, 2), (0, 3)),
]


@pytest.mark.parametrize("case", BY_TWO, ids=str)
@pytest.mark.parametrize("dtype", [np.int8, np.int32])
def test_windows_two_columns_apart(libraries: dict[str, Operators], case: Any, dtype: Any) -> None:
    window, stride, padding = case
    for width in (62, 63, 64, 65, 66, 67, 95, 112, 113, 127, 128, 129, 130, 191, 1020, 1023, 1025):
        x = numbers((2, 2, 19, width), dtype)
        found = libraries["c"].cvm.max_pool2d(x, pool_size=window, strides=stride, padding=padding)
        expected = windows(x, (*case, (1, 1)), -128).max(axis=(-2, -1))
        np.testing.assert_array_equal(found, expected, str(width))


@pytest.mark.parametrize("width", [64, 66, 112, 2500])
def test_the_last_windows_two_columns_apart_may_be_cut(
    libraries: dict[str, Operators], width: int
) -> None:
    x = numbers((1, 2, 9, width), np.int32)
    found = libraries["c"].cvm.max_pool2d(x, pool_size=(3, 3), strides=(2, 2), ceil_mode=True)
    larger = np.pad(x, [(0, 0), (0, 0), (0, 1), (0, 1)], constant_values=-128)
    expected = windows(larger, ((3, 3), (2, 2), (0, 0), (1, 1)), -128).max(axis=(-2, -1))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("case", PAIRS, ids=str)
@pytest.mark.parametrize("dtype", [np.int8, np.int32])
def test_convolution_of_each_channel(
    libraries: dict[str, Operators], case: Any, dtype: Any
) -> None:
    window, stride, padding, dilation = case
    x, w = numbers((2, 3, 9, WIDTH), dtype), numbers((3, 1, *window), dtype)
    attributes = {"stride": stride, "padding": padding, "dilation": dilation, "groups": 3}
    found = libraries["c"].cvm.conv2d(x, w, **attributes)
    expected = np.einsum("nchwij,cij->nchw", windows(x, case, 0), w[:, 0].astype(np.int64))
    np.testing.assert_array_equal(found, expected)
