"""What a CVM model may hold at most, and what it takes: integers of one shape, in a precision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cvmgen.errors import ModelError

Array = npt.NDArray[Any]

INPUT = "data"
MAX_RANK = 6
MAX_EXTENT = 1 << 24
MAX_SIZE = 1 << 30
MAX_PRECISION = 32


def shape_fault(shape: Sequence[int]) -> str | None:
    """Why `shape` cannot be that of a tensor in a model, or None."""
    if not 1 <= len(shape) <= MAX_RANK:
        return f"a tensor has 1 to {MAX_RANK} dimensions, not {len(shape)}"
    for axis, extent in enumerate(shape):
        if not 1 <= extent <= MAX_EXTENT:
            return f"extent {extent} of dimension {axis} is not in 1..{MAX_EXTENT}"
    if math.prod(shape) > MAX_SIZE:
        return f"{math.prod(shape)} elements are more than {MAX_SIZE}"
    return None


def largest_magnitude(precision: int) -> int:
    """The largest magnitude of a value of `precision` bits; -2^(p-1) is not one of them."""
    return (1 << (precision - 1)) - 1


def checked_data(values: Array, shape: tuple[int, ...], file: str | None) -> Array:
    """The values; ModelError for another shape or for values that are no integers."""
    where = f"node {INPUT}"
    if values.dtype.kind not in "iu":
        raise ModelError(f"must hold integers, not {values.dtype}", file=file, where=where)
    if values.shape != shape:
        rule = f"must have shape {shape}, not {values.shape}"
        raise ModelError(rule, file=file, where=where)
    return values


def checked_typed(
    values: Array, shape: tuple[int, ...], dtype: np.dtype[Any], name: str, file: str | None
) -> Array:
    """The values; ModelError for another shape or element type."""
    if values.dtype != dtype:
        rule = f"must hold elements of {dtype}, not of {values.dtype}"
        raise ModelError(rule, file=file, where=f"input {name}")
    if values.shape != shape:
        rule = f"must have shape {shape}, not {values.shape}"
        raise ModelError(rule, file=file, where=f"input {name}")
    return values


def clamp(values: Array, limit: int, out: Array) -> None:
    """Store `values` in `out`, moved into -limit..limit; correct for every integer type."""
    info = np.iinfo(values.dtype)
    low, high = max(-limit, int(info.min)), min(limit, int(info.max))
    np.clip(values, low, high, out=out, casting="unsafe")


def clamped(values: Array, limit: int, dtype: np.dtype[Any]) -> Array:
    """The values, moved into -limit..limit, as elements of `dtype`."""
    made = np.empty(values.shape, dtype)
    clamp(values, limit, made)
    return made
