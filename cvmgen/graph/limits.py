"""What a CVM model may hold at most: ranks, extents, sizes and precisions."""

from __future__ import annotations

import math
from collections.abc import Sequence

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


def largest(precision: int) -> int:
    """The largest magnitude of a value of `precision` bits; -2^(p-1) is not one of them."""
    return (1 << (precision - 1)) - 1
