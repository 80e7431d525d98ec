"""Machine types and the ranges of their values: what each holds, and how one becomes another."""

from __future__ import annotations

from cvmgen import dtypes, ranges
from cvmgen.dtypes import INT4, DType
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import combination
from cvmgen.ranges import Range
from cvmgen.rules import MOST_NAMED

# An expression with its machine type and what it can be, as far as that is known.
Typed = tuple[i.Expr, str, Range | None]
BITS = {"i32": 32, "i64": 64, "i128": 128}
# Those of elements too.
BITS_OF = BITS | {"i8": 8, "i16": 16, "u8": 8, "u16": 16, "u32": 32, "u64": 64}
WIDEST = 126  # of a power of two that has a machine type, its negative too
NAMED = Range(-MOST_NAMED, MOST_NAMED)
KEPT_TYPES = (dtypes.INT32, dtypes.INT64, dtypes.INT128)  # of the elements of lets in memory
INT64 = Range(-(1 << 63), (1 << 63) - 1)


def unconverted(value: i.Expr, bits: int = 0) -> i.Expr:
    """A value without conversions to types of at least so many bits, which the lowest bits of it do
    not need."""
    while isinstance(value, i.Convert) and BITS_OF.get(value.type, 0) >= bits:
        value = value.operand
    return value


def joined_tests(op: str, tests: tuple[i.Expr, ...]) -> i.Expr:
    """`and` or `or` without operands that are known, as isnan() of an integer is."""
    decides = op == "or"
    left = tuple(test for test in tests if not is_constant_test(test, not decides))
    if any(is_constant_test(test, decides) for test in left):
        return i.Const(decides)
    if not left:
        return i.Const(not decides)
    return combination(op, left)


def is_constant_test(test: i.Expr, value: bool) -> bool:
    return isinstance(test, i.Const) and test.value is value


def as_real(typed: Typed) -> i.Expr:
    """A value as a real number: an integer that is written out, or one that `real` converts."""
    value, type_name, _ = typed
    match value:
        case _ if type_name == "f64":
            return value
        case i.Const(value=number):
            return i.Real(repr(float(number)))
        case _:
            return i.Convert("f64", value)


def real_element(load: i.Expr, dtype: DType) -> i.Expr:
    """An element of real numbers as one of 64 bits."""
    if dtype.machine == "f64":
        return load
    if dtype.machine.startswith("f"):
        return i.Convert("f64", load)
    return i.Call(f"of_{dtype.name}", (load,))


def element(load: i.Expr, dtype: DType, held: Range | None) -> Typed:
    """An element: a condition, a real number of 64 bits, or an integer of its type, which is one of
    those `held`."""
    match dtype.kind:
        case "bool":
            return i.Compare("!=", load, i.Const(0)), "bool", Range(0, 1)
        case "real":
            return real_element(load, dtype), "f64", None
        case _:
            value = i.Call("of_int4", (load,)) if dtype == INT4 else load
            return value, dtype.machine if dtype.bits > 32 else "i32", held


def stored_real(value: i.Expr, dtype: DType) -> i.Expr:
    """A real number as an element, rounded once; NaN in its one form."""
    if isinstance(value, i.Real) and dtype.machine == "f64":
        return value
    kind = dtype.machine if dtype.machine.startswith("f") else dtype.name
    return i.Call(f"stored_{kind}", (value,))


def all_narrow(*typed: Typed) -> bool:
    """Whether int32 holds all these values."""
    return all(each[2] is not None and each[2].fits(32) for each in typed)


def is_narrow_value(typed: Typed) -> bool:
    """Whether a value has 32 bits, and is no number that is written out."""
    return typed[1] == "i32" and not isinstance(typed[0], i.Const)


def type_limits(type_name: str) -> Range:
    """What a type holds; of the widest one, what a power of two bounds."""
    if type_name == "i128":
        return Range(-(1 << WIDEST), 1 << WIDEST)
    bits = BITS[type_name]
    return Range(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def narrowest_type(found: Range) -> str:
    """The narrowest type that holds every value."""
    return next((name for name, bits in BITS.items() if found.fits(bits)), "i128")


def kept_type(found: Range) -> DType:
    """The narrowest type for elements of lets in memory."""
    return next(each for each in KEPT_TYPES if found.fits(each.bits) or each is KEPT_TYPES[-1])


def known_range(typed: Typed) -> Range:
    """The range of a value, at worst that of its type."""
    return typed[2] or type_limits(typed[1])


def is_positive(left: Typed, right: Typed, least: int = 1) -> bool:
    return bool(left[2] and right[2] and left[2].low >= 0 and right[2].low >= least)


def combine(op: str, left: Range | None, right: Range | None) -> Range | None:
    return None if left is None or right is None else ranges.RULES[op](left, right)


def joined_all(found: list[Range | None]) -> Range | None:
    result: Range | None = None
    for each in found:
        if each is None:
            return None
        result = each if result is None else result.join(each)
    return result


def int64_range(found: Range | None) -> Range | None:
    """A range that int64 holds, or none."""
    return found if found is not None and found.fits(64) else None


def converted(expr: i.Expr, old: str, new: str) -> i.Expr:
    """`expr` in another type; constants take the type of their surroundings."""
    if old == new or old == "bool":
        return expr
    if isinstance(expr, i.Const) and new != "u32":
        return expr
    return i.Convert(new, expr)


def raised(left: Typed, right: Typed, wide: str) -> tuple[i.Expr, i.Expr]:
    """The operands of an operation that C does in `wide`, for which one of that type is enough.

    A constant is the one only beside another: alone it has no type of its own.
    """
    values = [each for each in (left, right) if not isinstance(each[0], i.Const)]
    if any(BITS[type_name] >= BITS[wide] for _, type_name, _ in values):
        return left[0], right[0]
    if not values:
        return (left[0] if left[1] == wide else i.Convert(wide, left[0])), right[0]
    if values[0] is left:
        return i.Convert(wide, left[0]), right[0]
    return left[0], i.Convert(wide, right[0])


def narrowed(typed: Typed) -> i.Expr:
    """A value that is known to fit, as int32."""
    return converted(typed[0], typed[1], "i32")


def saturated(expr: i.Expr, type_name: str) -> i.Expr:
    """On the host: a value beyond int64 becomes its nearest end, which no check accepts; what is
    made of it, if anything, is beyond as well (`spec/host_integers.py`)."""
    return i.Call("saturate", (expr,)) if type_name == "i128" else expr
