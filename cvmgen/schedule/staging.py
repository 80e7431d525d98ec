"""Blocks of results whose windows are read from a copy of the elements, with the padding.

Elements a step apart lie side by side in the copy, those between in planes of their own. So, by
whatever step windows go, all results of a block meet a tap in one run, together with the places
behind the ends of rows, which become no results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from cvmgen import algebra
from cvmgen.analysis.windows import WindowDimension, Windows, simplified_product, simplified_sum
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import conjunction
from cvmgen.ir.rewrite import rewritten, updated
from cvmgen.ir.uses import names_in, nodes_in
from cvmgen.ir.visit import fresh, replaced, substitute
from cvmgen.source import Span

MOST_TAPS = 64  # a table says where they are
SHARE = 8  # so much of the room is for a row of results, where blocks have several rows


MadeNames = dict[str, dict[str, None]]
"""The names of what is made, by role."""


@dataclass(slots=True)
class NestNames:
    """New names, and the locals that the nest begins with."""

    used: set[str]
    span: Span
    front: list[i.Stmt] = field(default_factory=list)

    def new(self, name: str) -> str:
        return fresh(name, self.used)

    def let(self, name: str, value: i.Expr) -> i.Var:
        local = self.local(name, value)
        self.front.append(local)
        return i.Var(local.name)

    def local(self, name: str, value: i.Expr) -> i.Let:
        return i.Let(self.new(name), "i64", algebra.simplify(value), self.span)


@dataclass(frozen=True, slots=True)
class CopyAxis:
    """A side of the copy.

    `phases` are the places between two steps that taps meet, `reach` how many steps the last tap
    is from the first, `most` the results that a block has along the side.
    """

    side: WindowDimension
    extent: i.Expr  # of the results
    phases: i.Expr
    reach: i.Expr
    most: i.Expr

    @property
    def name(self) -> str:
        return self.side.index

    def tap(self, phase: i.Expr, step: i.Expr) -> i.Expr:
        """How far a tap is from the first in the copy, where a phase and a step are so far."""
        distance = simplified_product(i.Var(self.side.tap.index), self.side.apart)
        if self.side.step == i.ONE:
            return simplified_product(distance, step)
        between = simplified_product(i.Binary("rem", distance, self.side.step), phase)
        return simplified_sum(
            between, simplified_product(i.Binary("truncdiv", distance, self.side.step), step)
        )


def axis(side: WindowDimension, extent: i.Expr, room: int, names: NestNames) -> CopyAxis:
    """The side without how many results a block has."""
    reach, limit = side.reach, i.Const(room + 1)  # what is as far as that fits nowhere
    phases: i.Expr = i.ONE
    if side.step != i.ONE:
        phases = names.let(
            f"{side.index}_phases", minimum_of(side.step, simplified_sum(reach, i.ONE))
        )
        reach = i.Binary("truncdiv", reach, side.step)
    reach = names.let(f"{side.index}_reach", minimum_of(reach, limit))
    return CopyAxis(side, extent, phases, reach, extent)


class Staging:
    """The nest of a block of results, and what is known in front of all blocks."""

    def __init__(self, around: i.Loop, found: Windows, room: int, used: set[str]) -> None:
        self.found, self.room, self.span = found, room, found.results.span
        self.names = names = NestNames(used, self.span)
        columns, rows = found.columns, found.rows
        share = room // (2 if rows is None else SHARE)
        x = axis(columns, found.results.high, room, names)
        along = names.let(f"{x.name}_most", minimum_of(i.Const(share), x.extent))
        self.x = x = replace(x, most=along)
        self.pitch = names.let(f"{x.name}_pitch", simplified_sum(along, x.reach))
        width = minimum_of(simplified_product(self.pitch, x.phases), i.Const(room + 1))
        self.y: CopyAxis | None = None
        self.held: i.Expr = i.ONE
        if rows is not None:
            width = names.let(f"{x.name}_width", width)
            y = axis(rows, around.high, room, names)
            fitting = i.Call("floor_div", (i.Const(room), simplified_product(y.phases, width)))
            most = minimum_of(i.Binary("-", fitting, y.reach), y.extent)
            self.y = y = replace(y, most=names.let(f"{y.name}_most", most))
            self.held = names.let(f"{y.name}_held", simplified_sum(y.most, y.reach))
            width = simplified_product(simplified_product(y.phases, self.held), width)
        self.size = names.let("window_size", width)
        self.plane = (
            self.pitch
            if rows is None
            else names.let("plane", simplified_product(self.held, self.pitch))
        )
        self.axes = [each for each in (self.y, x) if each is not None]
        self.window = names.new("window")
        self.totals = names.new(f"{found.total.name}s")
        self.staged = i.Let(names.new("staged"), "bool", self.worth(), self.span)
        self.taps = i.Array(names.new("taps"), "i64", MOST_TAPS, self.span)
        names.front += [self.staged, self.taps, self.table()]

    def worth(self) -> i.Expr:
        """The test that the copy has room, and that elements are read more than once from it."""
        taps = self.per_block(lambda each: each.side.tap.high)
        tests = [i.Compare("<=", taps, i.Const(MOST_TAPS))]
        if self.y is None:
            tests.append(i.Compare("<=", self.size, i.Const(self.room)))
        else:
            tests.append(i.Compare(">=", self.y.most, i.ONE))
        results = self.per_block(lambda each: each.most)
        return conjunction((*tests, i.Compare(">", simplified_product(results, taps), self.size)))

    def table(self) -> i.Stmt:
        """Where each tap is in the copy, from the first one on."""
        place = self.x.tap(self.plane, i.ONE)
        if self.y is not None:
            place = simplified_sum(
                self.y.tap(simplified_product(self.x.phases, self.plane), self.pitch), place
            )
        body: i.Block = (i.Store(i.Load(self.taps.name, None, self.number()), place, self.span),)
        for each in reversed(self.axes):
            body = (replace(each.side.tap, body=body),)
        return i.If(i.Var(self.staged.name), body, (), self.span)

    def number(self) -> i.Expr:
        """The number of a tap by its indices, row by row."""
        number: i.Expr = i.ZERO
        for each in self.axes:
            tap = each.side.tap
            number = simplified_sum(simplified_product(number, tap.high), i.Var(tap.index))
        return number

    def per_block(self, factor: Callable[[CopyAxis], i.Expr]) -> i.Expr:
        """The product over the sides."""
        product: i.Expr = i.ONE
        for each in self.axes:
            product = simplified_product(product, factor(each))
        return product

    def body(self, roles: Sequence[str], made: MadeNames) -> i.Block:
        """The loops over blocks; the names of what is made go to those of their roles."""
        taps, blocks, filled, flat, finished = roles
        index = {
            role: {each.name: self.names.new(f"{each.name}_{role}") for each in self.axes}
            for role in (blocks, filled, finished)
        }
        lane = self.names.new(f"{self.x.name}_{flat}")
        element = self.names.new(f"{self.window}_{filled}")
        tap = self.names.new("tap")
        for role, names in index.items():
            made[role] |= dict.fromkeys(names.values())
        made[filled][element] = made[flat][lane] = made[taps][tap] = None
        place = BlockPlace(self, index[blocks])
        lanes = simplified_sum(
            simplified_product(simplified_sum(place.rows, i.Const(-1)), self.pitch),
            place.counts[self.x.name],
        )
        count = self.names.local(f"{lane}s", lanes)
        arrays = (
            i.Array(self.window, self.found.kind, self.room, self.span),
            i.Array(self.totals, self.found.total.type, self.room, self.span),
        )
        body: i.Block = (*arrays, count, *self.begun(lane, count, element))
        body += self.swept(lane, count, self.filled(index[filled], place), tap)
        body += self.finished(index[finished], place)
        for each in reversed(self.axes):
            number = i.Call("ceildiv", (each.extent, each.most))
            limit = self.names.let(f"{each.name}_{blocks}s", number)
            inner = (*place.locals_[each.name], *body)
            body = (i.Loop(index[blocks][each.name], i.ZERO, limit, inner, 0, self.span),)
        return body

    def begun(self, lane: str, lanes: i.Let, element: str) -> i.Block:
        """Padding in the whole copy, and totals that have begun."""
        assert self.found.empty is not None
        padded = i.Store(i.Load(self.window, None, i.Var(element)), self.found.empty, self.span)
        begin = i.Store(i.Load(self.totals, None, i.Var(lane)), self.found.total.value, self.span)
        return (
            i.Loop(element, i.ZERO, self.size, (padded,), 0, self.span),
            i.Loop(lane, i.ZERO, i.Var(lanes.name), (begin,), 0, self.span),
        )

    def filled(self, index: dict[str, str], place: BlockPlace) -> i.Block:
        """The copy's elements, a row of a plane after the other."""
        phases = {
            each.name: i.Var(self.names.new(f"{each.name}_phase"))
            for each in self.axes
            if each.phases != i.ONE
        }
        row: i.Expr = i.ZERO
        for each in self.axes:
            row = simplified_sum(
                simplified_product(row, each.phases), phases.get(each.name, i.ZERO)
            )
        row = simplified_product(row, self.held)
        if self.y is not None:
            row = simplified_sum(row, i.Var(index[self.y.name]))
        start = self.names.local("row", simplified_product(row, self.pitch))
        at = simplified_sum(i.Var(start.name), i.Var(index[self.x.name]))
        body: i.Block = (i.Store(i.Load(self.window, None, at), self.found.element, self.span),)
        for each in reversed(self.axes):
            steps = simplified_sum(place.first[each.name], i.Var(index[each.name]))
            where = simplified_sum(each.side.first(steps), phases.get(each.name, i.ZERO))
            found = i.Let(each.side.place, "i64", where, self.span)
            inner = (found, i.If(each.side.guard, body, (), self.span))
            reached = simplified_sum(place.counts[each.name], each.reach)
            body = (i.Loop(index[each.name], i.ZERO, reached, inner, 0, self.span),)
            if each is self.x:
                body = (start, *body)
        for each in reversed(self.axes):
            if each.name in phases:
                phase = phases[each.name].name
                body = (i.Loop(phase, i.ZERO, each.phases, body, 0, self.span),)
        return body

    def swept(self, lane: str, lanes: i.Let, filled: i.Block, tap: str) -> i.Block:
        """A run over all results for each tap, behind the filling of the copy."""
        found, merged = self.found, self.merged(tap)
        total = i.Load(self.totals, None, i.Var(lane))
        number = self.number() if merged is None else i.Var(tap)
        ahead = i.Load(self.taps.name, None, number)
        read = i.Load(self.window, None, simplified_sum(i.Var(lane), ahead))
        value = replaced(
            found.value if merged is None else merged,
            lambda each: read if each == found.element else each,
        )
        more = updated(found.op, found.total.type, total, value)
        store = i.Store(total, more, found.accumulate.span)
        run = i.Loop(lane, i.ZERO, i.Var(lanes.name), (store,), 0, self.span)
        taps: i.Loop = run
        for each in reversed(self.axes):
            taps = replace(each.side.tap, body=(taps,))
        outer = self.axes[0].side.tap
        if merged is not None:
            count = self.per_block(lambda each: each.side.tap.high)
            taps = replace(taps, index=tap, high=count, body=(run,))
        return rewritten((found.sweep,), lambda each: (*filled, taps) if each is outer else None)

    def merged(self, tap: str) -> i.Expr | None:
        """What is accumulated by the number of a tap, where that is what factors go by; None
        where they do not."""
        value = replaced(
            self.found.value, lambda each: i.ZERO if each == self.found.element else each
        )
        indices = [each.side.tap.index for each in self.axes]
        loads = {*nodes_in(value, i.Load)}
        if names_in(replaced(value, lambda each: i.ZERO if each in loads else each)) & set(indices):
            return None
        values: dict[i.Expr, i.Expr] = {}
        for load in loads:
            found = algebra.plane(load.offset, indices)
            if found is None:
                return None
            step, rows = found.step(indices[-1]), found.step(indices[0])
            if (
                not algebra.equal(rows, simplified_product(self.x.side.tap.high, step))
                and self.y is not None
            ):
                return None
            first = substitute(load.offset, dict.fromkeys(indices, i.ZERO))
            offset = simplified_sum(algebra.simplify(first), simplified_product(i.Var(tap), step))
            values[load] = replace(load, offset=offset)
        return replaced(self.found.value, lambda each: values.get(each, each))

    def finished(self, index: dict[str, str], place: BlockPlace) -> i.Block:
        """What becomes of totals, but for those of places behind the rows."""
        row = (
            i.ZERO if self.y is None else simplified_product(i.Var(index[self.y.name]), self.pitch)
        )
        total = i.Load(self.totals, None, simplified_sum(row, i.Var(index[self.x.name])))
        values: dict[str, i.Expr] = {self.found.total.name: total}
        for each in self.axes:
            values[each.name] = simplified_sum(place.first[each.name], i.Var(index[each.name]))
        body: i.Block = substitute(self.found.after, values)
        for each in reversed(self.axes):
            body = (i.Loop(index[each.name], i.ZERO, place.counts[each.name], body, 0, self.span),)
        return body


class BlockPlace:
    """Where a block is: by the names of sides its first result and how many it has."""

    def __init__(self, staging: Staging, blocks: dict[str, str]) -> None:
        self.first: dict[str, i.Expr] = {}
        self.counts: dict[str, i.Expr] = {}
        self.locals_: dict[str, tuple[i.Let, ...]] = {}
        names = staging.names
        for each in staging.axes:
            first = names.local(
                f"{each.name}_first", simplified_product(i.Var(blocks[each.name]), each.most)
            )
            rest = i.Binary("-", each.extent, i.Var(first.name))
            count = names.local(f"{each.name}_count", minimum_of(each.most, rest))
            self.first[each.name], self.counts[each.name] = i.Var(first.name), i.Var(count.name)
            self.locals_[each.name] = first, count
        self.rows = i.ONE if staging.y is None else self.counts[staging.y.name]


def movable(found: Windows) -> bool:
    """Whether totals begin alike everywhere, and what becomes of them is right behind the sum."""
    names = {each.index for each in (found.columns, found.rows) if each is not None}
    return not names & names_in(found.total.value)


def minimum_of(left: i.Expr, right: i.Expr) -> i.Expr:
    return i.Call("min_i64", (left, right))
