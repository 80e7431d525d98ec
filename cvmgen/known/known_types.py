"""Machine types where the range of each tensor's elements is known: everything is exact.

Sums have the narrowest type that holds all of their terms, as often as the loops run; what is
stored says in turn what a tensor's elements can be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from cvmgen import ranges
from cvmgen.dtypes import MAX_SIZE, DType
from cvmgen.functions import RELATIONS
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import nodes_in
from cvmgen.ranges import Range
from cvmgen.spec.formula import Operator
from cvmgen.typing.accumulators import counting_locals
from cvmgen.typing.machine_types import (
    INT64,
    Typed,
    as_real,
    converted,
    joined_all,
    narrowest_type,
    real_element,
    stored_real,
)
from cvmgen.typing.typed_statements import Typer

INT32 = Range(-(1 << 31), (1 << 31) - 1)


@dataclass(frozen=True, slots=True)
class ElementStorage:
    """What a tensor holds, and how: as `type`, each `bias` above its value.

    `dtype` is the element type of one that holds real numbers or conditions, which says of itself
    what they can be.
    """

    range: Range
    type: str = "i32"
    bias: int = 0
    dtype: DType | None = None


@dataclass(frozen=True, slots=True)
class KnownTypes:
    """Statements with machine types, and the ranges of what they store."""

    body: i.Block
    stored: Mapping[str, Range]
    totals: Mapping[str, Range]


def known_types(
    operator: Operator,
    loops: Mapping[str, int],
    body: i.Block,
    elements: Mapping[str, ElementStorage],
    totals: Mapping[str, Range] | None = None,
) -> KnownTypes:
    """Type the statements inside `loops`, for tensors with these elements.

    `totals` are the ranges of sums where they are known already.
    """
    fixed, totals = totals is not None, dict(totals or {})
    assigned = {each.name: "i32" for each in nodes_in(body, i.Assign)}
    sums = {e.name for e in nodes_in(body, i.Accumulate) if e.op in ("+", "*")}
    truths: set[str] = set()
    reals: set[str] = set()
    while True:
        typer = KnownTyper(operator, elements, totals)
        typer.counters = counting_locals(body)
        typer.sums = frozenset(sums)
        typer.assigned, typer.truths, typer.real = dict(assigned), set(truths), set(reals)
        typer.wide = set()
        for index, extent in loops.items():
            typer.ranges[index], typer.types[index] = Range(0, extent - 1), "i64"
        done = typer.block(body)
        grown = totals if fixed else typer.grown
        found = (grown, typer.assigned, typer.truths, typer.real)
        if found == (totals, assigned, truths, reals):
            return KnownTypes(done, typer.stored, totals)
        # A local needs another type than its declaration has: once more.
        totals, assigned, truths, reals = found


class KnownTyper(Typer):
    """Types statements that access elements by index or by offset; `totals` are the ranges of
    sums as far as they are known, `grown` what they turned out to be."""

    def __init__(
        self,
        operator: Operator,
        elements: Mapping[str, ElementStorage],
        totals: Mapping[str, Range],
    ) -> None:
        super().__init__(operator, {}, host=False)
        self.elements = elements
        self.totals = totals
        self.grown: dict[str, Range] = {}
        self.stored: dict[str, Range] = {}
        self.exact = frozenset()

    # -------------------------------------------------------- elements

    def expr(self, expr: i.Expr, *, modular: bool = False, offset: bool = False) -> Typed:
        match expr:
            case i.Access(tensor=tensor):
                return self.element(expr, self.elements[tensor])
            case i.Load(tensor=tensor, offset=place):
                load = replace(expr, offset=self.index(place))
                return self.element(load, self.elements[tensor])
            case i.Call(function="min" | "max" as function, arguments=(left, right)):
                return self.cut(function, self.expr(left), self.expr(right))
            case i.Binary(op="*", left=left, right=right) if not modular:
                return self.product(expr, self.expr(left), self.expr(right), offset)
            case i.Compare(op=op, left=left, right=right):
                return _decided(op, self.expr(left), self.expr(right)) or super().expr(expr)
            case _:
                return super().expr(expr, offset=offset)

    def product(self, expr: i.Binary, left: Typed, right: Typed, offset: bool) -> Typed:
        """A product; of a value that is always 1 the other one."""
        for one, other in ((left, right), (right, left)):
            if one[2] == Range(1, 1):
                return other
        return super().expr(expr, offset=offset)

    def cut(self, function: str, left: Typed, right: Typed) -> Typed:
        """The least or largest of two values; where one always is, that one."""
        if "f64" in (left[1], right[1]):
            found = ranges.extreme(function, map(self.real_range, (left, right)))
            return i.Call(f"{function}_f64", (as_real(left), as_real(right))), "f64", found
        return self.needless(function, left, right) or self.extreme(function, [left, right])

    def needless(self, function: str, left: Typed, right: Typed) -> Typed | None:
        """The operand that is always the greater or lesser one, if there is one."""
        if left[2] is None or right[2] is None:
            return None
        high, low = (left, right) if left[2].low >= right[2].high else (right, left)
        if high[2] is None or low[2] is None or high[2].low < low[2].high:
            return None
        return high if function == "max" else low

    def element(self, place: i.Expr, elements: ElementStorage) -> Typed:
        if elements.dtype is not None and elements.dtype.kind == "real":
            return real_element(place, elements.dtype), "f64", None
        if elements.dtype is not None:
            return i.Compare("!=", place, i.Const(0)), "bool", Range(0, 1)
        type_name = "i64" if elements.type in ("i64", "u32", "u64") else "i32"
        value = place
        if elements.bias:
            value = i.Binary("-", place, i.Const(elements.bias))
        return value, type_name, elements.range

    def place(self, place: i.Access | i.Load) -> i.Load:
        return place if isinstance(place, i.Access) else super().place(place)  # type: ignore[return-value]

    def entries(self, expr: i.Expr) -> Range | None:
        match expr:
            case i.Entries(first=first):
                return self.elements[first.tensor].range
            case _:
                return super().entries(expr)

    # -------------------------------------------------------- statements

    def store(self, statement: i.Store) -> i.Stmt:
        target = statement.target
        typed = self.expr(statement.value)
        value, type_name, found = typed
        known = [self.stored[target.tensor]] if target.tensor in self.stored else []
        self.stored[target.tensor] = joined_all([*known, found]) or INT64
        kept = self.elements[target.tensor]
        if kept.dtype is not None:
            value = self.moved(statement.value, kept.dtype) or as_stored(typed, kept.dtype)
            return replace(statement, target=self.place(target), value=value)
        if kept.bias:
            value = i.Binary("+", value, i.Const(kept.bias))
        if kept.type != type_name:
            value = i.Convert(kept.type, value)
        return replace(statement, target=self.place(target), value=value)

    def moved(self, value: i.Expr, dtype: DType) -> i.Expr | None:
        """An element that is copied as it is, where nothing computes with real numbers: what does
        leaves one form of NaN."""
        if self.reals or not isinstance(value, (i.Access, i.Load)):
            return None
        return self.place(value) if self.elements[value.tensor].dtype == dtype else None

    def exact_sum(self, statement: i.Let) -> i.Let:
        """A total in the narrowest type that holds it whenever it is read."""
        name = statement.name
        value, _, start = self.expr(statement.value)
        self.depths[name] = len(self.trips)
        joined = joined_all([self.grown.get(name, start), start])
        self.grown[name] = joined or INT64
        found = self.totals.get(name, self.grown[name])
        self.ranges[name], self.types[name] = found, narrowest_type(found)
        return replace(statement, type=self.types[name], value=value)

    def accumulate(self, statement: i.Accumulate) -> i.Stmt:
        name = statement.name
        if statement.op != "+" or name in self.counters or name in self.real:
            return super().accumulate(statement)
        value, type_name, found = self.expr(statement.value)
        if type_name == "f64":
            self.real.add(name)
            return statement
        each, often = found or INT64, min(prod(self.trips[self.depths[name] :]), MAX_SIZE)
        known = self.grown[name]
        self.grown[name] = Range(
            known.low + often * min(each.low, 0), known.high + often * max(each.high, 0)
        )
        wide = self.types[name]
        kept = value if type_name == wide else converted(value, type_name, wide)
        return replace(statement, value=kept)


def _decided(op: str, left: Typed, right: Typed) -> Typed | None:
    """A comparison whose operands' ranges say what comes of it."""
    if left[2] is None or right[2] is None:
        return None
    pairs = ((left[2].low, right[2].high), (left[2].high, right[2].low))
    found = {RELATIONS[op](*each) for each in pairs}
    apart = left[2].high < right[2].low or right[2].high < left[2].low
    single = left[2].low == left[2].high == right[2].low == right[2].high
    if len(found) > 1 or (op in ("==", "!=") and not (apart or single)):
        return None
    return i.Const(found.pop()), "bool", Range(0, 1)


def as_stored(typed: Typed, dtype: DType) -> i.Expr:
    """A real number or a condition as an element."""
    return typed[0] if dtype.kind == "bool" else stored_real(as_real(typed), dtype)
