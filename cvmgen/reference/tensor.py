"""Tensors of exact integers, conditions and real numbers for the reference evaluator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any

from cvmgen.dtypes import DType
from cvmgen.reals import STORED


@dataclass(slots=True)
class Tensor:
    """Row-major values of a shape; `precision` as declared; `dtype` a name of dtypes.DTYPES.

    Values are int, bool or float, as the type has it; those of an operand of type `cvm`, which
    alone has a precision, are int.
    """

    shape: tuple[int, ...]
    values: list[Any]
    precision: int
    dtype: str = "int32"

    @classmethod
    def of(cls, nested: Any, precision: int | None = None, dtype: str = "int32") -> Tensor:
        """From nested lists (or anything that has tolist); precision measured when not given."""
        known = getattr(nested, "shape", None)  # lists do not show all of an empty one
        nested = nested.tolist() if hasattr(nested, "tolist") else nested
        shape: list[int] = []
        level = nested
        while isinstance(level, (list, tuple)):
            shape.append(len(level))
            level = level[0] if level else None
        values = list(_flat(nested))
        if dtype in STORED:
            values = [STORED[dtype](float(value)) for value in values]
        if precision is None:
            whole = [abs(value) for value in values if isinstance(value, int)]
            precision = max(whole, default=0).bit_length() + 1
        return cls(tuple(shape if known is None else known), values, precision, dtype)

    def nested(self) -> Any:
        """The values as nested lists."""
        return _nest(self.values, self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)


def _flat(nested: Any) -> Any:
    if not isinstance(nested, (list, tuple)):
        yield nested
        return
    for each in nested:
        yield from _flat(each)


def _nest(values: Sequence[Any], shape: tuple[int, ...]) -> Any:
    if len(shape) <= 1:
        return list(values) if shape else values[0]
    step = prod(shape[1:])
    return [_nest(values[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


def limit(dtype: DType, end: str) -> int | float:
    """The least or the greatest value of an element type, or what it is compared by."""
    if end == "type":
        return dtype.code
    if dtype.kind == "real":
        return -inf if end == "least" else inf
    return dtype.low if end == "least" else dtype.high
