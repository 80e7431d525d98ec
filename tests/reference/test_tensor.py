"""Tensors of exact integers, from nested lists and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cvmgen.reference import Tensor

ROWS: list[tuple[Any, tuple[int, ...], list[int], int, str]] = [
    ([1, -2, 3], (3,), [1, -2, 3], 3, "3 takes two bits and a sign"),
    ([[0, 0]], (1, 2), [0, 0], 1, "zeros take one bit"),
    ([[1], [127]], (2, 1), [1, 127], 8, "127 is the most that 8 bits hold"),
    ([-128], (1,), [-128], 9, "-128 is no value of 8 bits"),
    (np.array([[2**31 - 1]]), (1, 1), [2**31 - 1], 32, "arrays are taken too"),
    (np.array([-(2**31)], dtype=np.int32), (1,), [-(2**31)], 33, "no precision holds it"),
]


@pytest.mark.parametrize(("nested", "shape", "values", "precision", "why"), ROWS)
def test_tensor(
    nested: Any, shape: tuple[int, ...], values: list[int], precision: int, why: str
) -> None:
    tensor = Tensor.of(nested)
    assert (tensor.shape, tensor.values, tensor.precision) == (shape, values, precision), why
    assert tensor.nested() == (nested.tolist() if hasattr(nested, "tolist") else nested)
    assert tensor.size == len(values)


def test_a_declared_precision_is_kept() -> None:
    assert Tensor.of([1], precision=7).precision == 7
