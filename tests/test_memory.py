"""Arrays that begin with a line of the cache."""

from __future__ import annotations

import numpy as np
import pytest

import cvmgen
from cvmgen.memory import ALIGNMENT, LARGE, new_array, zeroed_bytes


@pytest.mark.parametrize("shape", [(LARGE,), (3, LARGE), (LARGE - 1, 1), (0, 5), ()])
def test_new_array(shape: tuple[int, ...]) -> None:
    made = new_array(shape, np.int8)
    assert made.shape == shape
    assert made.dtype == np.int8
    assert made.flags.c_contiguous
    assert made.flags.writeable
    assert made.nbytes < LARGE or made.ctypes.data % ALIGNMENT == 0


def test_zeroed_bytes() -> None:
    block = zeroed_bytes(1000)
    assert block.shape == (1000,)
    assert block.ctypes.data % ALIGNMENT == 0
    assert not block.any()


def test_results_begin_with_a_line() -> None:
    x = np.arange(1 << 16, dtype=np.int32)
    assert cvmgen.load("c").cvm.abs(x).ctypes.data % ALIGNMENT == 0
