"""`multiply`: blocks of sums of products of real numbers, each in its order."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.algebra import normal, simplify
from cvmgen.analysis.ordered_products import OrderedFactor, OrderedProducts, ordered_products
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import nodes_in
from cvmgen.ir.visit import fresh, substitute
from cvmgen.schedule.forms import Use
from cvmgen.schedule.measures import enough, known_outcome
from cvmgen.schedule.subject import Subject

ROWS, COLUMNS = 64, 32  # of a block, as cvmgen_products.h says


def multiply(subject: Subject, use: Use) -> Subject:
    """Blocks of sums that grow side by side in registers, where there are enough; the nest stays
    for other calls.

    Legal for sums of products of two tensors: results are computed in any order, and each adds what
    it did in the same order as before. A block in which rows have fewer columns than the last one
    has as many for all of them: the nest fills memory in which these others are not read.
    """
    named = {*use.loops(subject, 0), *use.loops(subject, 1)}
    found = products_of(subject)
    if found is None or named != {found.rows.loop.index, found.columns.loop.index}:
        use.refuse(f"only a sum of products of two tensors has such blocks ({subject.place})")
    worth = enough(subject, next(nodes_in(subject.body, i.Loop)), use.test(5))
    if known_outcome(worth) is False:
        return subject.with_roles({use.roles(at)[0]: () for at in (2, 3, 4)})
    use.room(ROWS * COLUMNS)
    roles = [use.roles(at)[0] for at in (2, 3, 4)]
    writer = BlockWriter(found, subject.taken, roles[0], roles[1])
    span, blocks = found.total.span, writer.nest()
    always = known_outcome(worth) is True
    both = blocks if always else i.If(worth, (blocks,), subject.body, span)
    made = (writer.rows.outer, writer.columns.outer, writer.columns.inner)
    new = {role: (name,) for role, name in zip(roles, made, strict=True)}
    return subject.with_body((both,)).with_roles(new)


def products_of(subject: Subject) -> OrderedProducts | None:
    """A nest as a product of matrices; rows have as many columns, unless others may be stored."""
    found = ordered_products(subject.body, subject.dtypes)
    return None if found is not None and found.wider and not subject.in_part else found


class BlockLoops:
    """The names of a side's loops over blocks and over each block, and how many lines that has;
    blocks go to an `end`."""

    def __init__(self, line: OrderedFactor, role: str, size: int, used: set[str]) -> None:
        self.line, self.size, self.end = line, size, line.loop.high
        index = line.loop.index
        self.outer, self.inner = (fresh(f"{index}_{each}", used) for each in (role, "line"))
        self.count = i.Var(fresh(f"{self.inner}s", used))

    def blocks(self, body: i.Block) -> i.Loop:
        """The loop over blocks."""
        loop, rest = self.line.loop, simplify(i.Binary("-", self.end, i.Var(self.outer)))
        most = i.Call("min_i64", (i.Const(self.size), rest))
        count = i.Let(self.count.name, "i64", most, loop.span)
        return replace(loop, index=self.outer, high=self.end, step=self.size, body=(count, *body))

    def within(self, body: i.Block) -> i.Loop:
        """The loop over the lines of a block."""
        return replace(self.line.loop, index=self.inner, high=self.count, body=body)

    @property
    def first(self) -> i.Load:
        """The first element that a block reads."""
        found, at = self.line.first, i.Binary("*", i.Var(self.outer), self.line.line)
        return replace(found, offset=simplify(i.Binary("+", found.offset, at)))

    @property
    def place(self) -> dict[str, i.Expr]:
        """The index of a line of a block."""
        value = i.Binary("+", i.Var(self.outer), i.Var(self.inner))
        return {self.line.loop.index: value}


class BlockWriter:
    """Makes the nest by blocks."""

    def __init__(self, found: OrderedProducts, used: set[str], rows: str, columns: str) -> None:
        self.found = found
        self.rows = BlockLoops(found.rows, rows, ROWS, used)
        self.columns = BlockLoops(found.columns, columns, COLUMNS, used)
        if found.wider:
            after = i.Binary("+", i.Var(self.rows.outer), self.rows.count)
            last = i.Binary("*", i.Const(found.wider), i.Binary("-", after, i.ONE))
            self.columns.end = normal(i.Binary("+", found.width, last))
        self.totals = fresh(f"{found.total.name}s", used)
        self.start = fresh(f"{found.total.name}_place", used)

    def nest(self) -> i.Loop:
        found = self.found
        steps = (*self.zeros(), self.sums(), self.results())
        nest = self.rows.blocks((self.columns.blocks(steps),))
        for each in reversed(found.others):
            nest = replace(each, body=(nest,))
        return nest

    def zeros(self) -> i.Block:
        span, number = self.found.total.span, i.Binary("*", self.rows.count, i.Const(COLUMNS))
        store = i.Store(i.Load(self.totals, None, i.Var(self.start)), i.Real("0.0"), span)
        array = i.Array(self.totals, "f64", ROWS * COLUMNS, span)
        return array, i.Loop(self.start, i.ZERO, number, (store,), 0, span)

    def sums(self) -> i.Stmt:
        """The products, inside the other loops of the sum."""
        found, first = self.found, i.Binary("*", i.Var(self.rows.outer), self.found.longer)
        done: i.Stmt = i.Products(
            i.Load(self.totals, None, i.ZERO),
            self.factor(self.rows),
            self.rows.count,
            self.factor(self.columns),
            self.columns.count,
            simplify(i.Binary("+", found.depth, first)),
            found.longer,
            found.total.span,
        )
        for each in reversed(found.around):
            done = replace(each, body=(done,))
        return done

    @staticmethod
    def factor(side: BlockLoops) -> i.Lines:
        return i.Lines(side.first, side.line.type, side.line.line, side.line.term)

    def results(self) -> i.Loop:
        """What is made of the sums of a block."""
        found = self.found
        row = i.Binary("*", i.Var(self.rows.inner), i.Const(COLUMNS))
        total = i.Load(self.totals, None, i.Binary("+", row, i.Var(self.columns.inner)))
        body: i.Block = (*found.before, replace(found.total, value=total), *found.after)
        body = substitute(body, {**self.rows.place, **self.columns.place})
        return self.rows.within((self.columns.within(body),))
