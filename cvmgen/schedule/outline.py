"""Outlining: the loops that threads share become functions, and calls that say what these capture.

A part makes a stretch of the iterations, counted over all loops that run in parallel. It has from
the kernel around it what its statements use, and nothing else: tensors, arrays and locals. An
accumulator that the loops carry is the part's own; at its end it is combined into that of the
kernel, one part at a time, which `combined` allows in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from cvmgen.analysis.dependences import reduction_operations
from cvmgen.ir import checks as h
from cvmgen.ir import nodes as i
from cvmgen.ir.kernel_fault import kernel_fault
from cvmgen.ir.logic import factors_in
from cvmgen.ir.loops import entry_at, extent, product, unravel
from cvmgen.ir.rewrite import identity_element, with_blocks
from cvmgen.ir.uses import all_names, assigned, has, made_in, names_in, nodes_in, stored_tensors
from cvmgen.ir.visit import fresh, replaced, walk
from cvmgen.schedule.measures import parallel
from cvmgen.typing.agreement import type_fault

OWN = ("context", "call", "low", "high", "at")
"""What a part has besides the names of its loops; `at` counts the iterations of several loops."""
Local = i.Let | i.Array | i.Loop


@dataclass(frozen=True, slots=True)
class Total:
    """An accumulator of a part's own, and the operation that combines it into the kernel's."""

    name: str
    type: str
    op: str

    @property
    def start(self) -> i.Expr:
        return identity_element(self.op, self.type)


@dataclass(frozen=True, slots=True)
class OutlinedPart:
    """The function for a stretch of the iterations of loops in threads.

    `own` are its names for OWN. It begins with `totals` and `counts`; `loop` runs through the
    stretch, each iteration behind `indices`.
    """

    name: str
    own: Mapping[str, str]
    captures: tuple[i.Capture, ...]
    totals: tuple[Total, ...]
    counts: tuple[i.Let, ...]
    indices: tuple[i.Let, ...]
    loop: i.Loop

    in_threads = True

    @property
    def body(self) -> i.Block:
        """Its statements up to where totals are combined."""
        span = self.loop.span
        starts = tuple(i.Let(each.name, each.type, each.start, span) for each in self.totals)
        loop = replace(self.loop, body=(*self.indices, *self.loop.body))
        return (*starts, *self.counts, loop)

    def with_body(self, body: i.Block) -> OutlinedPart:
        """The same with other statements in its loop, behind the indices."""
        *_, loop = body
        assert isinstance(loop, i.Loop)
        return replace(self, loop=replace(loop, body=loop.body[len(self.indices) :]))


def part_name(function: str) -> str:
    """The name of the function for a part of the first loops of a function."""
    return f"{function}_part"


def call_name(function: str) -> str:
    """The name of the structure that an outlined function is given."""
    return f"{function}_call"


@dataclass(slots=True)
class Outliner:
    """Outlines the loops of a kernel; `parts` are the functions for them so far, those inside of
    others first.

    tensors: the names of what the kernel is given; reads_plan: whether statements read values of
    the call besides; functions: names that parts may not have
    """

    kernel: str
    body: i.Block
    tensors: Sequence[str]
    taken: set[str]
    reads_plan: Callable[[i.Block], bool]
    functions: set[str]
    parts: list[OutlinedPart] = field(default_factory=list)
    names: Mapping[str, str] = field(init=False)
    types: Mapping[str, str] = field(init=False)
    count: int = 0

    def __post_init__(self) -> None:
        self.taken |= {*names_in(self.body), *assigned(self.body), *self.tensors}
        self.taken |= {each.name for each in nodes_in(self.body, i.Array)}
        self.names = {each: fresh(each, self.taken) for each in OWN}
        self.types = {each.name: each.type for each in nodes_in(self.body, i.Let)}

    def outlined(self) -> i.Block:
        """The kernel's statements, with forks where threads share loops."""
        return self.block(self.body, {})

    def block(self, body: i.Block, around: Mapping[str, Local]) -> i.Block:
        """Statements, where the locals `around` are there."""
        scope = dict(around)
        done: list[i.Stmt] = []
        for each in body:
            match each:
                case i.Loop(parallel=count) if count > 0:
                    done.append(self.fork(each, scope))
                case i.Loop(index=index):
                    within = {**scope, index: each}
                    done.append(with_blocks(each, partial(self.block, around=within)))
                case _:
                    done.append(with_blocks(each, partial(self.block, around=scope)))
            if isinstance(each, (i.Let, i.Array)):
                scope[each.name] = each
        return tuple(done)

    def fork(self, loop: i.Loop, scope: Mapping[str, Local]) -> i.Fork:
        self.count += 1
        part = fresh(part_name(self.kernel), self.functions)
        call = self.names["call"] if self.count == 1 else fresh("call", self.taken)
        made = self.part(loop, part, scope)
        self.parts.append(made)
        number = product([factor for each in parallel(loop) for factor in factors_in(trips(each))])
        shared = self.added_elsewhere(loop)
        captures = tuple(
            replace(each, copy=fresh(f"{each.name}_in_threads", self.taken))
            if each.kind == "total" and each.name in shared
            else each
            for each in made.captures
        )
        return i.Fork(part, call, number, loop.worth, captures, loop.span)

    def added_elsewhere(self, loop: i.Loop) -> set[str]:
        """The locals that other statements add to as well. They would be in memory there, too, if
        their places were known to others: parts get the place of a copy."""
        rest = replaced(self.body, lambda each: replace(loop, body=()) if each is loop else each)
        return {each.name for each in walk(rest) if isinstance(each, i.Accumulate | i.Assign)}

    def part(self, loop: i.Loop, name: str, scope: Mapping[str, Local]) -> OutlinedPart:
        operations = reduction_operations(loop, self.types) or {}
        totals = tuple(Total(each, self.types[each], op) for each, op in sorted(operations.items()))
        loops = parallel(loop)
        low, high, at = (self.names[each] for each in ("low", "high", "at"))
        counts: tuple[i.Let, ...] = ()
        indices: tuple[i.Let, ...] = ()
        run = replace(loop, low=i.Var(low), high=i.Var(high), parallel=0, worth=None)
        if len(loops) > 1 or loop.low != i.ZERO or loop.step != 1:
            counts, indices = self.unravelled(loops, i.Var(at))
            run = replace(run, index=at, step=1)
        inner = {**scope, **{each.index: each for each in loops}}
        run = replace(run, body=self.block(loops[-1].body, inner))
        part = OutlinedPart(name, self.names, (), totals, counts, indices, run)
        return replace(part, captures=tuple(self.captures(part, scope)))

    def unravelled(
        self, loops: Sequence[i.Loop], at: i.Expr
    ) -> tuple[tuple[i.Let, ...], tuple[i.Let, ...]]:
        """How often inner loops run, where that is no value yet; and the indices at a place among
        the iterations of all loops, as far as they are read."""
        counts: list[i.Let] = []
        numbers: list[i.Expr] = [i.ONE]
        for loop in loops[1:]:
            numbers.append(trips(loop))
            if loop.step != 1:
                name = fresh(f"{loop.index}s", self.taken)
                counts.append(i.Let(name, "i64", numbers[-1], loop.span))
                numbers[-1] = i.Var(name)
        read = names_in(loops[0])
        indices = [
            i.Let(loop.index, "i64", index_at(loop, place), loop.span)
            for loop, place in zip(loops, unravel(at, numbers), strict=True)
            if loop.index in read
        ]
        return tuple(counts), tuple(indices)

    # -------------------------------------------------------- captures

    def captures(self, part: OutlinedPart, scope: Mapping[str, Local]) -> Iterable[i.Capture]:
        """What a part has from around it: the plan, tensors in their order, then locals."""
        body, totals = part.body, {each.name for each in part.totals}
        used = all_names(body)
        if self.reads_plan(body) or any(each.kind == "plan" for each in captured(body)):
            yield i.Capture("plan", "plan")
        for tensor in self.tensors:
            if tensor in used:
                yield i.Capture(tensor, "tensor")
        written, made = stored_tensors(body), made_in(body) - totals
        for name, where in scope.items():
            if name in used and name not in made:
                yield captured_local(name, where, written, totals)


