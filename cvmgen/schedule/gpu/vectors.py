"""A thread for each vector of neighboring elements: 16 bytes are loaded and stored at a time.

The lanes of a vector are elements side by side along the innermost loop, the run. The statements of
an element stand in a loop over lanes; what they read along the run is loaded in front of it, and
what they store is stored behind it. A vector at the end of a run has fewer lanes in use: the others
repeat the last one, so that the same statements serve all vectors.
"""

from __future__ import annotations

from typing import Any

from cvmgen.analysis.grid import grid
from cvmgen.analysis.streams import Stream, StreamRead, stream, walk_steps
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import extent, index_local, iterations
from cvmgen.ir.rewrite import without_dead
from cvmgen.ir.threads import GRID
from cvmgen.ir.uses import has, names_in
from cvmgen.ir.visit import rebuild, substitute
from cvmgen.schedule.gpu.mapped import (
    DeviceFunction,
    Mapped,
    MappingTask,
    Writer,
    domain,
    host_local,
    launch,
)

REGISTER = 4  # bytes


def vector_mapping(task: MappingTask) -> Mapped | None:
    """The mapping of a nest that is a stream, if vectors of its elements are worth while."""
    found = grid(task.body)
    shape = stream(found.loops, found.body, walk_steps(task.program))
    if shape is None:
        return None
    lanes = lanes_of(shape, task)
    high = shape.run.high
    if lanes == 1 or (isinstance(high, i.Const) and high.value % lanes != 0):
        return None
    # Stores alone are worth it where they are many.
    if not (any(each.near for each in shape.reads) or not shape.loops or len(shape.extents) > 1):
        return None
    kernel = DeviceFunction(task.name, kind(shape, lanes, task), Vectors(task, shape, lanes).body())
    elements = host_local("elements", domain(shape.extents), task)
    count: i.Expr = i.Call("vectors", (i.Var("elements"), i.Const(lanes)))
    if not shape.loops:
        return Mapped((kernel,), (elements,), (launch(task, count, kernel.name),))
    rows = host_local("rows", domain([extent(loop) for loop in shape.loops]), task)
    count = i.Binary("*", i.Var("rows"), count)
    return Mapped((kernel,), (rows, elements), (launch(task, count, kernel.name),))


