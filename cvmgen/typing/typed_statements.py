"""Statements with machine types: what locals, accumulators and elements are stored as."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from math import prod

from cvmgen.dtypes import (
    FLOAT64,
    INT4,
    MAX_SIZE,
    DType,
)
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import fresh
from cvmgen.ranges import Range
from cvmgen.source import SpecError
from cvmgen.spec.formula import Operator
from cvmgen.typing.machine_types import (
    BITS,
    INT64,
    NAMED,
    WIDEST,
    as_real,
    converted,
    joined_all,
    kept_type,
    known_range,
    narrowest_type,
    saturated,
    stored_real,
    type_limits,
)
from cvmgen.typing.required import attribute_ranges
from cvmgen.typing.too_large import MOST_BITS, most_bits
from cvmgen.typing.typed_calls import CallTyper
from cvmgen.typing.typed_values import EXTENT, EXTENT_OR_0

# What accumulators of 64 and of 128 bits hold, with room for what is made of them.
LONG_BITS = 62
WIDE_BITS = 104


class Typer(CallTyper):
    """Walks statements in order.

    `sums` are the accumulators of sums and products; `wide` those whose terms int32 does not
    hold; `counters` the locals that only count. `assigned` are the types of maxima and minima,
    and of the locals that a nest sets on several ways. `real` are the locals of all these kinds
    that hold real numbers, `truths` those that hold conditions.
    """

    lets: Collection[str] = ()  # those that are memory of the call
    partial: Collection[str] = ()  # memory of sums of int32 terms that make up one such sum
    sums: frozenset[str] = frozenset()
    counters: frozenset[str] = frozenset()
    wide: set[str]
    real: set[str]
    truths: set[str]
    assigned: dict[str, str]

    def __init__(self, operator: Operator, dtypes: Mapping[str, DType], *, host: bool) -> None:
        super().__init__(operator, dtypes, host=host)
        self.real, self.truths = set(), set()
        self.unset: set[str] = set()  # maxima and minima that have no value yet
        self.trips: list[int] = []  # how often the loops around run at most, outermost first
        self.depths: dict[str, int] = {}  # how many of them are around an accumulator's start
        # What sums of int32 terms alone come to, and what is stored in memory of the call; None:
        # unknown. By the statements so far, and by all of them, as the walk before found it.
        self.reach: dict[str, Range | None] = {}
        self.reach_of_all: Mapping[str, Range | None] = {}

    # -------------------------------------------------------- statements

    def block(self, statements: i.Block) -> i.Block:
        done: list[i.Stmt] = []
        for statement in statements:
            match statement:
                case i.Store(target=target) if target.tensor in self.exact:
                    done += self.store_exactly(statement)
                case _:
                    done.append(self.statement(statement))
        return tuple(done)

    def statement(self, statement: i.Stmt) -> i.Stmt:
        self.span = statement.span
        match statement:
            case i.Let() | i.Assign() | i.Accumulate() if self.of_elements(statement.value):
                self.made.add(statement.name)
            case _:
                pass
        match statement:
            case i.Let(type="list"):
                return self.list_let(statement)
            case i.Let():
                return self.let(statement)
            case i.Assign(name=name, value=value):
                return self.assign(statement)
            case i.Accumulate():
                return self.accumulate(statement)
            case i.AddAt(name=name, index=index, value=value):
                self.ranges[name] = None
                step = self.steps(value)
                return replace(statement, index=self.index(index), value=step)
            case i.SetAt(index=index, value=value):
                done = replace(statement, index=self.index(index), value=self.index(value))
                return done
            case i.Append(name=name, value=value):
                typed, type_name, found = self.expr(value)
                known = [] if name in self.empty else [self.ranges.get(name)]
                joined = joined_all([*known, found])
                self.ranges[name] = self.kept_range(name, joined) if self.host else joined
                self.empty.discard(name)
                return replace(statement, value=saturated(typed, type_name))
            case i.Store(target=target) if target.tensor in self.lets:
                return self.keep_element(statement)
            case i.Store(target=target) if target.tensor in self.scratch:
                return self.keep(statement)
            case i.Store():
                return self.store(statement)
            case i.Sort(entries=entries, keys=keys, spare=spare, most=most):
                run = self.list_value(entries)
                assert isinstance(run, i.Entries)
                done_keys, done_spare = self.place(keys), self.place(spare)
                first = None if most is None else self.index(most)
                places = replace(statement, keys=done_keys, spare=done_spare)
                return replace(places, entries=run, most=first)
            case i.Break():
                return statement
            case i.Loop():
                return self.loop(statement)
            case i.PackLoop(pack=pack, body=body):
                self.ranges[pack] = EXTENT
                return replace(statement, body=self.block(body))
            case i.If(condition=condition, then=then, otherwise=otherwise):
                test = self.condition(condition)
                return i.If(test, self.block(then), self.block(otherwise), statement.span)
            case i.Require(condition=condition):
                return replace(statement, condition=self.condition(condition))
            case i.TakeInput(input=item, known=known_extents):
                done_known = tuple(
                    each and (self.list_value(each) if extent.pack else self.expr(each)[0])
                    for each, extent in zip(known_extents, item.extents, strict=True)
                )
                return replace(statement, known=done_known)
            case i.TakeAttribute():
                return self.attribute(statement)
            case i.SetOutput(tensor=tensor, extents=extents, empty=empty, precision=precision):
                self.ranges[f"{tensor}_shape"] = EXTENT_OR_0 if empty else EXTENT
                shape = self.list_value(extents)
                if precision is None:
                    return replace(statement, extents=shape)
                value, type_name, _ = self.expr(precision)
                return replace(statement, extents=shape, precision=saturated(value, type_name))
            case i.Merge() | i.Array() | i.Overflow() | i.ArrayStmt() | i.HostStmt():
                return statement
            case (
                i.Copy()
                | i.Move()
                | i.Turn()
                | i.Slide()
                | i.Apply()
                | i.Products()
                | i.Fetch()
                | i.Fill()
                | i.Tile()
            ):
                return statement
            case i.Return() | i.Barrier() | i.Invoke() | i.Launch() | i.Borrow():
                return statement
            case i.Fork() | i.CallInline():
                return statement
            case i.Cases(branches=branches):
                done_branches = tuple(
                    (self.condition(condition), self.block(body)) for condition, body in branches
                )
                return replace(statement, branches=done_branches)

    def attribute(self, statement: i.TakeAttribute) -> i.Stmt:
        attribute = statement.attribute
        low, high = statement.low, statement.high
        low_range = high_range = None
        if low is not None:
            low, low_type, low_range = self.expr(low)
            low = saturated(low, low_type)
        if high is not None:
            high, high_type, high_range = self.expr(high)
            high = saturated(high, high_type)
        self.ranges |= attribute_ranges(attribute, low_range, high_range)
        inside = None if statement.inside is None else self.condition(statement.inside)
        return replace(statement, low=low, high=high, inside=inside)

    def list_let(self, statement: i.Let) -> i.Let:
        value = self.list_value(statement.value)
        self.ranges[statement.name] = self.kept_entries(statement)
        self.types[statement.name] = "list"
        if self.of_tensor(statement.value):
            self.parts.add(statement.name)
        if value == i.ListOf(()):
            self.empty.add(statement.name)
        return replace(statement, value=value)

    def let(self, statement: i.Let) -> i.Let:
        name, value = statement.name, statement.value
        if statement.type == "bool" or name in self.truths:
            self.types[name], self.ranges[name] = "bool", Range(0, 1)
            test = i.Const(False) if name in self.truths else self.condition(value)
            return replace(statement, type="bool", value=test)
        if name in self.real:
            self.types[name], self.ranges[name] = "f64", None
            return replace(statement, type="f64", value=self.real_start(value))
        if name in self.counters:
            self.types[name], self.ranges[name] = "i64", Range(0, MAX_SIZE)
            return replace(statement, type="i64")
        if name in self.modular:
            self.types[name], self.ranges[name] = "u32", None
            return replace(statement, type="u32", value=self.start(value, "u32"))
        match value:
            case i.Call(function="lowest" | "highest" as end):
                return self.extreme_let(statement, end)
            case _:
                pass
        if name in self.sums:
            return self.exact_sum(statement)
        typed, type_name, found = self.expr(value)
        if self.host:
            self.types[name] = "i64"
            self.ranges[name] = self.kept_range(name, found)
            return replace(statement, type="i64", value=saturated(typed, type_name))
        if name in self.assigned:
            type_name = self.assigned[name]
        self.types[name], self.ranges[name] = type_name, found
        return replace(statement, type=type_name, value=typed)

    def kept_range(self, name: str, found: Range | None) -> Range:
        """Of a local of the host: a call is refused where a `let` of the formula is beyond 2^62."""
        most = NAMED if name in self.named else INT64
        if found is None:
            return most
        inside = Range(max(found.low, most.low), min(found.high, most.high))
        return inside if inside.low <= inside.high else most

    def kept_entries(self, statement: i.Let) -> Range | None:
        found = self.entries(statement.value)
        if not self.host or found is None:
            return found
        return self.kept_range(statement.name, found)

    def extreme_let(self, statement: i.Let, end: str) -> i.Let:
        """A maximum or minimum before its first value: the end of its type."""
        name = statement.name
        type_name = "i64" if self.host else self.assigned.get(name, "i32")
        self.types[name], self.ranges[name] = type_name, type_limits(type_name)
        self.unset.add(name)
        if type_name == "i128":
            most = i.Binary("shl", i.Convert("i128", i.Const(1)), i.Const(WIDEST))
            value: i.Expr = most if end == "highest" else i.Binary("-", i.Const(0), most)
        else:
            known = type_limits(type_name)
            value = i.Const(known.low if end == "lowest" else known.high)
        return replace(statement, type=type_name, value=value)

    def exact_sum(self, statement: i.Let) -> i.Let:
        """A sum whose value matters: of int32 terms modulo 2^64, exact below 2^31 terms; of
        wider terms in 128 bits, always exact."""
        name = statement.name
        self.depths[name] = len(self.trips)
        if statement.value != i.ZERO:
            self.reach[name] = None
        if name in self.wide:
            self.types[name], self.ranges[name] = "i128", Range(-(1 << WIDE_BITS), 1 << WIDE_BITS)
        else:
            self.types[name], self.ranges[name] = "u64", Range(-(1 << LONG_BITS), 1 << LONG_BITS)
        value = self.start(statement.value, self.types[name])
        return replace(statement, type=self.types[name], value=value)

    def assign(self, statement: i.Assign) -> i.Stmt:
        if self.types.get(statement.name) == "list":
            return replace(statement, value=self.list_value(statement.value))
        if self.types.get(statement.name) == "bool":
            return replace(statement, value=self.condition(statement.value))
        typed, type_name, found = self.expr(statement.value)
        if type_name == "bool":
            self.truths.add(statement.name)
            return statement
        if statement.name in self.real:
            return replace(statement, value=as_real((typed, type_name, found)))
        if not self.host:
            self.join(statement.name, type_name, found)
            return replace(statement, value=typed)
        joined = joined_all([self.ranges.get(statement.name), found])
        self.ranges[statement.name] = joined or INT64
        return replace(statement, value=saturated(typed, type_name))

    def join(self, name: str, type_name: str, found: Range | None) -> None:
        """Another value for a local of a nest: its type and range hold all of them."""
        self.reach[name] = None
        if type_name == "f64":
            self.real.add(name)
            return
        self.ranges[name] = joined_all([self.ranges[name], found])
        self.widen(name, type_name)

    def widen(self, name: str, type_name: str) -> None:
        """Let a local have a type that is at least as wide."""
        if BITS[type_name] > BITS[self.assigned.get(name, "i32")]:
            self.assigned[name] = type_name

    def accumulate(self, statement: i.Accumulate) -> i.Stmt:
        name, op, value = statement.name, statement.op, statement.value
        if op in ("and", "or"):
            return replace(statement, value=self.condition(value))
        if name in self.counters:
            return replace(statement, value=self.expr(value)[0])
        if name in self.real:
            return replace(statement, value=as_real(self.expr(value)))
        if self.types.get(name) == "u32":
            typed, type_name, _ = self.expr(value, modular=True)
            if type_name == "f64":
                self.real.add(name)
                return statement
            return replace(statement, value=converted(typed, type_name, "u32"))
        typed, type_name, found = self.expr(value)
        if type_name == "f64":
            self.real.add(name)
            return statement
        if self.host:
            # Saturating sums and products: helpers of the run-time header.
            self.ranges[name] = self.kept_range(name, None)
            return replace(statement, value=saturated(typed, type_name))
        if op in ("max", "min"):
            self.widen(name, narrowest_type(found) if found is not None else type_name)
            self.reached(name, found)
            return replace(statement, value=converted(typed, type_name, self.types[name]))
        part = isinstance(value, i.Load) and value.tensor in self.partial
        if op == "*" or found is None or not (found.fits(32) or part):
            self.grows(name, op, found)
        else:
            self.reaches(name, found)
        if self.types[name] == "i128":
            return replace(statement, value=converted(typed, type_name, "i128"))
        return replace(statement, value=converted(typed, type_name, "u64"))

    def reached(self, name: str, found: Range | None) -> None:
        """A maximum or minimum is one of the values that it is taken of."""
        if name in self.unset:
            self.unset.discard(name)
            self.ranges[name] = found
            return
        self.ranges[name] = joined_all([self.ranges[name], found])

    def reaches(self, name: str, each: Range) -> None:
        """How far a sum of int32 terms gets when all of its loops run as often as they can."""
        often = min(prod(self.trips[self.depths.get(name, 0) :]), MAX_SIZE)
        before = self.reach.get(name, Range(0, 0))
        low, high = min(each.low, 0) * often, max(each.high, 0) * often
        self.reach[name] = before and Range(before.low + low, before.high + high)

    def grows(self, name: str, op: str, each: Range | None) -> None:
        """Let a sum or product whose value matters have a type that holds it; refuse one that
        may need more, when all of its loops run as often as they can."""
        self.reach[name] = None
        if each is None:
            self.wide.add(name)
            return
        size = max(each.size, 1)
        often = min(prod(self.trips[self.depths.get(name, 0) :]), MAX_SIZE)
        bits = size.bit_length() * often if op == "*" else (size * often).bit_length()
        if op == "+" or bits > LONG_BITS:
            self.wide.add(name)
        if bits > WIDE_BITS and size > 1:
            values = f"2^{(often - 1).bit_length()} values up to 2^{(size - 1).bit_length()}"
            what = "sum" if op == "+" else "product"
            self.too_wide(what, f"the {what} of {values}", bits, WIDE_BITS)

    def store(self, statement: i.Store) -> i.Stmt:
        target = statement.target
        assert isinstance(target, i.Load)
        offset = self.index(target.offset)
        value, type_name, _ = self.expr(statement.value, modular=True)
        dtype = self.dtypes[target.tensor]
        plain = self.loads_type(statement.value) == dtype.name
        if type_name != "i32" or (dtype.bits < 32 and not plain):
            value = i.Convert(dtype.machine, value)
        return replace(statement, target=replace(target, offset=offset), value=value)

    def store_exactly(self, statement: i.Store) -> list[i.Stmt]:
        """Store into a type of its own: a real number rounded once, an integer if it fits."""
        target = statement.target
        assert isinstance(target, i.Load)
        place = self.place(target)
        dtype = self.dtypes[target.tensor]
        if dtype.kind == "bool":
            return [replace(statement, target=place, value=self.condition(statement.value))]
        typed = self.expr(statement.value)
        if dtype.kind == "real":
            value = stored_real(as_real(typed), dtype)
            return [replace(statement, target=place, value=value)]
        value, type_name, _ = typed
        plain = self.loads_type(statement.value) == dtype.name and dtype != INT4
        kept = value if plain else converted(value, type_name, dtype.machine)
        known = known_range(typed)
        if dtype.low <= known.low and known.high <= dtype.high:
            return [replace(statement, target=place, value=kept)]
        return self.store_if_it_fits(replace(statement, target=place, value=value), type_name)

    def store_if_it_fits(self, store: i.Store, type_name: str) -> list[i.Stmt]:
        """A store whose value a type may not hold; then the element is noted instead."""
        target, value, span = store.target, store.value, store.span
        assert isinstance(target, i.Load)
        dtype = self.dtypes[target.tensor]
        lets: list[i.Stmt] = []
        if not isinstance(value, i.Var):
            name = fresh("value", {*self.types, *self.ranges, *self.dtypes})
            lets.append(i.Let(name, type_name, value, span))
            value = i.Var(name)
        fits = i.Logic(
            "and",
            (
                i.Compare(">=", value, i.Const(dtype.low)),
                i.Compare("<=", value, i.Const(dtype.high)),
            ),
        )
        done = replace(store, value=converted(value, type_name, dtype.machine))
        noted = i.Overflow(target.tensor, target.offset, span)
        return [*lets, i.If(fits, (done,), (noted,), span)]

    def keep(self, statement: i.Store) -> i.Stmt:
        """Store an entry of a selected list, exactly."""
        value, type_name, found = self.expr(statement.value)
        if type_name == "i128" and not (found is not None and found.fits(64)):
            bits = MOST_BITS if found is None else most_bits(found)
            hint = f"it can come to 2^{bits}; cut it: clip(..., low, high)"
            message = "an entry or key of a list can need more than 64 bits"
            raise SpecError(statement.span, message, hint)
        self.keeps(statement.target.tensor, found)
        kept = converted(value, type_name, "i64")
        return replace(statement, target=self.place(statement.target), value=kept)

    def keep_element(self, statement: i.Store) -> i.Stmt:
        """Store an element of a `let`, in the narrowest type that holds every one."""
        tensor = statement.target.tensor
        typed = self.expr(statement.value)
        value, type_name, _ = typed
        target = self.place(statement.target)
        if type_name == "f64":
            self.keeps(tensor, None)
            self.kept[tensor] = FLOAT64
            return replace(statement, target=target, value=value)
        found = self.keeps(tensor, self.total_range(statement.value, known_range(typed)))
        of_all = self.reach_of_all.get(tensor) or found or INT64
        dtype = self.dtypes.get(tensor) or kept_type(of_all)  # a recurrence has one already
        self.kept[tensor] = dtype
        kept = converted(value, type_name, dtype.machine)
        return replace(statement, target=target, value=kept)

    def keeps(self, tensor: str, found: Range | None) -> Range | None:
        """Note what is stored in memory of the call; the range of this and of all before."""
        known = [self.reach[tensor]] if tensor in self.reach else []
        self.reach[tensor] = joined_all([*known, found])
        return self.reach[tensor]

    def total_range(self, value: i.Expr, found: Range) -> Range:
        """The range of a value, which may be a sum whose terms are all known."""
        reach = self.reach_of_all.get(value.name) if isinstance(value, i.Var) else None
        return found if reach is None else min(found, reach, key=lambda each: each.size)

    def loads_type(self, value: i.Expr) -> str:
        found = self.dtypes.get(value.tensor) if isinstance(value, i.Load) else None
        return found.name if found is not None else ""

    def loop(self, statement: i.Loop) -> i.Stmt:
        index = statement.index
        if statement.low is None:
            entries = self.entries(statement.high)
            self.ranges[index], self.types[index] = entries, "i64"
            high = self.list_value(statement.high)
            self.trips.append(MAX_SIZE)
            body = self.block(statement.body)
            self.trips.pop()
            return replace(statement, high=high, body=body)
        low, low_type, low_range = self.expr(statement.low)
        high, high_type, high_range = self.expr(statement.high)
        found = None
        if low_range is not None and high_range is not None:
            last = min(high_range.high, INT64.high) - 1
            found = Range(low_range.low, max(low_range.low, last))
        self.ranges[index], self.types[index] = found, "i64"
        low, high = saturated(low, low_type), saturated(high, high_type)
        self.trips.append(max(found.high - found.low + 1, 1) if found else MAX_SIZE)
        body = self.block(statement.body)
        self.trips.pop()
        return replace(statement, low=low, high=high, body=body)
