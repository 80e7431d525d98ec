"""`overlap`: short rows that are appended go by whole vectors, over what comes behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cvmgen import algebra
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import names_in, read_tensors
from cvmgen.ir.visit import fresh, replaced, substitute
from cvmgen.schedule.actions.split import lets
from cvmgen.schedule.copies import VECTOR
from cvmgen.schedule.forms import Use
from cvmgen.schedule.subject import Subject
from cvmgen.typing.machine_types import BITS_OF

AT_ONCE = 2  # rows that are stored while as many others are read
FIRST, NEXT = ("first", "second"), ("third", "fourth")


def overlap(subject: Subject, use: Use) -> Subject:
    """Rows that fit into so many bytes take them all with them, but for the last ones. Two of them
    are stored when the next two have been read and asked: what is read waits for stores, if their
    places are like its own. What is read so many bytes later, as the second number says, is
    fetched.

    What is stored behind a row is overwritten by what belongs there. Legal for rows that are stored
    one behind the other, each over the one before if that did not count; other loops stay.
    """
    names, bytes_, role = set(use.loops(subject, 0)), use.number(1), use.roles(3)[0]
    used = subject.taken
    made: dict[str, None] = {}
    if bytes_ != VECTOR:
        use.refuse(f"vectors for rows have {VECTOR} bytes")

    def change(loop: i.Loop) -> i.Block | None:
        rows = appended_rows(loop, bytes_, use.number(2))
        if rows is None or any(each.value != i.ZERO for each in lets(subject.body, rows.step.name)):
            return None
        index = fresh(f"{loop.index}_{role}", used)
        made[index] = None
        return rows.in_vectors(index, subject, used)

    return subject.with_loops(names, change).with_roles({role: tuple(made)})


@dataclass(frozen=True, slots=True)
class KeptRow:
    """The names of an array of a row's elements, and of the local that says whether it is kept."""

    elements: str
    kept: str

    @classmethod
    def of(cls, name: str, used: set[str]) -> KeptRow:
        return cls(fresh(name, used), fresh(f"{name}_kept", used))


