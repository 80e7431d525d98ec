"""The reference on the operators of spec/, against formulas written with numpy."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from cvmgen.reference.probe import check_example
from tests.reference.calls import Array, operators, precision, run

CALLS = 12
Draw = Callable[[Generator], tuple[tuple[Any, ...], dict[str, Any]]]
Formula = Callable[..., Any]


def data(rng: Generator, shape: tuple[int, ...], bound: int = 127) -> Array:
    values = rng.integers(-bound, bound, shape, endpoint=True)
    if values.size and rng.random() < 0.5:
        values.flat[0] = rng.choice((-bound, bound, 0))
    return values


def shape(rng: Generator, low: int = 1, high: int = 3) -> tuple[int, ...]:
    return tuple(int(extent) for extent in rng.integers(1, 5, rng.integers(low, high + 1)))


# ------------------------------------------------------------ elementwise


def one(rng: Generator) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (data(rng, shape(rng)),), {}


def two_alike(rng: Generator) -> tuple[tuple[Any, ...], dict[str, Any]]:
    extents = shape(rng)
    return (data(rng, extents), data(rng, extents)), {}


def clip_call(rng: Generator) -> tuple[tuple[Any, ...], dict[str, Any]]:
    low, high = sorted(int(value) for value in rng.choice(np.arange(-130, 130), 2, replace=False))
    return (data(rng, shape(rng)),), {"a_min": low, "a_max": high}


def cvm_clip_call(rng: Generator) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (data(rng, shape(rng), 2**31 - 1),), {"precision": int(rng.integers(1, 33))}


def right_shift_call(rng: Generator) -> tuple[tuple[Any, ...], dict[str, Any]]:
    attributes = {"precision": int(rng.integers(1, 33)), "shift_bit": int(rng.integers(1, 33))}
    return (data(rng, shape(rng), 2**31 - 1),), attributes


def left_shift_call(rng: Generator) -> tuple[tuple[Any, ...], dict[str, Any]]:
    bits = int(rng.integers(1, 32))
    x = data(rng, shape(rng), 2 ** (bits - 1) - 1)
    attributes = {
        "precision": int(rng.integers(1, 33)),
        "shift_bit": int(rng.integers(1, 33 - bits)),
    }
    return (x,), attributes


def bit_length(x: Array) -> Any:
    return np.vectorize(lambda value: max(abs(int(value)).bit_length(), 1), otypes=[object])(x)


def cut(value: int, bits: int) -> int:
    bound = 2 ** (bits - 1) - 1
    return max(-bound, min(value, bound))


def right_shift(x: Array, *, precision: int, shift_bit: int) -> Any:
    """Round half up, with fractions: nothing can overflow."""

    def shifted(value: int) -> int:
        exact = Fraction(int(value), 2**shift_bit) + Fraction(1, 2)
        return cut(exact.numerator // exact.denominator, precision)

    return np.vectorize(shifted, otypes=[object])(x)


def left_shift(x: Array, *, precision: int, shift_bit: int) -> Any:
    return np.vectorize(lambda v: cut(int(v) * 2**shift_bit, precision), otypes=[object])(x)


def cvm_clip(x: Array, *, precision: int) -> Any:
    return np.vectorize(lambda value: cut(int(value), precision), otypes=[object])(x)


# ------------------------------------------------------------ broadcast


def broadcast_call(rng: Generator) -> tuple[tuple[Any, ...], dict[str, Any]]:
    full = shape(rng)

    def narrowed() -> tuple[int, ...]:
        kept = full[int(rng.integers(0, len(full))) :] if rng.random() < 0.5 else full
        return tuple(1 if rng.random() < 0.4 else extent for extent in kept)

    return (data(rng, narrowed(), 9), data(rng, narrowed(), 9)), {}


def truncated(a: Array, b: Array) -> Any:
    a, b = np.broadcast_arrays(a, b)
    quotient = np.abs(a) // np.where(b == 0, 1, np.abs(b))
    return np.where(b == 0, 0, np.sign(a) * np.sign(b) * quotient)


# ------------------------------------------------------------ nn


def conv2d_call(rng: Generator) -> tuple[tuple[Any, ...], dict[str, Any]]:
    groups, per_group, channels = (int(value) for value in rng.integers(1, 3, 3))
    kernel = rng.integers(1, 4, 2)
    attributes = {
        "padding": tuple(int(value) for value in rng.integers(0, 3, 2)),
        "stride": tuple(int(value) for value in rng.integers(1, 3, 2)),
        "dilation": tuple(int(value) for value in rng.integers(1, 3, 2)),
        "groups": groups,
    }
    reach = [d * (int(k) - 1) + 1 for d, k in zip(attributes["dilation"], kernel, strict=True)]
    height, width = (
        max(int(rng.integers(1, 5)), r - 2 * p)
        for r, p in zip(reach, attributes["padding"], strict=True)
    )
    x = data(rng, (int(rng.integers(1, 3)), groups * channels, height, width), 9)
    w = data(rng, (groups * per_group, channels, *(int(k) for k in kernel)), 9)
    b = data(rng, (groups * per_group,), 9) if rng.random() < 0.5 else None
    return (x, w, b), attributes


def conv2d(
    x: Array,
    w: Array,
    b: Array | None,
    *,
    padding: tuple[int, int],
    stride: tuple[int, int],
    dilation: tuple[int, int],
    groups: int,
) -> Any:
    """Windows cut out of the padded input, group by group."""
    (ph, pw), (sh, sw), (dh, dw) = padding, stride, dilation
    padded = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    kh, kw = w.shape[2:]
    rows = range(0, padded.shape[2] - dh * (kh - 1), sh)
    columns = range(0, padded.shape[3] - dw * (kw - 1), sw)
    parts = []
    for own, kernel in zip(np.split(padded, groups, 1), np.split(w, groups, 0), strict=True):
        windows = [
            [
                own[:, :, y : y + dh * (kh - 1) + 1 : dh, z : z + dw * (kw - 1) + 1 : dw]
                for z in columns
            ]
            for y in rows
        ]
        parts.append(np.einsum("yxnchw,ochw->noyx", np.array(windows), kernel))
    result = np.concatenate(parts, 1)
    return result if b is None else result + b[None, :, None, None]


def dense_call(rng: Generator) -> tuple[tuple[Any, ...], dict[str, Any]]:
    m, n, k = (int(value) for value in rng.integers(1, 6, 3))
    bias = data(rng, (n,)) if rng.random() < 0.5 else None
    return (data(rng, (m, k)), data(rng, (n, k)), bias), {}


def dense(x: Array, w: Array, b: Array | None) -> Any:
    return x @ w.T + (0 if b is None else b)


def pool_call(rng: Generator) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Calls whose every window holds an element, as the operator demands."""
    while True:
        pool, strides = rng.integers(1, 5, 2), rng.integers(1, 4, 2)
        padding = [int(rng.integers(0, size)) for size in pool]
        extents = [int(value) for value in rng.integers(1, 6, 2)]
        ceil_mode = bool(rng.random() < 0.5)
        fits = all(
            size <= extent + 2 * pad and (count - 1) * step - pad < extent
            for size, extent, pad, step in zip(pool, extents, padding, strides, strict=True)
            for count in [pooled(extent + 2 * pad - int(size), int(step), ceil_mode)]
        )
        if fits:
            break
    attributes = {
        "pool_size": tuple(map(int, pool)),
        "padding": tuple(padding),
        "strides": tuple(map(int, strides)),
        "ceil_mode": ceil_mode,
    }
    return (data(rng, (2, 1, *extents)),), attributes


