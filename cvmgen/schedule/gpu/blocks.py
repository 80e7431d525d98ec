"""A block for each selected list, whose threads work on it together.

What all threads do alike (counts, tests, loops over candidates that depend on those before) each
of them does; a loop whose iterations are independent is divided among them, a selection finds
places by ranking the threads whose entry passes, and a loop that looks for one deciding element
ends in a vote. Only the first thread stores what is one value for the list.
"""

from __future__ import annotations

from dataclasses import replace

from cvmgen.analysis.grid import Grid, grid
from cvmgen.analysis.list_loops import decision, list_counter, loads_of, reads_so_far
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import entry_at, extent
from cvmgen.ir.threads import BLOCK, BLOCKS, LANE, LANES, OF_BLOCK
from cvmgen.ir.uses import assigned, carried, has, names_in
from cvmgen.ir.visit import rebuild
from cvmgen.schedule.gpu.mapped import (
    DeviceFunction,
    Mapped,
    MappingTask,
    Writer,
    domain,
    host_local,
    launch,
)
from cvmgen.schedule.gpu.threads import shared_iterations


def list_mapping(task: MappingTask) -> Mapped | None:
    """The mapping of a nest that makes lists."""
    if not task.makes_list:
        return None
    lists = host_local("lists", domain(of_lists(task).extents), task)
    start = launch(task, i.Var("lists"), task.name, "launch_blocks")
    return Mapped((list_function(task),), (lists,), (start,))


def list_function(task: MappingTask) -> DeviceFunction:
    found = of_lists(task)
    body = Together(task).block(found.body)
    return DeviceFunction(
        task.name, "list", shared_iterations(Grid(found.loops, body), BLOCKS, BLOCK, "lists", task)
    )


def of_lists(task: MappingTask) -> Grid:
    """The loops over the indices of the list."""
    if task.known is not None:
        return grid(task.body, task.known.parallel)
    definition = task.program.operator.definition(task.nest.tensor)
    return grid(task.body, len(definition.parameters))


class Together:
    """Statements that all threads of a block run; a barrier stands after what others read."""

    def __init__(self, task: MappingTask) -> None:
        self.own, self.taken = task.memory, task.taken

    def block(self, statements: i.Block) -> i.Block:
        found: list[i.Stmt] = []
        waiting = False
        for at, statement in enumerate(statements):
            if waiting and loads_of(statements[at:], self.own):
                found.append(i.Barrier(statement.span))
            found += self.joint(statement)
            # A sort ends with a barrier of its own.
            waiting = not isinstance(statement, i.Sort) and has(statement, i.Store)
        return tuple(found)

    def joint(self, statement: i.Stmt) -> i.Block:
        match statement:
            case i.Store(span=span):
                return (i.If(i.Compare("==", LANE, i.ZERO), (statement,), (), span),)
            case i.If(then=then, otherwise=otherwise):
                both = self.block(then), self.block(otherwise)
                return (replace(statement, then=both[0], otherwise=both[1]),)
            case i.Sort():
                return (replace(statement, among="block"),)
            case i.Loop():
                return self.loop(statement)
            case _:
                return (statement,)

    def loop(self, loop: i.Loop) -> i.Block:
        divided = replace(loop, share=OF_BLOCK)
        decided = decision(loop)
        if decided is not None:
            vote = "block_any" if decided.value == i.Const(True) else "block_all"
            call = i.Call(vote, (i.Var(decided.name),))
            return (divided, i.Assign(decided.name, call, decided.span))
        counter = list_counter(loop.body)
        if counter is None and not carried(loop):
            return (divided,)
        if counter is not None and not reads_so_far(loop, counter, self.own):
            return Ranking(loop, counter, self.taken).block()
        body = self.block(loop.body)
        if has(loop.body, i.Store) and loads_of((loop,), self.own):
            body += (i.Barrier(loop.span, "the next one reads the list so far"),)
        return (replace(loop, body=body),)


class Ranking(Writer):
    """A selection: each thread tests some candidates; those that pass stand by their rank."""

    def __init__(self, loop: i.Loop, counter: str, taken: set[str]) -> None:
        super().__init__(loop.span, taken)
        self.loop = loop
        self.count = i.Var(counter)
        names = ("share", "first", "start", "stop", "place", "passes", "passed", "bit")
        self.share, self.first, self.start, self.stop, *others = map(self.fresh, names)
        self.place, self.passes, self.passed, self.bit = others
        # Where candidates are entries of a list, what is counted are their places in it.
        self.listed = loop.low is None
        self.index = self.fresh(f"{loop.index}_at") if self.listed else i.Var(loop.index)

    def block(self) -> i.Block:
        low = self.loop.low or i.ZERO
        number = extent(self.loop)
        end = number if self.listed else self.loop.high
        mine = i.Binary("*", self.share, LANE)
        stop = i.Call("min_i64", (i.Binary("+", self.start, self.share), end))
        bits = i.Call("set_bits", (self.passes,))
        rank = i.Call("block_rank", (self.passes, i.Address(self.passed)))
        body = (
            self.let(self.start, "i64", i.Binary("+", self.first, mine)),
            self.let(self.stop, "i64", stop),
            self.let(self.passes, "u32", i.ZERO),
            self.let(self.passed, "i64", i.ZERO),
            self.over(self.index, self.stop, self.tests(), low=self.start),
            self.let(self.place, "i64", i.Binary("+", self.count, rank)),
            self.over(self.bit, bits, self.kept(), low=None),
            self.add(self.count, "+", self.passed),
        )
        stride = i.Share("", i.ZERO, i.Binary("*", self.share, LANES))
        share = self.let(self.share, "i64", i.Call("block_share", (number,)))
        return (share, self.over(self.first, end, body, low=low, share=stride))

    def tests(self) -> i.Block:
        """Note by a bit which candidates of a thread pass."""
        before, condition, _ = selecting_parts(self.loop)
        one = i.Convert("u32", i.ONE)
        mark: i.Stmt = self.add(
            self.passes, "|", i.Binary("shl", one, i.Binary("-", self.index, self.start))
        )
        if condition != i.Const(True):
            mark = self.where(condition, mark)
        tested = self.loop.index in names_in((before, condition))
        return (*(self.entry() if tested else ()), *before, mark)

    def kept(self) -> i.Block:
        """Store a candidate that passes."""
        _, _, stored = selecting_parts(self.loop)
        moved: i.Block = rebuild(stored, lambda each: self.place if each == self.count else each)
        index = self.let(self.index, "i64", i.Binary("+", self.start, self.bit))
        return (index, *self.entry(), *moved, self.add(self.place, "+", i.ONE))

    def entry(self) -> i.Block:
        """The candidate, where it is an entry of a list."""
        if not self.listed:
            return ()
        value = entry_at(self.loop.high, self.index)
        return (self.let(i.Var(self.loop.index), "i64", value),)


def selecting_parts(loop: i.Loop) -> tuple[i.Block, i.Expr, i.Block]:
    """Of a loop that selects: what its condition needs, the condition, and what is stored."""
    match loop.body:
        case (*before, i.If(condition=condition, then=then)):
            used = names_in(then) & assigned(tuple(before))
            stored = (*before, *then) if used else then
        case stored:
            before, condition = [], i.Const(True)
    return tuple(before), condition, tuple(e for e in stored if not isinstance(e, i.Accumulate))
