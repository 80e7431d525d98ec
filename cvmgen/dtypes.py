"""The element types of tensors, as one table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DType:
    """A storage type: its code in the C interface, its width, and its spelling per target."""

    name: str
    code: int
    bits: int
    c: str

    @property
    def low(self) -> int:
        return -(1 << (self.bits - 1))

    @property
    def high(self) -> int:
        return (1 << (self.bits - 1)) - 1


INT8 = DType("int8", 1, 8, "int8_t")
INT32 = DType("int32", 2, 32, "int32_t")
DTYPES = {dtype.name: dtype for dtype in (INT8, INT32)}

# The element types that a spec may write. `cvm` is int8 or int32 with a precision:
# every value lies in [-(2^(p-1) - 1), 2^(p-1) - 1].
SPEC_TYPES: dict[str, tuple[DType, ...]] = {"cvm": (INT8, INT32)}
KNOWN_TYPES = ("bool", "int8", "int16", "int32", "int64", "float32", "float64")

MAX_RANK = 16
MAX_LIST = MAX_RANK  # entries of a list attribute
LIST_CAPACITY = 2 * MAX_RANK  # entries of generated lists: a box with every dimension in two
MAX_INPUTS = 64  # tensors of a variadic input
MAX_SIZE = 1 << 40  # elements of a tensor, exclusive
MAX_PRECISION = 32
ATTRIBUTE_LOW = -(1 << 31)  # an attribute without a declared range is an int32
ATTRIBUTE_HIGH = 1 << 31  # exclusive; what `inf` stands for


def precision_bound(precision: int) -> int:
    """The largest magnitude that `precision` bits hold: 2^(p-1) - 1."""
    return (1 << (precision - 1)) - 1