def pooled(room: int, step: int, ceil_mode: bool) -> int:
    return (room + (step - 1 if ceil_mode else 0)) // step + 1


def max_pool2d(
    x: Array,
    *,
    pool_size: tuple[int, int],
    padding: tuple[int, int],
    strides: tuple[int, int],
    ceil_mode: bool,
) -> Any:
    """The greatest element of each window, the padding below them all."""
    below = -(10**6)
    extra = [step - 1 if ceil_mode else 0 for step in strides]
    widths = [
        (0, 0),
        (0, 0),
        *((pad, pad + more) for pad, more in zip(padding, extra, strict=True)),
    ]
    padded = np.pad(x, widths, constant_values=below)
    counts = [
        pooled(extent + 2 * pad - size, step, ceil_mode)
        for extent, pad, size, step in zip(x.shape[2:], padding, pool_size, strides, strict=True)
    ]
    result = np.empty((*x.shape[:2], *counts), dtype=np.int64)
    for y, z in np.ndindex(*counts):
        top, left = y * strides[0], z * strides[1]
        window = padded[:, :, top : top + pool_size[0], left : left + pool_size[1]]
        result[:, :, y, z] = window.max((2, 3))
    return result


def upsampling_call(rng: Generator) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (data(rng, (2, 1, 2, 3)),), {"scale": int(rng.integers(1, 4))}


