"""Streams as CUDA kernels: a thread computes neighboring elements and accesses 16 bytes at a time.

The lanes of a vector are elements side by side along the innermost loop. The statements of an
element stand in a loop over lanes; what they read along the run is loaded in front of it, and what
they store is stored behind it. A vector at the end of a run has fewer lanes in use: the others
repeat the last one, so that the same statements serve all vectors.
"""

from __future__ import annotations

from collections.abc import Mapping as Names
from typing import Any

from cvmgen.analysis.streams import Read, Stream, stream, walk_steps
from cvmgen.dtypes import INT64, DType
from cvmgen.emit.c_like import PRIMARY, TERNARY, identifier, indent
from cvmgen.emit.cuda_kernels import CudaKernelPrinter
from cvmgen.emit.cuda_mappings import Kernel, Mapping, Task
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import extent
from cvmgen.ir.rewrite import without_dead
from cvmgen.ir.uses import names_in
from cvmgen.ir.visit import rebuild, substitute, walk
from cvmgen.schedule.forms import Settings

REGISTER = 4  # bytes


def streaming(task: Task) -> Mapping | None:
    """The mapping of a nest that is a stream, if vectors of its elements are worth while."""
    found = Mapping(task).grid
    shape = stream(found.loops, found.body, walk_steps(task.program))
    if shape is None:
        return None
    lanes = lanes_of(shape, task.dtypes, task.settings["vectors"])
    high = shape.run.high
    if lanes == 1 or (isinstance(high, i.Const) and high.value % lanes != 0):
        return None
    # Stores alone are worth it where they are many.
    worth = any(each.near for each in shape.reads) or not shape.loops or len(shape.extents) > 1
    return Streaming(task, shape, lanes) if worth else None


def element_type(tensor: str, dtypes: Names[str, DType]) -> DType:
    """The type of a tensor's elements; memory of the call holds 64-bit integers."""
    return dtypes.get(tensor, INT64)


