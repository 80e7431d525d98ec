"""Kernels by register tiles: blocks of totals, then what is done to each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import substitute, walk
from cvmgen.known.known_types import ElementStorage, known_types
from cvmgen.known.linear import Linear
from cvmgen.known.partial import arithmetic
from cvmgen.model.kernels import Loops, ModelKernel
from cvmgen.model.layouts import TileLayout
from cvmgen.model.nests import ShortNames, in_loops, loop_names, span_of
from cvmgen.model.products import PANEL
from cvmgen.model.storage import Storage, located
from cvmgen.schedule.subject import Roles, TileBlocks
from cvmgen.typing.decided_tests import without_known_tests

MOST_TOTALS = 8192  # of a block: 32 KB, which stay in the nearest cache
FEW_BLOCKS = 8  # of rows: then columns are divided among threads too
FEW_PANELS = 4
ZERO, ONE = i.Const(0), i.Const(1)


@dataclass(frozen=True, slots=True)
class BlockedLoop:
    """A loop in blocks: index = block * size + place, as far as the extent goes."""

    index: str
    extent: int
    size: int

    @property
    def blocks(self) -> int:
        return -(-self.extent // self.size)

    @property
    def block(self) -> str:
        return f"{self.index.split('.')[0]}_block.0"

    @property
    def place(self) -> str:
        return f"{self.index.split('.')[0]}.place"

    @property
    def start(self) -> i.Expr:
        """The first index of the block at hand."""
        return ZERO if self.blocks == 1 else arithmetic("*", i.Const(self.size), i.Var(self.block))

    @property
    def value(self) -> i.Expr:
        """The index, by its block and its place there."""
        return arithmetic("+", self.start, i.Var(self.place) if self.extent > 1 else ZERO)

    @property
    def count(self) -> i.Expr:
        """How many indices the block at hand has."""
        if self.extent % self.size == 0 or self.blocks == 1:
            return i.Const(min(self.size, self.extent))
        left = i.Binary("-", i.Const(self.extent), self.start)
        return i.Call("min_i64", (i.Const(self.size), left))


@dataclass(frozen=True)
class Tiled:
    """One kernel by tiles: its loops around blocks, and the sides of a block."""

    kernel: ModelKernel
    tile: TileLayout
    storage: Storage
    outer: Loops
    row: BlockedLoop
    column: BlockedLoop
    row_start: Linear  # where the data of a row begins

    @staticmethod
    def of(kernel: ModelKernel, tile: TileLayout, storage: Storage) -> Tiled:
        made = tile.product
        place = storage.placements[made.data.tensor]
        whole = place.linear(tuple(entry for entry, _ in made.data.index))
        summed = {i.Var(name) for name, _ in made.summed}
        # A row begins where all indices that are summed are 0.
        kept = {term: n for term, n in whole.factors.items() if term not in summed}
        rows = sorted(made.rows, key=lambda each: -kept.get(i.Var(each[0]), 0))
        outer: Loops = (*made.batches, *rows[:-1])
        inner, reach = rows[-1] if rows else ("row.0", 1)
        name, extent = made.column
        columns = min(-(-extent // PANEL) * PANEL, MOST_TOTALS)
        if prod(n for _, n in outer) * reach < FEW_BLOCKS:
            columns = min(columns, FEW_PANELS * PANEL)
        most = max(MOST_TOTALS // columns, 1)
        most -= most % PANEL if most > PANEL else 0
        row = BlockedLoop(inner, reach, min(reach, most))
        start = Linear(whole.constant, kept)
        return Tiled(kernel, tile, storage, outer, row, BlockedLoop(name, extent, columns), start)

    @property
    def axes(self) -> tuple[BlockedLoop, ...]:
        return (self.row, self.column)

    @property
    def blocked(self) -> Loops:
        """The loops over blocks."""
        return tuple((axis.block, axis.blocks) for axis in self.axes if axis.blocks > 1)

    # -------------------------------------------------------- for schedules

    def blocks(self, nest: ShortNames, names: ShortNames) -> TileBlocks:
        """What schedules may take for a nest, the names of which are given, under other names."""
        made = self.tile.product
        own = {each: names.of(f"{each}.own") for each in ("totals", "starts", "runs", "tile")}
        span = span_of(self.kernel)
        length = self.row.size * self.column.size
        whole: i.Block = (
            i.Array(own["totals"], "i32", length, span),
            *self.row_starts(own["starts"]),
            self.call(own),
            *self.results(own["totals"]),
        )
        roles = {
            "outer": loop_names(self.kernel.loops),
            "batches": loop_names(made.batches),
            "rows": loop_names(made.rows),
            "columns": (made.column[0],),
            "summed": loop_names(made.summed),
        }
        body = in_loops((*self.outer, *self.blocked), whole, span)
        body = names.within(body)
        return TileBlocks(nest.roles(roles), body, names.roles(self.roles()), self.told())

    def roles(self) -> Roles:
        """What the roles are among blocks."""
        made, column = self.tile.product, self.column.index
        rows = [name for name, _ in made.rows]
        sides = (
            {name: name for name, _ in self.outer},
            {axis.index: axis.block for axis in self.axes if axis.blocks > 1},
            {axis.index: axis.place for axis in self.axes},
        )
        return {
            "outer": loop_names((*self.outer, *self.blocked)),
            "batches": loop_names(made.batches),
            "rows": tuple(among[name] for among in sides for name in rows if name in among),
            "columns": tuple(among[column] for among in sides if column in among),
            "summed": (),
        }

    def told(self) -> tuple[str, ...]:
        """What is staged, what is packed, and the blocks, for people."""
        data, weights = self.tile.product.data.tensor, self.tile.product.weights.tensor
        runs = self.tile.runs
        blocks = prod(extent for _, extent in self.outer) * self.row.blocks * self.column.blocks
        return (
            f"stages {data} as bytes: {len(runs.starts)} runs of {4 * runs.quads} for a row",
            *([f"  less {zero}"] if (zero := self.tile.product.signed_zero) else []),
            f"packs {weights} in panels of {PANEL} columns",
            f"{blocks} blocks of at most {self.row.size} rows and {self.column.size} columns",
        )

    # -------------------------------------------------------- a block

    def row_starts(self, starts: str) -> i.Block:
        """Where the rows of a block begin in the data."""
        row, span = self.row, span_of(self.kernel)
        start = substitute(self.row_start.expr(), {row.index: row.value})
        array = i.Array(starts, "i64", row.size, span)
        if row.extent == 1:
            return (array, i.Store(i.Load(starts, None, ZERO), start, span))
        store = i.Store(i.Load(starts, None, i.Var(row.place)), start, span)
        return (array, i.Loop(row.place, ZERO, row.count, (store,), 0, span))

    def call(self, own: Mapping[str, str]) -> i.Stmt:
        return i.Tile(
            own["tile"],
            own["runs"],
            i.Load(own["totals"], None, ZERO),
            self.step,
            self.turned,
            i.Load(self.tile.product.data.tensor, None, ZERO),
            i.Load(own["starts"], None, ZERO),
            self.row.count,
            self.tile.runs.starts,
            self.tile.runs.quads,
            i.Load(self.tile.panels, None, self.panels()),
            self.panel_count(),
            self.tile.product.signed_zero,
            span_of(self.kernel),
        )

    @property
    def step(self) -> int:
        return self.row.size if self.turned else self.column.size

    @property
    def turned(self) -> bool:
        """Whether results of a column are to lie side by side, not those of a row."""
        steps = []
        for each in walk(self.tile.product.after):
            if isinstance(each, i.Store) and isinstance(each.target, i.Access):
                place = self.storage.placements[each.target.tensor]
                factors = place.linear(tuple(entry for entry, _ in each.target.index)).factors
                steps.append([factors.get(i.Var(n.index)) for n in self.axes])
        return any(row == 1 for row, _ in steps) and all(column != 1 for _, column in steps)

    def panels(self) -> i.Expr:
        """Where the panels of a block begin."""
        panel = 4 * PANEL * (len(self.tile.runs.terms) // 4 + 1)
        batch = Linear(0)
        for name, extent in self.tile.product.batches:
            batch = batch.scaled(extent).plus(Linear(0, {i.Var(name): 1}))
        whole = batch.scaled(panel * -(-self.column.extent // PANEL))
        if self.column.blocks > 1:
            size = panel * (self.column.size // PANEL)
            whole = whole.plus(Linear(0, {i.Var(self.column.block): size}))
        return whole.expr()

    def panel_count(self) -> i.Expr:
        whole = -(-self.column.extent // PANEL)
        size = self.column.size // PANEL
        if whole % size == 0:
            return i.Const(size)
        start = arithmetic("*", i.Const(size), i.Var(self.column.block))
        return i.Call("min_i64", (i.Const(size), i.Binary("-", i.Const(whole), start)))

    def results(self, totals: str) -> i.Block:
        """What is done with each total of a block."""
        row, column = (
            Linear(0, {i.Var(axis.place): 1} if axis.extent > 1 else {}) for axis in self.axes
        )
        near, far = (row, column) if self.turned else (column, row)
        place = far.scaled(self.step).plus(near)
        made = self.tile.product
        total = replace(made.total, value=i.Load(totals, None, place.expr()))
        after = located(replace(self.kernel, body=made.after), self.storage).body
        body = (total, *substitute(after, {axis.index: axis.value for axis in self.axes}))
        axes = [axis for axis in self.axes if axis.extent > 1]
        ranges = {**dict((*self.outer, *self.blocked)), **{axis.place: axis.size for axis in axes}}
        elements = {**self.storage.elements, totals: ElementStorage(self.tile.total, "i32")}
        typed = known_types(self.kernel.operator, ranges, body, elements).body
        done = without_known_tests(typed)
        for axis in axes if self.turned else reversed(axes):
            done = (i.Loop(axis.place, ZERO, axis.count, done, 0, span_of(self.kernel)),)
        return done
