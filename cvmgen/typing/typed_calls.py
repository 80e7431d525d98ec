"""Machine types of calls of functions: the range of what each gives, and its name for a type."""

from __future__ import annotations

import math

from cvmgen import ranges
from cvmgen.dtypes import LIST_CAPACITY, MAX_RANK, MOST_EXACT
from cvmgen.functions import ELEMENTARY, ROUNDINGS
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import names_in, read_tensors
from cvmgen.ranges import Range
from cvmgen.typing.machine_types import (
    BITS,
    INT64,
    Typed,
    all_narrow,
    as_real,
    converted,
    int64_range,
    is_narrow_value,
    known_range,
    narrowed,
    narrowest_type,
    raised,
    saturated,
    type_limits,
)
from cvmgen.typing.required import both
from cvmgen.typing.too_large import most_bits, shown
from cvmgen.typing.typed_values import ValueTyper

OF_REALS = (*ROUNDINGS, *ELEMENTARY, "sqrt", "fma", "order")
ALL_REALS = Range(-(1 << 1024), 1 << 1024)  # as far as integers tell
LENGTH = Range(0, LIST_CAPACITY)
NUMBER_CALLS = (
    "abs",
    "min",
    "max",
    "isnan",
    "real",
    "int",
    "order",
    "float32",
    "negate",
    "power",
    *OF_REALS,
)
INDEX_CALLS = ("flatten_index", "dot", "walk_offset", "last", "rows", "unflatten")