def lanes_of(shape: Stream, task: MappingTask) -> int:
    """So many that each access is as wide as it may be, as far as there are registers for all."""
    tensors = [shape.target.tensor, *(each.load.tensor for each in shape.reads)]
    sizes = [task.element(tensor).bits // 8 for tensor in tensors]
    # Elements far apart come one by one, each into a register of its own.
    alone = sum(not each.near for each in shape.reads)
    lanes = max(task.settings["vectors"]["bytes"] // min(sizes), 1)
    while lanes > 1 and lanes * (sum(sizes) + REGISTER * alone) > task.settings["vectors"]["live"]:
        lanes //= 2
    return lanes


def kind(shape: Stream, lanes: int, task: MappingTask) -> str:
    """`streaming` where loads and stores can be as wide as accesses are, else `vector`: elements
    that are gathered, or too many tensors for the registers."""

    def whole(place: i.Load) -> bool:
        bits = task.element(place.tensor).bits
        return lanes * bits >= 8 * task.settings["vectors"]["bytes"]

    loads = any(whole(each.load) for each in shape.reads if each.near)
    return "streaming" if loads and whole(shape.target) else "vector"


class Vectors(Writer):
    """The statements of a kernel that computes a stream, a vector of `width` lanes at a time."""

    def __init__(self, task: MappingTask, shape: Stream, width: int) -> None:
        super().__init__(shape.run.span, task.taken)
        self.task, self.stream, self.width = task, shape, i.Const(width)
        self.lanes, self.lane = self.fresh("lanes"), self.fresh("lane")
        self.stored = self.fresh(f"{shape.target.tensor}_vector")
        self.loaded = {each.load: self.fresh(f"{each.load.tensor}_vector") for each in shape.reads}
        self.element = self.in_lanes()
        rest = tuple((each.place, each.step, each.guard) for each in shape.reads)
        self.fixed = without_dead(shape.fixed, (self.element, rest, shape.target, shape.step))
        self.needed = names_in((self.fixed, self.element, rest, shape.target, shape.step))

    def in_lanes(self) -> i.Block:
        """The statements of an element, by its lane in the vectors."""

        def change(node: Any) -> Any:
            match node:
                case i.Load() if node in self.loaded:
                    return i.Item(self.loaded[node], self.lane)
                case i.Store(value=value, span=span):
                    return i.SetAt(self.stored.name, self.lane, value, span)
                case _:
                    return node

        body: i.Block = without_dead(rebuild(self.stream.body, change))
        if has(body, i.Overflow):
            # What does not fit is noted, and something has to be stored all the same.
            body = (i.SetAt(self.stored.name, self.lane, i.ZERO, self.span), *body)
        first = self.stream.run.index
        if first not in names_in(body):
            return body
        used = i.Call("min_i32", (self.lane, i.Binary("-", self.lanes, i.ONE)))
        index = self.fresh(f"{first}_lane")
        own = self.let(index, "i64", i.Binary("+", i.Var(first), used))
        return (own, *substitute(body, {first: index}))

    # -------------------------------------------------------- the grid

    def body(self) -> i.Block:
        """A stride over the vectors of all rows."""
        run, rows = self.stream.run, self.stream.loops
        count, at = self.fresh("vectors"), self.fresh("at")
        of_run = i.Call("vectors", (extent(run), self.width))
        if not rows:
            head: i.Block = (self.let(count, "i64", of_run),)
            index = self.begin(at)
        else:
            each_row = self.fresh(f"{run.index}_vectors")
            all_rows = i.Binary("*", iterations(rows), each_row)
            head = (self.let(each_row, "i64", of_run), self.let(count, "i64", all_rows))
            index = self.indices(at, each_row)
        body = (*index, *self.vector())
        return (*head, self.over(at, count, body, share=GRID))

    def indices(self, at: i.Var, each_row: i.Var) -> i.Block:
        """The indices of the loops at a vector's place among all."""
        outermost, *others = self.stream.loops
        shifted = outermost.low != i.ZERO
        row = self.fresh("row") if shifted else i.Var(outermost.index)

        def innermost(size: i.Expr) -> i.Call:
            return i.Call("innermost", (i.Address(row), size))

        found: list[i.Stmt] = [self.let(row, "i64", at), *self.begin(innermost(each_row))]
        for loop in reversed(others):
            call = innermost(extent(loop))
            needed = loop.index in self.needed
            found.append(index_local(loop, call) if needed else i.Invoke(call, self.span))
        return (*found, index_local(outermost, row)) if shifted else tuple(found)

    def begin(self, vector: i.Expr) -> i.Block:
        """The index of the first element of a vector, and how many it has."""
        run = self.stream.run
        left = i.Binary("-", run.high, i.Var(run.index))
        lanes = i.Convert("i32", i.Call("min_i64", (left, self.width)))
        first = i.Binary("*", vector, self.width)
        return (index_local(run, first), self.let(self.lanes, "i32", lanes))

    # -------------------------------------------------------- a vector

    def vector(self) -> i.Block:
        """Load what is read along the run, compute each lane, store the results."""
        width, target = int(self.width.value), self.stream.target
        machine = self.task.element(target.tensor).machine
        to = (self.stored, i.Address(target), self.stream.step, self.lanes)
        return (
            *self.fixed,
            *map(self.load, self.stream.reads),
            i.Array(self.stored.name, machine, width, self.span, "vector"),
            self.over(self.lane, self.width, self.element, unroll="all", type_name="i32"),
            i.Invoke(i.Call(".store", to), self.span),
        )

    def load(self, read: StreamRead) -> i.Let:
        """The vector of what is read; its place need not exist where the guard does not hold."""
        place = i.Address(read.place, read.guard)
        call = i.Call("load", (place, read.step, self.lanes), constants=(int(self.width.value),))
        return self.let(self.loaded[read.load], "vector", call)
