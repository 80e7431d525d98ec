"""Kernels that run as register tiles, as C: blocks of totals, then what is done to each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from cvmgen.emit.c_like import identifier
from cvmgen.emit.c_text import wrapped_list
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import substitute, walk
from cvmgen.known.known_types import Elements, known_types
from cvmgen.known.linear import Linear
from cvmgen.known.partial import arithmetic
from cvmgen.model.kernels import Kernel, Loops
from cvmgen.model.layouts import Tile
from cvmgen.model.products import PANEL
from cvmgen.model.schedules import Decisions
from cvmgen.model.storage import Storage, located
from cvmgen.model.text import Lines, ModelPrinter, Names, apart, block_of, leading, loop_head

MOST_TOTALS = 8192  # of a block: 32 KB, which stay in the nearest cache
FEW_BLOCKS = 8  # of rows: then columns are divided among threads too
FEW_PANELS = 4


@dataclass(frozen=True, slots=True)
class Axis:
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
        if self.blocks == 1:
            return i.Const(0)
        return arithmetic("*", i.Const(self.size), i.Var(self.block))

    @property
    def value(self) -> i.Expr:
        """The index, by its block and its place there."""
        return arithmetic("+", self.start, i.Var(self.place) if self.extent > 1 else i.Const(0))

    @property
    def count(self) -> i.Expr:
        """How many indices the block at hand has."""
        if self.extent % self.size == 0 or self.blocks == 1:
            return i.Const(min(self.size, self.extent))
        left = i.Binary("-", i.Const(self.extent), self.start)
        return i.Call("min_i64", (i.Const(self.size), left))


class TileText:
    """The lines of one kernel inside its function."""

    def __init__(self, kernel: Kernel, tile: Tile, storage: Storage, names: Names) -> None:
        self.kernel, self.tile, self.storage, self.names = kernel, tile, storage, names
        self.made = tile.product
        self.totals, self.starts, self.runs, self.block = (
            names.of(f"{each}.own") for each in ("totals", "starts", "runs", "tile")
        )
        place = storage.placements[self.made.data.tensor]
        whole = place.linear(tuple(entry for entry, _ in self.made.data.index))
        summed = {i.Var(name) for name, _ in self.made.summed}
        # A row begins where all indices that are summed are 0.
        kept = {term: n for term, n in whole.factors.items() if term not in summed}
        self.row_start = Linear(whole.constant, kept)
        rows = sorted(self.made.rows, key=lambda each: -kept.get(i.Var(each[0]), 0))
        self.outer: Loops = (*self.made.batches, *rows[:-1])
        inner, reach = rows[-1] if rows else ("row.0", 1)
        name, extent = self.made.column
        columns = min(-(-extent // PANEL) * PANEL, MOST_TOTALS)
        if prod(n for _, n in self.outer) * reach < FEW_BLOCKS:
            columns = min(columns, FEW_PANELS * PANEL)
        self.column = Axis(name, extent, columns)
        most = max(MOST_TOTALS // columns, 1)
        most -= most % PANEL if most > PANEL else 0
        self.row = Axis(inner, reach, min(reach, most))

    def printed(self, expr: i.Expr) -> str:
        return ModelPrinter().expr(self.names.within(expr))

    def lines(self, decisions: Decisions) -> Lines:
        """All of the kernel, with its loops shared by threads as its schedule says."""
        divided = [axis for axis in (self.row, self.column) if axis.blocks > 1]
        blocks = (*self.outer, *((axis.block, axis.blocks) for axis in divided))
        chosen = {axis.block for axis in divided if axis.index in decisions.shared}
        shared = leading(blocks, decisions.shared | chosen)
        starts = list(map(str, self.tile.runs.starts))
        inside = [
            f"_Alignas(64) int32_t {self.totals}[{self.row.size * self.column.size}];",
            *self.row_starts(),
            *self.call(),
            *self.results(apart(self.kernel, decisions) if shared else ()),
        ]
        return Lines(
            self.names.loops(blocks),
            inside,
            shared,
            wrapped_list(f"static const int64_t {self.runs}[{len(starts)}] = {{", starts, "};"),
        )

    def story(self) -> tuple[str, ...]:
        """What is staged, what is packed, and the blocks, for people."""
        data, weights = self.made.data.tensor, self.made.weights.tensor
        runs = self.tile.runs
        blocks = prod(extent for _, extent in self.outer) * self.row.blocks * self.column.blocks
        return (
            f"stages {data} as bytes: {len(runs.starts)} runs of {4 * runs.quads} for a row",
            f"packs {weights} in panels of {PANEL} columns",
            f"{blocks} blocks of at most {self.row.size} rows and {self.column.size} columns",
        )

    def row_starts(self) -> list[str]:
        """Where the rows of a block begin in the data."""
        given = {self.row.index: self.row.value}
        whole = self.row_start.expr()
        start = self.printed(substitute(whole, given))
        if self.row.extent == 1:
            return [f"const int64_t {self.starts}[1] = {{{start}}};"]
        place = self.names.of(self.row.place)
        head = loop_head(place, self.printed(self.row.count))
        return [
            f"int64_t {self.starts}[{self.row.size}];",
            f"{head} {self.starts}[{identifier(place)}] = {start};",
        ]

    def call(self) -> list[str]:
        runs = self.tile.runs
        members = {
            "x": identifier(self.made.data.tensor),
            "rows": self.starts,
            "runs": self.runs,
            "run_count": str(len(runs.starts)),
            "run_quads": str(runs.quads),
            "panels": self.panels(),
            "totals": self.totals,
            "step": str(self.step),
            "row_count": self.printed(self.row.count),
            "panel_count": self.panel_count(),
            "turned": str(self.turned).lower(),
        }
        given = [f".{name} = {value}" for name, value in members.items()]
        return [
            *wrapped_list(f"const cvmgen_tile {self.block} = {{", given, "};", 84),
            f"cvmgen_run_tile(&{self.block});",
        ]

    @property
    def step(self) -> int:
        return self.row.size if self.turned else self.column.size

    @property
    def turned(self) -> bool:
        """Whether results of a column are to lie side by side, not those of a row."""
        steps = []
        for each in walk(self.made.after):
            if isinstance(each, i.Store) and isinstance(each.target, i.Access):
                place = self.storage.placements[each.target.tensor]
                factors = place.linear(tuple(entry for entry, _ in each.target.index)).factors
                steps.append([factors.get(i.Var(n.index)) for n in (self.row, self.column)])
        return any(row == 1 for row, _ in steps) and all(column != 1 for _, column in steps)

    def panels(self) -> str:
        """Where the panels of a block begin."""
        panel = 4 * PANEL * (len(self.tile.runs.terms) // 4 + 1)
        batch = Linear(0)
        for name, extent in self.made.batches:
            batch = batch.scaled(extent).plus(Linear(0, {i.Var(name): 1}))
        whole = batch.scaled(panel * -(-self.column.extent // PANEL))
        if self.column.blocks > 1:
            size = panel * (self.column.size // PANEL)
            whole = whole.plus(Linear(0, {i.Var(self.column.block): size}))
        name = identifier(self.tile.panels)
        return f"{name} + {self.printed(whole.expr())}" if whole.factors else name

    def panel_count(self) -> str:
        whole = -(-self.column.extent // PANEL)
        size = self.column.size // PANEL
        if whole % size == 0:
            return str(size)
        start = arithmetic("*", i.Const(size), i.Var(self.column.block))
        left = i.Binary("-", i.Const(whole), start)
        return self.printed(i.Call("min_i64", (i.Const(size), left)))

    def results(self, front: Sequence[str]) -> list[str]:
        """What is done with each total of a block; `front` stands in front of the inner loop."""
        row, column = (
            Linear(0, {i.Var(self.row.place): 1}),
            Linear(0, {i.Var(self.column.place): 1}),
        )
        if self.row.extent == 1:
            row = Linear(0)
        place = (
            column.scaled(self.step).plus(row)
            if self.turned
            else row.scaled(self.step).plus(column)
        )
        total = replace(self.made.total, value=i.Load(self.totals, None, place.expr()))
        after = located(replace(self.kernel, body=self.made.after), self.storage).body
        indices = {axis.index: axis.value for axis in (self.row, self.column)}
        body = self.names.within((total, *substitute(after, indices)))
        axes = [axis for axis in (self.row, self.column) if axis.extent > 1]
        sizes = {self.names.of(axis.place): axis.size for axis in axes}
        ranges = {**dict(self.names.loops(self.outer)), **sizes}
        ranges |= {self.names.of(axis.block): axis.blocks for axis in axes if axis.blocks > 1}
        elements = {**self.storage.elements, self.totals: Elements(self.tile.total, "i32")}
        typed = known_types(self.kernel.operator, ranges, body, elements).body
        lines = ModelPrinter(typed).block(typed)
        for axis in axes if self.turned else reversed(axes):
            head = loop_head(self.names.of(axis.place), self.printed(axis.count))
            lines = [*front, *block_of(head, lines)]
            front = ()
        return lines
