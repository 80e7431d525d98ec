"""Random shapes and tensors for the laws that operators obey."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tests.conformance.calls import Array

MOST = 2**31 - 1
ints = st.integers(-MOST, MOST)
budget = settings(max_examples=25, deadline=None, derandomize=True)


def shapes(low: int = 1, high: int = 5, side: int = 4) -> st.SearchStrategy[tuple[int, ...]]:
    return npst.array_shapes(min_dims=low, max_dims=high, max_side=side)


def arrays(shape: Any, bits: int) -> st.SearchStrategy[Array]:
    """Values of a precision, as int32, or as int8 where they fit."""
    most = (1 << (bits - 1)) - 1
    types = [np.int32, np.int8] if bits <= 8 else [np.int32]
    return st.sampled_from(types).flatmap(
        lambda dtype: npst.arrays(dtype, shape, elements=st.integers(-most, most))
    )
