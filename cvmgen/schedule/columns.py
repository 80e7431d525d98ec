"""Columns of windows: what results side by side have in common, and how it can be kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import fresh, replaced, substitute, walk
from cvmgen.lower.guards import conjunction
from cvmgen.schedule.guards import ONE, ZERO
from cvmgen.schedule.rewriting import Block, rewritten
from cvmgen.schedule.windows import Windows, minus, plus, times

TWO = i.Const(2)
# What loops are for: the roles that `separate` makes, in order.
COLUMN, NEAR, RUN, BESIDE = range(4)
# Columns that are combined at once. Compilers keep an array of them in registers where its loops
# are longer than what they write out, and no longer than a few vectors.
SIDE = 64
TAPS = 3  # as many as are written out: totals of more would go through memory
AHEAD = 32  # room for columns in the padding, in front


class Names:
    """Names for new loops and locals; those of loops are noted as what plays a role."""

    def __init__(
        self, base: str, roles: Sequence[str], made: dict[str, dict[str, None]], used: set[str]
    ) -> None:
        self.base, self.roles, self.made, self.used = base, roles, made, used

    def loop(self, role: int, name: str = "") -> str:
        new = fresh(name or f"{self.base}_{self.roles[role]}", self.used)
        self.made[self.roles[role]][new] = None
        return new

    def local(self, name: str) -> str:
        return fresh(name, self.used)


class Columns:
    """The columns that some results read: how many, and from where to where they have elements."""

    def __init__(self, found: Windows, column: str, used: set[str]) -> None:
        self.found, side, span = found, found.columns, found.results.span
        last = plus(times(plus(found.results.high, i.Const(-1)), side.step), side.reach)
        self.start = side.first(ZERO)
        count = i.Let(fresh(f"{column}s", used), "i64", plus(last, ONE), span)
        self.count = i.Var(count.name)
        first = i.Call("max_i64", (ZERO, minus(ZERO, self.start)))
        end = i.Call("min_i64", (self.count, minus(side.extent, self.start)))
        low = i.Let(
            fresh(f"{column}_low", used), "i64", i.Call("min_i64", (first, self.count)), span
        )
        self.low = i.Var(low.name)
        high = i.Let(fresh(f"{column}_high", used), "i64", i.Call("max_i64", (end, self.low)), span)
        self.high = i.Var(high.name)
        self.locals_ = count, low, high

    @property
    def held(self) -> i.Expr:
        """How many of them have elements."""
        return i.Binary("-", self.high, self.low)

    def combined(self, column: i.Expr, target: i.Load) -> Block:
        """What a column amounts to."""
        found, side = self.found, self.found.columns
        place = {side.place: plus(column, self.start)}
        more = replace(found.accumulate, value=substitute(found.element, place))
        sweep = rewritten((found.sweep,), lambda each: (more,) if each is side.tap else None)
        return (found.total, *sweep, i.Store(target, i.Var(found.total.name), found.total.span))

    def outside(self, column: str, target: i.Load) -> tuple[i.Loop, i.Loop]:
        """Columns in the padding amount to nothing."""
        assert self.found.empty is not None
        body = (i.Store(target, self.found.empty, self.found.total.span),)
        left = i.Loop(column, ZERO, self.low, body, 0, self.found.total.span)
        return left, replace(left, low=self.high, high=self.count)

    def along(self, result: i.Expr, column: i.Load, *before: i.Let) -> Block:
        """A result, from the columns of its window, each behind the locals that say where it is."""
        found, side = self.found, self.found.columns
        value = replaced(found.value, lambda each: column if each == found.element else each)
        sweep = replace(side.tap, body=(*before, replace(found.accumulate, value=value)))
        after: Block = substitute(found.after, {found.results.index: result})
        return (found.total, sweep, *after)


@dataclass(frozen=True, slots=True)
class Halves:
    """Windows two columns apart: every other column of a line in front of those between.

    The first column with elements begins a vector in its half, the next one in the other. Columns
    and results go by runs of one length, the last of which begins earlier where it would be
    shorter: what is computed twice is the same.
    """

    columns: Columns
    lines: i.Loop
    names: Names
    number: int  # of lines, at most
    room: int  # for one half of the columns of a line

    @staticmethod
    def fit(found: Windows, lines: i.Loop) -> bool:
        """Whether windows may be two columns apart, and results may be computed twice."""
        plain = all(isinstance(each, (i.Let, i.Store)) for each in found.after)
        step = found.columns.step
        return plain and lines.low == ZERO and (step == TWO or not isinstance(step, i.Const))

    @property
    def test(self) -> i.Expr:
        """Whether they are so, have room, and are as many as a run."""
        found, columns = self.columns.found, self.columns
        taps = [each.high for each in walk(found.sweep) if isinstance(each, i.Loop)]
        tests = [
            *(i.Compare("<=", each, i.Const(TAPS)) for each in dict.fromkeys(taps)),
            i.Compare("<=", columns.low, i.Const(AHEAD)),
            i.Compare("<=", columns.count, i.Const(2 * self.room - AHEAD)),
            i.Compare(">=", columns.held, i.Const(SIDE)),
            i.Compare(">=", found.results.high, i.Const(SIDE // 2)),
        ]
        if found.columns.step != TWO:
            tests.insert(0, i.Compare("==", found.columns.step, TWO))
        return conjunction(tests)

    def body(self) -> Block:
        columns, names, total = self.columns, self.names, self.columns.found.total
        name = names.local(f"{names.base}_halves")
        rows = i.Array(name, total.type, 2 * self.room * self.number, total.span)
        first = names.local(f"{names.base}_first")
        ahead = i.Let(first, "i64", minus(i.Const(AHEAD), columns.low), total.span)
        pairs = names.local(f"{names.base}_pairs")
        held = i.Let(pairs, "i64", i.Binary("truncdiv", columns.held, TWO), total.span)
        column = names.local(f"{names.base}_column")
        place = self.place(plus(i.Var(column), i.Var(first)))
        target = i.Load(name, None, plus(self.line, place))
        single = i.Loop(
            column,
            plus(columns.low, times(i.Var(pairs), TWO)),
            columns.high,
            columns.combined(i.Var(column), target),
            0,
            total.span,
        )
        inside = (
            replace(each, body=self.in_lines(*each.body))
            for each in (*columns.outside(column, target), single)
        )
        combined = self.in_lines(self.combined(name, i.Var(pairs)))
        return (
            rows,
            ahead,
            held,
            *inside,
            *combined,
            *self.in_lines(self.along(name, i.Var(first))),
        )

    def in_lines(self, *body: i.Stmt) -> Block:
        return (replace(self.lines, body=body),)

    def place(self, column: i.Expr) -> i.Expr:
        """Where a column is in a line, counted with those in front."""
        half = times(i.Binary("rem", column, TWO), i.Const(self.room))
        return plus(half, i.Binary("truncdiv", column, TWO))

    @property
    def line(self) -> i.Expr:
        return times(i.Var(self.lines.index), i.Const(2 * self.room))

    def run(self, high: i.Expr, at: str, body: Block) -> i.Loop:
        """Runs of one length, whose first places are a local."""
        index, span = self.names.loop(RUN), self.columns.found.total.span
        last = i.Binary("-", high, i.Const(SIDE // 2))
        first = i.Let(at, "i64", i.Call("min_i64", (i.Var(index), last)), span)
        return i.Loop(index, ZERO, high, (first, *body), 0, span, step=SIDE // 2)

    def combined(self, rows: str, pairs: i.Expr) -> i.Loop:
        """The columns of a line, side by side at first, and then apart."""
        columns, names, total = self.columns, self.names, self.columns.found.total
        at = names.local(f"{names.base}_at")
        side, pair = names.loop(BESIDE), names.loop(BESIDE, "pair")
        array = i.Array(names.local(f"{total.name}_beside"), total.type, SIDE, total.span)
        column = plus(plus(columns.low, times(i.Var(at), TWO)), i.Var(side))
        beside = columns.combined(column, i.Load(array.name, None, i.Var(side)))
        place = plus(plus(self.line, i.Const(AHEAD // 2)), plus(i.Var(at), i.Var(pair)))
        stores = tuple(
            i.Store(
                i.Load(rows, None, plus(place, i.Const(half * self.room))),
                i.Load(array.name, None, plus(times(i.Var(pair), TWO), i.Const(half))),
                total.span,
            )
            for half in (0, 1)
        )
        body = (
            array,
            i.Loop(side, ZERO, i.Const(SIDE), beside, 0, total.span),
            i.Loop(pair, ZERO, i.Const(SIDE // 2), stores, 0, total.span),
        )
        return self.run(pairs, at, body)

    def along(self, rows: str, first: i.Expr) -> i.Loop:
        """The results of a line."""
        columns, names, found = self.columns, self.names, self.columns.found
        at, near = names.local(f"{names.base}_at"), names.loop(BESIDE)
        result = plus(i.Var(at), i.Var(near))
        tap = times(i.Var(found.columns.tap.index), found.columns.apart)
        where = self.place(plus(tap, first))
        place = i.Let(names.local(f"{names.base}_place"), "i64", where, found.total.span)
        column = i.Load(rows, None, plus(plus(self.line, i.Var(place.name)), result))
        body = columns.along(result, column, place)
        loop = i.Loop(near, ZERO, i.Const(SIDE // 2), body, 0, found.total.span)
        return self.run(found.results.high, at, (loop,))