# ------------------------------------------------------------ reduce and transform


def reduce_call(rng: Generator) -> tuple[tuple[Any, ...], dict[str, Any]]:
    x = data(rng, shape(rng))
    count = int(rng.integers(0, x.ndim + 1))
    axes = [int(axis) for axis in rng.permutation(x.ndim)[:count]]
    signed = tuple(axis - x.ndim if rng.random() < 0.3 else axis for axis in axes)
    keepdims, exclude = bool(rng.random() < 0.5), bool(rng.random() < 0.5)
    return (x,), {"axes": signed, "keepdims": keepdims, "exclude": exclude}


def reduced(function: Formula) -> Formula:
    def formula(x: Array, *, axes: tuple[int, ...], keepdims: bool, exclude: bool) -> Any:
        named = {axis % x.ndim for axis in axes}
        over = named if named and not exclude else set(range(x.ndim)) - named
        if not named:
            over = set(range(x.ndim))
        result = np.array(x if not over else function(x, axis=tuple(over), keepdims=keepdims))
        return result.reshape(1) if result.ndim == 0 else result

    return formula


def matrix_like(rng: Generator) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (data(rng, shape(rng, 2)),), {}


ROWS: list[tuple[str, Draw, Formula]] = [
    ("abs", one, np.abs),
    ("negative", one, np.negative),
    ("relu", one, lambda x: np.maximum(x, 0)),
    ("cvm_precision", one, bit_length),
    ("elemwise_add", two_alike, np.add),
    ("elemwise_sub", two_alike, np.subtract),
    ("clip", clip_call, lambda x, a_min, a_max: np.clip(x, a_min, a_max)),
    ("cvm_clip", cvm_clip_call, cvm_clip),
    ("cvm_right_shift", right_shift_call, right_shift),
    ("cvm_left_shift", left_shift_call, left_shift),
    ("broadcast_add", broadcast_call, np.add),
    ("broadcast_sub", broadcast_call, np.subtract),
    ("broadcast_mul", broadcast_call, np.multiply),
    ("broadcast_div", broadcast_call, truncated),
    ("broadcast_max", broadcast_call, np.maximum),
    ("broadcast_greater", broadcast_call, lambda a, b: (a > b).astype(int)),
    ("conv2d", conv2d_call, conv2d),
    ("dense", dense_call, dense),
    ("max_pool2d", pool_call, max_pool2d),
    ("upsampling", upsampling_call, lambda x, scale: x.repeat(scale, 2).repeat(scale, 3)),
    ("sum", reduce_call, reduced(np.sum)),
    ("max", reduce_call, reduced(np.max)),
    ("flatten", one, np.ravel),
    ("batch_flatten", matrix_like, lambda x: x.reshape(x.shape[0], -1)),
]


@pytest.mark.parametrize(("name", "draw", "formula"), ROWS, ids=[row[0] for row in ROWS])
def test_operator(name: str, draw: Draw, formula: Formula) -> None:
    rng = default_rng(list(name.encode()))
    for _ in range(CALLS):
        inputs, attributes = draw(rng)
        expected = formula(*inputs, **attributes)
        result = run(operators()[name], *inputs, **attributes)
        assert result.shape == expected.shape, (inputs, attributes)
        assert (result == expected).all(), (inputs, attributes)


