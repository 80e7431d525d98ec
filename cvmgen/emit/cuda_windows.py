"""Windows through shared memory: a block copies what its results read, and reads from there.

A tile of neighbouring results is a block. Its threads copy the box of elements that the windows of
the tile touch, and each of them makes results by the formula's own loops. Whether that pays
depends on shapes and attributes: the host decides at each call, or starts a thread for each result
that reads the input itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cvmgen import algebra
from cvmgen.analysis.boxes import Box, Near, read_near
from cvmgen.analysis.grid import Grid
from cvmgen.analysis.windows import Side, Window, find_window, less_one, narrow, summands
from cvmgen.emit.c_like import identifier, indent
from cvmgen.emit.c_text import wrapped, wrapped_list
from cvmgen.emit.cuda_mappings import Kernel, Mapping, Task
from cvmgen.emit.cuda_text import CudaKernelPrinter
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import extent
from cvmgen.ir.uses import names_in
from cvmgen.ir.visit import walk

BARRIER = "__syncthreads();"


def windows(task: Task) -> Mapping | None:
    """The mapping of a nest that reads an input in windows; None for others."""
    found = Mapping(task).grid
    window = find_window(task.program, task.nest, found.loops, found.body)
    if window is None or len(window.sides) > task.settings["shared_boxes"]["sides"]:
        return None
    return Windows(task, window)


class Windows(Mapping):
    """A block for each tile of results, whose windows it reads in shared memory."""

    kind = "window"
    headers = ("cvmgen_window.h",)

    def __init__(self, task: Task, window: Window) -> None:
        super().__init__(task)
        self.window = window

    def kernels(self) -> list[Kernel]:
        task = self.task
        printer = WindowPrinter(task, self.window, self.grid)
        parameter = f"const __grid_constant__ cvmgen_tiling {printer.tiling}"
        text = task.kernel(printer.lines(), parameters=[parameter], reads=printer.reads())
        # For calls whose windows are too large, or do not overlap enough.
        plain = Mapping(replace(task, name=self.plain))
        return [Kernel(task.name, self.kind, text), *plain.kernels()]

    @property
    def plain(self) -> str:
        return f"{self.task.name}_plain"

    def before(self) -> list[str]:
        planes = [extent(each) for each in self.grid.loops if each not in self.window.results]
        sides = [self.on_host(side) for side in self.window.sides]
        sides[0] = f"{{{sides[0]}"
        sides[-1] += "}"
        head = "const bool tiled = cvmgen_tile_windows("
        return [
            *super().before(),
            *self.task.domain("planes", planes),
            "cvmgen_tiling tiling = {};",
            *wrapped_list(head, ["&tiling", "planes", *sides], ");", 92),
        ]

    def on_host(self, side: Side) -> str:
        """A side as the host describes it: results, step, reach, and how many places are read."""
        results = i.Const(1) if side.result is None else side.result.high
        taps = algebra.product([tap.extent for tap in side.taps])
        values = (results, side.step, side.reach, taps)
        return f"{{{', '.join(map(self.task.on_host, values))}}}"

    def start(self) -> list[str]:
        task = replace(self.task, width=self.task.width - 8)
        function = f"cvmgen_launch_windows<{task.dtypes[self.window.load.tensor].c}>"
        near = task.launch(function, "tiling", arguments=["tiling"])
        plain = task.launch("cvmgen_launch", "elements", name=self.plain)
        return ["if (tiled)", *indent(near), "else", *indent(plain)]


class WindowPrinter(CudaKernelPrinter):
    """The kernel that reads the box."""

    def __init__(self, task: Task, window: Window, found: Grid) -> None:
        super().__init__(task.program, task.body)
        self.task, self.window, self.grid = task, window, found
        self.taken |= {each.tensor for each in walk(task.body) if isinstance(each, i.Load)}
        self.tiling, self.at = self.fresh("tiling"), self.fresh("at")
        self.tensor = window.load.tensor
        self.element = task.dtypes[self.tensor].c
        self.firsts, self.counts, self.owns, self.boxes = (
            {side.name: self.fresh(f"{side.name}_{word}") for side in window.sides}
            for word in ("first", "count", "own", "box")
        )
        starts = {side.name: self.fresh(f"{side.name}_start") for side in self.moving}
        self.box = Box(
            self.fresh(f"{self.tensor}_box"),
            {name: i.Var(start) for name, start in starts.items()},
            {side.name: i.Var(self.places(side)) for side in window.sides},
        )
        self.near: Near = read_near(found.body, window, self.box, self.taken)
        self.short = frozenset(tap.index for tap in window.taps)
        lets = (each for each in walk(self.near.body) if isinstance(each, i.Let))
        self.accumulators = {each.name: each.type for each in lets}

    @property
    def moving(self) -> tuple[Side, ...]:
        """The sides along which results are neighbours."""
        return tuple(side for side in self.window.sides if side.result is not None)

    def places(self, side: Side) -> str:
        """How many places the side of a box has."""
        simple = side.result is None and side.extent is None
        return self.counts[side.name] if simple else f"{self.boxes[side.name]}.length"

    def reads(self) -> tuple[object, ...]:
        """What the kernel is made of: all but the extent of the outermost loop, if of planes."""
        sides = [
            (side.step, side.start, side.reach, side.extent, side.result and side.result.high)
            for side in self.window.sides
        ]
        names = {side.name: i.Const(0) for side in self.window.sides}
        outermost, *others = self.grid.loops
        extents = [(loop.low, loop.high) for loop in others]
        return (self.near.body, self.window.address.at(names), *sides, outermost.low, *extents)

    def index_type(self, index: str) -> str:
        return "int32_t" if index in self.short else "int64_t"

    def lines(self) -> list[str]:
        """The kernel's statements: a stride over the tiles."""
        shared, tile = self.fresh("shared"), self.fresh("tile")
        head = f"for (int32_t {tile} = blockIdx.x; {tile} < {self.tiling}.tiles; "
        again = f"{BARRIER} /* the next tile writes the box anew */"
        return [
            f"CVMGEN_DYNAMIC_SHARED({shared});",
            f"{self.element} *const {self.box.tensor} = ({self.element} *){shared};",
            f"{head}{tile} += gridDim.x) {{",
            *indent([*self.tile(tile), *self.sides(), *self.copy(), BARRIER]),
            *indent([*self.results(), again]),
            "}",
        ]

    # -------------------------------------------------------- the tile

    def tile(self, tile: str) -> list[str]:
        """The indices of the plane, and those of the tile's first result: 32 bits are enough."""
        read = names_in((self.near.body, self.window.address.all_fixed()))
        numbers = {side.result: at for at, side in enumerate(self.window.sides) if side.result}
        rest = self.fresh("rest")
        lines = [f"int32_t {rest} = {tile};"]
        outermost = self.grid.loops[0]
        for loop in reversed(self.grid.loops):
            last = loop is outermost
            if loop in numbers:
                along = f"{self.tiling}.along[{numbers[loop]}]"
                value = f"{rest} * " if last else f"{rest} % {along} * "
                first = f"{value}{self.tiling}.results[{numbers[loop]}]"
                lines.append(f"const int32_t {self.firsts[loop.index]} = {first};")
            else:
                along = self.expr(narrow(extent(loop)), 11)
                value = rest if last else f"{rest} % {along}"
                lines += [self.index(loop, value)] if loop.index in read else []
            lines += [] if last else [f"{rest} /= {along};"]
        return lines

    def sides(self) -> list[str]:
        """How many results the tile has along each side, and what its windows touch."""
        lines = []
        for at, side in enumerate(self.window.sides):
            name = side.name
            if side.result is not None:
                left = f"{self.expr(narrow(side.result.high), 9)} - {self.firsts[name]}"
                count = f"cvmgen_min_i32({left}, {self.tiling}.results[{at}])"
                lines.append(f"const int32_t {self.counts[name]} = {count};")
        for side in self.window.sides:
            if self.places(side) == self.counts[side.name]:
                extents = self.expr(narrow(side.reach))
                lines.append(f"const int32_t {self.counts[side.name]} = {extents};")
            else:
                lines += self.side(side)
        return lines

    def side(self, side: Side) -> list[str]:
        first, length = side.start, side.reach
        if side.result is not None:
            begin = algebra.product([i.Var(self.firsts[side.name]), side.step])
            first = algebra.total([begin, side.start])
            span = algebra.product([less_one(i.Var(self.counts[side.name])), side.step])
            length = algebra.total([span, *summands(side.reach)])
        given = [first, length] if side.extent is None else [first, length, side.extent]
        function = "cvmgen_whole_side" if side.extent is None else "cvmgen_clipped_side"
        head = f"const cvmgen_side {self.boxes[side.name]} = {function}("
        return wrapped_list(head, list(map(self.expr, given)), ");", 88)

    # -------------------------------------------------------- the copy

    def copy(self) -> list[str]:
        """Every thread copies elements, neighbours by neighbouring threads."""
        at, places, lines = self.at, {}, []
        sides = self.window.sides
        indices = self.unravelled(at, [self.places(side) for side in sides])
        for side, index in zip(sides, indices, strict=True):
            place, first = self.place(side), ""
            if self.places(side) != self.counts[side.name]:
                first = f"{self.boxes[side.name]}.first + "
            lines.append(f"const int64_t {place} = {first}{index};")
            places[side.name] = i.Var(place)
        element = i.Load(self.tensor, None, self.window.address.at(places))
        lines.append(f"{self.box.tensor}[{at}] = {self.expr(element)};")
        size = " * ".join(self.places(side) for side in sides)
        return self.divided(size, lines)

    def place(self, side: Side) -> str:
        """What an element's place along a side is called."""
        name = self.near.places.get(side.name)
        if name is not None:
            return name
        return side.name if side.result is None else self.fresh(f"{side.name}_place")

    @staticmethod
    def unravelled(at: str, lengths: Sequence[str]) -> list[str]:
        """The indices of a position in a box, the last one fastest."""
        found = []
        for number, length in enumerate(lengths):
            inner = lengths[number + 1 :]
            row = inner[0] if len(inner) == 1 else f"({' * '.join(inner)})"
            value = f"{at} / {row}" if inner else at
            found.append(value if number == 0 else f"{value} % {length}")
        return found

    def divided(self, size: str, lines: Iterable[str]) -> list[str]:
        """A loop that the threads of a block run together."""
        at = self.at
        head = f"for (int32_t {at} = threadIdx.x; {at} < {size}; {at} += blockDim.x) {{"
        return [head, *indent(lines), "}"]

    # -------------------------------------------------------- the results

    def results(self) -> list[str]:
        """A thread for each result of the tile."""
        read = names_in(self.near.body)
        by_index = {side.name: side for side in self.moving}
        sides = [by_index[loop.index] for loop in self.grid.loops if loop.index in by_index]
        counts = [self.counts[side.name] for side in sides]
        indices = zip(sides, self.unravelled(self.at, counts), strict=True)
        owns = [f"{self.owns[side.name]} = {index}" for side, index in indices]
        full = [
            f"{identifier(side.name)} = {self.firsts[side.name]} + {self.owns[side.name]}"
            for side in sides
            if side.name in read
        ]
        lines = [
            *wrapped("const int32_t", owns),
            *wrapped("const int64_t", full),
            *wrapped("const int32_t", [self.first_tap(side) for side in sides]),
        ]
        return self.divided(" * ".join(counts), [*lines, *self.block(self.near.body)])

    def first_tap(self, side: Side) -> str:
        """Where in the box the window of a thread's result begins."""
        own = i.Var(self.owns[side.name])
        place = self.expr(algebra.product([own, narrow(side.step)]))
        if side.extent is not None:
            place = f"{self.boxes[side.name]}.start + {place}"
        return f"{self.expr(self.box.first[side.name])} = {place}"