def captured_local(name: str, where: Local, written: frozenset[str], totals: set[str]) -> i.Capture:
    """A local of the kernel, of which a part makes its own, or into which it combines one."""
    match where:
        case i.Loop():
            return i.Capture(name, "value", "i64")
        case i.Array(type=kind):
            return i.Capture(name, "array", kind, constant=name not in written)
        case i.Let(type="list"):
            return i.Capture(name, "list")
        case i.Let(type=kind):
            return i.Capture(name, "total" if name in totals else "value", kind)


def part_fault(part: OutlinedPart, fields: Collection[str], elements: Mapping[str, str]) -> str:
    """What in a part does not hold together: it has what it captures, the plan's values that it
    reads, and its own names; empty where all does."""
    locals_ = {each.name for each in part.captures if each.kind in ("value", "list", "total")}
    arrays = {each.name for each in part.captures if each.kind == "array"}
    tensors = {each.name for each in part.captures if each.kind == "tensor"} & {*elements, h.NOTED}
    names = locals_ | {*fields, part.own["low"], part.own["high"]}
    return kernel_fault(part.body, names - {each.name for each in part.totals}, arrays | tensors)


def unsound_outlined(
    body: i.Block,
    parts: Iterable[OutlinedPart],
    names: Collection[str],
    elements: Mapping[str, str],
    fields: Callable[[i.Block], Collection[str]] = lambda _: (),
) -> Iterator[str]:
    """What does not hold together in a nest with parts that were outlined; `names` are what it has
    from outside, `fields` what statements read of the plan."""
    if fault := kernel_fault(body, names, elements) or type_fault(body, elements):
        yield fault
    if has((body, *(each.body for each in parts)), i.Barrier):
        yield "threads meet, and none of a block run it"
    for part in parts:
        given = {each.name: each.type for each in part.captures if each.kind == "value"}
        arrays = {each.name: each.type for each in part.captures if each.kind == "array"}
        fault = part_fault(part, fields(part.body), elements)
        if fault := fault or type_fault(part.body, {**elements, **arrays}, given):
            yield f"{part.name}: {fault}"


def captured(body: i.Block) -> Iterable[i.Capture]:
    """What the forks among statements capture."""
    return nodes_in(body, i.Capture)


def trips(loop: i.Loop) -> i.Expr:
    """How many iterations a loop has."""
    whole = extent(loop)
    return whole if loop.step == 1 else i.Call("ceildiv", (whole, i.Const(loop.step)))


def index_at(loop: i.Loop, place: i.Expr) -> i.Expr:
    """The index of a loop at a place among its iterations."""
    if loop.low is None:
        return entry_at(loop.high, place)
    value = place if loop.step == 1 else i.Binary("*", place, i.Const(loop.step))
    return value if loop.low == i.ZERO else i.Binary("+", loop.low, value)
