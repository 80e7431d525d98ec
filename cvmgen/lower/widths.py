"""Which integers a nest computes with as a whole: the narrowest type in which nothing overflows.

`types` gives each intermediate a type of its own; where whole arrays have one, it has to hold
every value on the way, for any stored element. Sums and products that flow into a store through
+ - * alone may wrap, as the store keeps their lowest bits.

`typing.typed_values` walks through intervals too, and asks something else: of nests whose
reductions are loops, for one choice of element types, which machine type each node is written
with; what overflows there is widened where it stands. Here reductions are whole, all element types
count at once, nothing can be widened in the middle, and what is asked is the ends of all values,
also for the case that all that is read is below 2^bits. How intervals are added and multiplied
(`cvmgen.ranges`), what a recurrence can come to (`elements_of`) and what host code computes
(`Typer`) is taken from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from cvmgen import ranges
from cvmgen.analysis.definedness import direct_operands
from cvmgen.dtypes import CVM, DTYPES, INT32, MAX_SIZE, MOST_EXACT
from cvmgen.functions import FUNCTIONS, REAL_FUNCTIONS
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import assigned, has, names_in
from cvmgen.ir.visit import walk
from cvmgen.lower.unfold import unfold_all
from cvmgen.ranges import Range
from cvmgen.typing.machine_types import INT64, joined_all
from cvmgen.typing.required import both, required_ranges
from cvmgen.typing.typed_statements import Typer
from cvmgen.typing.typed_values import EXTENT_OR_0
from cvmgen.typing.types import elements_of

LONG_SUM = Range(-(1 << 62), 1 << 62)  # of less than 2^31 terms of 32 bits
UNBOUNDED = Range(-(1 << 200), 1 << 200)
LOG = Range(0, 200)
OF_LISTS = ("flatten_index", "size", "len", "unflatten")


@dataclass(frozen=True, slots=True)
class Width:
    """int32, int64, or int64 only where all that is read is below 2^bits (None: never)."""

    name: str
    bits: int | None = None


def host_ranges(program: i.Program) -> Mapping[str, Range | None]:
    """The ranges of what the host code computes."""
    host = Typer(program.operator, {}, host=True)
    host.block(unfold_all(program).prepare)
    return host.ranges


def nest_width(program: i.Program, nest: i.Nest, host: Mapping[str, Range | None]) -> Width:
    """The integers for a nest, in the form before reductions are loops."""
    most = Widths(program, nest, host).largest()
    if most.fits(32):
        return Width("int32")
    if most.fits(64):
        return Width("int64")
    for bits in range(40, 0, -1):
        if Widths(program, nest, host, bits).largest().fits(64):
            return Width("checked", bits)
    return Width("object")


class Widths:
    """The range of each expression of a nest, if all that it reads is below 2^bits."""

    def __init__(
        self,
        program: i.Program,
        nest: i.Nest,
        host: Mapping[str, Range | None],
        bits: int | None = None,
    ) -> None:
        self.program = program
        self.nest = nest
        self.operator = program.operator
        self.within = UNBOUNDED if bits is None else Range(-(1 << bits), 1 << bits)
        self.host = host
        self.typer = Typer(program.operator, {}, host=True)
        self.lets = program.lets
        self.scratch = {each.name for each in program.scratch} - self.lets.keys()
        self.names: dict[str, Range | None] = {}
        self.kept: dict[str, Range] = {}
        self.required = required_ranges(self.operator, nest)
        self.locals = assigned(nest.body)  # names of the nest's own
        self.values: set[str] = set()  # locals that depend on elements
        self.most = Range(0, 0)

    def largest(self) -> Range:
        """A range that holds every value on the way."""
        for nest in self.program.nests:
            if nest is self.nest:
                break
            if self.program.scratch_of(nest.tensor):
                self.block(nest.body)
        self.most = Range(0, 0)
        self.block(self.nest.body)
        return self.most

    def cut(self, found: Range | None) -> Range:
        """What is read, where it keeps within the bound."""
        found = found or UNBOUNDED
        low = max(found.low, self.within.low)
        return Range(low, max(low, min(found.high, self.within.high)))

    # -------------------------------------------------------- statements

    def block(self, statements: i.Block) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, statement: i.Stmt) -> None:
        match statement:
            case i.Loop(index=index, low=None, high=entries, body=body):
                self.names[index] = self.entries(entries)
                self.block(body)
            case i.Loop(index=index, low=low, high=high, body=body):
                assert low is not None
                self.names[index] = self.span(low, high)
                self.block(body)
            case i.PackLoop(pack=pack, body=body):
                self.names[pack] = self.cut(EXTENT_OR_0)
                self.block(body)
            case i.If(condition=condition, then=then, otherwise=otherwise):
                self.exact(condition)
                self.block(then)
                self.block(otherwise)
            case i.Let(name=name, value=value):
                self.local(name, value)
            case i.Accumulate(name=name):
                self.names[name] = Range(0, MAX_SIZE)
            case i.Store(target=target, value=value) if target.tensor in self.scratch:
                known = self.exact(value) if self.of_elements(value) else self.place(value)
                self.keep(target.tensor, known)
            case i.Store(target=target, value=value) if target.tensor in self.lets:
                self.element_of_let(self.lets[target.tensor], value)
            case i.Store(target=target, value=value):
                if self.typed(target.tensor):
                    self.exact(value)
                else:
                    self.stored(value)
            case _:
                pass

    def element_of_let(self, memory: i.Scratch, value: i.Expr) -> None:
        """What is stored; a recurrence keeps all that it can come to."""
        name, outer = memory.name, self.most
        if memory.axis is None or memory.kind == "real":
            self.keep(name, self.exact(value))
            return

        def following(earlier: Range) -> Range | None:
            self.most, self.kept[name] = outer, earlier
            return self.exact(value)

        found = elements_of(memory, following) or UNBOUNDED
        self.most, self.kept[name] = outer.join(found), found
        self.exact(value)

    def typed(self, tensor: str) -> bool:
        return self.operator.type_of[tensor] != CVM

    def keep(self, tensor: str, found: Range | None) -> None:
        if found is None and tensor in self.lets:
            return
        found = found or UNBOUNDED
        self.kept[tensor] = self.kept[tensor].join(found) if tensor in self.kept else found

    def span(self, low: i.Expr, high: i.Expr) -> Range:
        first, end = self.place(low), self.place(high)
        return Range(first.low, max(first.low, end.high - 1))

    # -------------------------------------------------------- expressions

    def of_elements(self, expr: i.Expr) -> bool:
        """Whether a value is one of the nest's integers, not a place or an entry of a list."""
        return any(
            isinstance(each, i.Fold)
            or (isinstance(each, i.Access) and each.tensor not in self.scratch)
            or (isinstance(each, i.Var) and each.name in self.values)
            for each in walk(expr)
        )

    def local(self, name: str, value: i.Expr) -> None:
        """Bind a local."""
        if self.of_elements(value):
            self.values.add(name)
            self.names[name] = self.exact(value)
        else:
            self.names[name] = self.place(value)

    def place(self, expr: i.Expr) -> Range:
        """The range of index arithmetic, which is of 64 bits whatever the elements are."""
        outer, self.most = self.most, Range(0, 0)
        found = self.exact(expr)
        if not self.most.fits(64):
            outer = outer.join(self.most)
        self.most = outer
        return found or UNBOUNDED

    def slots(self, index: tuple[tuple[i.Expr, bool], ...]) -> None:
        """What is made of elements for places; other places are below the size of a tensor, and
        what they are made of wraps, if at all, in 64 bits."""
        for each, _ in index:
            if self.of_elements(each):
                self.exact(each)

    def note(self, found: Range | None) -> Range | None:
        if found is not None:
            self.most = self.most.join(found)
        return found

    def stored(self, expr: i.Expr) -> None:
        """A value of which a store keeps the lowest bits; one of the call is Python's own."""
        if self.of_call(expr):
            self.exact(expr)
            return
        match expr:
            case i.Binary(op="+" | "-" | "*", left=left, right=right):
                self.stored(left)
                self.stored(right)
            case i.Binary(op="shl", left=left, right=exponent) if left != i.Const(1):
                self.stored(left)
                self.exact(exponent)
            case i.Select(condition=condition, then=then, otherwise=otherwise):
                self.exact(condition)
                self.stored(then)
                self.stored(otherwise)
            case i.Bind(name=name, value=value, body=body):
                self.local(name, value)
                self.stored(body)
            case i.Fold(op="sum", element=element, over=over, condition=condition):
                self.bind(over)
                if condition is not None:
                    self.exact(condition)
                self.stored(element)
            case i.Call(function="abs", arguments=(operand,)):
                self.exact(operand)
            case i.Access(index=index):
                self.slots(index)
            case _:
                self.exact(expr)

    def of_call(self, expr: i.Expr) -> bool:
        """Whether a value is the same for all elements."""
        if has(expr, i.Access, i.Load, i.Entries):
            return False
        return not names_in(expr) & self.locals

    def exact(self, expr: i.Expr) -> Range | None:
        """The range of a value that matters as a whole; None of real numbers."""
        return self.note(self.range(expr))

    def range(self, expr: i.Expr) -> Range | None:
        match expr:
            case i.Const(value=value):
                return Range(int(value), int(value))
            case i.Var(name=name):
                if name in self.names:
                    return self.names[name]
                return self.cut(self.host.get(name))
            case i.Binary():
                return self.binary(expr)
            case i.Select(condition=condition, then=then, otherwise=otherwise):
                self.exact(condition)
                return joined_all([self.exact(then), self.exact(otherwise)])
            case i.Bind(name=name, value=value, body=body):
                self.local(name, value)
                return self.exact(body)
            case i.Access(tensor=tensor, index=index):
                self.slots(index)
                if tensor in self.lets:
                    return self.of_let(tensor)
                return self.kept[tensor] if tensor in self.kept else self.element(tensor)
            case i.Call(function=function, arguments=arguments):
                return self.call(function, arguments)
            case i.Fold():
                return self.fold(expr)
            case i.Item(sequence=i.Var(name=name), index=index):
                self.slots(((index, False),))
                return self.range(i.Var(name))
            case i.Item(sequence=sequence, index=index):
                self.slots(((sequence, True), (index, False)))
                return self.cut(EXTENT_OR_0)
            case i.PrecisionOf():
                return self.cut(EXTENT_OR_0)
            case i.ListOf(entries=entries):
                self.slots(entries)
                return Range(0, 1)
            case i.Gather(over=over, element=element, condition=condition):
                self.bind(over)
                self.slots(((element, False), *([(condition, False)] if condition else [])))
                return Range(0, 1)
            case i.Compare(left=left, right=right) if not self.of_elements(expr):
                self.place(left)
                self.place(right)
                return Range(0, 1)
            case i.Compare() | i.Logic() | i.Not():
                for each in direct_operands(expr):
                    self.exact(each)
                return Range(0, 1)
            case i.Contains(element=element):
                self.exact(element)
                return Range(0, 1)
            case i.Limit(end="type"):
                return Range(0, 0)
            case i.Limit(type_name=type_name):
                return self.limit(type_name)
            case i.Real():
                return None
            case i.Convert(operand=position):  # of an element, so all on the way to it is small
                most = self.most
                self.exact(position)
                self.most = most
                return Range(0, MAX_SIZE)
            case _:
                return Range(0, 1)

    def limit(self, type_name: str) -> Range | None:
        if type_name in DTYPES:
            dtype = DTYPES[type_name]
            return None if dtype.kind == "real" else Range(dtype.low, dtype.high)
        return self.dtype_range(self.operator.operand_of(type_name))

    def of_let(self, tensor: str) -> Range | None:
        """An element of a `let` in memory, which a nest reads as it does one of an input: what that
        was made of is not tested again."""
        if self.lets[tensor].kind == "real":
            return None
        own = tensor == self.nest.tensor or self.within == UNBOUNDED
        return self.kept.get(tensor, UNBOUNDED) if own else self.within

    def element(self, tensor: str) -> Range | None:
        found = self.dtype_range(tensor)
        if found is not None and tensor in self.required:
            found = both(found, self.required[tensor])
        return None if found is None else self.cut(found)

    def dtype_range(self, tensor: str) -> Range | None:
        """What an element can be: of integer types all that any of them holds."""
        if tensor in self.scratch:
            return UNBOUNDED
        if not self.typed(tensor):
            return Range(INT32.low, INT32.high)
        dtypes = [row[tensor] for row in self.operator.choices if tensor in row]
        held = [Range(each.low, each.high) for each in dtypes if each.kind != "real"]
        found: Range | None = None
        for each in held:
            found = each if found is None else found.join(each)
        return found

    def binary(self, expr: i.Binary) -> Range | None:
        left, right = self.exact(expr.left), self.exact(expr.right)
        if left is None or right is None or expr.op == "over":
            return None
        match expr.op:
            case "-" if (
                isinstance(expr.right, i.Binary)
                and expr.right.op == "shr"
                and (expr.right.left == expr.left)
            ):
                # A value less a part of itself never decreases as the value grows.
                exponent = ranges.exponents(self.exact(expr.right.right) or UNBOUNDED)
                return ranges.corners(left, exponent, lambda a, b: a - (a >> b))
            case op if op in ranges.RULES:
                return ranges.RULES[op](left, right)
            case _:
                return left

    def call(self, function: str, arguments: tuple[i.Expr, ...]) -> Range | None:
        if function == "size" and not self.typer.of_tensor(arguments[0]):
            return self.cut(INT64)
        if function in OF_LISTS:
            self.slots(tuple((each, False) for each in arguments))
            return self.cut(Range(0 if function in ("size", "len") else -MAX_SIZE, MAX_SIZE))
        found = [self.exact(each) for each in arguments]
        if any(each is None for each in found):
            return Range(-MOST_EXACT << 10, MOST_EXACT << 10) if function == "int" else None
        known = [each for each in found if each is not None]
        match function:
            case "max" | "min":
                return ranges.extreme(function, known)
            case "clip":
                value, low, high = known
                return ranges.extreme("min", (ranges.extreme("max", (value, low)), high))
            case "abs":
                return ranges.magnitude(known[0])
            case "negate":
                return ranges.negative(known[0])
            case "floor_log2" | "ceil_log2" | "bit_length":
                return LOG
            case name if name in REAL_FUNCTIONS and FUNCTIONS[name].result == "real":
                return None
            case "isnan":
                return Range(0, 1)
            case "int":
                return known[0]
            case "order":
                return INT64
            case "isqrt":
                return ranges.square_root(known[0])
            case "ceildiv":
                return ranges.ceildiv(*known)
            case "power":
                return ranges.power(*known)
            case _:
                return UNBOUNDED

    # -------------------------------------------------------- reductions

    def entries(self, collection: i.Expr) -> Range:
        match collection:
            case i.Entries(first=first) if first.tensor in self.kept:
                return self.kept[first.tensor]
            case i.Var(name=name):
                return self.cut(self.host.get(name))
            case _:
                return UNBOUNDED

    def bind(self, over: tuple[i.Over | i.OverPack, ...]) -> int:
        """Bind reduced indices; how often they run at most."""
        trips = []
        for each in over:
            match each:
                case i.Over(index=index, low=None, high=entries):
                    self.names[index] = self.entries(entries)
                    trips.append(MAX_SIZE)
                case i.Over(index=index, low=low, high=high):
                    assert low is not None
                    found = self.span(low, high)
                    self.names[index] = found
                    trips.append(found.high - found.low + 1)
                case i.OverPack(pack=pack):
                    self.names[pack] = self.cut(EXTENT_OR_0)
                    trips.append(min(MAX_SIZE, self.within.high))
        return min(prod(trips), MAX_SIZE)

    def fold(self, expr: i.Fold) -> Range | None:
        trips = self.bind(expr.over)
        if expr.condition is not None:
            self.exact(expr.condition)
        found = self.exact(expr.element)
        match expr.op:
            case "any" | "all":
                return Range(0, 1)
            case "count":
                return Range(0, MAX_SIZE)
            case "sum" if found is not None:
                low, high = min(found.low, 0) * trips, max(found.high, 0) * trips
                if found.fits(32):
                    low, high = max(low, LONG_SUM.low), min(high, LONG_SUM.high)
                return Range(low, high)
            case "prod" if found is not None:
                size = max(found.size, 1)
                bits = min(size.bit_length() * trips, 200) if size > 1 else 1
                return Range(-(1 << bits), 1 << bits)
            case _:
                return found
