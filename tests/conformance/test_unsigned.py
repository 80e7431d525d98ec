"""Elements without a sign, at the ends of their types, on all targets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from cvmgen.errors import OperatorError
from tests.conformance.calls import Call, Conformance

TYPES = ("uint8", "uint16")


def ends(dtype: str, count: int = 40) -> np.ndarray[Any, Any]:
    """Elements at both ends of a type and in its middle, where signed ones would change sign."""
    held = np.iinfo(dtype)
    middle = held.max // 2
    values = (held.min, held.max, middle, middle + 1, 1, held.max - 1)
    return np.array([values[at * at % 7 % 6] for at in range(count)], dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ["unsigned_products", "unsigned_less"])
def test_ends_of_types(conformance: Conformance, name: str, dtype: str) -> None:
    X = ends(dtype)
    for Z in (X, X[::-1].copy(), np.zeros_like(X)):
        conformance.check(Call(f"extra.{name}", (X, Z)))


@pytest.mark.parametrize("dtype", TYPES)
def test_moves_and_totals(conformance: Conformance, dtype: str) -> None:
    X = ends(dtype, 60)
    conformance.check(Call("extra.unsigned_moves", (X.reshape(12, 5),)))
    conformance.check(Call("extra.unsigned_matrix", (X.reshape(4, 15), X.reshape(15, 4))))


@pytest.mark.parametrize(
    ("dtype", "one", "other"),
    [
        ("uint8", 255, 0),
        ("uint8", 255, 1),
        ("uint8", 128, 127),
        ("uint16", 65535, 0),
        ("uint16", 65535, 1),
        ("int8", -128, -1),
        ("int16", 32767, 1),
    ],
)
def test_sums_that_fit_or_are_refused(
    conformance: Conformance, dtype: str, one: int, other: int
) -> None:
    X, Z = np.array([0, one], dtype), np.array([0, other], dtype)
    conformance.check(Call("extra.unsigned_sums", (X, Z)))


@pytest.mark.parametrize(
    ("taken", "values"),
    [
        ("int8", [0, 127]),
        ("int8", [0, -1]),
        ("int8", [-128, 5]),
        ("uint8", [127, 0]),
        ("uint8", [127, 128]),
        ("int16", [32767, 0]),
        ("int16", [0, -32768]),
    ],
)
def test_other_types_of_as_many_bits(
    conformance: Conformance, taken: str, values: list[int]
) -> None:
    """What a type of as many bits holds, one without a sign need not."""
    conformance.check(Call("extra.unsigned_copies", (np.array(values, taken),)))


def test_quantised(conformance: Conformance) -> None:
    X = np.array([-1e30, -257.0, -256.0, -0.5, 0.0, 253.9, 255.0, 1e30, np.nan], np.float32)
    conformance.check(Call("extra.unsigned_quantised", (X,)))
    conformance.check(Call("extra.unsigned_quantised", (X,), {"zero": 255}))


def test_lists_take_the_first_type_that_holds_them(libraries: dict[str, Operators]) -> None:
    for operators in libraries.values():
        assert operators.extra.unsigned_less([256], [0]).tolist() == [256 // 3 + 256]
        with pytest.raises(OperatorError, match="uint8"):
            operators.extra.unsigned_less(np.array([-1], np.int8), np.array([0], np.int8))
