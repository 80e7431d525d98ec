"""Machine types of expressions: the range of each value, and conversions where they differ."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace

from cvmgen import ranges
from cvmgen.dtypes import (
    ATTRIBUTE_HIGH,
    ATTRIBUTE_LOW,
    CVM,
    DTYPES,
    MAX_INPUTS,
    MAX_PRECISION,
    MAX_SIZE,
    DType,
)
from cvmgen.errors import InternalError
from cvmgen.functions import BITWISE
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import factors_in
from cvmgen.ir.visit import walk
from cvmgen.ranges import Range
from cvmgen.spec.formula import Let, Operator, all_items
from cvmgen.typing.machine_types import (
    BITS,
    INT64,
    WIDEST,
    Typed,
    all_narrow,
    as_real,
    combine,
    converted,
    element,
    int64_range,
    is_positive,
    joined_all,
    joined_tests,
    known_range,
    narrowed,
    narrowest_type,
    raised,
    saturated,
    type_limits,
)
from cvmgen.typing.required import UNLIMITED, both, held_by
from cvmgen.typing.too_large import MOST_BITS, most_bits, shown, too_large

RangeRule = Callable[[Range, Range], Range]
EXTENT = Range(1, MAX_SIZE - 1)
EXTENT_OR_0 = Range(0, MAX_SIZE - 1)
LIST_CALLS = ("strides", "split")
SATURATING = {
    op: f"saturating_{name}_i128" for op, name in (("+", "add"), ("-", "sub"), ("*", "mul"))
}


class ValueTyper(ABC):
    """Types expressions, knowing the range and type of every name so far."""

    @abstractmethod
    def call(self, expr: i.Call, *, modular: bool = False) -> Typed: ...

    @abstractmethod
    def bits(self, expr: i.Binary, modular: bool) -> Typed: ...

    @abstractmethod
    def extreme(self, function: str, typed: list[Typed]) -> Typed:
        """The least or the largest of several values."""

    def __init__(self, operator: Operator, dtypes: Mapping[str, DType], *, host: bool) -> None:
        self.operator = operator
        self.dtypes = dtypes
        self.host = host
        self.reals = operator.has_reals
        self.ranges: dict[str, Range | None] = {}
        self.types: dict[str, str] = {}
        self.modular: frozenset[str] = frozenset()
        self.scratch: dict[str, Range | None] = {}  # what the memory of the call holds
        self.required: Mapping[str, Range] = {}
        self.tests = False  # whether elements may be beyond their type still
        self.kept: dict[str, DType] = {}  # the storage types of lets that the nest fills
        self.made: set[str] = set()  # locals that are made of elements
        self.around = 0  # how many loads are around the expression at hand
        self.of_call: frozenset[str] = frozenset()  # names that the host has values for
        self.empty: set[str] = set()  # lists that have no entry yet
        self.parts: set[str] = set()  # lists that are parts of shapes
        self.extent_of: dict[str, str] = {}
        # The outputs with a storage type of their own, into which values go exactly.
        self.exact = frozenset(name for name, kind in operator.type_of.items() if kind != CVM)
        # Lets, each tested where it may be large.
        self.named = {item.name for item in all_items(operator.items) if isinstance(item, Let)}
        self.span = operator.span  # of the statement at hand
        self.sizes = EXTENT_OR_0 if operator.empty_tensors else EXTENT
        for item in operator.inputs:
            for extent in item.extents:
                if extent.new:
                    self.ranges[extent.new] = EXTENT_OR_0 if item.empty else EXTENT
                    if not extent.pack:
                        self.extent_of[extent.new] = item.name
            if item.count:
                self.ranges[item.count] = Range(1, MAX_INPUTS)
        for attribute in operator.attributes:
            full = Range(ATTRIBUTE_LOW, ATTRIBUTE_HIGH - 1)
            for name in attribute.bound_names:
                self.ranges[name] = full
                if attribute.kind == "bool":
                    self.ranges[name] = Range(0, 1)
                    self.types[name] = "bool"
                elif attribute.kind == "real":
                    self.ranges[name] = None

    # -------------------------------------------------------- lists

    def entries(self, expr: i.Expr) -> Range | None:
        """The range of the entries of a list."""
        match expr:
            case i.Var(name=name):
                return self.ranges.get(name)
            case i.ListOf(entries=()):
                return None
            case i.ListOf(entries=pairs):
                found = [self.entries(each) if pack else self.expr(each)[2] for each, pack in pairs]
                return joined_all(found)
            case i.Part(sequence=sequence):
                return self.entries(sequence)
            case i.Select(then=then, otherwise=otherwise):
                return joined_all([self.entries(then), self.entries(otherwise)])
            case i.Binary(op="difference", left=left):
                return self.entries(left)
            case i.Call(function=function) if function in LIST_CALLS:
                return self.sizes
            case i.Item(sequence=sequence):
                return self.entries(sequence)
            case i.Entries(first=first):
                return self.scratch.get(first.tensor)
            case _:
                return None

    def list_value(self, expr: i.Expr) -> i.Expr:
        match expr:
            case i.ListOf(entries=pairs):
                done = ((self.entry(each, pack=pack), pack) for each, pack in pairs)
                return i.ListOf(tuple(done))
            case i.Select(condition=condition, then=then, otherwise=otherwise):
                test = self.condition(condition)
                return i.Select(test, self.list_value(then), self.list_value(otherwise))
            case i.Part(sequence=sequence, low=low, high=high):
                first, last = (None if end is None else self.index(end) for end in (low, high))
                return i.Part(self.list_value(sequence), first, last)
            case i.Binary(op="difference" as op, left=left, right=right):
                return i.Binary(op, self.list_value(left), self.list_value(right))
            case i.Item(sequence=sequence, index=index):
                return i.Item(sequence, self.index(index))
            case i.Entries(first=first, length=length):
                return replace(expr, first=self.place(first), length=self.index(length))
            case i.Call(function=function, arguments=arguments):
                return i.Call(function, self.lists_or_indices(arguments))
            case _:
                return expr

    def entry(self, expr: i.Expr, *, pack: bool) -> i.Expr:
        return self.list_value(expr) if pack else self.steps(expr)

    def lists_or_indices(self, arguments: tuple[i.Expr, ...]) -> tuple[i.Expr, ...]:
        return tuple(
            self.list_value(each) if self.is_list(each) else self.index(each) for each in arguments
        )

    def is_list(self, expr: i.Expr) -> bool:
        match expr:
            case i.Var(name=name):
                return self.types.get(name) == "list" or self.is_shape(name)
            case i.ListOf() | i.Part():
                return True
            case i.Binary(op=op):
                return op == "difference"
            case i.Call(function=function):
                return function in ("strides", "split", "zeros", "ones", "unflatten")
            case i.Select(then=then):
                return self.is_list(then)
            case i.Item(sequence=i.Var(name=name)):
                return self.is_variadic_shape(name)
            case _:
                return False

    def of_tensor(self, expr: i.Expr) -> bool:
        """Whether a list has extents of one tensor, so that their product is its size at most."""
        match expr:
            case i.Var(name=name):
                attributes = {each.name for each in self.operator.attributes}
                return name in self.parts or (self.is_shape(name) and name not in attributes)
            case i.Part(sequence=sequence):
                return self.of_tensor(sequence)
            case i.Item(sequence=i.Var(name=name)):
                return self.is_variadic_shape(name)
            case _:
                return False

    def is_shape(self, name: str) -> bool:
        if name.endswith("_shape") and name.removesuffix("_shape") in self.operator.output_names:
            return True
        attributes = self.operator.attributes
        if any(each.name == name and (each.is_list or each.components) for each in attributes):
            return True
        return any(
            extent.new == name and extent.pack
            for item in self.operator.inputs
            for extent in item.extents
        )

    def is_variadic_shape(self, name: str) -> bool:
        return any(
            extent.new == name
            for item in self.operator.inputs
            if item.variadic
            for extent in item.extents
        )

    # -------------------------------------------------------- scalars

    def index(self, expr: i.Expr) -> i.Expr:
        """An index or offset: it stays inside a tensor, so int64 holds every part."""
        typed, type_name, _ = self.expr(expr, offset=True)
        return saturated(typed, type_name)

    def place(self, place: i.Access | i.Load) -> i.Load:
        assert isinstance(place, i.Load)
        return replace(place, offset=self.index(place.offset))

    def steps(self, expr: i.Expr) -> i.Expr:
        typed, type_name, _ = self.expr(expr)
        return saturated(typed, type_name)

    def condition(self, expr: i.Expr) -> i.Expr:
        return self.expr(expr)[0]

    def expr(self, expr: i.Expr, *, modular: bool = False, offset: bool = False) -> Typed:
        match expr:
            case i.Const(value=bool()):
                return expr, "bool", Range(0, 1)
            case i.Const(value=value):
                found = Range(value, value)
                return expr, "i32" if found.fits(32) else "i64", found
            case i.Real():
                return expr, "f64", None
            case i.Limit():
                return self.end_of_type(expr)
            case i.Word(code=code):
                return expr, "i64", Range(code, code)
            case i.Var(name=name) if self.types.get(name) == "u64":
                return i.Convert("i64", expr), "i64", self.ranges.get(name)
            case i.Var(name=name):
                return expr, self.types.get(name, "i64"), self.ranges.get(name)
            case i.Binary():
                return self.binary(expr, modular, offset)
            case i.Compare(op=op, left=i.Limit(end="type") as one, right=i.Limit() as other):
                alike = self.type_named(one) == self.type_named(other)
                return i.Const(alike == (op == "==")), "bool", Range(0, 1)
            case i.Compare(op=op, left=left, right=right):
                first, second = self.alike(self.expr(left), self.expr(right))
                return i.Compare(op, first, second), "bool", Range(0, 1)
            case i.Logic(op=op, operands=operands):
                tests = tuple(self.condition(operand) for operand in operands)
                return joined_tests(op, tests), "bool", Range(0, 1)
            case i.Not(operand=operand):
                test = self.condition(operand)
                turned = i.Const(not test.value) if isinstance(test, i.Const) else i.Not(test)
                return turned, "bool", Range(0, 1)
            case i.Select():
                return self.select(expr, modular, offset)
            case i.Call():
                return self.call(expr, modular=modular)
            case i.Item(sequence=sequence, index=index):
                item = i.Item(self.list_value(sequence), self.index(index))
                return item, "i64", self.entries(sequence)
            case i.Contains(element=element, collection=collection):
                member = saturated(*self.expr(element)[:2])
                return i.Contains(member, self.list_value(collection)), "bool", Range(0, 1)
            case i.Load(tensor=tensor, offset=place):
                if (dtype := self.dtypes.get(tensor) or self.kept.get(tensor)) is None:
                    return self.place(expr), "i64", self.scratch[tensor]  # of a selected list
                self.around += 1
                load = replace(expr, offset=self.index(place))
                self.around -= 1
                return self.loaded(load, dtype)
            case i.Given():
                return expr, "bool", Range(0, 1)
            case i.PrecisionOf():
                return expr, "i64", Range(1, MAX_PRECISION)
            case i.Dot():
                return expr, "i64", None
            case i.Convert(type="i64", operand=position):
                return self.index(position), "i64", Range(0, MAX_SIZE)
            case _:
                raise InternalError(f"types: {type(expr).__name__} should be unfolded before")

    def loaded(self, load: i.Load, dtype: DType) -> Typed:
        """An element, in what is known of all of its tensor."""
        held = both(held_by(dtype, tests=self.tests), self.required.get(load.tensor, UNLIMITED))
        return element(load, dtype, self.scratch.get(load.tensor, held))

    def end_of_type(self, expr: i.Limit) -> Typed:
        """The least or the greatest value of an element type."""
        dtype, least = self.type_named(expr), expr.end == "least"
        if dtype.kind == "real":
            return i.Real("-inf" if least else "inf"), "f64", None
        return self.expr(i.Const(dtype.low if least else dtype.high))

    def type_named(self, expr: i.Limit) -> DType:
        """What the name of an element type stands for."""
        name = expr.type_name
        return DTYPES.get(name) or self.dtypes[self.operator.operand_of(name)]

    def alike(self, left: Typed, right: Typed) -> tuple[i.Expr, i.Expr]:
        """What is compared: an element beside a number of the call that fits its type, in that,
        so that a loop over elements compares as many at once as it moves."""
        if self.host:
            return left[0], right[0]
        if "f64" in (left[1], right[1]):
            return as_real(left), as_real(right)
        for one, other in ((left, right), (right, left)):
            fits = other[2] is not None and other[2].fits(32)
            element = one[1] == "i32" and not isinstance(one[0], i.Const)
            if element and other[1] == "i64" and fits and isinstance(other[0], i.Var):
                other_part = narrowed(other)
                return (one[0], other_part) if one is left else (other_part, one[0])
        return left[0], right[0]

    @property
    def least_divisor(self) -> int:
        """In a nest the formula has a value, so a divisor that is not negative is not 0."""
        return 1 if self.host else 0

    def operands(self, left: Typed, right: Typed) -> str:
        return left[1] if BITS[left[1]] >= BITS[right[1]] else right[1]

    def binary(self, expr: i.Binary, modular: bool, offset: bool) -> Typed:
        if expr.op in ("+", "-", "*"):
            return self.ring(expr, modular, offset)
        if expr.op in BITWISE:
            return self.bits(expr, modular)
        # A place may wrap on its way, but not below a quotient, which elements can make large.
        offset = offset and not self.of_elements(expr)
        left, right = self.expr(expr.left, offset=offset), self.expr(expr.right, offset=offset)
        match expr.op:
            case "over":
                return i.Binary("over", as_real(left), as_real(right)), "f64", None
            case "floordiv":
                return self.floordiv(expr, left, right)
            case "truncdiv" if self.host and not is_positive(left, right):
                return self.helper("trunc_div", left, right, ranges.truncdiv)
            case "truncdiv":
                return self.widened("truncdiv", left, right, ranges.truncdiv)
            case "mod":
                if is_positive(left, right, self.least_divisor):
                    return self.widened("rem", left, right, ranges.modulo)
                return self.helper("floor_mod", left, right, ranges.modulo)
            case "shl":
                return self.power_of_two(right)
            case "shr":
                found = ranges.shift_right(known_range(left), known_range(right))
                return i.Binary("shr", left[0], right[0]), left[1], found
            case _:
                raise InternalError(f"types: {expr.op} is no operation on scalars")

    def of_elements(self, expr: i.Expr) -> bool:
        """Whether a value is made of elements, by way of locals too."""
        return any(
            isinstance(each, i.Load) or (isinstance(each, i.Var) and each.name in self.made)
            for each in walk(expr)
        )

    def ring(self, expr: i.Binary, modular: bool, offset: bool) -> Typed:
        """+ - *: exact in a type that holds the result, or modulo 2^32 into a store."""
        left = self.expr(expr.left, modular=modular, offset=offset)
        right = self.expr(expr.right, modular=modular, offset=offset)
        if "f64" in (left[1], right[1]):
            return i.Binary(expr.op, as_real(left), as_real(right)), "f64", None
        found = self.product_of_extents(expr) or combine(expr.op, left[2], right[2])
        if "u32" in (left[1], right[1]):
            return self.wrap(expr.op, left, right)
        natural = self.operands(left, right)
        if found is not None and found.fits(BITS[natural]):
            return i.Binary(expr.op, left[0], right[0]), natural, found
        if modular and natural == "i32":
            return self.wrap(expr.op, left, right)
        if offset:
            return i.Binary(expr.op, *raised(left, right, "i64")), "i64", int64_range(found)
        if found is None:
            found = combine(expr.op, left[2] or INT64, right[2] or INT64)
            assert found is not None
        wide = narrowest_type(found)
        if not found.fits(BITS[wide]):
            if modular:
                return self.wrap(expr.op, left, right)
            self.too_wide("value", shown(expr), most_bits(found))
            return i.Call(SATURATING[expr.op], (left[0], right[0])), wide, type_limits(wide)
        return i.Binary(expr.op, *raised(left, right, wide)), wide, found

    def too_wide(self, what: str, which: str, bits: int, limit: int = MOST_BITS) -> None:
        """Refuse what no machine type of a kernel holds; the host saturates, and refuses calls."""
        if not self.host:
            raise too_large(self.span, what, which, bits, limit)

    def product_of_extents(self, expr: i.Expr) -> Range | None:
        """Different extents of one tensor: their product is at most its size."""
        factors = factors_in(expr)
        names = [each.name for each in factors if isinstance(each, i.Var)]
        if len(names) < len(factors) or not self.extent_of.keys() >= {*names}:
            return None
        tensors = {self.extent_of[name] for name in names}
        if len(tensors) == 1 and len(set(names)) == len(names):
            return self.sizes
        return None

    def wrap(self, op: str, left: Typed, right: Typed) -> Typed:
        first, second = (converted(*each[:2], "u32") for each in (left, right))
        return i.Binary(op, first, second), "u32", None

    def widened(self, op: str, left: Typed, right: Typed, rule: RangeRule) -> Typed:
        found = rule(known_range(left), known_range(right))
        natural = self.operands(left, right)
        wide = next((n for n, b in BITS.items() if b >= BITS[natural] and found.fits(b)), "i128")
        return i.Binary(op, *raised(left, right, wide)), wide, found

    def helper(self, function: str, left: Typed, right: Typed, rule: RangeRule) -> Typed:
        """A floor division or remainder of values that may be negative."""
        found = rule(known_range(left), known_range(right))
        if "i128" in (left[1], right[1]) or not found.fits(64):
            return i.Call(f"{function}_i128", (left[0], right[0])), "i128", found
        return i.Call(function, (left[0], right[0])), "i64", found

    def floordiv(self, expr: i.Binary, left: Typed, right: Typed) -> Typed:
        """A power of two shifts; the sign decides between / and the helper."""
        match expr.right:
            case i.Const(value=value) if value > 0 and value & (value - 1) == 0:
                shift: Typed = (i.Const(value.bit_length() - 1), "i32", None)
                most = value.bit_length() - 1
            case i.Binary(op="shl", left=i.Const(value=1), right=exponent):
                shift = self.expr(exponent)
                most = shift[2].high if shift[2] is not None else 64
            case _:
                if is_positive(left, right, self.least_divisor):
                    return self.widened("truncdiv", left, right, ranges.floordiv)
                return self.helper("floor_div", left, right, ranges.floordiv)
        found = None if left[2] is None else ranges.floordiv(left[2], right[2] or Range(1, 1))
        value_type = left[1]
        first = left[0]
        if BITS[value_type] <= most < 64:
            first, value_type = i.Convert("i64", first), "i64"
        if most >= BITS[value_type]:
            # A shift to the last bit leaves the sign, as any longer one would.
            shift = self.at_most(shift, BITS[value_type] - 1)
        return i.Binary("shr", first, shift[0]), value_type, found

    def power_of_two(self, exponent: Typed) -> Typed:
        """2^e as 1 << e in a type that holds it."""
        known = known_range(exponent)
        ends = (min(max(end, 0), WIDEST) for end in (known.low, known.high))
        found = Range(*(1 << end for end in ends))
        wide = narrowest_type(found)
        # gcc has vectors for 1 << e in 32 bits, but none for it in 64.
        bits = "u32" if wide == "i64" and not self.host and found.high < 1 << 32 else wide
        one: i.Expr = i.Const(1) if bits == "i32" else i.Convert(bits, i.Const(1))
        if known.high > WIDEST:
            exponent = self.at_most(exponent, WIDEST)
        power = i.Binary("shl", one, exponent[0])
        return power if bits == wide else i.Convert(wide, power), wide, found

    def at_most(self, typed: Typed, most: int) -> Typed:
        """The lower one of a value and a constant."""
        return self.extreme("min", [typed, (i.Const(most), "i32", Range(most, most))])

    def select(self, expr: i.Select, modular: bool, offset: bool) -> Typed:
        test = self.condition(expr.condition)
        if isinstance(test, i.Const):
            taken = expr.then if test.value else expr.otherwise
            return self.expr(taken, modular=modular, offset=offset)
        then = self.expr(expr.then, modular=modular, offset=offset)
        otherwise = self.expr(expr.otherwise, modular=modular, offset=offset)
        found = joined_all([then[2], otherwise[2]])
        if then[1] == "bool" or otherwise[1] == "bool":
            return i.Select(test, then[0], otherwise[0]), "bool", Range(0, 1)
        if "f64" in (then[1], otherwise[1]):
            return i.Select(test, as_real(then), as_real(otherwise)), "f64", None
        if "u32" in (then[1], otherwise[1]):
            yes, no = (converted(*each[:2], "u32") for each in (then, otherwise))
            return i.Select(test, yes, no), "u32", None
        natural = self.operands(then, otherwise)
        if modular and all_narrow(then, otherwise):
            natural = "i32"  # as of an attribute beside an element
            then = (narrowed(then), "i32", then[2])
            otherwise = (narrowed(otherwise), "i32", otherwise[2])
        return i.Select(test, then[0], otherwise[0]), natural, found
