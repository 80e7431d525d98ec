"""The scalar and list functions of the language: one row each.

A row holds the kinds of the parameters, the kind of the result and the exact meaning: over the
integers, and for real numbers as IEEE 754 arithmetic of 64 bits has it. The C spelling is a
function of the run-time header; the python spelling one
of the support module; both are generated from templates and tested against `exact`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isqrt, prod
from typing import Any

from cvmgen import reals

MOST_BITS = 1 << 14  # of a power: beyond this the exact value helps nobody
MOST_SHOWN_BITS = 128


def number_text(value: int) -> str:
    """An integer as users read it; one of very many digits as the power of two below it."""
    if value.bit_length() <= MOST_SHOWN_BITS:
        return str(value)
    return f"about {'-' * (value < 0)}2^{value.bit_length() - 1}"


class OutsideDomain(ArithmeticError):
    """A function has no value for these arguments; the text says why."""


class OutsideBox(OutsideDomain):
    """A position that a box does not have."""


@dataclass(frozen=True, slots=True)
class FunctionRow:
    """`parameters` are kinds, a last one with `*` repeats; `result` is a kind.

    A `number` is an integer or real, all of a call alike; `scalar` is a condition too.
    """

    name: str
    parameters: tuple[str, ...]
    result: str
    exact: Callable[..., Any]
    doc: str


def _floor_log2(value: int) -> int:
    if value < 1:
        raise OutsideDomain(f"log2({number_text(value)}) is not defined")
    return value.bit_length() - 1


def _ceil_log2(value: int) -> int:
    if value < 1:
        raise OutsideDomain(f"log2({number_text(value)}) is not defined")
    return (value - 1).bit_length()


def _ceildiv(value: int, divisor: int) -> int:
    if divisor == 0:
        raise OutsideDomain("division by 0")
    return -(-value // divisor)


def _isqrt(value: int) -> int:
    if value < 0:
        raise OutsideDomain(f"isqrt({number_text(value)}) is not defined")
    return isqrt(value)


def flatten_index(index: Sequence[int], extents: Sequence[int]) -> int:
    """The row-major position of a multi-index."""
    position = 0
    for entry, extent in zip(index, extents, strict=True):
        position = position * extent + entry
    return position


def unflatten(position: int, extents: Sequence[int]) -> tuple[int, ...]:
    """The multi-index at a row-major position."""
    index: list[int] = []
    if 0 in extents:
        raise OutsideBox("a box with an extent of 0 has no positions")
    if not 0 <= position < prod(extents):
        raise OutsideBox(f"a box of size {prod(extents)} has no position {number_text(position)}")
    for extent in reversed(extents):
        position, entry = divmod(position, extent)
        index.append(entry)
    return tuple(reversed(index))


FUNCTIONS = {
    row.name: row
    for row in (
        FunctionRow("abs", ("number",), "number", abs, "magnitude"),
        FunctionRow("min", ("number", "number*"), "number", reals.minimum, "the least argument"),
        FunctionRow("max", ("number", "number*"), "number", reals.maximum, "the greatest argument"),
        FunctionRow("floor", ("real",), "real", reals.floor, "rounded down"),
        FunctionRow("ceil", ("real",), "real", reals.ceil, "rounded up"),
        FunctionRow("trunc", ("real",), "real", reals.trunc, "rounded toward zero"),
        FunctionRow("sqrt", ("real",), "real", reals.sqrt, "square root; nan below zero"),
        FunctionRow(
            "round", ("real",), "real", reals.round_away, "nearest integer, ties away from 0"
        ),
        FunctionRow(
            "roundeven", ("real",), "real", reals.round_even, "nearest integer, ties to even"
        ),
        FunctionRow("fma", ("real", "real", "real"), "real", reals.fma, "a * b + c, rounded once"),
        FunctionRow("exp", ("real",), "real", reals.exp, "e^x"),
        FunctionRow("log", ("real",), "real", reals.log, "natural logarithm; nan below zero"),
        FunctionRow("tanh", ("real",), "real", reals.tanh, "hyperbolic tangent"),
        FunctionRow("erf", ("real",), "real", reals.erf, "error function"),
        FunctionRow("sigmoid", ("real",), "real", reals.sigmoid, "1 / (1 + e^-x)"),
        FunctionRow("isnan", ("number",), "bool", reals.isnan, "whether a real number is none"),
        FunctionRow("real", ("scalar",), "real", float, "the nearest real number"),
        FunctionRow("int", ("scalar",), "int", reals.to_int, "toward zero; 0 of nan; within int64"),
        FunctionRow("float32", ("real",), "real", reals.to_float32, "the nearest of 32 bits"),
        FunctionRow(
            "order", ("real",), "int", reals.order, "as large as the number; NaN above all"
        ),
        FunctionRow("floor_log2", ("int",), "int", _floor_log2, "floor(log2(x)), x >= 1"),
        FunctionRow("ceil_log2", ("int",), "int", _ceil_log2, "ceil(log2(x)), x >= 1"),
        FunctionRow("ceildiv", ("int", "int"), "int", _ceildiv, "quotient rounded up"),
        FunctionRow("isqrt", ("int",), "int", _isqrt, "floor(sqrt(x)), x >= 0"),
        FunctionRow("bitand", ("int", "int"), "int", operator.and_, "bits that both have"),
        FunctionRow("bitor", ("int", "int"), "int", operator.or_, "bits that one has"),
        FunctionRow("bitxor", ("int", "int"), "int", operator.xor, "bits that just one has"),
        FunctionRow("bitnot", ("int",), "int", operator.invert, "all other bits: -1 - x"),
        FunctionRow("len", ("list",), "int", len, "the number of entries of a list"),
        FunctionRow("size", ("list",), "int", prod, "the product of the entries of a list"),
        FunctionRow("count", ("collection",), "int", len, "the number of elements"),
        FunctionRow("flatten_index", ("list", "list"), "int", flatten_index, "row-major position"),
        FunctionRow("unflatten", ("int", "list"), "list", unflatten, "multi-index at a position"),
    )
}

# The functions of real numbers, and those from other values to them and back.
REAL_FUNCTIONS = frozenset(
    {row.name for row in FUNCTIONS.values() if row.parameters[0] in ("real", "scalar")} | {"isnan"}
)
# Of real numbers, each rounded once from the exact value.
ELEMENTARY = ("exp", "log", "tanh", "erf", "sigmoid")
ROUNDINGS = ("floor", "ceil", "trunc", "round", "roundeven")
# Of two's complements, which have a sign bit for ever: the sign of results follows from it.
BITWISE = ("bitand", "bitor", "bitxor")
# Written floor(log2(n)) and ceil(log2(n)); log2 alone is no integer.
LOGARITHMS = {"floor": "floor_log2", "ceil": "ceil_log2"}
SPECIAL = ("p", "present", "least", "greatest", "log2", "floor", "ceil")


def divide_floor(left: int, right: int) -> int:
    if right == 0:
        raise OutsideDomain("division by 0")
    return left // right


def divide_toward_zero(left: int, right: int) -> int:
    if right == 0:
        raise OutsideDomain("division by 0")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def remainder(left: int, right: int) -> int:
    if right == 0:
        raise OutsideDomain("remainder by 0")
    return left % right


def power(base: int, exponent: int) -> int:
    if exponent < 0:
        raise OutsideDomain(f"{number_text(base)}^{number_text(exponent)} is not an integer")
    if abs(base) > 1 and exponent * base.bit_length() > MOST_BITS:
        raise OutsideDomain(f"{number_text(base)}^{number_text(exponent)} has too many digits")
    return int(base**exponent)


def number_power(base: Any, exponent: Any) -> Any:
    exact = isinstance(base, int) and isinstance(exponent, int)
    return power(base, exponent) if exact else reals.power(base, exponent)


SCALARS = ("int", "number", "real", "scalar")  # the kinds that are no lists
ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "div": divide_floor,
    "tdiv": divide_toward_zero,
    "mod": remainder,
    "^": number_power,
    "over": reals.over,
}
RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
# The relation that holds where another one does not, and that of the operands exchanged.
OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
