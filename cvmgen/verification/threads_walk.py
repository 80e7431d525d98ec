"""The walk of a kernel by one thread: what it reads and writes in memory of others, and where it
waits, each under its conditions.

Values are read as exact integers: that no operation leaves its type, and that every index is within
its dimension, are obligations of their own, which this one may rely on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from cvmgen.ir import nodes as i
from cvmgen.ir.text import text
from cvmgen.ir.uses import carried, has, reassigned
from cvmgen.ir.visit import walk
from cvmgen.verification import terms as t
from cvmgen.verification.bounds import divided
from cvmgen.verification.kernels import accumulated
from cvmgen.verification.lists import List
from cvmgen.verification.reading import PlaceScope
from cvmgen.verification.terms import Formula, Term
from cvmgen.verification.threads_epochs import (
    DescribedValue,
    Divided,
    Either,
    Meeting,
    OffsetPart,
    Repeated,
    Sequence,
    ThreadAccess,
)
from cvmgen.verification.threads_reading import (
    INTEGERS,
    ThreadReader,
    body_of_loop,
    sets,
    value_names,
    waits,
)
from cvmgen.verification.threads_symbols import BLOCK, GRID, THREAD

CARRIED = "an iteration leaves it for the next"
WARP = 32
Structure = dict[str, Term]
Helper = Callable[["ThreadWalk", i.Call, PlaceScope], Term]
Helpers = tuple[
    Mapping[str, Helper],
    Mapping[str, Callable[["ThreadWalk", i.Call, PlaceScope], Structure]],
    Callable[["ThreadWalk", i.Expr, PlaceScope], Structure],
    Callable[["ThreadWalk", i.Sort, PlaceScope], None],
]  # those that give a value, those that give a structure, sizes of contractions, the sort


class UnseenError(Exception):
    """A statement that is not looked at: nothing is known of threads behind it."""


class ThreadWalk:
    """Walks a kernel's statements in order. `own` are the arrays that it stores to."""

    def __init__(self, reader: ThreadReader, own: frozenset[str], helpers: Helpers) -> None:
        self.reader, self.symbols, self.own = reader, reader.symbols, own
        self.helpers, self.structure, self.sizes, self.sorted = helpers
        self.factors: dict[str, str] = {}  # of a contraction, by the functions that make them
        reader.walk = self
        self.structures: dict[str, Structure] = {}
        self.made: dict[str, DescribedValue] = {}  # locals, by how they are put together
        self.private: set[str] = set()  # arrays of a thread
        self.shared: set[str] = set()  # arrays of a block
        self.divided: list[Divided] = []
        self.most: dict[str, Term] = {}  # what locals that helpers set are at most
        self.ranks: list[tuple[Term, Term, Term]] = []  # lanes, their ranks, their numbers of bits
        self.places: list[tuple[Term, Term, Term]] = []  # of bits, those below, whether it is set
        self.indices: dict[int, str] = {}  # the rounds of loops, by their numbers
        self.kept: dict[Term, tuple[Term, Term]] = {}  # words of candidates: the first, the end
        self.composed: list[tuple[Term, OffsetPart, tuple[Formula, ...]]] = []  # values of helpers
        self.combined = 0
        self.around: list[bool] = []  # the loops around, whether threads wait in them
        self.known: dict[tuple[str, Term], Term] = {}  # what all threads of a block have stored
        self.here = self.whole = Sequence()
        self.loops = 0
        self.hardware()

    # -------------------------------------------------------- the grid

    def hardware(self) -> None:
        """What a thread is told: blocks have whole warps."""
        symbols = self.symbols

        def made(name: str, level: int) -> Term:
            return symbols.at(level, lambda: symbols.within(name, 0, None, ""))

        self.lane, self.block_number = made("lane", THREAD), made("block", BLOCK)
        self.lanes, self.blocks = made("lane_count", GRID), made("block_count", GRID)
        self.thread, self.threads = made("thread", THREAD), made("threads", GRID)
        warps = made("warps", GRID)
        symbols.know(self.lanes, t.equal(self.lanes, warps * WARP), t.below(0, warps))
        symbols.know(self.lanes, t.at_most(self.lanes, 1024))
        symbols.know(self.lane, t.below(self.lane, self.lanes))
        symbols.know(self.block_number, t.below(self.block_number, self.blocks))
        whole = self.block_number * self.lanes + self.lane
        symbols.know(self.thread, t.equal(self.thread, whole))
        symbols.know(self.threads, t.equal(self.threads, self.blocks * self.lanes))

    def once(self, word: str, low: int | None, high: int | None, *operands: Term) -> Term:
        """A function of terms of which its range is known."""
        key = (word, *operands)
        return self.symbols.once(key, lambda: self.symbols.within(word, low, high, ""))

    def of_block(self, name: str, low: int | None, high: int | None, vague: str = "") -> Term:
        """A new value that all threads of a block have in common."""
        return self.symbols.at(BLOCK, lambda: self.symbols.within(name, low, high, vague))

    # -------------------------------------------------------- events

    def access(self, array: str, place: i.Expr, scope: PlaceScope, *, written: bool) -> None:
        offset = self.reader.integer(place, scope)
        splits = (*self.described(place, scope).splits, *self.walks(place, scope))
        self.event(array, offset, scope, f"{array}[{text(place)}]", splits, written=written)

    def event(
        self,
        array: str,
        offset: Term,
        scope: PlaceScope,
        shown: str,
        splits: tuple[OffsetPart, ...] = (),
        *,
        written: bool,
        shared: bool = False,
    ) -> None:
        shared = shared or array in self.shared
        if t.FALSE not in scope.path:
            self.here.parts.append(
                ThreadAccess(
                    *(array, shared, written, offset, scope.path, self.symbols.home, shown), splits
                )
            )

    def wait(self, scope: PlaceScope, what: str = "a barrier") -> None:
        self.here.parts.append(Meeting(scope.path, self.symbols.home, what))

    def leave(self, scope: PlaceScope, what: str) -> None:
        """A loop in which threads wait is left by all of them or none."""
        loops = self.around if what == "a return" else self.around[-1:]
        if any(loops):
            self.here.parts.append(Meeting(scope.path, self.symbols.home, what, waits=False))

    def described(self, expr: i.Expr, scope: PlaceScope) -> DescribedValue:
        """A value, and how it is put together of rows and indices."""
        match expr:
            case i.Var(name=name) if name in self.made:
                return self.made[name]
            case i.Convert(type=kind, operand=operand) if kind in INTEGERS:
                return self.described(operand, scope)
            case i.Binary(op="*", left=left, right=right):
                row, extent = self.described(left, scope), self.reader.integer(right, scope)
                term = self.reader.integer(expr, scope)
                if isinstance(left, i.Binary) and left.op in ("rem", "mod"):
                    row = DescribedValue(self.reader.digit(row.term))
                return DescribedValue(term, row.splits, factors=(row.term, extent))
            case i.Binary(op="+", left=left, right=right):
                return self.sum_of(self.described(left, scope), self.described(right, scope))
            case _:
                return DescribedValue(self.reader.integer(expr, scope))

    def sum_of(self, left: DescribedValue, right: DescribedValue) -> DescribedValue:
        parts = (*(left.summands or (left,)), *(right.summands or (right,)))
        splits = (*left.splits, *right.splits)
        first, *others = parts
        if first.factors is not None:
            index = sum((each.term for each in others), t.ZERO)
            splits = (OffsetPart(first.factors[0], index, first.factors[1]), *splits)
        return DescribedValue(left.term + right.term, splits, parts)

    def walks(self, place: i.Expr, scope: PlaceScope) -> list[OffsetPart]:
        """A row of a walk, and how far along the run behind it."""
        offset = self.reader.integer(place, scope)
        lists = self.reader.lists
        for name in sorted(offset.names & lists.walks.keys()):
            walk = lists.walks[name]
            step, run = (lists.measure("last", each) for each in (walk.steps, walk.box))
            for each in (run, lists.measure("rows", walk.box)):
                self.symbols.know(each, t.at_most(0, each))
            index, base = divided(offset - t.symbol(name), step)
            if offset.poly.get((name,)) == 1 and self.level(base.names) == GRID:
                return [OffsetPart(walk.row, index, run, f"{walk.box.name} by {walk.steps.name}")]
        return []

    # -------------------------------------------------------- values

    def element(self, load: i.Load, scope: PlaceScope) -> Term:
        """An element that is read: of what the kernel does not write a function of its place."""
        tensor = load.tensor
        offset = self.reader.integer(load.offset, scope)
        if load.which is not None:
            self.reader.integer(load.which, scope)
        kind = self.reader.elements.get(tensor, "i64")
        if tensor in self.own or tensor in self.shared:
            self.access(tensor, load.offset, scope, written=False)
            if (tensor, offset) in self.known:
                return self.known[tensor, offset]
        elif tensor not in self.private:
            key = ("element", tensor, offset)
            return self.symbols.once(key, lambda: self.reader.unknown(f"{tensor}[]", "", kind))
        return self.reader.unknown(f"{tensor}[]", "memory changes", kind)

    def helper(self, call: i.Call, scope: PlaceScope) -> Term | None:
        found = self.helpers.get(call.function)
        return None if found is None else found(self, call, scope)

    # -------------------------------------------------------- statements

    def block(self, body: i.Block, scope: PlaceScope) -> PlaceScope:
        for each in body:
            scope = self.statement(each, scope)
        return scope

    def statement(self, statement: i.Stmt, scope: PlaceScope) -> PlaceScope:
        """Gives what is known behind it."""
        match statement:
            case i.Let(name=name, type=kind, value=value):
                self.reader.agreement.types[name] = kind
                self.made.pop(name, None)
                if kind in INTEGERS and not has(value, i.Call, i.Load):
                    self.made[name] = self.described(value, scope)
                self.bind(name, kind, value, scope)
            case i.Array(name=name, type=kind, space=space):
                self.reader.elements[name] = self.reader.agreement.elements[name] = kind
                (self.shared if space == "shared" else self.private).add(name)
            case i.Assign(name=name, value=value):
                self.made.pop(name, None)
                self.bind(name, self.reader.agreement.types.get(name, "i64"), value, scope)
            case i.Accumulate(name=name, op=op, value=value):
                self.accumulate(name, op, value, scope)
            case i.Store(target=i.Load() as target, value=value):
                self.store(target, value, scope)
            case i.If(condition=condition, then=then, otherwise=otherwise):
                return self.branches(
                    self.reader.condition(condition, scope), then, otherwise, scope
                )
            case i.Loop():
                return self.loop(statement, scope)
            case i.Barrier():
                self.wait(scope)
            case i.Invoke(call=call):
                self.reader.call(call, scope)
            case i.Sort():
                self.sorted(self, statement, scope)
            case i.Break() | i.Return(value=None):
                self.leave(scope, "a break" if isinstance(statement, i.Break) else "a return")
                return scope.inner(t.FALSE)
            case i.Return(value=value) if value is not None:
                self.look(value, scope)
            case i.SetAt(index=index, value=value):
                self.look((index, value), scope)
            case i.Overflow(offset=offset):
                self.look(offset, scope)  # what is noted there is noted by an atomic operation
            case _:
                raise UnseenError(type(statement).__name__.lower())
        return scope

    def look(self, value: object, scope: PlaceScope) -> None:
        """What an expression reads of memory that the kernel writes; threads that it waits for."""
        for each in walk(value):
            match each:
                case i.Load(tensor=tensor) if tensor in self.own or tensor in self.shared:
                    self.element(each, scope)
                case i.Call(function=function) if function in self.helpers:
                    self.helper(each, scope)
                case _:
                    pass

    def bind(self, name: str, kind: str, value: i.Expr, scope: PlaceScope) -> None:
        reader = self.reader
        if kind == "list":
            scope.names[name] = reader.sequence(value, scope)
        elif kind == "bool":
            scope.names[name] = reader.condition(value, scope)
        elif kind in INTEGERS:
            scope.names[name] = reader.integer(value, scope)
        elif kind == "contraction":
            self.structures[name] = self.sizes(self, value, scope)
        elif isinstance(value, i.Call) and value.function in ("rows_of", "elements_of"):
            self.factors[name] = value.function
        elif isinstance(value, i.Call) and value.function in self.structure:
            self.structures[name] = self.structure[value.function](self, value, scope)
        elif isinstance(value, i.Call) and value.function in self.helpers:
            scope.names[name] = reader.integer(value, scope)
        else:
            self.look(value, scope)
            scope.names[name] = reader.unknown(name, "bits are not looked at")

    def accumulate(self, name: str, op: str, value: i.Expr, scope: PlaceScope) -> None:
        kind = self.reader.agreement.types.get(name, "i64")
        self.made.pop(name, None)
        if kind == "bool" or kind not in INTEGERS:
            self.look(value, scope)
            before = scope.names.get(name)
            self.bind(name, kind, i.Var(name), scope)
            if kind == "bool":
                test = self.reader.condition(value, scope)
                assert not isinstance(before, (Term, type(None)))
                both = t.every if op == "and" else t.some
                scope.names[name] = both(before, test)  # type: ignore[arg-type]
            return
        self.bind(name, kind, accumulated(op, name, value), scope)

    def store(self, target: i.Load, value: i.Expr, scope: PlaceScope) -> None:
        self.look(value, scope)
        tensor = target.tensor
        if tensor in self.private:
            self.look(target.offset, scope)
            return
        self.access(tensor, target.offset, scope, written=True)
        self.forget_stored({tensor})
        integral = self.reader.elements.get(tensor, "i64") == "i64"
        if integral and isinstance(value, (i.Var, i.Const)):
            self.remember(tensor, target.offset, self.reader.integer(value, scope), scope)

    def remember(self, tensor: str, place: i.Expr, value: Term, scope: PlaceScope) -> None:
        """What one thread stores at a place that all know is what all read behind a barrier."""
        offset = self.reader.integer(place, scope)
        own = [each for each in scope.path if self.level(t.names_of(each)) > BLOCK]
        alike = self.level(offset.names | value.names) <= BLOCK
        if alike and all(each == t.equal(self.lane, 0) for each in own):
            self.known[tensor, offset] = value

    def forget_stored(self, tensors: Iterable[str]) -> None:
        gone = set(tensors)
        self.known = {key: value for key, value in self.known.items() if key[0] not in gone}

    def level(self, names: Iterable[str]) -> int:
        return self.symbols.level_of(names)

    # -------------------------------------------------------- control

    def branches(
        self, test: Formula, then: i.Block, otherwise: i.Block, scope: PlaceScope
    ) -> PlaceScope:
        """Behind a branch a local is what either way made of it. Where a way may be left for good,
        those come behind it that did not leave."""
        before, known = self.here, self.known
        ends = []
        for way, body in ((test, then), (t.negation(test), otherwise)):
            self.here = Sequence()
            ends.append((self.block(body, scope.inner(way)), self.here))
        self.here = before
        (one, first), (other, second) = ends
        if first.parts or second.parts:
            self.here.parts.append(Either(first, second))
        if otherwise or self.level(t.names_of(test)) <= BLOCK:
            self.known = {key: value for key, value in known.items() if key in self.known}
        behind = scope
        if has((then, otherwise), i.Break, i.Return):
            came = (t.every(*(e for e in end.path if e not in scope.path)) for end in (one, other))
            behind = scope.inner(t.some(*came))
        for name in sorted(reassigned((then, otherwise)) & scope.names.keys()):
            self.made.pop(name, None)
            behind.names[name] = self.joined(test, one, other, name)
        return behind

    def joined(
        self, test: Formula, one: PlaceScope, other: PlaceScope, name: str
    ) -> Term | Formula:
        left, right = one.names[name], other.names[name]
        if isinstance(left, Term) and isinstance(right, Term):
            return self.symbols.choice(test, left, right)
        if isinstance(left, List) or isinstance(right, List):
            return self.reader.unknown(name, "a list that branches set")
        assert not isinstance(left, Term) and not isinstance(right, Term)
        return t.some(t.every(test, left), t.every(t.negation(test), right))

    def loop(self, loop: i.Loop, scope: PlaceScope) -> PlaceScope:
        """Loops in which threads wait are made by all together, an iteration at a time."""
        self.loops += 1
        number, outer = self.loops, self.symbols.home
        waiting = waits(loop.body)
        level = BLOCK if waiting else THREAD
        self.reader.agreement.types[loop.index] = loop.type
        stored = {each.target.tensor for each in walk(loop.body) if isinstance(each, i.Store)}
        self.forget_stored(stored)
        before, names = self.here, sorted(carried(loop.body) & scope.names.keys())
        levels = dict.fromkeys(names, level)
        self.symbols.home = (*outer, number)
        self.around.append(waiting)
        while waiting and names:  # until what is the same for all threads stays so
            self.here = Sequence()
            inner = self.iteration(loop, level, levels, scope)
            end = self.block(loop.body, inner)
            differ = [name for name in names if self.level(value_names(end, name)) > levels[name]]
            if not differ:
                break
            levels |= dict.fromkeys(differ, THREAD)
        self.here = Sequence()
        self.block(loop.body, self.iteration(loop, level, levels, scope))
        self.around.pop()
        self.symbols.home = outer
        before.parts.append(Repeated(number, self.here))
        self.here = before
        self.forget_stored(stored)
        for name in names:
            self.forget(name, levels[name], scope)
        return scope

    def iteration(
        self, loop: i.Loop, level: int, levels: Mapping[str, int], scope: PlaceScope
    ) -> PlaceScope:
        """What is known in any iteration: its index, and how far counters have come."""
        number = self.symbols.at(level, lambda: self.symbols.within("round", 0, None, ""))
        (self.indices[self.symbols.home[-1]],) = number.names
        index = self.symbols.at(level, lambda: self.symbols.fresh(loop.index))
        first, step = t.ZERO, t.term(loop.step)
        if loop.share is not None:
            first = self.reader.integer(loop.share.first, scope)
            step = self.reader.integer(loop.share.step, scope)
        low = t.ZERO if loop.low is None else self.reader.integer(loop.low, scope)
        high = self.end_of(loop, scope)
        at = low + first + number * step
        inner = scope.inner()
        if loop.low is None:
            inner.names[loop.index] = self.listed(loop, at, index, inner)
            inner = inner.inner(t.below(at, high))
        else:
            inner = inner.inner(t.equal(index, at), t.at_most(low, index), t.below(index, high))
            inner.names[loop.index] = index
            if loop.share is not None and loop.share.among:
                self.divided.append(Divided(index, low, first, step, scope.path))
        for name, of in levels.items():
            start = scope.names[name]
            self.forget(name, of, inner)
            now = inner.names[name]
            if isinstance(start, Term) and isinstance(now, Term):
                inner = inner.inner(*self.grown(loop.body, name, start, now, number))
        return inner

    def end_of(self, loop: i.Loop, scope: PlaceScope) -> Term:
        match loop.high:
            case i.Entries(length=length):
                return self.reader.integer(length, scope)
            case i.Call(function="set_bits", arguments=(i.Var(name=name),)):
                return self.bits_of(scope.names[name])
            case high if loop.low is not None:
                return self.reader.integer(high, scope)
            case high:
                return self.reader.lists.length(self.reader.sequence(high, scope))

    def listed(self, loop: i.Loop, at: Term, index: Term, scope: PlaceScope) -> Term:
        """An entry of a list, which is read where the list is the kernel's own."""
        match loop.high:
            case i.Entries(first=i.Load(tensor=tensor, offset=first)) if tensor in self.own:
                scope = scope.inner(t.below(at, self.end_of(loop, scope)))
                scope.names["position"] = at
                self.access(tensor, i.Binary("+", first, i.Var("position")), scope, written=False)
            case _:
                pass
        return index

    def bits_of(self, word: object) -> Term:
        """How many bits of a word are set."""
        assert isinstance(word, Term)
        return self.once("bits", 0, 64, word)

    def grown(
        self, body: i.Block, name: str, start: Term, now: Term, number: Term
    ) -> tuple[Formula, ...]:
        """How far a counter has come, of which an iteration adds no more than so much."""
        steps = [each for each in body_of_loop(body) if name in sets(each)]
        most = t.ZERO
        for each in steps:
            match each:
                case i.Accumulate(op="+", value=i.Const(value=value)) if value >= 0:
                    most += int(value)
                case i.Accumulate(op="+", value=i.Var(name=amount)) if amount in self.most:
                    most += self.most[amount]
                case i.Accumulate(op="+", value=i.Call(function="bits")):
                    most += 64
                case _:
                    return ()
        if name in reassigned(tuple(each for each in walk(body) if isinstance(each, i.Loop))):
            return ()
        always = [each for each in body if each in steps]
        if len(always) == len(steps) and most.value is not None and not has(body, i.Break):
            return (t.equal(now, start + number * most),)
        return t.at_most(start, now), t.at_most(now, start + number * most)

    def forget(self, name: str, level: int, scope: PlaceScope) -> None:
        """A local of which only the type is known, and who has it in common."""
        kind = self.reader.agreement.types.get(name, "i64")
        self.made.pop(name, None)

        def made() -> Term:
            return self.symbols.within(name, None, None, CARRIED)

        if kind == "bool":
            scope.names[name] = t.negation(t.equal(self.symbols.at(level, made), 0))
        else:
            scope.names[name] = self.symbols.at(level, made)
