"""Comparison of results bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def same_bits(found: Any, expected: Array, where: str = "") -> None:
    """Type, shape and every bit agree: -0 is not 0, and NaN has the one form that is stored."""
    assert isinstance(found, np.ndarray), where
    assert found.dtype == expected.dtype, where
    assert found.shape == expected.shape, where
    if expected.dtype.kind == "f":
        expected = np.where(np.isnan(expected), np.array(np.nan, expected.dtype), expected)
        words = f"u{expected.dtype.itemsize}"
        found_bits, expected_bits = found.view(words), expected.view(words)
    else:
        found_bits, expected_bits = found, expected
    wrong = np.argwhere(found_bits != expected_bits)
    if len(wrong):
        at = tuple(int(entry) for entry in wrong[0])
        message = f"element {at} is {found[at]!r} and not {expected[at]!r}, and so are {len(wrong)}"
        raise AssertionError(f"{where}: {message}" if where else message)
