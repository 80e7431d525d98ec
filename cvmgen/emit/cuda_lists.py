"""Kernels that make selected lists: a block for each list, its threads work on it together.

What all threads do alike (counts, tests, loops over candidates that depend on those before) each
of them does; a loop whose iterations are independent is divided among them, a selection finds
places by ranking the threads whose entry passes, and a loop that looks for one deciding element
ends in a vote. Only the first thread stores what is one value for the list.
"""

from __future__ import annotations

from collections.abc import Iterable

from cvmgen.analysis.grid import Grid
from cvmgen.analysis.list_loops import decision, loads_of, reads_so_far, selection
from cvmgen.emit.c_like import identifier, indent
from cvmgen.emit.cuda_text import CudaKernelPrinter
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import entry_at, extent
from cvmgen.ir.uses import assigned, carried, names_in
from cvmgen.ir.visit import rebuild, walk

BARRIER = "__syncthreads();"


class BlockPrinter(CudaKernelPrinter):
    """Statements of a nest that fills the memory `own` of one list in a block."""

    sort_function = "cvmgen_block_sort"

    def __init__(self, program: i.Program, body: tuple[i.Stmt, ...], own: Iterable[str]) -> None:
        super().__init__(program, body)
        self.own = frozenset(own)

    def blocks(self, found: Grid) -> list[str]:
        """The kernel's statements: a stride over the lists, a block for each."""
        if not found.loops:
            return ["if (blockIdx.x > 0) return;", *self.together(found.body)]
        loop, *inner = found.loops
        if not inner and loop.low == i.Const(0):
            at, count, lines = identifier(loop.index), self.expr(loop.high, 8), []
        else:
            at, lists = self.fresh("at"), self.fresh("lists")
            product = " * ".join(self.expr(each, 11) for each in found.extents)
            start = [f"const int64_t {lists} = {product};"]
            lines = self.unravel(found, at)
            return [*start, *self.each_block(at, lists, [*lines, *self.together(found.body)])]
        return self.each_block(at, count, [*lines, *self.together(found.body)])

    @staticmethod
    def each_block(at: str, count: str, lines: list[str]) -> list[str]:
        head = f"for (int64_t {at} = blockIdx.x; {at} < {count}; {at} += gridDim.x) {{"
        return [head, *indent(lines), "}"]

    # -------------------------------------------------------- by all threads alike

    def together(self, statements: tuple[i.Stmt, ...]) -> list[str]:
        """Statements that all threads of the block run; a barrier after what others read."""
        lines: list[str] = []
        waiting = False
        for at, statement in enumerate(statements):
            if waiting and loads_of(statements[at:], self.own):
                lines.append(BARRIER)
            waiting = False
            lines += self.joint(statement)
            waiting = self.leaves_unseen(statement)
        return lines

    def leaves_unseen(self, statement: i.Stmt) -> bool:
        """Whether other threads may not see yet what the statement stored."""
        return not isinstance(statement, i.Sort) and any(
            isinstance(each, i.Store) for each in walk(statement)
        )

    def joint(self, statement: i.Stmt) -> list[str]:
        match statement:
            case i.Store():
                (store,) = super().statement(statement)
                return [f"if (threadIdx.x == 0) {store}"]
            case i.If(condition=condition, then=then, otherwise=otherwise):
                lines = [f"if ({self.expr(condition)}) {{", *indent(self.together(then)), "}"]
                if otherwise:
                    lines[-1] = "} else {"
                    lines += [*indent(self.together(otherwise)), "}"]
                return lines
            case i.Loop():
                return self.joint_loop(statement)
            case _:
                return super().statement(statement)

    def joint_loop(self, loop: i.Loop) -> list[str]:
        decided = decision(loop)
        if decided is not None:
            function = "cvmgen_block_any" if decided.value == i.Const(True) else "cvmgen_block_all"
            name = identifier(decided.name)
            return [*self.divided(loop), f"{name} = {function}({name});"]
        counter = selection(loop.body)
        if counter is None and not carried(loop):
            return self.divided(loop)
        if counter is not None and not reads_so_far(loop, counter, self.own):
            return self.ranked(loop, counter)
        head, first = self.head(loop, "0", "1")
        body = [*first, *self.together(loop.body)]
        stores = any(isinstance(each, i.Store) for each in walk(loop.body))
        if stores and loads_of((loop,), self.own):
            body.append(f"{BARRIER} /* the next one reads the list so far */")
        return [head, *indent(body), "}"]

    # -------------------------------------------------------- divided among the threads

    def head(self, loop: i.Loop, start: str, step: str) -> tuple[str, list[str]]:
        """The head of a loop that begins `start` late and goes in steps; its first lines."""
        index = identifier(loop.index)
        if loop.low is None:
            at = f"{index}_at"
            entry = f"const int64_t {index} = {self.expr(entry_at(loop.high, i.Var(at)))};"
            last = self.length(loop.high)
            read = loop.index in names_in(loop.body)
            return for_head(at, start, last, step), [entry] if read else []
        low = self.expr(loop.low, 9)
        begin = start if low == "0" else (low if start == "0" else f"{low} + {start}")
        return for_head(index, begin, self.expr(loop.high, 8), step), []

    def divided(self, loop: i.Loop) -> list[str]:
        head, first = self.head(loop, "threadIdx.x", "blockDim.x")
        return [head, *indent([*first, *self.block(loop.body)]), "}"]

    def ranked(self, loop: i.Loop, counter: str) -> list[str]:
        """A selection: each thread tests some candidates; those that pass stand by their rank."""
        before, condition, stores = appended(loop)
        share, first, start = self.fresh("share"), self.fresh("first"), self.fresh("start")
        stop, place = self.fresh("stop"), self.fresh("place")
        passes, passed = self.fresh("passes"), self.fresh("passed")
        count = identifier(counter)
        index, low, end, entry = self.candidates(loop)
        number = self.length(loop.high) if loop.low is None else self.expr(extent(loop))
        moved = rebuild(stores, lambda node: i.Var(place) if node == i.Var(counter) else node)
        mark = f"{passes} |= 1u << ({index} - {start});"
        if condition != i.Const(True):
            mark = f"if ({self.expr(condition)}) {mark}"
        tested = loop.index in names_in((before, condition))
        tests = [*(entry if tested else ()), *self.block(before), mark]
        kept = [
            f"const int64_t {index} = {start} + cvmgen_lowest_bit({passes});",
            *entry,
            *self.block(moved),
            f"{place} += 1;",
        ]
        return [
            f"const int64_t {share} = cvmgen_block_share({number});",
            for_head(first, low, end, f"{share} * blockDim.x"),
            *indent(
                [
                    f"const int64_t {start} = {first} + {share} * threadIdx.x;",
                    f"const int64_t {stop} = cvmgen_min_i64({start} + {share}, {end});",
                    f"uint32_t {passes} = 0;",
                    f"int64_t {passed};",
                    for_head(index, start, stop, "1"),
                    *indent(tests),
                    "}",
                    f"int64_t {place} = {count} + cvmgen_block_rank({passes}, &{passed});",
                    f"for (; {passes} != 0; {passes} &= {passes} - 1) {{",
                    *indent(kept),
                    "}",
                    f"{count} += {passed};",
                ]
            ),
            "}",
        ]

    def candidates(self, loop: i.Loop) -> tuple[str, str, str, list[str]]:
        """The index of a thread's candidate, where candidates begin and end, and how the
        candidate is found by its index where it is an entry of a list."""
        if loop.low is not None:
            return identifier(loop.index), self.expr(loop.low), self.expr(loop.high, 8), []
        _, entry = self.head(loop, "0", "1")
        return f"{identifier(loop.index)}_at", "0", self.length(loop.high), entry


def appended(loop: i.Loop) -> tuple[tuple[i.Stmt, ...], i.Expr, tuple[i.Stmt, ...]]:
    """Of a loop that selects: what its condition needs, the condition, and what is stored."""
    match loop.body:
        case (*before, i.If(condition=condition, then=then)):
            used = names_in(then) & assigned(tuple(before))
            stores = (*before, *then) if used else then
        case stores:
            before, condition = [], i.Const(True)
    return tuple(before), condition, tuple(e for e in stores if not isinstance(e, i.Accumulate))


def for_head(at: str, start: str, end: str, step: str) -> str:
    move = f"++{at}" if step == "1" else f"{at} += {step}"
    return f"for (int64_t {at} = {start}; {at} < {end}; {move}) {{"
