"""The element types of tensors, as one table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DType:
    """A storage type: its code in the C interface, its width, its spelling in C.

    `kind` says what its elements are in a formula: integers, conditions or real numbers.
    """

    name: str
    code: int
    bits: int
    c: str
    kind: str = "int"  # int, bool or real
    signed: bool = True
    digits: int = 0  # of an integer that has fewer of them than its memory has bits

    @property
    def machine(self) -> str:
        """The machine type of its elements in memory."""
        numbers = self.kind == "real" and self.bits > 16  # others are bits, which helpers read
        letter = "f" if numbers else "i" if self.signed else "u"
        return f"{letter}{self.bits}"

    @property
    def low(self) -> int:
        """The least integer that it holds."""
        return -(1 << ((self.digits or self.bits) - 1)) if self.signed else 0

    @property
    def high(self) -> int:
        """The greatest integer that it holds."""
        digits = 1 if self.kind == "bool" else self.digits or self.bits
        return (1 << (digits - self.signed)) - 1


INT8 = DType("int8", 1, 8, "int8_t")
INT32 = DType("int32", 2, 32, "int32_t")
INT16 = DType("int16", 3, 16, "int16_t")
INT64 = DType("int64", 4, 64, "int64_t")
BOOL = DType("bool", 5, 8, "uint8_t", "bool", signed=False)
FLOAT32 = DType("float32", 6, 32, "float", "real")
FLOAT64 = DType("float64", 7, 64, "double", "real")
INT128 = DType("int128", 0, 128, "__int128")  # of memory of a call alone: no tensor has it
UINT8 = DType("uint8", 8, 8, "uint8_t", signed=False)
UINT16 = DType("uint16", 9, 16, "uint16_t", signed=False)
FLOAT16 = DType("float16", 10, 16, "uint16_t", "real", signed=False)
BFLOAT16 = DType("bfloat16", 11, 16, "uint16_t", "real", signed=False)
INT4 = DType("int4", 12, 8, "int8_t", digits=4)
UINT4 = DType("uint4", 13, 8, "uint8_t", signed=False, digits=4)
_INTEGERS = (INT4, UINT4, INT8, UINT8, INT16, UINT16, INT32, INT64)
_ALL = (BOOL, *_INTEGERS, FLOAT16, BFLOAT16, FLOAT32, FLOAT64)
DTYPES = {dtype.name: dtype for dtype in _ALL}
# Those that numpy has itself, and files of models keep one by one.
PLAIN = {dtype.name: dtype for dtype in _ALL if not dtype.digits and dtype != BFLOAT16}

# Elements of the type `cvm` are stored as int8 or int32 and have a precision: every value lies
# in [-(2^(p-1) - 1), 2^(p-1) - 1]. All other types of a spec are storage types.
CVM = "cvm"
CVM_TYPES = (INT8, INT32)

MAX_RANK = 16
MAX_LIST = MAX_RANK  # entries of a list attribute
LIST_CAPACITY = 2 * MAX_RANK  # entries of generated lists: a box with every dimension in two
MAX_INPUTS = 64  # tensors of a variadic input
MAX_SIZE = 1 << 40  # elements of a tensor, exclusive
MAX_PRECISION = 32
ATTRIBUTE_LOW = -(1 << 31)  # an attribute without a declared range is an int32
ATTRIBUTE_HIGH = 1 << 31  # exclusive; what `inf` stands for
MOST_EXACT = 1 << 53  # the integers up to it are real numbers of 64 bits


def precision_bound(precision: int) -> int:
    """The largest magnitude that `precision` bits hold: 2^(p-1) - 1."""
    return (1 << (precision - 1)) - 1
