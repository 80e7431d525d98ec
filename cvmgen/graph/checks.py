"""What a model takes: integers of one shape, moved into a precision."""

from __future__ import annotations

import numpy as np

from cvmgen.errors import ModelError
from cvmgen.graph.parameters import Array
from cvmgen.graph.symbol import INPUT


def checked_input(values: Array, shape: tuple[int, ...], file: str | None) -> Array:
    """The values; ModelError for another shape or for values that are no integers."""
    where = f"node {INPUT}"
    if values.dtype.kind not in "iu":
        raise ModelError(f"must hold integers, not {values.dtype}", file=file, where=where)
    if values.shape != shape:
        rule = f"must have shape {shape}, not {values.shape}"
        raise ModelError(rule, file=file, where=where)
    return values


def clamp(values: Array, limit: int, out: Array) -> None:
    """Store `values` in `out`, moved into -limit..limit; correct for every integer type."""
    info = np.iinfo(values.dtype)
    low, high = max(-limit, int(info.min)), min(limit, int(info.max))
    np.clip(values, low, high, out=out, casting="unsafe")
