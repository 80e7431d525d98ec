"""Contractions by tiles of totals: a block for each, from slices of int8 in shared memory.

The tile is a handwritten helper (`cvmgen_contract`), which is given functions of the formula: where
a line of each factor begins, what an element of it is, and what becomes of a total. Where tiles do
not pay in a call, the host starts the kernels of another mapping.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cvmgen.analysis.contraction import Contraction, Factor, factor_sizes
from cvmgen.analysis.facts import Facts
from cvmgen.analysis.tiling import find_contraction, read_locals
from cvmgen.dtypes import CVM
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import opposite
from cvmgen.ir.loops import iterations, unravel
from cvmgen.ir.rewrite import with_offsets
from cvmgen.ir.threads import BLOCKS
from cvmgen.ir.uses import names_in
from cvmgen.schedule.forms import Settings
from cvmgen.schedule.gpu.mapped import (
    NARROW,
    DeviceFunction,
    Mapped,
    MappingTask,
    NextMapping,
    Writer,
    domain,
    host_local,
    launch,
    on_host,
)

EIGHT_BITS = i.Const(8)
TILES = i.Var("tiles")
SLICE = 64  # products of a total between two barriers
SPEED = 96
"""Tiles make about so many products in the time in which threads that each make a total make one,
by their instructions for a product."""


@dataclass(frozen=True, slots=True)
class TileCount:
    """How a contraction of known extents is divided, as cvmgen_contraction says of a call."""

    batches: int
    rows: int
    columns: int
    settings: Settings

    def squares(self, side: int) -> int:
        return self.batches * -(-self.rows // side) * -(-self.columns // side)

    @property
    def side(self) -> int:
        """Rows, and columns, of a tile."""
        large, small = self.settings["large"], self.settings["small"]
        squares, inside = self.squares(large), (large // small) ** 2
        full = 2 * inside * squares <= 3 * self.squares(small)
        return large if full and squares >= self.settings["fill"] else small

    @property
    def tiles(self) -> int:
        return self.squares(self.side)

    def worthwhile(self, depth: int) -> bool:
        """Whether not most of the work of tiles is on bytes that are none."""
        done = self.tiles * self.side**2 * -(-depth // SLICE) * SLICE
        return done <= SPEED * self.batches * self.rows * self.columns * depth


def tensor_tiles(task: MappingTask, otherwise: NextMapping) -> Mapped | None:
    """The mapping of a contraction; one too small for tiles may be of another shape as well."""
    facts, factors = Facts.of(task.program, task.nest), factor_sizes(task.program, task.dtypes)
    found = None if task.makes_list else find_contraction(task.body, facts, factors)
    if found is None:
        return None
    rest = otherwise(replace(task, name=f"{task.name}_direct"))
    tile = TensorTile(task, found)
    function = DeviceFunction(
        task.name, "contraction", tile.body(), bounds="tiles", short=tile.short
    )
    sizes = (found.batches, found.rows.lines, found.columns.lines, found.summed)
    reaches = i.ListOf(tuple((sum_as_real(each), False) for each in found.reaches))
    count = i.Call("worthwhile_tiles", (*map(domain_of, sizes), reaches))
    tests = tuple(tests_of(task, found))
    span = task.nest.span
    before: i.Block = (host_local("tiles", count, task),)
    if tests:
        test = i.Logic("and", tests) if len(tests) > 1 else tests[0]
        choose = i.If(test, (i.Assign("tiles", count, span),), (), span)
        before = (host_local("tiles", i.ZERO, task), choose)
    tiled = launch(task, TILES, task.name, "launch_tiles")
    start = i.If(i.Compare(">", TILES, i.ZERO), (tiled,), rest.start, span)
    return Mapped((function, *rest.functions), (*rest.before, *before), (start,))


def domain_of(loops: Sequence[i.Loop]) -> i.Expr:
    """How many iterations loops have, on the host."""
    return domain([loop.high for loop in loops])


def tests_of(task: MappingTask, found: Contraction) -> Iterator[i.Expr]:
    """What must hold besides: there is a quotient, factors fit int8, sums their accumulator."""
    if found.divided is not None:
        divisor, extent = on_host(found.divided.divisor), on_host(found.divided.extent)
        yield i.Compare(">", divisor, i.ZERO)
        yield i.Compare("==", i.Binary("rem", extent, divisor), i.ZERO)
    cvm = {item.name for item in task.program.operator.inputs if item.dtype == CVM}
    names = dict.fromkeys(side.load.tensor for side in (found.rows, found.columns))
    declared = tuple(
        i.Compare("<=", i.PrecisionOf(name, None), EIGHT_BITS) for name in names if name in cvm
    )
    if declared:
        yield i.Logic("or", (NARROW, i.Logic("and", declared)))
    if found.total.type not in ("u32", "i32"):
        yield i.Compare("<=", domain_of(found.summed), i.Call("exact_depth", ()))


def sum_as_real(expr: i.Expr) -> i.Expr:
    """A sum of products as a real number: none of its steps overflows."""
    value, is_real = real_value(expr)
    return value if is_real else i.Convert("f64", value)


def real_value(expr: i.Expr) -> tuple[i.Expr, bool]:
    """The value on the host, and whether it is a real number."""
    match expr:
        case i.Binary(op="+" | "*" as op, left=left, right=right):
            first, is_real = real_value(left)
            second, other = real_value(right)
            if op == "*" and not is_real and not other:
                first, is_real = i.Convert("f64", first), True
            return i.Binary(op, first, second), is_real or other
        case _:
            return on_host(expr), False


class TensorTile(Writer):
    """The statements of a kernel of tiles."""

    def __init__(self, task: MappingTask, found: Contraction) -> None:
        super().__init__(task.nest.span, task.taken)
        self.task, self.found = task, found
        values = with_offsets(found.after, lambda _: i.ZERO)
        # What stands in offsets and tests alone is computed in int32, as the host has proved.
        self.wide = names_in(values)
        self.short = frozenset(names_in(task.body) - self.wide)
        names = ("whole", "memory", "at", "tile", "place", "row", "column", "a", "b", "runs")
        self.whole, self.memory, self.at, self.tile, self.place, *others = map(self.fresh, names)
        self.row, self.column, self.a, self.b, self.runs = others

    def body(self) -> i.Block:
        """A stride over the tiles."""
        found = self.found
        sides = (found.batches, found.rows.lines, found.columns.lines, found.summed)
        sizes = i.ListOf(tuple((self.product(loops), False) for loops in sides))
        given = (self.memory, self.whole, self.tile, self.a, self.b, self.taking())
        contract = i.Call("contract", given, constants=(found.total.type,))
        body = (
            self.let(self.tile, "tile", i.Call("tile", (self.whole, self.at))),
            *self.indices(found.batches, i.Member(self.tile, "batch")),
            *self.runs_of(found.rows),
            self.let(self.a, "auto", self.factor(found.rows, self.row)),
            self.let(self.b, "auto", self.factor(found.columns, self.column)),
            i.Invoke(contract, self.span),
        )
        tiles = i.Call(".tiles", (self.whole,))
        return (
            self.let(self.whole, "contraction", sizes),
            i.Array(self.memory.name, "bytes", 0, self.span, "shared"),
            self.over(self.at, tiles, body, share=BLOCKS),
        )

    def product(self, loops: Sequence[i.Loop]) -> i.Expr:
        size = iterations(loops)
        return i.Convert("i32", size) if names_in(size) & self.wide else size

    # -------------------------------------------------------- indices

    def integer(self, name: str) -> str:
        return "i64" if name in self.wide else "i32"

    def index(self, name: str, value: i.Expr) -> i.Let:
        return i.Let(name, self.integer(name), value, self.span)

    def indices(self, loops: Sequence[i.Loop], position: i.Expr) -> i.Block:
        """The indices at a position among all of some loops, the innermost first."""
        if not loops:
            return ()
        values = unravel(position, [loop.high for loop in loops])
        pairs = zip(loops, values, strict=True)
        return tuple(self.index(loop.index, value) for loop, value in reversed(list(pairs)))

    def line(self, loops: Sequence[i.Loop], position: i.Var) -> tuple[i.Typed, i.Block]:
        """The parameter for a line, and the indices that it stands for."""
        parameter = i.Typed(position.name, "i32")
        lines: i.Block = ()
        if len(loops) == 1:
            parameter = i.Typed(loops[0].index, self.integer(loops[0].index))
        else:
            lines = self.indices(loops, position)
        divided = self.found.divided
        if divided is not None and any(loop.index == divided.inner for loop in loops):
            lines += (self.index(divided.index, divided.whole),)
        return parameter, lines

    def local(self, let: i.Let) -> i.Let:
        """A local of indices, in int32 where nothing else reads it."""
        short = let.type == "i64" and let.name not in self.wide
        return replace(let, type="i32") if short else let

    # -------------------------------------------------------- factors

    def runs_of(self, side: Factor) -> i.Block:
        """Where the runs of a line begin, if it consists of some."""
        if side.runs is None:
            return ()
        given: tuple[i.Expr, ...] = (i.Address(i.Load(side.load.tensor, None, i.ZERO)),)
        if side.runs.start != i.ZERO:
            number = i.Typed(side.runs.number, "i32")
            given += (i.Lambda((number,), (i.Return(self.span, side.runs.start),)),)
        call = i.Call("runs_of", given, constants=(side.runs.length,))
        return (self.let(self.runs, "auto", call),)

    def factor(self, side: Factor, position: i.Var) -> i.Call:
        """A factor, whose elements stand in a row or anywhere."""
        parameter, lines = self.line(side.lines, position)
        varying = {loop.index for loop in self.found.summed}
        inner: list[i.Let | i.Expr] = []
        for step in side.steps:
            if not isinstance(step, i.Let) or inner or names_in(step.value) & varying:
                inner.append(step)
            else:
                lines += (self.local(step),)
        if side.start is not None:
            start = i.Lambda((parameter,), (*lines, i.Return(self.span, side.start)))
            if side.runs is not None:
                return i.Call("lines_of", (self.runs, start))
            first = i.Address(i.Load(side.load.tensor, None, i.ZERO))
            return i.Call("rows_of", (first, start))
        count = len(self.found.summed)
        box = i.Call("place", tuple(loop.high for loop in self.found.summed), constants=(count,))
        place = i.Typed(self.place.name, "place", count)
        element = self.task.element(side.load.tensor).machine
        reading = i.Lambda((place,), self.element(inner, side.load), element)
        line = i.Lambda((parameter,), (*lines, i.Return(self.span, reading)))
        return i.Call("elements_of", (box, line))

    def element(self, steps: Sequence[i.Let | i.Expr], load: i.Load) -> i.Block:
        """What stands at a place of the summed loops, 0 where a test fails."""
        places = (
            i.Load(self.place.name, None, i.Const(at)) for at in range(len(self.found.summed))
        )
        pairs = zip(self.found.summed, places, strict=True)
        found: list[i.Stmt] = [i.Let(loop.index, "i32", at, self.span) for loop, at in pairs]
        for step in steps:
            if isinstance(step, i.Let):
                found.append(self.local(step))
            else:
                nothing = i.Return(self.span, i.ZERO)
                found.append(self.where(opposite(step), nothing))
        return (*found, i.Return(self.span, load))

    # -------------------------------------------------------- totals

    def taking(self) -> i.Lambda:
        """What becomes of a total: the statements of the nest behind its sum."""
        found, total = self.found, self.found.total
        column, lines = self.line(found.columns.lines, self.column)
        row, own = self.line(found.rows.lines, self.row)
        kept = tuple(map(self.local, read_locals(found.before, found.after)))
        parameters = (row, i.Typed(total.name, total.type))
        inner = i.Lambda(parameters, (*own, *kept, *found.after))
        return i.Lambda((column,), (*lines, i.Return(self.span, inner)))