@dataclass(frozen=True, slots=True)
class Appended:
    """A loop that stores a row of the source in each iteration and counts those that are kept."""

    loop: i.Loop
    copy: i.Copy
    step: i.Accumulate
    elements: int  # of a vector
    ahead: int  # how many bytes, where what is read later is fetched

    def most(self, subject: Subject) -> i.Expr:
        """How many rows there are, counted from the first one, behind which whole vectors fit."""
        match self.copy.count:
            case i.Const(value=int(row)):
                left = i.Binary("-", self.loop.high, i.Const(-(-self.elements // row)))
                return i.Call("max_i64", (i.ZERO, left))
            case row:
                vector = i.Const(self.elements)
                left = i.Binary("-", self.loop.high, i.Call("ceildiv", (vector, row)))
                fits: i.Expr = i.Compare("<=", row, vector)
                if not subject.facts.positive(row):
                    fits = i.Logic("and", (i.Compare(">=", row, i.ONE), fits))
                return i.Select(fits, i.Call("max_i64", (i.ZERO, left)), i.ZERO)

    @property
    def first(self) -> tuple[i.Expr, i.Expr]:
        """Where the first row comes from, and where it goes."""
        found: tuple[i.Expr, i.Expr] = substitute(
            (self.copy.source.offset, self.copy.target.offset),
            {self.loop.index: i.ZERO, self.step.name: i.ZERO},
        )
        return algebra.simplify(found[0]), algebra.simplify(found[1])

    def in_vectors(self, index: str, subject: Subject, used: set[str]) -> i.Block:
        """The rows that have enough others behind them, and then the last ones."""
        row, span = self.copy.count, self.loop.span
        tensors = self.copy.source.tensor, self.copy.target.tensor
        most, pairs, source, target = (
            i.Var(fresh(name, used))
            for name in (f"{index}s", f"{index}_pairs", *(f"{each}_at" for each in tensors))
        )
        begin, place = self.first
        count = i.Call("floor_div", (algebra.simplify(i.Binary("-", target, place)), row))
        size = i.Const(AT_ONCE)
        return (
            i.Let(most.name, "i64", self.most(subject), span),
            i.Let(pairs.name, "i64", i.Binary("truncdiv", most, size), span),
            i.Let(source.name, "i64", begin, span),
            i.Let(target.name, "i64", place, span),
            i.If(
                i.Compare(">", pairs, i.ZERO),
                self.in_pairs(i.Var(index), pairs, source, target, used),
                (),
                span,
            ),
            i.Assign(self.step.name, count, span),
            replace(self.loop, low=i.Binary("*", pairs, size)),
        )

    def in_pairs(
        self, index: i.Var, pairs: i.Var, source: i.Var, target: i.Var, used: set[str]
    ) -> i.Block:
        """Rows, each stored over the one before if that is not kept."""
        row, span = self.copy.count, self.loop.span
        first, later = (
            [KeptRow.of(f"{index.name}_{word}", used) for word in words] for words in (FIRST, NEXT)
        )
        walk = algebra.normal(i.Binary("*", i.Const(AT_ONCE), row))
        body = (
            i.Accumulate(source.name, "+", walk, span),
            i.Fetch(replace(self.copy.source, offset=source), self.ahead, span),
            *self.read(later, index, source),
            *self.stored(first, target),
            *(
                each
                for one, other in zip(first, later, strict=True)
                for each in (
                    self.copied(one.elements, other.elements),
                    i.Assign(one.kept, i.Var(other.kept), span),
                )
            ),
        )
        return (
            *self.read(first, i.ZERO, source),
            i.Loop(index.name, i.ONE, pairs, body, 0, span),
            *self.stored(first, target),
        )

    def read(self, rows: Sequence[KeptRow], pair: i.Expr, source: i.Var) -> i.Block:
        """The rows of a pair, and whether they are kept."""
        done: list[i.Stmt] = []
        for number, row in enumerate(rows):
            before = algebra.simplify(i.Binary("*", i.Const(number), self.copy.count))
            at = i.Binary("+", i.Binary("*", pair, i.Const(AT_ONCE)), i.Const(number))
            test = self.walked(self.step.value, algebra.simplify(at), source, before)
            place = replace(self.copy.source, offset=algebra.total((source, before)))
            done += (
                i.Array(row.elements, self.copy.type, self.elements, self.loop.span),
                self.copied(row.elements, place),
                i.Let(row.kept, "i64", test, self.loop.span),
            )
        return tuple(done)

    def stored(self, rows: Sequence[KeptRow], target: i.Var) -> i.Block:
        place = replace(self.copy.target, offset=target)
        return tuple(
            each
            for row in rows
            for each in (
                self.copied(place, row.elements),
                replace(
                    self.step,
                    name=target.name,
                    value=i.Binary("*", i.Var(row.kept), self.copy.count),
                ),
            )
        )

    def copied(self, to: str | i.Load, source: str | i.Load) -> i.Copy:
        """A vector, between an array and a tensor or another array."""
        target, origin = (
            i.Load(each, None, i.ZERO) if isinstance(each, str) else each for each in (to, source)
        )
        return replace(self.copy, target=target, source=origin, count=i.Const(self.elements))

    def walked(self, test: i.Expr, index: i.Expr, source: i.Expr, before: i.Expr) -> i.Expr:
        """What is asked of a row that has others before it, by its place where that is as far from
        each element."""
        begin = self.copy.source.offset

        def change(node: object) -> object:
            if not isinstance(node, i.Load):
                return node
            behind = algebra.normal(i.Binary("-", node.offset, begin))
            if self.loop.index in names_in(behind):
                return node
            rest = algebra.normal(i.Binary("+", before, behind))
            return replace(node, offset=algebra.total((source, *algebra.signed(rest))))

        return substitute(replaced(test, change), {self.loop.index: index})


def appended_rows(loop: i.Loop, bytes_: int, ahead: int) -> Appended | None:
    """The loop, if rows that it stores may fit into so many bytes."""
    match loop.body:
        case (
            i.Copy(step=i.Const(value=1), source_step=i.Const(value=1)) as copy,
            i.Accumulate(op="+", value=i.Convert(type="i64")) as step,
        ):
            pass
        case _:
            return None
    name, row, elements = step.name, copy.count, bytes_ * 8 // BITS_OF[copy.type]
    if isinstance(row, i.Const) and not 1 <= row.value <= elements:
        return None
    if loop.low != i.ZERO or loop.step != 1 or {name, loop.index} & names_in(row):
        return None
    source = algebra.line(copy.source.offset, loop.index, {name})
    target = algebra.line(copy.target.offset, name, {loop.index})
    if source is None or target is None or name in names_in(step.value):
        return None
    if copy.target.tensor in read_tensors(step.value):
        return None
    if not all(algebra.equal(each.step, row) for each in (source, target)):
        return None
    return Appended(loop, copy, step, elements, ahead)