# Extremes at which machine arithmetic fails, and calls at the edge of a rule.
EXACT: list[tuple[str, tuple[Any, ...], dict[str, Any], Any, str]] = [
    ("cvm_right_shift", ([2**31 - 1, -(2**31) + 1],), {"precision": 32, "shift_bit": 32}, [0, 0],
     "a half rounds up, just below it rounds down"),
    ("cvm_right_shift", ([-3, -1, 1, 3],), {"precision": 8, "shift_bit": 1}, [-1, 0, 1, 2],
     "halves go up, for negative numbers too"),
    ("cvm_left_shift", ([1, -1],), {"precision": 32, "shift_bit": 30}, [2**30, -(2**30)],
     "the largest shift of two bits"),
    ("cvm_left_shift", ([0],), {"precision": 1, "shift_bit": 31}, [0], "one bit holds 0 alone"),
    ("broadcast_div", ([-7, 7, -7, 7, 0], [2, -2, -2, 2, 0]), {}, [-3, -3, 3, 3, 0],
     "toward zero, and x / 0 is 0"),
    ("cvm_precision", ([2**31 - 1, -(2**31) + 1, 2**30, 0],), {}, [31, 31, 31, 1],
     "bit lengths, no logarithm in floating point"),
    ("clip", ([-(2**31) + 1, 2**31 - 1],), {"a_min": -(2**30), "a_max": 2**30}, [-(2**30), 2**30],
     "wide ends"),
    ("max", ([[-5, -2], [-3, -9]],), {}, [-2], "no zero among negative elements"),
    ("sum", ([[1, 2], [3, 4]],), {"axes": (0, 1), "exclude": True}, [[1, 2], [3, 4]],
     "excluding all axes reduces nothing"),
    ("max_pool2d", ([[[[-5, -6]]]],), {"pool_size": (2, 2), "padding": (1, 1)},
     [[[[-5, -5, -6]] * 2]], "padding is never the maximum"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "inputs", "attributes", "expected", "why"),
    EXACT,
    ids=[f"{row[0]}: {row[4]}" for row in EXACT],
)
def test_exact(
    name: str, inputs: tuple[Any, ...], attributes: dict[str, Any], expected: Any, why: str
) -> None:
    assert run(operators()[name], *inputs, **attributes).tolist() == expected, why


PRECISIONS: list[tuple[str, list[Any], list[Any], dict[str, Any], int, str]] = [
    ("abs", [(3,)], [7], {}, 7, "p"),
    ("elemwise_add", [(2,), (2,)], [7, 9], {}, 10, "max + 1"),
    ("broadcast_mul", [(2,), (2,)], [7, 9], {}, 16, "p + p"),
    ("broadcast_div", [(2,), (2,)], [7, 9], {}, 7, "that of the first"),
    ("broadcast_max", [(2,), (2,)], [7, 9], {}, 9, "the greater"),
    ("broadcast_greater", [(2,), (2,)], [7, 9], {}, 1, "a truth value"),
    ("conv2d", [(1, 2, 5, 5), (4, 2, 3, 3), None], [8, 8, None], {}, 21, "bits(18) = 5"),
    ("conv2d", [(1, 2, 5, 5), (4, 2, 3, 3), (4,)], [8, 8, 9], {}, 22, "a bias adds one"),
    ("conv2d", [(1, 2, 5, 5), (4, 2, 3, 3), (4,)], [8, 8, 30], {}, 31, "a wide bias"),
    ("dense", [(1, 16), (3, 16), None], [8, 8, None], {}, 21, "bits(16) = 5"),
    ("sum", [(4, 4)], [8], {"axes": (1,)}, 11, "bits(4) = 3"),
    ("sum", [(4, 4)], [8], {}, 13, "bits(16) = 5"),
    ("max", [(4, 4)], [8], {}, 8, "p"),
    ("clip", [(1,)], [30], {"a_min": -19, "a_max": 10}, 6, "19 takes 5 bits and a sign"),
    ("cvm_precision", [(1,)], [30], {}, 6, "always 6"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "shapes", "bits", "attributes", "expected", "why"),
    PRECISIONS,
    ids=[f"{row[0]}: {row[5]}" for row in PRECISIONS],
)
def test_precision(
    name: str,
    shapes: list[Any],
    bits: list[Any],
    attributes: dict[str, Any],
    expected: int,
    why: str,
) -> None:
    assert precision(operators()[name], shapes, bits, **attributes) == expected, why


def test_every_example_of_spec_gives_its_result() -> None:
    for operator in operators().values():
        assert operator.examples, operator.name
        for example in operator.examples:
            assert not list(check_example(operator, example)), operator.name
