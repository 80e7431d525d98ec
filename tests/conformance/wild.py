"""Data that no precision promises."""

from __future__ import annotations

from random import Random

import numpy as np

from tests.conformance.calls import Array

# Whose exact values no machine integer holds when data break their precision.
UNBOUNDED = frozenset({"extra.product"})


def wild(random: Random, array: Array) -> Array:
    """Any bits of the element type, its lowest value often: no precision holds that one."""
    if array.dtype.kind != "i":
        values = random.randbytes(array.nbytes)
        found = np.frombuffer(values, np.uint8).view("u1" if array.dtype == bool else array.dtype)
        return found.astype(array.dtype).reshape(array.shape)
    info = np.iinfo(array.dtype)
    low, high = int(info.min), int(info.max)
    pick = (low, low, high, low + 1, 0, -1, 1)
    values = [
        random.choice(pick) if random.random() < 0.7 else random.randint(low, high)
        for _ in range(array.size)
    ]
    return np.array(values, array.dtype).reshape(array.shape)
