"""C, CUDA: offsets of index lists that are not affine, without a list for each element.

Where each entry of an index list is a function of its own entry of a multi-index, as in reflecting
pads and rotations, the offset is a sum of one term for each dimension. The box is cut into rows of
nearly as many elements as there are rows. In front of the nest one memory is filled with what the
leading dimensions come to for each row, another one with what the others come to for each column:
the place of an element is the sum of two loads. That is legal where each element of the box asks
for its place: then each entry of each dimension is asked for, and lies in the tensor. It is for C
(`tables`): on a GPU few threads would fill them.

Where entries read elements, the offset is a sum over the entries, with the strides of the tensor;
of a part that is affine it is a walk as elsewhere. As each entry lies in its dimension, all partial
sums lie in the tensor. A sum that does not depend on an inner loop stands in front of it.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Any

from cvmgen import algebra
from cvmgen.analysis.definedness import always_evaluated
from cvmgen.analysis.facts import Facts
from cvmgen.ir import nodes as i
from cvmgen.ir.host import outputs, shape_name
from cvmgen.ir.uses import has, names_in, nodes_in
from cvmgen.ir.visit import rebuild, replaced, substitute
from cvmgen.lower.affine import START
from cvmgen.lower.invariant_reductions import with_hoisted_reductions
from cvmgen.lower.list_nests import box_size
from cvmgen.lower.offsets import Offsets, Slots
from cvmgen.lower.unfold import Unfold, taken


def find_places(program: i.Program) -> i.Program:
    """Multi-indices become offsets; of index lists that are not affine, sums."""
    return Places(program, tables=False).run()


def tabulate_places(program: i.Program) -> i.Program:
    """Multi-indices become offsets; of index lists that are not affine, sums and tables."""
    return Places(program, tables=True).run()


class Places(Offsets):
    """`made` are the nests that fill tables, by the number of the nest that reads them."""

    def __init__(self, program: i.Program, *, tables: bool) -> None:
        super().__init__(program)
        self.tables = tables
        self.tensor_of: dict[i.Expr, str] = {}
        self.made: list[list[i.Nest]] = []
        self.memory: list[i.Scratch] = []

    def run(self) -> i.Program:
        program = super().run()
        nests: list[i.Nest] = []
        for tables, nest in zip(self.made, program.nests, strict=True):
            nests += tables
            nests.append(with_sums(program, nest) if has(nest.body, i.Fold) else nest)
        return replace(program, nests=tuple(nests), scratch=(*program.scratch, *self.memory))

    def nest(self, nest: i.Nest) -> tuple[i.Nest, list[i.Stmt]]:
        self.of = nest
        self.made.append([])
        return super().nest(nest)

    # -------------------------------------------------------- sums

    def looked_up(self, tensor: str, index: Slots, box: i.Var) -> i.Expr:
        whole = super().looked_up(tensor, index, box)
        self.tensor_of[whole] = tensor
        if not has(whole, i.Load):
            return whole
        strides = self.strides(tensor, box)
        place: i.Expr = START
        terms: list[i.Expr] = []
        for value, pack in index:
            if not pack:
                terms.append(i.Binary("*", value, i.Item(strides, algebra.simplify(place))))
                place = algebra.total([place, i.ONE])
                continue
            length = self.length(value) or self.part_length(value, box, place)
            found = self.rest(value, box, place)
            if found is None and length is not None:
                found = self.affine(tensor, value, box, place)
            found = found or self.summed(value, strides, place)
            if found is None or length is None:
                return whole
            terms.append(found)
            place = algebra.total([place, length])
        return algebra.total(terms)

    def rest(self, value: i.Expr, box: i.Var, place: i.Expr) -> i.Expr | None:
        """The position in all dimensions from a place on, where a loop walks through these."""
        walked = self.whole_walk(value)
        if walked is None or not isinstance(walked.extents, i.Var):
            return None
        extents = self.box_of(walked.extents)
        return i.Dot(walked.name, None) if extents == i.Part(box, place, None) else None

    def part_length(self, value: i.Expr, box: i.Var, place: i.Expr) -> i.Expr | None:
        """The length of a part of an open pack."""
        return self.pack_length(value, box) if self.open_pack(value) is not None else None

    @staticmethod
    def summed(value: i.Expr, strides: i.Var, place: i.Expr) -> i.Expr | None:
        """The sum of the entries of a comprehension, each by the stride of its dimension."""
        match value:
            case i.Gather(
                kind="list", element=element, over=(i.Over(low=i.Const(value=0)) as over,)
            ) if value.condition is None:
                at = algebra.simplify(i.Binary("+", place, i.Var(over.index)))
                term = i.Binary("*", element, i.Item(strides, at))
                return i.Fold("sum", i.Convert("i64", term), (over,), None)
            case _:
                return None

    # -------------------------------------------------------- tables

    def pack_loop(self, statement: i.PackLoop) -> i.PackLoop:
        if (parted := self.two_loops(statement)) is not None:
            return super().pack_loop(parted)
        loop = super().pack_loop(statement)
        calls = lookups(loop.body)
        pack, extents = loop.pack, loop.extents
        if not self.tables or self.walks or loop.slots is not None or self.of.each is not None:
            return loop
        if not (calls and set(calls) <= surely_asked(loop.body) and isinstance(extents, i.Var)):
            return loop
        self.rank = self.resolved(self.length(self.box_of(extents)) or i.Call("len", (extents,)))
        if not all(self.apart(each, pack) for each in calls):
            return loop
        rest = rebuild(
            loop.body, lambda node: i.ZERO if node in calls or _dot(node, pack) else node
        )
        return loop if pack in names_in(rest) else self.rows(loop, calls, extents)

    def box_of(self, extents: i.Var) -> i.Expr:
        """What a list of extents is, as the formula says it."""
        shapes = {
            shape_name(each.tensor): each for each in outputs(self.program.prepare, self.of.case)
        }
        if extents.name in shapes:
            return shapes[extents.name].extents
        return next((box for box, name in self.lists.items() if name == extents.name), extents)

    def two_loops(self, loop: i.PackLoop) -> i.PackLoop | None:
        """A loop over leading dimensions around one over the others, where each list of indices
        takes all of the one or of the other: what depends on the leading ones is made once."""
        pack = i.Var(loop.pack)
        cut = {
            each.low or each.high for each in nodes_in(loop.body, i.Part) if each.sequence == pack
        }
        if loop.slots is not None or len(cut) != 1 or not isinstance(loop.extents, i.Var):
            return None
        (at,) = cut
        if at is None or not self.is_host(at):
            return None
        ahead, behind = (
            i.Var(self.fresh(f"{pack.name}_ahead")),
            i.Var(self.fresh(f"{pack.name}_behind")),
        )
        both = dict(zip(parts(pack, at), (ahead, behind), strict=True))

        def change(node: Any) -> Any:
            match node:
                case i.Part() if node in both:
                    return both[node]
                case i.Access(index=index):
                    slots = [
                        ((ahead, True), (behind, True)) if each == (pack, True) else (each,)
                        for each in index
                    ]
                    return replace(node, index=tuple(chain(*slots)))
                case _:
                    return node

        body = rebuild(loop.body, change)
        if pack.name in names_in(body):
            return None
        front, back = self.boxes(loop.extents, at)
        inner = i.PackLoop(behind.name, back, None, body, loop.span)
        return i.PackLoop(ahead.name, front, None, (inner,), loop.span)

    def boxes(self, extents: i.Var, at: i.Expr) -> tuple[i.Expr, i.Expr]:
        """The extents up to a dimension and from it on, as the formula says them if it does."""
        match self.box_of(extents):
            case i.ListOf(entries=((first, True), (second, True))) if algebra.equal(
                i.Call("len", (first,)), at
            ):
                return first, second
            case _:
                return parts(extents, at)

    def apart(self, call: i.Call, pack: str) -> bool:
        """Whether each entry of a list is a function of its own entry of a multi-index."""
        match call.arguments:
            case (
                i.Gather(kind="list", element=element, over=(i.Over() as over,), condition=None),
                i.Var(),
            ) if over.low == START and self.resolved(over.high) == self.rank:
                own = i.Item(i.Var(pack), i.Var(over.index))
                left = rebuild(element, lambda node: i.ZERO if node == own else node)
                return self.is_host(left, over.index) and pack not in names_in(left)
            case _:
                return False

    def rows(self, loop: i.PackLoop, calls: list[i.Call], box: i.Var) -> i.PackLoop:
        """The loop over rows around that over columns."""
        span, pack = loop.span, loop.pack
        front, back = self.cut(box, pack)
        row, self.pack, self.box = self.fresh(f"{pack}_line"), pack, box
        values: dict[i.Expr, i.Expr] = {}
        for call in calls:
            first, second = self.table(call, front, START), self.table(call, back, self.split)
            ahead = i.Load(first, None, i.Dot(row, None))
            values[call] = i.Binary("+", ahead, i.Load(second, None, i.Dot(pack, None)))
        size = i.Call("size", (back,))
        whole = i.Binary("*", i.Dot(row, None), size)
        values[i.Dot(pack, None)] = i.Binary("+", whole, i.Dot(pack, None))
        for each in nodes_in(loop.body, i.Dot):
            if each.pack == pack and isinstance(each.steps, i.Var):
                values[each] = self.parted(each.steps, row, pack)
        body = replaced(loop.body, lambda node: values.get(node, node))
        inner = i.PackLoop(pack, back, None, body, span)
        return i.PackLoop(row, front, None, (inner,), span)

    def cut(self, box: i.Var, pack: str) -> tuple[i.Var, i.Var]:
        """The dimensions of rows, no more of them than each has elements, and those of a row."""
        at = i.Var("slot")
        ahead, behind = (i.Call("size", (part,)) for part in parts(box, i.Binary("+", at, i.ONE)))
        last = i.Binary("-", i.Call("len", (box,)), i.ONE)
        test = i.Compare("<=", ahead, behind)
        split = self.fresh(f"{pack}_split")
        counted = i.Fold("count", test, (i.Over(at.name, START, last),), None)
        self.host.append(i.Let(split, "int", counted, self.span))
        front, back = parts(box, i.Var(split))
        rows, columns = self.named(front, f"{pack}_rows"), self.named(back, f"{pack}_columns")
        self.split = i.Var(split)
        return rows, columns

    def parted(self, steps: i.Var, row: str, pack: str) -> i.Expr:
        """A walk over both parts."""
        front, back = parts(steps, self.split)
        walks = (
            i.Dot(row, self.named(front, f"{steps.name}_rows")),
            i.Dot(pack, self.named(back, f"{steps.name}_columns")),
        )
        return i.Binary("+", *walks)

    def table(self, call: i.Call, part: i.Var, first: i.Expr) -> str:
        """The memory of what the dimensions from `first` on come to, and the nest that fills it.

        Of the last dimension first: what is there for those behind one is there for its first
        entry, and moved by the term of each other entry for that. The first one comes last.
        """
        value, box = call.arguments
        assert isinstance(value, i.Gather) and isinstance(value.over[0], i.Over)
        assert isinstance(box, i.Var)
        name = self.fresh(f"{self.tensor_of[call]}_{'places' if first == START else 'columns'}")
        memory = i.Scratch(name, name, (i.Call("size", (part,)),), self.of.case)
        self.memory.append(memory)
        self.host.append(i.Let(memory.size, "int", box_size(memory.shape), self.span))
        steps = self.named(i.Call("strides", (part,)), f"{part.name}_strides")
        body = self.filled(value, box, part, steps, first, name)
        nest = i.Nest(name, self.of.case, None, (), body, self.of.formula, self.span)
        self.made[-1].append(nest)
        return name

    def filled(
        self, value: i.Gather, box: i.Var, part: i.Var, steps: i.Var, first: i.Expr, name: str
    ) -> i.Block:
        over, span = value.over[0], self.span
        assert isinstance(over, i.Over)
        before, after, slot, entry, place, at = (
            i.Var(self.fresh(each)) for each in ("before", "after", "slot", "entry", "place", "at")
        )
        extent = i.Item(part, slot)
        dimension = algebra.simplify(i.Binary("+", first, slot))
        own = i.Item(i.Var(self.pack), i.Var(over.index))
        found = rebuild(value.element, lambda node: entry if node == own else node)
        found = substitute(found, {over.index: dimension})
        term = i.Binary("*", found, i.Item(self.strides(name, box), dimension))
        target = i.Binary("+", i.Binary("*", entry, i.Item(steps, slot)), at)
        moved = i.Convert("i64", i.Binary("+", i.Load(name, None, at), place))
        inner: i.Block = (i.Store(i.Load(name, None, target), moved, span),)
        inner = (
            i.Let(entry.name, "int", from_end(extent, after), span),
            i.Let(place.name, "int", i.Convert("i64", term), span),
            i.Loop(at.name, START, i.Item(steps, slot), inner, 0, span),
        )
        length = i.Call("len", (part,))
        middle: i.Block = (
            i.Let(slot.name, "int", from_end(length, before), span),
            i.Loop(after.name, START, extent, inner, 0, span),
        )
        body: i.Block = (
            i.Store(i.Load(name, None, START), START, span),
            i.Loop(before.name, START, length, middle, 0, span),
        )
        if not self.program.operator.empty_tensors:
            return body
        some = i.Compare(">", i.Call("size", (self.box,)), i.ZERO)
        return (i.If(some, body, (), span),)


def with_sums(program: i.Program, nest: i.Nest) -> i.Nest:
    """A nest whose sums over index lists are loops, in front of what they do not depend on."""
    unfold = Unfold(taken(nest.body), everything=False, reals=program.operator.has_reals)
    body = with_hoisted_reductions(unfold.block(nest.body), Facts.of(program, nest))
    return replace(nest, body=body)


def from_end(count: i.Expr, at: i.Expr) -> i.Expr:
    return i.Binary("-", i.Binary("-", count, i.ONE), at)


def parts(box: i.Var, at: i.Expr) -> tuple[i.Part, i.Part]:
    """A list up to an entry, and from it on."""
    return i.Part(box, None, at), i.Part(box, at, None)


def lookups(body: i.Block) -> list[i.Call]:
    """The places in statements that are asked for by index lists."""
    return [each for each in nodes_in(body, i.Call) if each.function == "flatten_index"]


def surely_asked(body: i.Block) -> set[i.Expr]:
    """What the stores right in a loop evaluate in each iteration, whatever conditions come to."""
    stores = [each for each in body if isinstance(each, i.Store)]
    values = [each for store in stores for each in (store.target, store.value)]
    return {part for each in values for part in always_evaluated(each)}


def _dot(node: object, pack: str) -> bool:
    return isinstance(node, i.Dot) and node.pack == pack
