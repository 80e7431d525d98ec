"""Memory that begins with a line of the processor's caches.

numpy's own begins 16 bytes behind one where it is large, so that each read of a wide vector takes
two lines.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

ALIGNMENT: Final = 64  # bytes of a line
LARGE: Final = 1 << 14  # bytes; less is there before the line is found


def new_array(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """An array of any elements; a large one begins with a line."""
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize
    if size < LARGE:
        return np.empty(shape, kind)
    block = np.empty(size + ALIGNMENT, np.uint8)
    return np.ndarray(shape, kind, block, -block.ctypes.data % ALIGNMENT)


def zeroed_bytes(size: int) -> npt.NDArray[np.uint8]:
    """So many bytes, the first of a line; MemoryError where there are not so many."""
    block = np.zeros(size + ALIGNMENT, np.uint8)
    start = -block.ctypes.data % ALIGNMENT
    return block[start : start + size]