def lanes_of(shape: Stream, dtypes: Names[str, DType], settings: Settings) -> int:
    """So many that each access is as wide as it may be, as far as there are registers for all."""
    tensors = [shape.target.tensor, *(each.load.tensor for each in shape.reads)]
    sizes = [element_type(tensor, dtypes).bits // 8 for tensor in tensors]
    # Elements far apart come one by one, each into a register of its own.
    alone = sum(not each.near for each in shape.reads)
    lanes = max(settings["bytes"] // min(sizes), 1)
    while lanes > 1 and lanes * (sum(sizes) + REGISTER * alone) > settings["live"]:
        lanes //= 2
    return lanes


class Streaming(Mapping):
    """A thread for each vector of neighboring elements.

    Its class is `streaming` where loads and stores can be as wide as accesses are, else `vector`:
    elements that are gathered, or too many tensors for the registers.
    """

    headers = ("cvmgen_vector.h",)

    def __init__(self, task: Task, shape: Stream, lanes: int) -> None:
        super().__init__(task)
        self.stream, self.lanes = shape, lanes
        loads = any(self.whole(each.load) for each in shape.reads if each.near)
        self.kind = "streaming" if loads and self.whole(shape.target) else "vector"

    def whole(self, place: i.Load) -> bool:
        """Whether a vector of a tensor's elements fills accesses."""
        bits = element_type(place.tensor, self.task.dtypes).bits
        return self.lanes * bits >= 8 * self.task.settings["vectors"]["bytes"]

    def kernels(self) -> list[Kernel]:
        printer = VectorPrinter(self.task, self.stream, self.lanes)
        text = self.task.kernel(printer.lines())
        return [Kernel(self.task.name, self.kind, text)]

    def before(self) -> list[str]:
        rows = [extent(loop) for loop in self.stream.loops]
        lines = self.task.domain("rows", rows) if rows else []
        return [*lines, *self.task.domain("elements", self.stream.extents)]

    def start(self) -> list[str]:
        vectors = f"cvmgen_vectors(elements, {self.lanes})"
        count = f"rows * {vectors}" if self.stream.loops else vectors
        return self.task.launch("cvmgen_launch", count)


class VectorPrinter(CudaKernelPrinter):
    """The statements of a kernel that computes a stream, a vector at a time."""

    def __init__(self, task: Task, shape: Stream, width: int) -> None:
        super().__init__(task.program, task.body)
        self.task, self.stream, self.width = task, shape, width
        self.taken |= {each.tensor for each in walk(task.body) if isinstance(each, i.Load)}
        self.first = shape.run.index  # of a vector
        self.lanes, self.lane = self.fresh("lanes"), self.fresh("lane")
        self.stored = self.fresh(f"{shape.target.tensor}_vector")
        self.loaded = {each.load: self.fresh(f"{each.load.tensor}_vector") for each in shape.reads}
        self.body = self.in_lanes()
        rest = tuple((each.place, each.step, each.guard) for each in shape.reads)
        self.fixed = without_dead(shape.fixed, (self.body, rest, shape.target, shape.step))
        self.needed = names_in((self.fixed, self.body, rest, shape.target, shape.step))

    def in_lanes(self) -> tuple[i.Stmt, ...]:
        """The statements of an element, by its lane in the vectors."""
        lane = i.Var(self.lane)

        def change(node: Any) -> Any:
            match node:
                case i.Load() if node in self.loaded:
                    return i.Item(i.Var(self.loaded[node]), lane)
                case i.Store(value=value, span=span):
                    return i.SetAt(self.stored, lane, value, span)
                case _:
                    return node

        body = without_dead(rebuild(self.stream.body, change))
        span = self.stream.run.span
        if any(isinstance(each, i.Overflow) for each in walk(body)):
            # What does not fit is noted, and something has to be stored all the same.
            body = (i.SetAt(self.stored, lane, i.Const(0), span), *body)
        if self.first not in names_in(body):
            return body
        used = i.Call("min_i32", (lane, i.Binary("-", i.Var(self.lanes), i.Const(1))))
        index = self.fresh(f"{self.first}_lane")
        own = i.Let(index, "i64", i.Binary("+", i.Var(self.first), used), span)
        return (own, *substitute(body, {self.first: i.Var(index)}))

    # -------------------------------------------------------- the grid

    def lines(self) -> list[str]:
        """A stride over the vectors of all rows."""
        run, rows = self.stream.run, self.stream.loops
        vectors, at = self.fresh("vectors"), self.fresh("at")
        count = f"cvmgen_vectors({self.expr(extent(run))}, {self.width})"
        if not rows:
            head = [f"const int64_t {vectors} = {count};"]
            return [*head, *self.stride(at, vectors, [*self.begin(at), *self.vector()])]
        each_row = self.fresh(f"{self.first}_vectors")
        sizes = " * ".join(self.expr(extent(row), PRIMARY - 1) for row in rows)
        return [
            f"const int64_t {each_row} = {count};",
            f"const int64_t {vectors} = {sizes} * {each_row};",
            *self.stride(at, vectors, [*self.unravelled(at, each_row), *self.vector()]),
        ]

    def unravelled(self, at: str, each_row: str) -> list[str]:
        """The indices of the loops at a vector's place among all."""
        outermost, *others = self.stream.loops
        shifted = outermost.low != i.Const(0)
        row = self.fresh("row") if shifted else identifier(outermost.index)
        lines = [f"int64_t {row} = {at};"]
        lines += self.begin(f"cvmgen_innermost(&{row}, {each_row})")
        for loop in reversed(others):
            value = f"cvmgen_innermost(&{row}, {self.expr(extent(loop))})"
            needed = loop.index in self.needed
            lines.append(self.index(loop, value) if needed else f"{value};")
        return [*lines, self.index(outermost, row)] if shifted else lines

    def begin(self, vector: str) -> list[str]:
        """The index of the first element of a vector, and how many it has."""
        run, index = self.stream.run, identifier(self.first)
        left = f"{self.expr(run.high, 9)} - {index}"
        return [
            self.index(run, f"{vector} * {self.width}"),
            f"const int32_t {self.lanes} = (int32_t)cvmgen_min_i64({left}, {self.width});",
        ]

    # -------------------------------------------------------- a vector

    def vector(self) -> list[str]:
        """Load what is read along the run, compute each lane, store the results."""
        body = indent(self.block(self.body))
        head = f"for (int32_t {self.lane} = 0; {self.lane} < {self.width}; ++{self.lane})"
        single = len(body) == 1
        step = self.expr(self.stream.step)
        element = element_type(self.stream.target.tensor, self.task.dtypes)
        return [
            *self.block(self.fixed),
            *map(self.load, self.stream.reads),
            f"cvmgen_vector<{element.c}, {self.width}> {self.stored};",
            "CVMGEN_UNROLL",
            *([head, *body] if single else [f"{head} {{", *body, "}"]),
            f"{self.stored}.store({self.address(self.stream.target)}, {step}, {self.lanes});",
        ]

    def load(self, read: Read) -> str:
        """The vector of what is read; its place need not exist where the guard does not hold."""
        place = self.address(read.place)
        if read.guard is not None:
            place = f"{self.expr(read.guard, TERNARY + 1)} ? {place} : NULL"
        call = f"cvmgen_load<{self.width}>({place}, {self.expr(read.step)}, {self.lanes})"
        return f"const auto {self.loaded[read.load]} = {call};"
