"""Loops whose index is divided become two: `d div c` and `d mod c` run by themselves.

Where c divides the extent, a loop over d is a loop over quotients around a loop over
remainders, and accesses through `d div c` and `d mod c` are affine in the two. A scalar
loop becomes two loops; a box becomes one of twice the rank, in which dimension k of before is
dimensions 2*k and 2*k + 1. The order of the elements stays. Whether c divides the extent in
every admitted call is proved from the formula; without a proof the loop stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from cvmgen import algebra
from cvmgen.analysis.facts import Facts
from cvmgen.ir import nodes as i
from cvmgen.ir.host import outputs, shape_name, with_host_part
from cvmgen.ir.logic import opposite
from cvmgen.ir.rewrite import with_blocks
from cvmgen.ir.uses import assigned, has, names_in
from cvmgen.ir.visit import fresh, rebuild, substitute, walk
from cvmgen.source import Span

DIVISIONS = ("floordiv", "mod")
SLOT = i.Var("slot")


def split_indices(program: i.Program) -> i.Program:
    """Loops whose index is divided become two, where it is proved that they may."""
    taken = set(names_in(program.prepare)) | assigned(program.prepare)
    taken |= {name for nest in program.nests for name in names_in(nest.body) | assigned(nest.body)}

    def change(nest: i.Nest) -> tuple[i.Nest, list[i.Stmt]]:
        split = LoopSplitter(program, nest, taken)
        return replace(nest, body=split.block(nest.body)), split.host

    return with_host_part(program, change)


@dataclass(frozen=True, slots=True)
class PackDivisor:
    """Entry `index` of a multi-index is divided by `divisor` wherever `path` holds.

    All three may speak of SLOT, which runs below `count`.
    """

    index: i.Expr
    divisor: i.Expr
    path: tuple[i.Expr, ...]
    count: i.Expr


class LoopSplitter:
    """Splits the loops of one nest; `host` is what must run before it."""

    def __init__(self, program: i.Program, nest: i.Nest, taken: set[str]) -> None:
        self.boxes = outputs(program.prepare, nest.case)
        self.facts = Facts.of(program, nest)
        self.inner = assigned(nest.body)
        self.local = {*self.inner} | names_in(nest.body) | names_in(program.prepare)
        self.taken = taken
        self.host: list[i.Stmt] = []

    def block(self, statements: i.Block) -> i.Block:
        return tuple(self.statement(statement) for statement in statements)

    def statement(self, statement: i.Stmt) -> i.Stmt:
        match with_blocks(statement, self.block):
            case i.Loop() as loop:
                return self.loop(loop)
            case i.PackLoop() as loop:
                return self.pack_loop(loop)
            case other:
                return other

    def is_host(self, expr: i.Expr) -> bool:
        """Whether an expression has a value before the nest."""
        return not has(expr, i.Access, i.Load, i.Dot) and not names_in(expr) & self.inner

    # -------------------------------------------------------- scalar loops

    def loop(self, loop: i.Loop) -> i.Loop:
        if loop.low != i.Const(0):
            return loop
        index = i.Var(loop.index)
        for divisor in index_divisors(loop.body, index):
            if not self.is_host(divisor):
                continue
            count = self.facts.quotient(loop.high, divisor)
            done = None if count is None else self.two_loops(loop, divisor, count)
            if done is not None:
                return done
        return loop

    def two_loops(self, loop: i.Loop, divisor: i.Expr, count: i.Expr) -> i.Loop | None:
        """The loops over quotients and remainders; None if a division would be left."""
        quotient = i.Binary("floordiv", i.Var(loop.index), divisor)
        remainder = i.Binary("mod", i.Var(loop.index), divisor)
        left = exchanged(loop.body, {quotient: i.Const(0), remainder: i.Const(0)})
        if any(True for _ in index_divisors(left, i.Var(loop.index))):
            return None
        outer = i.Var(fresh(f"{loop.index}_outer", self.local))
        inner = i.Var(fresh(f"{loop.index}_inner", self.local))
        whole = i.Binary("+", i.Binary("*", outer, divisor), inner)
        body = exchanged(loop.body, {quotient: outer, remainder: inner})
        body = substitute(body, {loop.index: whole})
        within = replace(loop, index=inner.name, high=divisor, body=body)
        return replace(loop, index=outer.name, high=count, body=(within,))

    # -------------------------------------------------------- boxes

    def pack_loop(self, loop: i.PackLoop) -> i.PackLoop:
        entries = EntryFinder(loop.pack)
        body: i.Block = rebuild(loop.body, entries.collect)
        if loop.slots is not None or loop.pack in names_in(body) or len(entries.factors) != 1:
            return loop
        if SLOT.name in self.local or not self.is_host(loop.extents):
            return loop
        (factor,) = entries.factors
        if not self.divides(factor, loop.extents):
            return loop
        return self.split_box(loop, factor)

    def divides(self, factor: PackDivisor, extents: i.Expr) -> bool:
        """Whether each divisor divides its extent, and no two stand at one entry."""
        told = (factor.index, factor.divisor, factor.count, *factor.path)
        if not all(map(self.is_host, told)):
            return False
        line = algebra.line(factor.index, SLOT.name)
        if line is None or line.step not in (i.ONE, i.Const(-1)):
            return False
        self.facts.indices.add(SLOT.name)
        known = equalities(factor.path)
        index, divisor = substitute((factor.index, factor.divisor), known)
        extent = self.facts.entry(extents, index)
        return extent is not None and self.facts.quotient(extent, divisor) is not None

    def split_box(self, loop: i.PackLoop, factor: PackDivisor) -> i.PackLoop:
        span = loop.span
        box = self.box(loop.extents, span)
        factors = i.Var(fresh(f"{loop.pack}_factors", self.taken))
        ones = i.Call("ones", (i.Call("len", (box,)),))
        entry: i.Stmt = i.SetAt(factors.name, factor.index, factor.divisor, span)
        for condition in reversed(factor.path):
            entry = i.If(condition, (entry,), (), span)
        self.host.append(i.Let(factors.name, "list", ones, span))
        self.host.append(i.Loop(SLOT.name, i.Const(0), factor.count, (entry,), 0, span))
        own = frozenset(each.tensor for each in self.boxes if box == i.Var(shape_name(each.tensor)))
        rewrite = Rewrite(loop.pack, factors, box, factor, own)
        body = rebuild(loop.body, rewrite.change)
        return replace(loop, extents=i.Call("split", (box, factors)), body=body)

    def box(self, extents: i.Expr, span: Span) -> i.Expr:
        """The extents by name where they are those of an output."""
        for output in self.boxes:
            if output.extents == extents:
                return i.Var(shape_name(output.tensor))
        if isinstance(extents, i.Var):
            return extents
        name = fresh("box", self.taken)
        self.host.append(i.Let(name, "list", extents, span))
        return i.Var(name)


def exchanged(body: i.Block, values: Mapping[i.Expr, i.Expr]) -> i.Block:
    """The statements with some expressions replaced by others."""

    def change(node: i.Expr) -> i.Expr:
        return values.get(node, node) if isinstance(node, i.Binary) else node

    return rebuild(body, change)


def index_divisors(body: i.Block, index: i.Var) -> Iterator[i.Expr]:
    """By what an index, or an expression with it, is divided."""
    for node in walk(body):
        match node:
            case i.Binary(op="floordiv" | "mod" | "truncdiv", left=left, right=right) if (
                index.name in names_in(left)
            ):
                yield right
            case _:
                pass


def equalities(path: tuple[i.Expr, ...]) -> dict[str, i.Expr]:
    """What SLOT is, where the path says so."""
    for condition in path:
        match condition:
            case i.Compare(op="==", left=left, right=right) if left == SLOT:
                return {SLOT.name: right}
            case i.Compare(op="==", left=left, right=right) if right == SLOT:
                return {SLOT.name: left}
            case _:
                pass
    return {}


# ---------------------------------------------------------------- index lists


def whole_list(value: i.Expr, pack: str) -> bool:
    return value == i.Var(pack)


def written_entry(value: i.Expr, pack: str) -> tuple[i.Over, i.Expr] | None:
    """An index list written entry by entry: (over slots from 0, the entry)."""
    match value:
        case i.Gather(
            kind="list",
            element=element,
            over=(i.Over(low=i.Const(value=0)) as over,),
            condition=None,
        ) if pack in names_in(element):
            return over, element
        case _:
            return None


class EntryFinder:
    """Finds how the index lists of a nest use a multi-index; what it knows, it takes away."""

    def __init__(self, pack: str) -> None:
        self.pack = pack
        self.factors: list[PackDivisor] = []

    def collect(self, node: i.Expr) -> i.Expr:
        """An access without the index lists that could be rewritten for a split box."""
        if not isinstance(node, i.Access):
            return node
        return replace(node, index=tuple(slot for slot in node.index if not self.known(*slot)))

    def known(self, value: i.Expr, spread: bool) -> bool:
        if not spread:
            return False
        if whole_list(value, self.pack):
            return True
        found = written_entry(value, self.pack)
        if found is None:
            return False
        over, element = found
        return self.entry(substitute(element, {over.index: SLOT}), over.high, ())

    def entry(self, element: i.Expr, count: i.Expr, path: tuple[i.Expr, ...]) -> bool:
        match element:
            case i.Select(condition=condition, then=then, otherwise=otherwise):
                good = self.pack not in names_in(condition)
                good = good and self.entry(then, count, (*path, condition))
                return good and self.entry(otherwise, count, (*path, opposite(condition)))
            case i.Binary(op=op, left=i.Item(sequence=i.Var(name=name), index=index)) if (
                op in DIVISIONS and name == self.pack
            ):
                factor = PackDivisor(index, element.right, path, count)
                if factor not in self.factors:
                    self.factors.append(factor)
                return self.pack not in names_in((index, element.right))
            case i.Item(sequence=i.Var(name=name), index=index) if name == self.pack:
                return self.pack not in names_in(index)
            case i.Binary(op="+" | "-" | "*", left=left, right=right):
                return self.entry(left, count, path) and self.entry(right, count, path)
            case _:
                return self.pack not in names_in(element)


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Rewrites accesses through the multi-index of a box for the box split by `factors`."""

    pack: str
    factors: i.Var
    box: i.Expr
    factor: PackDivisor
    own: frozenset[str]  # the tensors whose box it is: there the position is the offset

    def change(self, node: i.Expr) -> i.Expr:
        if not isinstance(node, i.Access):
            return node
        index = tuple((self.value(node, value), spread) for value, spread in node.index)
        return replace(node, index=index)

    def value(self, access: i.Access, value: i.Expr) -> i.Expr:
        found = written_entry(value, self.pack)
        if found is not None:
            over, element = found
            return i.Gather("list", self.entry(element, over.index), (over,), None)
        if not whole_list(value, self.pack):
            return value
        if access.tensor in self.own:
            return i.Call("unflatten", (i.Dot(self.pack, None), self.box))
        over = i.Over(SLOT.name, i.Const(0), i.Call("len", (self.box,)))
        return i.Gather("list", self.joined(SLOT), (over,), None)

    def entry(self, element: i.Expr, index: str) -> i.Expr:
        """An entry of an index list; where only the divided index varies, the quotient alone."""
        match element:
            case i.Select(condition=condition, then=then, otherwise=otherwise):
                yes, no = self.entry(then, index), self.entry(otherwise, index)
                if self.is_else(condition, index):
                    yes = self.undivided(then, index) or yes
                elif self.is_else(opposite(condition), index):
                    no = self.undivided(otherwise, index) or no
                return algebra.simplify(i.Select(condition, yes, no))
            case i.Binary(op=op, left=i.Item(sequence=i.Var(name=name), index=at)) if (
                op in DIVISIONS and name == self.pack
            ):
                return self.outer(at) if op == "floordiv" else self.inner(at)
            case i.Item(sequence=i.Var(name=name), index=at) if name == self.pack:
                return self.joined(at)
            case i.Binary(left=left, right=right):
                first, second = self.entry(left, index), self.entry(right, index)
                return replace(element, left=first, right=second)
            case _:
                return element

    def is_else(self, condition: i.Expr, index: str) -> bool:
        """Whether the factor stands in the other branch: here the extent is not split."""
        return self.factor.path == (opposite(substitute(condition, {index: SLOT})),)

    def undivided(self, element: i.Expr, index: str) -> i.Expr | None:
        """The same entry of the multi-index, where its factor is 1."""
        match element:
            case i.Item(sequence=i.Var(name=name), index=at) if name == self.pack:
                same = substitute(at, {index: SLOT}) == self.factor.index
                return self.outer(at) if same else None
            case _:
                return None

    def joined(self, at: i.Expr) -> i.Expr:
        whole = i.Binary("*", i.Item(self.factors, at), self.outer(at))
        return i.Binary("+", whole, self.inner(at))

    def outer(self, at: i.Expr) -> i.Expr:
        return i.Item(i.Var(self.pack), i.Binary("*", i.Const(2), at))

    def inner(self, at: i.Expr) -> i.Expr:
        return i.Item(i.Var(self.pack), i.Binary("+", i.Binary("*", i.Const(2), at), i.Const(1)))
