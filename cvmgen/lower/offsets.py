"""Multi-indices to offsets: each access becomes base + strides, the strides found once a call.

An access by scalars is a Horner form. An access through a pack is a `Dot` of the pack with
a list of steps that the host computes: for each slot of the index list that is affine in
the pack's entries, the stride of the slot is added to the step of the entry. So a
broadcast dimension has step 0 and a transpose permutes the strides. What is not affine is
looked up through the whole index list.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from cvmgen import algebra
from cvmgen.ir import nodes as i
from cvmgen.ir.host import outputs, shape_name, with_host_part
from cvmgen.ir.rewrite import with_blocks
from cvmgen.ir.visit import rebuild
from cvmgen.lower.affine import AffineLists, OpenWalk, names_given_values

Node = TypeVar("Node", bound=i.Expr | i.Stmt)


def find_offsets(program: i.Program) -> i.Program:
    """Multi-indices become offsets, with strides that the host computes."""
    return Offsets(program).run()


class Offsets(AffineLists):
    """Adds to `prepare` (or to the branch of the nest's case) what the offsets need."""

    def run(self) -> i.Program:
        return with_host_part(self.program, self.nest)

    def nest(self, nest: i.Nest) -> tuple[i.Nest, list[i.Stmt]]:
        self.case, self.span = nest.case, nest.span
        self.host, self.lists = [], {}
        self.locals = names_given_values(nest.body)
        return replace(nest, body=self.block(nest.body)), self.host

    # -------------------------------------------------------- statements

    def block(self, statements: i.Block) -> i.Block:
        return tuple(self.statement(statement) for statement in statements)

    def statement(self, statement: i.Stmt) -> i.Stmt:
        match statement:
            case i.Loop(index=index, low=low, high=high, body=body):
                first = None if low is None else self.expr(low)
                last = self.expr(high)
                self.indices.add(index)
                inner = self.block(body)
                self.indices.discard(index)
                return replace(statement, low=first, high=last, body=inner)
            case i.PackLoop():
                return self.pack_loop(statement)
            case i.If(condition=condition):
                test = self.expr(condition)
                return with_blocks(replace(statement, condition=test), self.block)
            case i.Store() | i.Let() | i.Assign() | i.Accumulate() | i.Sort() | i.Break():
                return self.expr(statement)
            case _:
                raise AssertionError(f"{type(statement).__name__} in a nest before offsets")

    def pack_loop(self, statement: i.PackLoop) -> i.PackLoop:
        pack, slots = statement.pack, statement.slots
        if slots is None:
            name, extents = pack, self.named(statement.extents, f"{pack}_extents")
            places = None
        else:
            places = self.named(slots, f"{pack}_slots")
            name = f"{pack}_{places.name}"
            while any(walked.name == name for walked in self.walks):
                name += "_"
            extents = self.named(statement.extents, f"{name}_extents")
        self.walks.append(OpenWalk(name, pack, extents, places))
        self.indices |= {name, pack}
        body = self.block(statement.body)
        self.walks.pop()
        self.indices -= {name, pack}
        return i.PackLoop(name, extents, places, body, statement.span, pack)

    def expr(self, expr: Node) -> Node:
        def change(node: i.Expr) -> i.Expr:
            match node:
                case i.Access():
                    return self.access(node)
                case i.Call(function="flatten_index", arguments=(index, extents)):
                    return self.pack_offset("index", index, extents)
                case _:
                    return node

        return rebuild(expr, change)

    # -------------------------------------------------------- accesses

    def access(self, access: i.Access) -> i.Load:
        shape = self.shape(access.tensor, access.which)
        offset = self.offset(access.tensor, access.index, shape)
        return i.Load(access.tensor, access.which, algebra.simplify(offset))

    def shape(self, tensor: str, which: i.Expr | None) -> Slots:
        """The declared shape of a tensor, slot by slot."""
        for each in self.program.scratch:
            if each.name == tensor:
                return tuple((extent, False) for extent in each.shape)
        for item in self.program.operator.inputs:
            if item.name == tensor:
                return tuple(
                    (self.extent(extent.new, known, which), extent.pack)
                    for extent, known in zip(item.extents, self.known(tensor), strict=True)
                )
        for statement in outputs(self.program.prepare, self.case):
            if statement.tensor == tensor:
                match statement.extents:
                    case i.ListOf(entries=entries):
                        return entries
                    case extents:
                        return ((extents, True),)
        raise AssertionError(f"no tensor {tensor}")

    @staticmethod
    def extent(new: str | None, known: i.Expr | None, which: i.Expr | None) -> i.Expr:
        value: i.Expr = i.Var(new) if new is not None else known  # type: ignore[assignment]
        return value if which is None else i.Item(value, which)

    def known(self, tensor: str) -> tuple[i.Expr | None, ...]:
        for statement in self.program.prepare:
            if isinstance(statement, i.TakeInput) and statement.input.name == tensor:
                return statement.known
        raise AssertionError(f"no input {tensor}")

    def offset(self, tensor: str, index: Slots, shape: Slots) -> i.Expr:
        if len(index) == len(shape) and all(
            pack == extent_pack for (_, pack), (_, extent_pack) in zip(index, shape, strict=True)
        ):
            return self.aligned(tensor, index, shape)
        whole = shape[0][0] if len(shape) == 1 and shape[0][1] else i.ListOf(shape)
        return self.against_list(tensor, index, self.shape_list(tensor, whole))

    def shape_list(self, tensor: str, whole: i.Expr) -> i.Expr:
        stored = {each.tensor for each in outputs(self.program.prepare, self.case)}
        if tensor not in stored or isinstance(whole, i.Var):
            return whole
        return i.Var(shape_name(tensor))

    def aligned(self, tensor: str, index: Slots, shape: Slots) -> i.Expr:
        """Horner over slots that stand one against one."""
        offset: i.Expr = i.Const(0)
        for number, ((value, pack), (extent, _)) in enumerate(zip(index, shape, strict=True)):
            if pack:
                inner = self.pack_offset(tensor, value, extent)
                known = self.lists.get(extent)
                extent = i.Call("size", (extent if known is None else i.Var(known),))
                value = inner
            offset = i.Binary("+", i.Binary("*", offset, extent), value) if number else value
        return offset

    def pack_offset(self, tensor: str, value: i.Expr, extents: i.Expr) -> i.Expr:
        """The position of an index list within a box."""
        walked = self.whole_walk(value)
        if walked is not None and self.same_box(walked.extents, extents):
            return i.Dot(walked.name, None)
        match value:
            case i.Call(function="unflatten", arguments=(position, box)) if self.same_box(
                box, extents
            ):
                return position
            case _:
                pass
        box = self.named(extents, f"{tensor}_box")
        found = self.affine(tensor, value, box)
        if found is not None:
            return found
        return self.looked_up(tensor, ((value, True),), box)

    def looked_up(self, tensor: str, index: Slots, box: i.Var) -> i.Expr:
        """The position of an index list that is not affine."""
        whole = index[0][0] if len(index) == 1 and index[0][1] else i.ListOf(index)
        return i.Call("flatten_index", (whole, box))

    def same_box(self, walked: i.Expr, extents: i.Expr) -> bool:
        """Whether the loop's box is the tensor's: then the position is the offset."""
        if walked == extents or walked == i.Var(self.lists.get(extents, "")):
            return True
        return any(
            walked == i.Var(shape_name(output.tensor)) and extents == output.extents
            for output in outputs(self.program.prepare, self.case)
        )

    def against_list(self, tensor: str, index: Slots, whole: i.Expr) -> i.Expr:
        """Slots against a shape of open rank: each by the strides from where it stands."""
        shape = shape_slots(whole, (self.own_box(value) if pack else None for value, pack in index))
        if shape is not None:
            return self.aligned(tensor, index, shape)
        if len(index) == 1 and index[0][1]:
            return self.pack_offset(tensor, index[0][0], whole)
        box = self.named(whole, f"{tensor}_box")
        strides = self.strides(tensor, box)
        parts: list[i.Expr] = []
        place: i.Expr = i.Const(0)
        for value, pack in index:
            if not pack:
                parts.append(i.Binary("*", value, i.Item(strides, algebra.simplify(place))))
                place = i.Binary("+", place, i.Const(1))
                continue
            length = self.length(value)
            found = None if length is None else self.affine(tensor, value, box, place)
            if found is None or length is None:
                return self.looked_up(tensor, index, box)
            parts.append(found)
            place = i.Binary("+", place, length)
        return algebra.total(parts)


Slots = tuple[tuple[i.Expr, bool], ...]


def shape_slots(whole: i.Expr, boxes: Iterable[i.Expr | None]) -> Slots | None:
    """The shape `whole` slot by slot; `boxes` are what the multi-indices of the slots run over,
    None for a single index. None unless the boxes are neighbours that together are the shape."""
    slots: list[tuple[i.Expr, bool]] = []
    place: i.Expr | None = i.Const(0)
    for box in boxes:
        if place is None:
            return None
        match box:
            case None:
                slots.append((i.Item(whole, place), False))
                place = algebra.normal(i.Binary("+", place, i.Const(1)))
            case i.Part(sequence=sequence, low=low, high=high) if (
                sequence == whole and algebra.equal(low or i.Const(0), place)
            ):
                slots.append((box, True))
                place = high
            case _:
                return None
    return tuple(slots) if place is None else None
