"""Small windows two columns apart, whose columns are combined in registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cvmgen.analysis.windows import simplified_difference, simplified_product, simplified_sum
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import conjunction
from cvmgen.ir.rewrite import updated
from cvmgen.ir.uses import names_in, nodes_in
from cvmgen.ir.visit import substitute
from cvmgen.schedule.columns import RUN, SIDE, ColumnNames, Columns

TWO = i.Const(2)
# Results that are computed at once, from twice as many columns. Compilers keep arrays of them in
# registers where loops are longer than what they write out, and no longer than a few vectors.
LENGTH = 32
TAPS = 3  # as many as are written out: totals of more would go through memory
SLIDING = ("i32", "i64")  # the types of totals that have a slide


@dataclass(frozen=True, slots=True)
class ColumnPairs:
    """Windows of two or three columns, two apart: the last two are a pair, and the one in front of
    them is the second one of the pair before.

    Results whose pairs have elements go by runs of one length, the last of which begins earlier
    where it would be shorter: what is computed twice is the same. All of a run stays in registers:
    its columns side by side, the first and the second ones of pairs, and these an entry further.
    """

    columns: Columns
    names: ColumnNames
    low: i.Let  # the first result of the runs
    high: i.Let  # the one behind their last

    @classmethod
    def of(cls, columns: Columns, names: ColumnNames) -> ColumnPairs | None:
        """None where windows are never so, or results may not be computed twice."""
        found = columns.found
        side, span = found.columns, found.total.span
        plain = all(isinstance(each, (i.Let, i.Store)) for each in found.after)
        near = side.apart == i.ONE and (side.step == TWO or not isinstance(side.step, i.Const))
        few = not isinstance(side.tap.high, i.Const) or side.tap.high.value in (2, TAPS)
        if not (plain and near and few and found.total.type in SLIDING):
            return None
        room = simplified_difference(simplified_sum(columns.low, i.Const(TAPS)), side.tap.high)
        low = _halved(i.Call("max_i64", (i.ZERO, room)))
        high = _halved(simplified_difference(simplified_sum(columns.high, TWO), side.tap.high))
        first = i.Let(names.local(f"{names.base}_first"), "i64", low, span)
        ends = i.Call("min_i64", (found.results.high, high))
        behind = i.Let(names.local(f"{names.base}_behind"), "i64", ends, span)
        return cls(columns, names, first, behind)

    @property
    def test(self) -> i.Expr:
        """Whether windows are so, and as many as a run."""
        found = self.columns.found
        taps = [each.high for each in nodes_in(found.sweep, i.Loop)]
        held = i.Binary("-", i.Var(self.high.name), i.Var(self.low.name))
        tests = [
            i.Compare("==", found.columns.step, TWO),
            i.Compare("<=", TWO, found.columns.tap.high),
            *(i.Compare("<=", each, i.Const(TAPS)) for each in dict.fromkeys(taps)),
            i.Compare(">=", held, i.Const(LENGTH)),
        ]
        return conjunction([each for each in tests if names_in(each)])

    def body(self) -> i.Block:
        """The results of a line."""
        span, taps = self.columns.found.results.span, self.columns.found.columns.tap.high
        if isinstance(taps, i.Const):
            return (self.edges(), self.runs(taps.value))
        three = i.Compare("==", taps, i.Const(TAPS))
        return (self.edges(), i.If(three, (self.runs(TAPS),), (self.runs(2),), span))

    def edges(self) -> i.Loop:
        """Results in front of the runs, and those behind them."""
        results, names = self.columns.found.results, self.names
        low, high = i.Var(self.low.name), i.Var(self.high.name)
        index = i.Var(names.local(f"{names.base}_edge"))
        behind = simplified_sum(index, simplified_difference(high, low))
        place = i.Select(i.Compare("<", index, low), index, behind)
        beside = i.Let(names.local(f"{names.base}_beside"), "i64", place, results.span)
        body = substitute(results.body, {results.index: i.Var(beside.name)})
        number = simplified_sum(simplified_difference(results.high, high), low)
        return i.Loop(index.name, i.ZERO, number, (beside, *body), 0, results.span)

    def runs(self, taps: int) -> i.Loop:
        found, names = self.columns.found, self.names
        index, span = names.loop(RUN), found.total.span
        low, high = i.Var(self.low.name), i.Var(self.high.name)
        begin = i.Call("min_i64", (i.Var(index), i.Binary("-", high, i.Const(LENGTH))))
        at = i.Let(names.local(f"{names.base}_at"), "i64", begin, span)
        # The pair of the first result begins with this column.
        pair = simplified_sum(simplified_product(i.Var(at.name), TWO), i.Const(taps - 2))
        column = i.Let(names.local(f"{names.base}_column"), "i64", pair, span)
        halves = self.array("first"), self.array("second")
        body: i.Block = (at, column, *self.apart(halves, i.Var(column.name)))
        values: Sequence[i.Array] = halves
        if taps == TAPS:
            before = self.array("before")
            body += self.slid(before, halves[1], i.Var(column.name))
            values = (before, *halves)
        body += (self.results(values, i.Var(at.name)),)
        return i.Loop(index, low, high, body, 0, span, step=LENGTH)

    def apart(self, halves: Sequence[i.Array], column: i.Expr) -> i.Block:
        """The columns of a run, side by side at first, and then those of pairs apart."""
        columns, names, span = self.columns, self.names, self.columns.found.total.span
        beside = self.array("beside", 2 * LENGTH)
        side, pair = names.loop(SIDE), names.loop(SIDE, "pair")
        target = i.Load(beside.name, None, i.Var(side))
        sides = columns.combined(simplified_sum(column, i.Var(side)), target)
        stores = tuple(
            i.Store(
                i.Load(half.name, None, i.Var(pair)),
                i.Load(
                    beside.name,
                    None,
                    simplified_sum(simplified_product(i.Var(pair), TWO), i.Const(number)),
                ),
                span,
            )
            for number, half in enumerate(halves)
        )
        return (
            beside,
            i.Loop(side, i.ZERO, i.Const(2 * LENGTH), sides, 0, span),
            *halves,
            i.Loop(pair, i.ZERO, i.Const(LENGTH), stores, 0, span),
        )

    def slid(self, before: i.Array, second: i.Array, column: i.Expr) -> i.Block:
        """The second columns of the pairs in front of those of a run, whose first one begins with
        a column. There may be none in front of the first pair of a line."""
        columns, total = self.columns, self.columns.found.total
        assert columns.found.empty is not None
        name = self.names.local(f"{total.name}_ahead")
        ahead = i.Let(name, total.type, columns.found.empty, total.span)
        inside = i.Compare("<", columns.low, column)
        sweep = columns.into(name, simplified_difference(column, i.ONE))
        to, source = (i.Load(each.name, None, i.ZERO) for each in (before, second))
        slide = i.Slide(total.type, to, source, i.Var(name), before.length, total.span)
        return (ahead, i.If(inside, sweep, (), total.span), before, slide)

    def results(self, values: Sequence[i.Array], at: i.Expr) -> i.Loop:
        """What the columns of a run amount to, one by one."""
        found, near = self.columns.found, self.names.loop(SIDE)
        value, *others = (i.Load(each.name, None, i.Var(near)) for each in values)
        total: i.Expr = value
        for each in others:
            total = updated(found.accumulate.op, found.total.type, total, each)
        after: i.Block = substitute(
            found.after, {found.results.index: simplified_sum(at, i.Var(near))}
        )
        body = (replace(found.total, value=total), *after)
        return i.Loop(near, i.ZERO, i.Const(LENGTH), body, 0, found.total.span)

    def array(self, name: str, length: int = LENGTH) -> i.Array:
        total = self.columns.found.total
        return i.Array(self.names.local(f"{total.name}_{name}"), total.type, length, total.span)


def _halved(count: i.Expr) -> i.Expr:
    return i.Binary("truncdiv", count, TWO)
