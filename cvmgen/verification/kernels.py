"""The walk of a kernel's statements: what each place demands, and what is known there.

Loops are walked once, with an index of which only the range is known; a local that an iteration
leaves for the next is, where the loop begins, any value of its type, and what `counters.py` shows
to be invariant. Conditions count where they guard and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass

from cvmgen.ir import nodes as i
from cvmgen.ir.loops import leaves_loop
from cvmgen.ir.text import text
from cvmgen.ir.uses import carried, has, names_in, reassigned
from cvmgen.source import Span
from cvmgen.typing.agreement import HOST
from cvmgen.verification import terms as t
from cvmgen.verification.accumulated import Sums
from cvmgen.verification.counters import Counters, is_test
from cvmgen.verification.lists import List
from cvmgen.verification.reading import LIMITS, FormulaReader, PlaceScope
from cvmgen.verification.terms import Formula, Term
from cvmgen.verification.writes import (
    CarriedLocal,
    Written,
    WrittenBox,
    WrittenEither,
    WrittenInTurn,
    WrittenLoop,
    WrittenRun,
)

CARRIED = "an iteration leaves it for the next"


@dataclass(frozen=True)
class Stored:
    """What a kernel stores to an array of its own, and what holds there."""

    value: Term
    path: tuple[Formula, ...]


class KernelWalk:
    """Walks blocks in order; `lengths` are those of its own arrays, `stores` what it stores there,
    `here` what it writes to other memory, `unread` the statements that it cannot see through."""

    def __init__(self, reader: FormulaReader) -> None:
        self.reader = reader
        self.symbols = reader.symbols
        self.lengths: dict[str, Term] = {}
        self.stores: dict[str, list[Stored]] = {}
        self.older: dict[str, frozenset[str]] = {}  # symbols, of arrays of integers
        self.sums = Sums(reader)
        self.tests = set[str]()  # locals that are the number of a test
        self.unread: list[tuple[str, Span | None]] = []
        self.here = self.written = WrittenInTurn()
        self.returns = False  # whether it may be left early
        self.parallel = set[str]()  # indices of loops whose iterations are made at once
        self.around = 0  # how many more loops inwards are so

    def block(self, body: i.Block, scope: PlaceScope) -> PlaceScope:
        self.sums.begin(body)
        for each in body:
            self.reader.span = getattr(each, "span", None)
            self.sums.meet(each, scope)
            scope = self.statement(each, scope)
        return scope

    def statement(self, statement: i.Stmt, scope: PlaceScope) -> PlaceScope:
        """Gives what is known behind it."""
        reader = self.reader
        match statement:
            case i.Let(name=name, type=kind, value=value):
                reader.agreement.types[name] = kind
                (self.tests.add if is_test(value) else self.tests.discard)(name)
                self.bind(name, kind, value, scope)
            case i.Array(name=name, type=kind, length=length):
                reader.elements[name] = reader.agreement.elements[name] = kind
                self.lengths[name] = reader.arrays[name] = t.term(length)
                if kind in ("i32", "i64"):
                    self.older[name] = frozenset(self.symbols.axioms)
            case i.Assign(name=name, value=value):
                if not is_test(value, self.tests):
                    self.tests.discard(name)
                self.bind(name, reader.agreement.types.get(name, "i64"), value, scope)
            case i.Accumulate(name=name, op=op, value=value):
                kind = reader.agreement.types.get(name, "i64")
                self.tests.discard(name)
                self.bind(name, kind, accumulated(op, name, value), scope)
            case i.Store(target=i.Load(tensor=tensor) as target, value=value):
                stored = self.value(value, reader.elements.get(tensor, "i64"), scope)
                offset = reader.access(target, scope, stored=True)
                self.write(tensor, offset, t.ONE, scope, stored)
                self.stores.setdefault(tensor, []).append(Stored(stored, scope.path))
            case i.If(condition=condition, then=then, otherwise=otherwise):
                return self.branches(reader.condition(condition, scope), then, otherwise, scope)
            case i.Loop():
                return self.loop(statement, scope)
            case i.Copy(count=count, target=target, step=step, source=source, source_step=back):
                ends = [reader.integer(each, scope) for each in (count, step, back)]
                at = self.within_count(ends[0], scope)
                self.strided(source, ends[2], *at)
                self.strided(target, ends[1], *at, stored=True)
                self.write_run(target, ends[1], ends[0], scope)
            case i.Fill(count=count, target=target, step=step, value=value):
                ends = [reader.integer(each, scope) for each in (count, step)]
                at = self.within_count(ends[0], scope)
                self.value(value, statement.type, scope)
                self.strided(target, ends[1], *at, stored=True)
                self.write_run(target, ends[1], ends[0], scope)
            case i.Move(extents=extents, target=target, source=source):
                self.box(target, statement.steps, extents, scope, stored=True)
                self.box(source, statement.source_steps, extents, scope)
            case i.Slide(count=count, target=target, source=source, first=first):
                self.value(first, statement.type, scope)
                at = self.within_count(t.term(count), scope)
                self.strided(target, t.ONE, *at, stored=True)
                at = self.within_count(t.term(count - 1), scope)
                self.strided(source, t.ONE, *at)
            case i.Apply(values=values, count=count):
                at = self.within_count(reader.integer(count, scope), scope)
                self.strided(values, t.ONE, *at)
                self.strided(values, t.ONE, *at, stored=True)
            case i.Products():
                self.products(statement, scope)
            case i.Fetch(place=place):
                reader.integer(place.offset, scope)  # reads nothing
            case i.Overflow(tensor=tensor, offset=offset):  # a call that comes here is refused
                self.write(tensor, reader.integer(offset, scope), t.ONE, scope)
            case i.Break() | i.Return():
                self.returns = self.returns or isinstance(statement, i.Return)
                return scope.inner(t.FALSE)
            case i.Barrier():
                pass
            case _:
                self.unseen(statement, scope)
        return scope

    def value(self, value: i.Expr, kind: str, scope: PlaceScope) -> Term:
        """The value of a machine type; conditions are read for what they demand."""
        return self.reader.integer(value, scope)

    def bind(self, name: str, kind: str, value: i.Expr, scope: PlaceScope) -> None:
        reader = self.reader
        if kind == "list":
            scope.names[name] = reader.sequence(value, scope)
        elif kind == "bool":
            scope.names[name] = reader.condition(value, scope)
        elif kind in ("i64", "i32", "i128"):
            scope.names[name] = self.local(name, reader.integer(value, scope))
        elif kind in LIMITS:
            reader.integer(value, scope)
            scope.names[name] = reader.unknown(name, "bits are not looked at", kind)
        else:
            reader.integer(value, scope)
            scope.names[name] = reader.unknown(name, f"{kind} is not looked at")

    def local(self, name: str, found: Term) -> Term:
        """What is computed once, in front of all loops, keeps its name; an index that a loop
        computes is what it is made of, so that offsets can be taken apart."""
        if self.sums.trips or found.is_plain:
            return found
        made = self.symbols.fresh(name)
        self.symbols.know(made, t.equal(made, found))
        return made

    # ------------------------------------------------------------ control

    def branches(
        self, test: Formula, then: i.Block, otherwise: i.Block, scope: PlaceScope
    ) -> PlaceScope:
        """Behind a branch a local is what either way made of it; where a way is left for good,
        what the other way tested holds."""
        one, other = scope.inner(test), scope.inner(t.negation(test))
        outside, ways = self.here, (WrittenInTurn(), WrittenInTurn())
        before = dict(scope.names)
        self.here = ways[0]
        one = self.block(then, one)
        self.here = ways[1]
        other = self.block(otherwise, other)
        self.here = outside
        if ways[0].parts or ways[1].parts:
            outside.parts.append(WrittenEither(test, scope.path, *ways))
        behind = scope
        if _ends(then):
            behind = scope.inner(t.negation(test))
        elif _ends(otherwise):
            behind = scope.inner(test)
        for name in reassigned((then, otherwise)) & before.keys():
            behind.names[name] = self.joined(test, one, other, name)
        return behind

    def joined(
        self, test: Formula, one: PlaceScope, other: PlaceScope, name: str
    ) -> Term | Formula:
        left, right = one.names[name], other.names[name]
        if isinstance(left, Term) and isinstance(right, Term):
            return self.symbols.choice(test, left, right)
        if isinstance(left, Formula) and isinstance(right, Formula):
            return t.some(t.every(test, left), t.every(t.negation(test), right))
        return self.symbols.fresh_truth(name, "a condition that branches set")

    def loop(self, loop: i.Loop, scope: PlaceScope) -> PlaceScope:
        reader = self.reader
        reader.agreement.types[loop.index] = HOST if loop.type == "i64" else loop.type
        changed = sorted(carried(loop.body))
        low = t.ZERO if loop.low is None else reader.integer(loop.low, scope)
        counters = Counters(reader, self.tests, loop, scope)
        count = self.iterations(loop, low, scope) if counters.counters else None
        age, outside, self.here = len(self.symbols.axioms), self.here, WrittenInTurn()
        before = {name: scope.names.get(name) for name in changed}
        inner, index = scope.inner(), self.symbols.fresh(loop.index)
        self.forget(changed, inner)  # the end is asked for before each iteration
        inner = self.iteration(loop, index, low, inner)
        counters.know_inside(inner, low)
        for each in (loop.worth, loop.share):
            if each is not None:
                reader.below(each, scope)
        begin, inside = {name: inner.names[name] for name in changed}, inner.path
        self.sums.enter(loop, low, inner)
        outside_this, self.around = self.around, max(loop.parallel, self.around)
        if self.around:
            self.parallel |= index.names
        self.around = max(0, self.around - 1)
        end = self.block(loop.body, inner)
        self.around = outside_this
        self.sums.trips.pop()
        self.forget(changed, scope)
        counters.know_behind(scope, count)
        body, self.here = self.here, outside
        if body.parts:
            several = (
                (each.get(name) for each in (before, begin, end.names, scope.names))
                for name in changed
            )
            kept = tuple(local for each in several if (local := carried_local(*each)) is not None)
            end_at = index if loop.low is None else self.end_of(loop, scope)
            outside.parts.append(
                WrittenLoop(
                    *(index, low, end_at, loop.step, scope.path, inside, age, body, kept),
                    left=loop.low is None or leaves_loop(loop.body) or has(loop.body, i.Return),
                )
            )
        return scope

    def end_of(self, loop: i.Loop, scope: PlaceScope) -> Term:
        with self.reader.quiet():
            return self.reader.integer(loop.high, scope)

    def iterations(self, loop: i.Loop, low: Term, scope: PlaceScope) -> Term | None:
        """How many there are of a loop whose end they do not change."""
        fixed = loop.low is not None and names_in(loop.high).isdisjoint(carried(loop.body))
        if not fixed or loop.step != 1:
            return None
        with self.reader.quiet():
            high = self.reader.integer(loop.high, scope)
        return self.symbols.extreme("max", high - low, t.ZERO)

    def iteration(self, loop: i.Loop, index: Term, low: Term, scope: PlaceScope) -> PlaceScope:
        """What is known where an iteration begins."""
        if loop.low is None:
            scope.names[loop.index] = self.reader.unknown(loop.index, "an entry of a list")
            return scope
        high = self.reader.integer(loop.high, scope)
        scope.names[loop.index] = index
        tests = (t.at_most(low, index), t.below(index, high))
        return scope.inner(*tests, *self.stepped(index, low, loop.step))

    def stepped(self, index: Term, low: Term, step: int) -> tuple[Formula, ...]:
        """An index is a number of steps away from the first one."""
        if step == 1:
            return ()
        count = self.symbols.fresh("step")
        return t.at_most(0, count), t.equal(index, low + count * step)

    def forget(self, names: list[str], scope: PlaceScope) -> None:
        """Locals of which only the type is known."""
        for name in names:
            kind = self.reader.agreement.types.get(name, "i64")
            if kind == "bool":
                scope.names[name] = self.symbols.fresh_truth(name, CARRIED)
            else:
                made = self.reader.unknown(name, CARRIED, kind, name)
                scope.names[name] = self.reader.stand(name, made)

    # ------------------------------------------------------------ what is written

    def write(
        self, tensor: str, offset: Term, count: Term, scope: PlaceScope, value: Term | None = None
    ) -> None:
        """Elements of memory that is not the kernel's own."""
        if tensor not in self.lengths:
            self.here.parts.append(WrittenRun(tensor, offset, count, scope.path, value))

    def write_run(self, place: i.Load, step: Term, count: Term, scope: PlaceScope) -> None:
        """A run of elements so far apart: those behind each other at once."""
        with self.reader.quiet():
            offset = self.reader.integer(place.offset, scope)
        if step == t.ONE:
            self.write(place.tensor, offset, count, scope)
            return
        age, outside, self.here = len(self.symbols.axioms), self.here, WrittenInTurn()
        at, inner = self.within_count(count, scope)
        self.write(place.tensor, offset + at * step, t.ONE, inner)
        body, self.here = self.here, outside
        if body.parts:
            outside.parts.append(
                WrittenLoop(at, t.ZERO, count, 1, scope.path, inner.path, age, body)
            )

    def write_box(
        self, place: i.Load, offset: Term, box: List, by: List, scope: PlaceScope
    ) -> None:
        if place.tensor in self.lengths:
            return
        if not self.written_out(box, by):
            made = WrittenBox(place.tensor, offset, box, by, scope.path)
            self.here.parts.append(made)
            return
        loops: list[tuple[Term, Term, int, PlaceScope, PlaceScope]] = []
        for extent, step in zip(box.parts or (), by.parts or (), strict=True):
            assert isinstance(extent, Term) and isinstance(step, Term)
            age, outer = len(self.symbols.axioms), scope
            at, scope = self.within_count(extent, scope)
            offset = offset + at * step
            loops.append((at, extent, age, outer, scope))
        found: Written = WrittenRun(place.tensor, offset, t.ONE, scope.path)
        for at, extent, age, outer, inner in reversed(loops):
            body = WrittenInTurn([found])
            found = WrittenLoop(at, t.ZERO, extent, 1, outer.path, inner.path, age, body)
        self.here.parts.append(found)

    # ------------------------------------------------------------ runs of elements

    def within_count(self, count: Term, scope: PlaceScope) -> tuple[Term, PlaceScope]:
        """The number of any element of a run, and what is known of it."""
        at = self.symbols.fresh("k")
        return at, scope.inner(t.at_most(0, at), t.below(at, count))

    def strided(
        self, place: i.Load, step: Term, at: Term, scope: PlaceScope, *, stored: bool = False
    ) -> None:
        offset = self.reader.integer(place.offset, scope) + at * step
        shown = f"{place.tensor} from {text(place.offset)} on"
        self.reader.touch(place.tensor, offset, scope, shown, stored=stored)
        if stored:
            kind = self.reader.elements.get(place.tensor, "i64")
            value = self.reader.unknown("moved", "elements that are moved", kind)
            self.stores.setdefault(place.tensor, []).append(Stored(value, scope.path))

    def products(self, products: i.Products, scope: PlaceScope) -> None:
        """The elements of both factors that sums of products read, and their totals."""
        read = self.reader.integer
        row, inner = self.within_count(read(products.rows, scope), scope)
        depth = read(products.depth, inner) + row * read(products.longer, inner)
        k, within = self.within_count(depth, inner)
        self.line(products.x, row, k, within)
        column, within = self.within_count(read(products.columns, within), within)
        self.line(products.w, column, k, within)
        at = t.term(32) * row + column
        self.strided(products.totals, t.ONE, at, within)
        self.strided(products.totals, t.ONE, at, within, stored=True)

    def line(self, lines: i.Lines, line: Term, k: Term, scope: PlaceScope) -> None:
        at = line * self.reader.integer(lines.line, scope)
        at += k * self.reader.integer(lines.term, scope)
        self.strided(lines.first, t.ONE, at, scope)

    def box(
        self,
        place: i.Load,
        steps: i.Expr,
        extents: i.Expr,
        scope: PlaceScope,
        *,
        stored: bool = False,
    ) -> None:
        """Every element of a box that is walked by steps from a place on."""
        reader = self.reader
        box, by = reader.sequence(extents, scope), reader.sequence(steps, scope)
        offset = reader.integer(place.offset, scope)
        if stored:
            self.write_box(place, offset, box, by, scope)
        inner = scope.inner()
        if self.written_out(box, by):
            for extent, step in zip(box.parts or (), by.parts or (), strict=True):
                assert isinstance(extent, Term)
                assert isinstance(step, Term)
                at, inner = self.within_count(extent, inner)
                offset = offset + at * step
        else:
            last, rows = (reader.lists.measure(word, box) for word in ("last", "rows"))
            at, inner = self.within_count(last, inner)
            row, inner = self.within_count(rows, inner)
            offset = offset + reader.lists.walk_offset(row, box, by)
            offset = offset + at * reader.lists.measure("last", by)
        shown = f"{place.tensor} from {text(place.offset)} on"
        reader.touch(place.tensor, offset, inner, shown, stored=stored)

    def written_out(self, *several: List) -> bool:
        """Whether lists have the same known number of entries."""
        counts = {len(each.parts) if each.parts is not None else -1 for each in several}
        parts = [part for each in several for part in each.parts or ()]
        return len(counts) == 1 and -1 not in counts and not any(isinstance(e, List) for e in parts)

    def unseen(self, statement: i.Stmt, scope: PlaceScope) -> None:
        self.unread.append((type(statement).__name__, getattr(statement, "span", None)))


def carried_local(
    before: object, begin: object, end: object, behind: object
) -> CarriedLocal | None:
    """A local that is an integer all the way."""
    match before, begin, end, behind:
        case Term(), Term(), Term(), Term():
            return CarriedLocal(before, begin, end, behind)
        case _:
            return None


def _ends(body: i.Block) -> bool:
    """Whether a block is left for good at its end."""
    return bool(body) and (isinstance(body[-1], (i.Break, i.Return)))


def accumulated(op: str, name: str, value: i.Expr) -> i.Expr:
    """What an accumulator becomes, as an expression."""
    match op:
        case "max" | "min":
            return i.Call(op, (i.Var(name), value))
        case "and" | "or":
            return i.Logic(op, (i.Var(name), value))
        case _:
            return i.Binary(op, i.Var(name), value)
