"""What operators compute, in vectorised numpy: an oracle for tensors of any size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def quotient(a: Array, b: Array) -> Array:
    """Toward zero; 0 for a divisor of 0."""
    safe = np.where(b == 0, 1, b)
    magnitude = np.abs(a) // np.abs(safe)
    return np.where(b == 0, 0, np.where((a < 0) == (b < 0), magnitude, -magnitude))


def cut(x: Array, precision: int) -> Array:
    most = (1 << (precision - 1)) - 1
    return np.clip(x, -most, most)


def right_shift(x: Array, precision: int, shift_bit: int) -> Array:
    return cut(((x >> (shift_bit - 1)) + 1) >> 1, precision)


def bit_lengths(x: Array) -> Array:
    """The bits of each magnitude, at least 1; below 2^53 a float64 holds the exponent exactly."""
    return np.maximum(np.frexp(np.abs(x).astype(np.float64))[1], 1)


def expand_dims(x: Array, axis: int, num_newaxis: int = 1) -> Array:
    at = axis if axis >= 0 else axis + x.ndim + 1
    return x.reshape((*x.shape[:at], *[1] * num_newaxis, *x.shape[at:]))


def sliced(
    x: Array,
    begin: Sequence[int] = (),
    end: Sequence[int] = (),
    strides: Sequence[int] = (),
) -> Array:
    """As Python slices, entry by entry; what is not given is left out."""
    entries = zip_longest(begin, end, strides)
    return x[tuple(slice(*entry) for entry in entries)]


def slice_like(x: Array, shape_like: Array, axes: Sequence[int] = ()) -> Array:
    chosen = [axis % x.ndim for axis in axes] or range(x.ndim)
    cuts = [slice(shape_like.shape[at] if at in chosen else None) for at in range(x.ndim)]
    return x[tuple(cuts)]


def squeeze(x: Array, axes: Sequence[int] = ()) -> Array:
    return np.atleast_1d(x.squeeze(axis=tuple(axes) or None))


def take(x: Array, indices: Array, axis: int | None = None) -> Array:
    return x.take(indices, axis=axis, mode="clip")


def where(condition: Array, a: Array, b: Array) -> Array:
    """A condition of one dimension chooses whole rows."""
    aligned = condition.reshape(condition.shape + (1,) * (a.ndim - condition.ndim))
    return np.where(aligned != 0, a, b)


ORACLES: dict[str, Callable[..., Array]] = {
    "cvm.abs": np.abs,
    "cvm.cvm_precision": bit_lengths,
    "cvm.negative": np.negative,
    "cvm.relu": lambda x: np.maximum(x, 0),
    "cvm.elemwise_add": np.add,
    "cvm.elemwise_sub": np.subtract,
    "cvm.clip": lambda x, a_min, a_max: np.clip(x, a_min, a_max),
    "cvm.cvm_clip": cut,
    "cvm.cvm_right_shift": right_shift,
    "cvm.cvm_left_shift": lambda x, precision, shift_bit: cut(x << shift_bit, precision),
    "cvm.broadcast_add": np.add,
    "cvm.broadcast_sub": np.subtract,
    "cvm.broadcast_mul": np.multiply,
    "cvm.broadcast_div": quotient,
    "cvm.broadcast_max": np.maximum,
    "cvm.broadcast_greater": lambda a, b: (a > b).astype(np.int64),
    "cvm.sum": lambda x, axes=None: np.atleast_1d(np.sum(x, axis=axes)),
    "cvm.max": lambda x, axes=None: np.atleast_1d(np.max(x, axis=axes)),
    "cvm.dense": lambda x, w: x @ w.T,
    "cvm.max_pool2d": lambda x, pool_size: np.maximum(x[..., :-1], x[..., 1:]),
    "cvm.upsampling": lambda x, scale: x.repeat(scale, axis=2).repeat(scale, axis=3),
    "cvm.flatten": np.ravel,
    "cvm.batch_flatten": lambda x: x.reshape(x.shape[0], -1),
    "cvm.concatenate": lambda *tensors, axis: np.concatenate(tensors, axis),
    "cvm.cvm_lut": lambda indices, table: table.ravel()[indices.clip(0, table.size - 1)],
    "cvm.expand_dims": expand_dims,
    "cvm.repeat": lambda x, axis, repeats: x.repeat(repeats, axis=axis),
    "cvm.tile": lambda x, reps: np.tile(x, reps),
    "cvm.transpose": np.transpose,
    "cvm.reshape": lambda x, target_shape: x.reshape(target_shape),
    "cvm.slice": sliced,
    "cvm.slice_like": slice_like,
    "cvm.squeeze": squeeze,
    "cvm.take": take,
    "cvm.where": where,
    "extra.reverse": lambda x: x[::-1, ::-1, ::-1, ::-1],
}
