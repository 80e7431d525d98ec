"""Windows through shared memory: a block copies what its results read, and reads from there.

A tile of neighbouring results is a block. Its threads copy the box of elements that the windows of
the tile touch, and each of them makes results by the formula's own loops. Whether that pays
depends on shapes and attributes: the host decides at each call, or starts a thread for each result
that reads the input itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from cvmgen import algebra
from cvmgen.analysis.boxes import BoxRead, BoxSide, as_i32, find_box_read, less_one
from cvmgen.analysis.grid import Grid, grid
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import Dimension, extent, index_local, one_by_one, product, unravel
from cvmgen.ir.threads import BLOCKS, OF_BLOCK
from cvmgen.ir.uses import names_in
from cvmgen.schedule.gpu.box_reads import Box, read_near
from cvmgen.schedule.gpu.mapped import (
    DeviceFunction,
    KernelParameter,
    Mapped,
    MappingTask,
    Writer,
    domain,
    host_local,
    on_host,
)
from cvmgen.schedule.gpu.threads import threads


def shared_boxes(task: MappingTask) -> Mapped | None:
    """The mapping of a nest that reads an input in windows; None for others."""
    found = grid(task.body)
    window = find_box_read(task.program, task.nest, found.loops, found.body)
    if window is None or len(window.sides) > task.settings["shared_boxes"]["sides"]:
        return None
    tiles = Tiles(task, window, found)
    parameter = KernelParameter(tiles.tiling.name, "tiling")
    function = DeviceFunction(task.name, "window", tiles.body(), (parameter,))
    # For calls whose windows are too large, or do not overlap enough.
    plain = threads(task, f"{task.name}_plain")
    tiling, span = i.Var("tiling"), task.nest.span
    planes = domain([extent(each) for each in found.loops if each not in window.results])
    sides = i.ListOf(tuple((side_on_host(side), False) for side in window.sides))
    choice = i.Call("tile_windows", (i.Address(tiling), i.Var("planes"), sides))
    element = task.element(window.load.tensor).machine
    start = i.Call("launch_windows", (), constants=(element,))
    near = i.Launch(start, tiling, function.name, (tiling,), span)
    return Mapped(
        (function, *plain.functions),
        (
            *plain.before,
            host_local("planes", planes, task),
            host_local("tiling", i.ListOf(()), task, "tiling"),
            host_local("tiled", choice, task, "bool"),
        ),
        (i.If(i.Var("tiled"), (near,), plain.start, span),),
    )


def side_on_host(side: BoxSide) -> i.Expr:
    """A side as the host describes it: results, step, reach, and how many places are read."""
    results = i.ONE if side.result is None else side.result.high
    taps = algebra.product([tap.extent for tap in side.taps])
    values = (results, side.step, side.reach, taps)
    return i.ListOf(tuple((on_host(each), False) for each in values))


class Tiles(Writer):
    """The statements of a kernel whose blocks make tiles of results."""

    def __init__(self, task: MappingTask, window: BoxRead, found: Grid) -> None:
        super().__init__(task.nest.span, task.taken)
        self.task, self.window, self.grid = task, window, found
        self.tiling, self.at = self.fresh("tiling"), self.fresh("at")
        self.tensor = window.load.tensor
        self.firsts, self.counts, self.owns, self.boxes = (
            {side.name: self.fresh(f"{side.name}_{word}") for side in window.sides}
            for word in ("first", "count", "own", "box")
        )
        self.moving = [side for side in window.sides if side.result is not None]
        self.box = Box(
            self.fresh(f"{self.tensor}_box").name,
            {side.name: self.fresh(f"{side.name}_start") for side in self.moving},
            {side.name: self.places(side) for side in window.sides},
        )
        self.near = read_near(found.body, window, self.box, self.taken)
        self.read = names_in((self.near.body, window.fixed))

    def places(self, side: BoxSide) -> i.Expr:
        """How many places the side of a box has."""
        whole = side.result is None and side.extent is None
        return self.counts[side.name] if whole else i.Member(self.boxes[side.name], "length")

    def of_tile(self, what: str, side: BoxSide) -> i.Item:
        """What the host says of tiles along a side."""
        number = i.Const(self.window.sides.index(side))
        return i.Item(i.Member(self.tiling, what), number)

    def body(self) -> i.Block:
        """A stride over the tiles."""
        tile = self.fresh("tile")
        element = self.task.element(self.tensor).machine
        box = i.Array(self.box.tensor, element, 0, self.span, "shared")
        body = (
            *self.tile(tile),
            *self.sides(),
            self.copy(),
            i.Barrier(self.span),
            self.results(),
            i.Barrier(self.span, "the next tile writes the box anew"),
        )
        tiles = i.Member(self.tiling, "tiles")
        return (box, self.over(tile, tiles, body, share=BLOCKS, type_name="i32"))

    # -------------------------------------------------------- the tile

    def tile(self, tile: i.Var) -> i.Block:
        """The indices of the plane, and those of the tile's first result: 32 bits are enough."""
        rest = self.let(self.fresh("rest"), "i32", tile)
        return one_by_one([self.dimension(loop) for loop in self.grid.loops], rest)

    def dimension(self, loop: i.Loop) -> Dimension:
        for side in self.moving:
            if side.result is loop:
                return Dimension(self.of_tile("along", side), partial(self.first, side))
        local = partial(index_local, loop) if loop.index in self.read else None
        return Dimension(as_i32(extent(loop)), local)

    def first(self, side: BoxSide, tile: i.Expr) -> i.Let:
        """The index of the first result of a tile along a side."""
        first = i.Binary("*", tile, self.of_tile("results", side))
        return self.let(self.firsts[side.name], "i32", first)

    def sides(self) -> i.Block:
        """How many results the tile has along each side, and what its windows touch."""
        return (*map(self.count, self.moving), *map(self.side, self.window.sides))

    def count(self, side: BoxSide) -> i.Let:
        assert side.result is not None
        left = i.Binary("-", as_i32(side.result.high), self.firsts[side.name])
        count = i.Call("min_i32", (left, self.of_tile("results", side)))
        return self.let(self.counts[side.name], "i32", count)

    def side(self, side: BoxSide) -> i.Let:
        if self.places(side) == self.counts[side.name]:
            return self.let(self.counts[side.name], "i32", as_i32(side.reach))
        first, length = side.start, side.reach
        if side.result is not None:
            begin = algebra.product([self.firsts[side.name], side.step])
            first = algebra.total([begin, side.start])
            span = algebra.product([less_one(self.counts[side.name]), side.step])
            length = algebra.total([span, *algebra.signed(side.reach)])
        whole = i.Call("whole_side", (first, length))
        if side.extent is not None:
            whole = i.Call("clipped_side", (first, length, side.extent))
        return self.let(self.boxes[side.name], "side", whole)

    # -------------------------------------------------------- the copy

    def copy(self) -> i.Loop:
        """Every thread copies elements, neighbours by neighbouring threads."""
        sides = self.window.sides
        lengths = [self.places(side) for side in sides]
        places: dict[str, i.Expr] = {}
        lines: list[i.Stmt] = []
        for side, index in zip(sides, unravel(self.at, lengths), strict=True):
            place = self.place(side)
            if self.places(side) != self.counts[side.name]:
                index = i.Binary("+", i.Member(self.boxes[side.name], "first"), index)
            lines.append(self.let(place, "i64", index))
            places[side.name] = place
        element = i.Load(self.tensor, None, self.window.offset(places))
        store = i.Store(i.Load(self.box.tensor, None, self.at), element, self.span)
        return self.divided(lengths, (*lines, store))

    def place(self, side: BoxSide) -> i.Var:
        """What an element's place along a side is called."""
        name = self.near.places.get(side.name)
        if name is not None:
            return i.Var(name)
        return i.Var(side.name) if side.result is None else self.fresh(f"{side.name}_place")

    def divided(self, sizes: Sequence[i.Expr], body: i.Block) -> i.Loop:
        """A loop that the threads of a block run together."""
        return self.over(self.at, product(sizes), body, share=OF_BLOCK, type_name="i32")

    # -------------------------------------------------------- the results

    def results(self) -> i.Loop:
        """A thread for each result of the tile."""
        by_index = {side.name: side for side in self.moving}
        sides = [by_index[loop.index] for loop in self.grid.loops if loop.index in by_index]
        counts = [self.counts[side.name] for side in sides]
        owns = [
            self.let(self.owns[side.name], "i32", index)
            for side, index in zip(sides, unravel(self.at, counts), strict=True)
        ]
        read = names_in(self.near.body)
        full = [self.full_index(side) for side in sides if side.name in read]
        starts = [self.first_tap(side) for side in sides]
        return self.divided(counts, (*owns, *full, *starts, *self.near.body))

    def full_index(self, side: BoxSide) -> i.Let:
        index = i.Binary("+", self.firsts[side.name], self.owns[side.name])
        return self.let(i.Var(side.name), "i64", index)

    def first_tap(self, side: BoxSide) -> i.Let:
        """Where in the box the window of a thread's result begins."""
        place = algebra.product([self.owns[side.name], as_i32(side.step)])
        if side.extent is not None:
            place = i.Binary("+", i.Member(self.boxes[side.name], "start"), place)
        start = self.box.first[side.name]
        assert isinstance(start, i.Var)
        return self.let(start, "i32", place)