class CallTyper(ValueTyper):
    """Types calls too."""

    def call(self, expr: i.Call, *, modular: bool = False) -> Typed:
        function = expr.function
        if self.reals and not self.host and function in NUMBER_CALLS:
            return self.number_call(expr, modular=modular)
        if function == "real":  # an attribute, which the host compares
            return as_real(self.expr(expr.arguments[0])), "f64", None
        if function == "negate" and isinstance(expr.arguments[0], i.Real):
            return i.Real(repr(-float(expr.arguments[0].text))), "f64", None
        if function == "negate":
            return self.expr(i.Binary("-", i.Const(0), expr.arguments[0]))
        if function == "int":  # of a condition: real numbers are for nests
            return self.integer_call(expr, [self.expr(expr.arguments[0])], modular)
        if function in INDEX_CALLS or function in ("size", "len", "max_rank"):
            arguments = self.lists_or_indices(expr.arguments)
            known = {"size": self.sizes, "len": LENGTH, "max_rank": Range(MAX_RANK, MAX_RANK)}
            if function == "size" and not self.of_tensor(expr.arguments[0]):
                name = "saturating_size" if self.host else function
                return i.Call(name, arguments), "i64", INT64
            if function == "flatten_index" and self.host:
                return i.Call("saturating_flatten_index", arguments), "i64", INT64
            return i.Call(function, arguments), "i64", known.get(function)
        typed = [self.expr(argument) for argument in expr.arguments]
        if function in ("floor_log2", "ceil_log2"):
            (argument, type_name, _), bits = typed[0], Range(0, 63)
            if type_name == "i128":
                function, bits = f"{function}_i128", Range(0, 127)
            return i.Call(function, (argument,)), "i32", bits
        if function == "isqrt":
            return self.suffixed("isqrt", typed, ranges.square_root(known_range(typed[0])))
        if function == "ceildiv":
            return self.ceildiv(*typed)
        if function == "power":
            return self.power(typed[0], typed[1], modular)
        if function == "abs":
            found = None if typed[0][2] is None else ranges.magnitude(typed[0][2])
            return self.suffixed("abs", typed, found)
        return self.extreme(function, typed)

    def real_start(self, value: i.Expr) -> i.Expr:
        """What a local that holds real numbers begins with."""
        match value:
            case i.Call(function="lowest"):
                return i.Real("-inf")
            case i.Call(function="highest"):
                return i.Real("inf")
            case _:
                return as_real(self.expr(value))

    def start(self, value: i.Expr, type_name: str) -> i.Expr:
        """What a sum begins with: a number, or what is in memory."""
        return value if isinstance(value, i.Const) else converted(*self.expr(value)[:2], type_name)

    def number_call(self, expr: i.Call, *, modular: bool) -> Typed:
        """A function of integers or of real numbers, by what it is given."""
        function = expr.function
        typed = [self.expr(argument) for argument in expr.arguments]
        if function == "real":
            return as_real(typed[0]), "f64", None
        if all(type_name != "f64" for _, type_name, _ in typed) and function not in OF_REALS:
            return self.integer_call(expr, typed, modular)
        values = tuple(map(as_real, typed))
        match function:
            case "isnan":
                return i.Call("isnan", values), "bool", Range(0, 1)
            case "int":
                # What is beyond int64 is cut, and NaN is 0.
                found = both(self.real_range(typed[0]), INT64).join(Range(0, 0))
                return i.Call("to_int", values), "i64", found
            case "order":
                return i.Call(function, values), "i64", INT64
            case name if name in ROUNDINGS:
                return i.Call(f"{name}_f64", values), "f64", self.real_range(typed[0])
            case "negate":
                found = ranges.negative(self.real_range(typed[0]))
                return i.Call("negate_f64", values), "f64", found
            case "float32":
                return i.Convert("f64", i.Convert("f32", values[0])), "f64", None
            case "max" | "min":
                result: i.Expr = i.Call(f"{function}_f64", values[:2])
                for value in values[2:]:
                    result = i.Call(f"{function}_f64", (result, value))
                return result, "f64", ranges.extreme(function, map(self.real_range, typed))
            case _:
                return i.Call(f"{function}_f64", values), "f64", None

    def real_range(self, typed: Typed) -> Range:
        """Integers between which a real number is, if it is no NaN; an integer is one, too."""
        value, type_name, found = typed
        if isinstance(value, i.Real) and math.isfinite(number := float(value.text)):
            return Range(math.floor(number), math.ceil(number))
        if type_name != "f64":
            return found if found is not None and found.size <= MOST_EXACT else ALL_REALS
        # A local may be assigned to, and the greatest of no numbers is no finite one.
        return ALL_REALS if found is None or isinstance(value, i.Var) else found

    def integer_call(self, expr: i.Call, typed: list[Typed], modular: bool) -> Typed:
        match expr.function, typed:
            case "isnan", _:
                return i.Const(False), "bool", Range(0, 0)
            case "int", [(value, "bool", _)]:
                return i.Select(value, i.Const(1), i.Const(0)), "i32", Range(0, 1)
            case "int", [value]:
                return value
            case "float32", [value]:
                return i.Convert("f64", i.Convert("f32", as_real(value))), "f64", None
            case "negate", _:
                return self.expr(i.Binary("-", i.Const(0), expr.arguments[0]))
            case "power", [base, exponent]:
                return self.power(base, exponent, modular)
            case "abs", [value]:
                found = None if value[2] is None else ranges.magnitude(value[2])
                return self.suffixed("abs", typed, found)
            case function, _:
                return self.extreme(function, typed)

    def extreme(self, function: str, typed: list[Typed]) -> Typed:
        """The least or the largest of several values."""
        return self.suffixed(function, typed, ranges.extreme(function, map(known_range, typed)))

    def ceildiv(self, left: Typed, right: Typed) -> Typed:
        """A quotient that is rounded up."""
        found = ranges.ceildiv(known_range(left), known_range(right))
        if "i128" in (left[1], right[1]) or not found.fits(64):
            return i.Call("ceildiv_i128", (left[0], right[0])), "i128", found
        return i.Call("ceildiv", (left[0], right[0])), "i64", found

    def power(self, base: Typed, exponent: Typed, modular: bool) -> Typed:
        """A power in a type that holds it, or modulo 2^32 into a store."""
        found = ranges.power(known_range(base), known_range(exponent))
        arguments = (base[0], saturated(exponent[0], exponent[1]))
        if found.fits(64):
            return i.Call("power", arguments), "i64", found
        if modular:
            return i.Convert("u32", i.Call("power", arguments)), "u32", None
        if found.fits(128):
            return i.Call("power_i128", arguments), "i128", found
        self.too_wide("power", shown(i.Call("power", (base[0], exponent[0]))), most_bits(found))
        return i.Call("saturating_power_i128", arguments), "i128", type_limits("i128")

    def bits(self, expr: i.Binary, modular: bool) -> Typed:
        """An operation on bits, in 32 of them where no more count: into a store, below a mask, and
        where both values have no more."""
        op, parts = expr.op, (expr.left, expr.right)
        mask = (
            next((each for each in parts if self.is_mask(each)), None) if op == "bitand" else None
        )
        left, right = (
            self.expr(each, modular=modular or mask not in (None, each)) for each in parts
        )
        if "u32" in (left[1], right[1]):
            wrapped = self.wrap(op, left, right)
            if modular or mask is None:
                return wrapped
            return i.Convert("i32", wrapped[0]), "i32", Range(0, known_range(self.expr(mask)).high)
        found = ranges.RULES[op](known_range(left), known_range(right))
        if all_narrow(left, right) and any(map(is_narrow_value, (left, right))):
            return i.Binary(op, narrowed(left), narrowed(right)), "i32", found
        natural = self.operands(left, right)
        return i.Binary(op, *raised(left, right, natural)), natural, found

    def is_mask(self, expr: i.Expr) -> bool:
        """Whether a value has none but the lowest 31 bits."""
        match expr:
            case i.Const(value=value):
                return 0 <= value < 1 << 31
            case i.Var(name=name):
                found = self.ranges.get(name)
                return found is not None and found.low >= 0 and found.fits(32)
            case _:
                return False

    def suffixed(self, function: str, typed: list[Typed], found: Range | None) -> Typed:
        """abs, min, max: the helper for the type of all arguments and the result."""
        typed = self.narrow_ends(function, typed)
        natural = max((each[1] for each in typed), key=BITS.__getitem__)
        if all_narrow(*typed) and any(map(is_narrow_value, typed)):
            natural = "i32"
        if found is not None and not found.fits(BITS[natural]):
            natural = narrowest_type(found)
        values = [
            narrowed(each) if natural == "i32" else converted(each[0], each[1], natural)
            for each in typed
        ]
        name = f"{function}_{natural}"
        result: i.Expr = i.Call(name, tuple(values[:2]))
        for value in values[2:]:  # max(a, b, c) is max(max(a, b), c)
            result = i.Call(name, (result, value))
        return result, natural, found if natural == "i128" else int64_range(found)

    def narrow_ends(self, function: str, typed: list[Typed]) -> list[Typed]:
        """In an index, elements beside numbers of the call: min(x, e) of 32 bits is
        min(x, min(e, 2^31 - 1)), where e is not below them, so that a loop over elements stays
        in their type."""
        elements = any(map(is_narrow_value, typed))
        if not self.around or not elements or function not in ("min", "max"):
            return typed
        return [self.narrow_end(function, each) for each in typed]

    def narrow_end(self, function: str, typed: Typed) -> Typed:
        value, type_name, found = typed
        if type_name != "i64" or found is None or found.fits(32) or not self.fixed(value):
            return typed
        ends = type_limits("i32")
        if function == "min" and found.low >= ends.low:
            cut = i.Call("min_i64", (value, i.Const(ends.high)))
            return i.Convert("i32", cut), "i32", Range(found.low, ends.high)
        if function == "max" and found.high <= ends.high:
            cut = i.Call("max_i64", (value, i.Const(ends.low)))
            return i.Convert("i32", cut), "i32", Range(ends.low, found.high)
        return typed

    def fixed(self, value: i.Expr) -> bool:
        """Whether a value is the same for all iterations of a nest."""
        return not read_tensors(value) and names_in(value) <= self.of_call
