"""Contractions in C by the register tile: two functions beside the kernel.

One runs the nest: it says where the elements of both factors stand, by steps over host values, and
hands that to the run time, which computes blocks of totals. The other one is called for each block
and makes of its totals what the statements behind the sum say.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cvmgen.algebra import simplify
from cvmgen.analysis.dependences import SCALAR, Locals, conflict
from cvmgen.analysis.tiling import (
    TOTAL,
    AffineSteps,
    Flat,
    StoredTotals,
    Tiling,
    flat_lines,
    is_tested,
    read_locals,
)
from cvmgen.ir import checks as h
from cvmgen.ir import nodes as i
from cvmgen.ir.kernel_fault import kernel_fault
from cvmgen.ir.logic import disjunction
from cvmgen.ir.loops import product, unravel
from cvmgen.ir.uses import has
from cvmgen.ir.visit import fresh
from cvmgen.schedule.actions.vectorise import vector_set
from cvmgen.schedule.intrinsics import DOT4
from cvmgen.schedule.outline import call_name
from cvmgen.schedule.subject import Subject
from cvmgen.source import Span
from cvmgen.typing.agreement import end_of

OWN = ("context", "call", "block", "row", "column", "totals", "first", "count", "space", "nest")
PLAN = i.Var(f"{h.OURS}plan")
Row = tuple[i.Expr, ...]


@dataclass(frozen=True, slots=True)
class TileFunctions:
    """The functions that compute a nest by tiles.

    name, suffix: what their names begin with, and end with for their types; factors: the tensors
    that are multiplied; tensors: what they read and write besides values of the call; captures:
    what the statements behind the totals do; own: their names for OWN; taking, running: their
    statements
    """

    name: str
    suffix: str
    factors: tuple[str, str]
    tensors: tuple[str, ...]
    captures: tuple[i.Capture, ...]
    own: Mapping[str, str]
    taking: i.Block
    running: i.Block

    @property
    def function(self) -> str:
        """The function that runs the nest, and says whether it did."""
        return f"{self.name}_by_tiles{self.suffix}"

    @property
    def taker(self) -> str:
        """The function that takes blocks of totals, as those of the same types call it."""
        return f"{self.name}_totals"

    def shown(self, nest: i.Nest, suffixes: Sequence[str], kinds: str) -> Iterator[i.Nest]:
        """The functions that there are as nests, for people."""
        for name, body in (("totals", self.taking), ("by_tiles", self.running)):
            if body:
                names = ", ".join(f"{self.name}_{name}{suffix}" for suffix in suffixes)
                yield replace(nest, body=body, formula=f"{names}{kinds}: {nest.formula}")

    def faults(self, fields: Iterable[str], elements: Iterable[str]) -> Iterator[str]:
        """What does not hold together in the functions, which read values of the call."""
        values, tensors = {*fields}, {*elements, self.own["totals"]}
        if fault := kernel_fault(self.taking, {*values, self.own["block"]}, tensors):
            yield f"{self.taker}: {fault}"
        values |= {PLAN.name, self.taker, self.own["space"], *self.factors, *self.tensors}
        if fault := kernel_fault(self.running, values, tensors):
            yield f"{self.function}: {fault}"


@dataclass
class TileWriter:
    """Makes the functions for a nest; `tensors` are those that they use, of which the statements
    behind its totals have no need of `others`; `reads_plan` says whether statements read values of
    the call, `taken` are names that are not free. Where totals are stored as they are for `some`
    types of the result alone, it is a test that tells."""

    name: str
    suffix: str
    tiling: Tiling
    subject: Subject
    tensors: tuple[str, ...]
    others: Collection[str]
    reads_plan: Callable[[i.Block], bool]
    taken: set[str]
    span: Span
    some: bool = False
    own: Mapping[str, str] = field(init=False)
    rows: Flat = field(init=False)
    columns: Flat = field(init=False)

    def __post_init__(self) -> None:
        self.own = {each: fresh(each, self.taken) for each in OWN}
        found, facts = self.tiling.found, self.subject.facts
        self.rows = flat_lines(found.after, self.tiling.x.lines, found.divided, facts)
        behind = self.rows.statements
        self.columns = flat_lines(behind, self.tiling.w.lines, found.divided, facts)

    def functions(self) -> TileFunctions:
        factors = (self.tiling.x.load.tensor, self.tiling.w.load.tensor)
        taking = self.taking()
        plan = (i.Capture("plan", "plan"),) if self.reads_plan(taking) else ()
        behind = (each for each in self.tensors if each not in self.others)
        captures = (*plan, *(i.Capture(each, "tensor") for each in behind))
        names = self.name, self.suffix
        made = TileFunctions(*names, factors, self.tensors, captures, self.own, taking, ())
        return replace(made, running=tuple(self.running(made)))

    # -------------------------------------------------------- behind the totals

    def taking(self) -> i.Block:
        """The loops over a block, the one whose totals are neighbours inside, and in them the
        statements of the nest behind its sum."""
        found, own = self.tiling.found, self.own
        sides = ((self.rows, "row"), (self.columns, "column"))
        (inner, near), (outer, far) = sides if self.tiling.turned else reversed(sides)
        start = i.Binary("*", i.Var(own[far]), self.of_block("step"))
        totals = i.Binary("+", self.of_block("totals"), start)
        total: i.Expr = i.Load(own["totals"], None, i.Var(own[near]))
        if found.total.type != "i32":
            total = i.Convert(found.total.type, total)
        after = self.columns.statements
        each = (
            *self.index(inner, near, i.Var(own["first"])),
            *read_locals(found.before, after),
            replace(found.total, value=total),
            *after,
        )
        line = (
            *self.firsts(outer, far),
            *self.index(outer, far, self.first(outer, far)),
            self.let("totals", "totals", totals),
            side_by_side(self.over(near, i.Var(own["count"]), each)),
        )
        # Locals, as what is stored might change the block for all that compilers see.
        return (
            *self.unravel(found.batches, self.of_block("batch")),
            *self.firsts(inner, near),
            self.let("first", "i64", self.first(inner, near)),
            self.let("count", "i64", self.of_block(f"{near}s")),
            self.over(far, self.of_block(f"{far}s"), line),
        )

    def let(self, name: str, type_name: str, value: i.Expr) -> i.Let:
        return i.Let(self.own[name], type_name, value, self.span)

    def of_block(self, member: str) -> i.Expr:
        return i.Member(i.Var(self.own["block"]), member)

    def over(self, side: str, count: i.Expr, body: i.Block) -> i.Loop:
        """A loop over the rows or columns of a block."""
        return i.Loop(self.own[side], i.ZERO, count, body, 0, self.span)

    def firsts(self, side: Flat, name: str) -> i.Block:
        """The indices of a side outside of its groups, which a block has one of each."""
        if not side.outer:
            return ()
        return self.unravel(side.outer, i.Binary("truncdiv", self.of_block(name), group_size(side)))

    def first(self, side: Flat, name: str) -> i.Expr:
        """The last index of a side where a block begins."""
        first = self.of_block(name)
        return i.Binary("rem", first, group_size(side)) if side.outer else first

    def index(self, side: Flat, name: str, first: i.Expr) -> i.Block:
        """The last index of a side, and the one that it is a part of."""
        value = i.Binary("+", first, i.Var(self.own[name]))
        index = i.Let(side.lines[-1].index, "i64", value, self.span)
        divided = self.tiling.found.divided
        if divided is None or all(loop.index != divided.inner for loop in side.lines):
            return (index,)
        return index, i.Let(divided.index, "i64", divided.whole, self.span)

    def unravel(self, loops: Sequence[i.Loop], position: i.Expr) -> i.Block:
        """The indices at a position among all of some loops, the last one first."""
        values = unravel(position, [loop.high for loop in loops]) if loops else []
        pairs = reversed([*zip(loops, values, strict=True)])
        return tuple(i.Let(loop.index, "i64", value, self.span) for loop, value in pairs)

    # -------------------------------------------------------- where elements stand

    def running(self, made: TileFunctions) -> Iterator[i.Stmt]:
        """The statements that run the nest, false where they leave it to the kernel."""
        if tests := self.tests():
            yield i.If(disjunction(tests), (i.Return(self.span, i.Const(False)),), (), self.span)
        values = (PLAN if each.kind == "plan" else i.Var(each.name) for each in made.captures)
        yield self.let("call", call_name(made.taker), list_of(values))
        yield self.let("nest", "contraction", i.Structure((*self.numbers(), *self.box_rows())))
        given: Row = (
            i.Address(i.Var(self.own["nest"])),
            *map(i.Var, made.factors),
            i.Const(self.tiling.turned),
            i.Var(made.taker),
            i.Address(i.Var(self.own["call"])),
            i.Var(self.own["space"]),
        )
        yield i.Return(self.span, i.Call("contract", given))

    def tests(self) -> list[i.Expr]:
        """What must not be: there is another way or too little to do, there is no quotient, or sums
        do not fit their accumulator."""
        found, tests = self.tiling.found, [*self.tiling.others]
        match self.tiling.worth:
            case i.Compare(op=">=", left=much, right=least):
                tests.append(i.Compare("<", much, least))
            case _:
                pass
        if found.divided is not None:
            divisor, extent = found.divided.divisor, found.divided.extent
            tests.append(i.Compare("<", divisor, i.ONE))
            tests.append(i.Compare("!=", i.Binary("rem", extent, divisor), i.ZERO))
        if found.border is not None:
            low, high = (0, 255) if self.is_staged else (-128, 127)
            tests.append(i.Compare("<", found.border.value, i.Const(low)))
            tests.append(i.Compare(">", found.border.value, i.Const(high)))
        depth = product([loop.high for loop in found.summed])
        if self.zero is not None:
            exact = i.Call("exact_depth_above", (self.zero,))
            tests.append(i.Compare(">", depth, exact))
        elif found.total.type not in ("u32", "i32"):
            tests.append(i.Compare(">", depth, i.Call("exact_depth", ())))
        return tests

    @property
    def is_staged(self) -> bool:
        """Whether the elements of x are bytes as they are staged: so much above those of int8."""
        return self.tiling.x.load.tensor in self.subject.unsigned

    @property
    def border(self) -> i.Expr | None:
        """What stands for elements of x where it has none, as int8."""
        found = self.tiling.found.border
        wanted = found is not None or (self.is_staged and is_tested(self.tiling.x))
        return self.as_int8(i.ZERO if found is None else found.value) if wanted else None

    @property
    def zero(self) -> i.Expr | None:
        """What is subtracted from each element of x as int8."""
        found = self.tiling.found.zero
        wanted = found is not None or self.is_staged
        return self.as_int8(i.ZERO if found is None else found.value) if wanted else None

    def as_int8(self, element: i.Expr) -> i.Expr:
        """What an element of x is as the one of int8 that has the same staged byte."""
        if not self.is_staged:
            return element
        return simplify(i.Binary("-", element, i.Const(DOT4.bias)))

    def numbers(self) -> Iterator[tuple[str, i.Expr]]:
        """The members of the contraction that are one number, or a place."""
        tiling = self.tiling
        yield "x_start", tiling.x_start
        yield "w_start", tiling.w_start
        yield "x_count", tiling.sizes[tiling.x.load.tensor]
        yield "w_count", tiling.sizes[tiling.w.load.tensor]
        if self.is_staged:
            yield "staged", i.ONE
        if self.border is not None:
            yield "border", self.border
        if self.zero is not None:
            yield "zero", self.zero
        yield "row_group", group_size(self.rows)
        yield "column_group", group_size(self.columns)
        if self.stored is not None:
            yield "y", first_total(self.stored, self.other_type)

    def box_rows(self) -> Iterator[tuple[str, i.Expr]]:
        """The members that are a row for each loop, and how many these are."""
        tiling, found = self.tiling, self.tiling.found
        summed = [loop.index for loop in found.summed]
        taps = {line.tap for line in tiling.lines}
        x, w = tiling.x_steps, tiling.w_steps
        y = {} if self.stored is None else self.stored.steps
        lines: list[Row] = [
            (
                line.loop.high,
                line.step,
                i.Const(-1 if line.tap is None else summed.index(line.tap)),
                line.tap_step,
                line.start,
                line.places,
                line.x_step,
                step_of(y, line.loop),
            )
            for line in tiling.lines
        ]
        yield from counted_rows(
            "batch",
            "batches",
            [(e.high, step_of(x, e), step_of(w, e), step_of(y, e)) for e in found.batches],
        )
        yield from counted_rows("line", "lines", lines)
        columns: list[Row] = [(e.high, step_of(w, e), step_of(y, e)) for e in tiling.w.lines]
        yield from counted_rows("column", "columns", columns)
        within = {name: step for name, step in x.items() if name not in taps}
        yield from counted_rows(
            "summed", "summed", [(e.high, step_of(within, e), step_of(w, e)) for e in found.summed]
        )

    @property
    def stored(self) -> StoredTotals | None:
        """Where totals of 32 bits are stored as they are."""
        found = self.tiling.stored
        alone = found is None or self.some or self.subject.elements[found.tensor] == TOTAL
        return found if alone else None

    @property
    def other_type(self) -> list[i.Expr]:
        """Whether elements of the result have not the type of totals, where that is to be asked."""
        if self.stored is None or not self.some:
            return []
        ends = (self.subject.elements[self.stored.tensor], TOTAL)
        return [i.Compare("!=", *(i.Const(end_of(each, "greatest")) for each in ends))]


def side_by_side(loop: i.Loop) -> i.Loop:
    """A loop by vector instructions, where its iterations may run at once: each stores results of
    its own."""
    alone = has(loop.body, *SCALAR) or conflict(loop, Locals.of(loop.body))
    return loop if alone else replace(loop, vector=vector_set(loop))


def counted_rows(one: str, several: str, rows: Sequence[Row]) -> Iterator[tuple[str, i.Expr]]:
    """The members for some rows; nothing for none."""
    if rows:
        yield f"{one}_count", i.Const(len(rows))
        yield several, list_of(map(list_of, rows))


def list_of(values: Iterable[i.Expr]) -> i.ListOf:
    return i.ListOf(tuple((each, False) for each in values))


def first_total(stored: StoredTotals, others: Sequence[i.Expr]) -> i.Expr:
    """Where the first total goes, or nowhere if there is more to do with totals: something is
    given, or one of `others` holds."""
    place = i.Address(i.Load(stored.tensor, None, stored.start))
    tests = [*(i.Given(name) for name in dict.fromkeys(stored.without)), *others]
    return i.Select(disjunction(tests), h.NULL, place) if tests else place


def group_size(side: Flat) -> i.Expr:
    """How many lines there are inside the outer ones."""
    return product([loop.high for loop in side.inner])


def step_of(steps: AffineSteps, loop: i.Loop) -> i.Expr:
    """What the index of a loop adds to a place."""
    return steps.get(loop.index, i.ZERO)
