"""Kernels that make selected lists: a block for each list, its threads work on it together.

What all threads do alike (counts, tests, loops over candidates that depend on those before) each
of them does; a loop whose iterations are independent is divided among them, a selection finds
places by ranking the threads whose entry passes, and a loop that looks for one deciding element
ends in a vote. Only the first thread stores what is one value for the list.
"""

from __future__ import annotations

from collections.abc import Iterable

from cvmgen.emit.c_like import entry_at, identifier, indent
from cvmgen.emit.cuda_kernels import CudaKernelPrinter, Grid
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import names_in, rebuild, walk
from cvmgen.lower.guards import assigned, changed

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
            if waiting and reads_own(statements[at:], self.own):
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
        counter = selection(loop)
        if counter is None and not changes_outside(loop):
            return self.divided(loop)
        if counter is not None and not reads_so_far(loop, counter, self.own):
            return self.ranked(loop, counter)
        head, first = self.head(loop, "0", "1")
        body = [*first, *self.together(loop.body)]
        if any(isinstance(each, i.Store) for each in walk(loop.body)):
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
            return for_head(at, start, last, step), [entry]
        low = self.expr(loop.low, 9)
        begin = start if low == "0" else (low if start == "0" else f"{low} + {start}")
        return for_head(index, begin, self.expr(loop.high, 8), step), []

    def divided(self, loop: i.Loop) -> list[str]:
        head, first = self.head(loop, "threadIdx.x", "blockDim.x")
        return [head, *indent([*first, *self.block(loop.body)]), "}"]

    def ranked(self, loop: i.Loop, counter: str) -> list[str]:
        """A selection: each thread tests one candidate; those that pass stand by their rank."""
        *before, last = loop.body
        assert isinstance(last, (i.If, i.Accumulate, i.Store))
        condition, then = i.Const(True) if not isinstance(last, i.If) else last.condition, loop.body
        if isinstance(last, i.If):
            then = last.then
            used = names_in(then) & assigned(tuple(before))
            then = (*before, *then) if used else then
        else:
            before = []
        first, passes = self.fresh("first"), self.fresh("passes")
        place, passed = self.fresh("place"), self.fresh("passed")
        count = identifier(counter)
        index, low, end, entry = self.candidates(loop, first)
        test = [*self.block(tuple(before)), f"{passes} = {self.expr(condition)};"]
        stores = tuple(each for each in then if not isinstance(each, i.Accumulate))
        moved = rebuild(stores, lambda node: i.Var(place) if node == i.Var(counter) else node)
        kept = self.block(moved)
        return [
            for_head(first, low, end, "blockDim.x"),
            *indent(
                [
                    f"const int64_t {index} = {first} + threadIdx.x;",
                    f"bool {passes} = false;",
                    f"int64_t {passed};",
                    f"if ({index} < {end}) {{",
                    *indent([*entry, *test]),
                    "}",
                    f"const int64_t {place} = {count} + cvmgen_block_rank({passes}, &{passed});",
                    f"if ({passes}) {{",
                    *indent([*entry, *kept]),
                    "}",
                    f"{count} += {passed};",
                ]
            ),
            "}",
        ]

    def candidates(self, loop: i.Loop, first: str) -> tuple[str, str, str, list[str]]:
        """The index of a thread's candidate, where candidates begin and end, and how the
        candidate is found by its index where it is an entry of a list."""
        if loop.low is not None:
            return identifier(loop.index), self.expr(loop.low), self.expr(loop.high, 8), []
        _, entry = self.head(loop, "0", "1")
        return f"{identifier(loop.index)}_at", "0", self.length(loop.high), entry


def for_head(at: str, start: str, end: str, step: str) -> str:
    move = f"++{at}" if step == "1" else f"{at} += {step}"
    return f"for (int64_t {at} = {start}; {at} < {end}; {move}) {{"


def reads_own(statements: tuple[i.Stmt, ...], own: frozenset[str]) -> bool:
    """Whether statements read memory that their nest fills; a sort reads all of it."""
    stored = {id(each.target) for each in walk(statements) if isinstance(each, i.Store)}
    return any(
        isinstance(each, i.Load) and each.tensor in own and id(each) not in stored
        for each in walk(statements)
    )


def reads_so_far(loop: i.Loop, counter: str, own: frozenset[str]) -> bool:
    """Whether a selection reads what it has found so far, or how much of it there is."""
    *before, last = loop.body
    tests = (*before, last.condition) if isinstance(last, i.If) else tuple(before)
    stores = {id(each) for each in walk(loop.body) if isinstance(each, (i.Store, i.Accumulate))}
    counted = any(counter in names_in(each) for each in tests if id(each) not in stores)
    return counted or reads_own((loop,), own)


def changes_outside(loop: i.Loop) -> bool:
    """Whether a loop changes locals that are not its own."""
    own = {each.name for each in walk(loop.body) if isinstance(each, i.Let)}
    return bool(changed(loop.body) - own)


def decision(loop: i.Loop) -> i.Assign | None:
    """The assignment of a loop that does nothing but look for an element that decides."""
    match loop.body:
        case (*before, i.If(then=(i.Assign() as found, i.Break()), otherwise=())):
            own = {each.name for each in walk(tuple(before)) if isinstance(each, i.Let)}
            stores = any(isinstance(each, i.Store) for each in walk(tuple(before)))
            return found if changed(tuple(before)) <= own and not stores else None
        case _:
            return None


def selection(loop: i.Loop) -> str | None:
    """The local that counts what a loop appends to a list."""
    match loop.body:
        case (*_, i.If(then=(*_, i.Store(), i.Accumulate(name=name)), otherwise=())):
            return name
        case (*_, i.Store(), i.Accumulate(name=name)):
            return name
        case _:
            return None
