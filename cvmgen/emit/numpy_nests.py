"""Nests as array operations: free indices become axes, what is left stays a loop of Python."""

from __future__ import annotations

import re

from cvmgen.emit.numpy_boxes import Block, Chain, chain_of, ends, name_of
from cvmgen.emit.numpy_chains import UFUNCS, ChainPrinter
from cvmgen.emit.numpy_printer import ARRAY, HOST, INDEX, NotAnArray, OneByOne, inlined, seen
from cvmgen.emit.python_names import identifier
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import names_in
from cvmgen.ir.visit import walk


class NestPrinter(ChainPrinter):
    """Prints the statements of a nest."""

    def statements(self, body: Block) -> None:
        for each in body:
            self.one(each)

    def one_store(self) -> bool:
        """Whether the nest is one box with nothing in it but a store for each place."""
        chain = chain_of(self.nest.body[0])
        alone = len(self.nest.body) == len(chain.body) == 1 and bool(self.free)
        return alone and not self.single and self.nest.each is None

    def elementwise(self) -> bool:
        """Whether the nest does the same to each element, whatever its place."""
        chain = chain_of(self.nest.body[0])
        alone = len(self.nest.body) == 1 and bool(chain.loops) and not self.single
        given = any(isinstance(each, i.Given) for each in walk(self.nest.body))
        folded = any(isinstance(each, i.Fold) for each in walk(self.nest.body))
        apart = not self.walked & self.looked_up and self.nest.each is None
        return alone and apart and not self.partial and not given and not folded

    def read_lines(self) -> list[str]:
        """The lines without axes that nothing reads, unless a block has nothing else."""
        kept: list[str] = []
        for before, line in zip([*self.lines[-2::-1], ""], self.lines[::-1], strict=True):
            names, _, value = line.strip().partition(" = ")
            declared = value.startswith("arrays.axes(")
            alone = before.endswith(":") and not (kept and margin(kept[-1]) >= margin(line))
            if declared and not alone:
                declared = not any(mentions(each, n) for n in names.split(", ") for each in kept)
            if alone or not declared:
                kept.append(line)
        return kept[::-1]

    def one(self, statement: i.Stmt) -> None:
        match statement:
            case i.Loop() | i.PackLoop():
                self.loops(statement)
            case i.Let(name=name, value=value):
                self.let(name, inlined(value))
            case i.Store():
                self.store(statement)
            case i.Sort(entries=entries, keys=keys, width=width):
                self.sort(entries, keys, width)
            case i.If(condition=condition, then=then, otherwise=otherwise) if not self.free:
                self.emit(f"if {self.expr(inlined(condition))}:")
                given = self.given
                with self.indented():
                    self.given = given | seen(condition)
                    self.statements(then)
                if otherwise:
                    self.emit("else:")
                    with self.indented():
                        self.given = given | seen(i.Not(condition))
                        self.statements(otherwise)
                self.given = given
            case i.Accumulate(name=name, op="+", value=i.Const() as value) if not self.free:
                self.emit(f"{self.shown.get(name, name)} += {value.value}")
            case _:
                raise NotAnArray(type(statement).__name__)

    def loops(self, statement: i.Loop | i.PackLoop) -> None:
        chain = chain_of(statement)
        if self.free:
            raise NotAnArray("a loop beside other statements")
        if all(isinstance(each, (i.Let, i.Store)) for each in chain.body):
            self.as_axes(chain)
            return
        selection = self.selection(statement)
        if selection is not None:
            self.select_entries(selection)
            return
        self.python_loop(statement)
        with self.indented():
            self.statements(statement.body)

    def as_axes(self, chain: Chain) -> None:
        """The loops of a chain as the axes of a box, and its statements for the whole box."""
        margin = self.margin
        single = [loop for loop in chain.loops if self.alone(loop)]
        boxed = [loop for loop in chain.loops if loop not in single]
        for loop in single:
            names = frozenset(map(name_of, boxed))
            for end in ends(loop):
                if names_in(end) & names:
                    raise OneByOne(names_in(end) & names)
        for loop in single:
            self.python_loop(loop)
            self.margin += 1
        self.check_box(boxed)
        with self.bound(dict.fromkeys(map(name_of, boxed), INDEX)):
            self.declare(boxed)
            self.statements(chain.body)
            self.free, self.box = [], []
        self.margin = margin

    # -------------------------------------------------------- stores

    def store(self, statement: i.Store) -> None:
        target = statement.target
        assert isinstance(target, i.Access)
        value = inlined(statement.value)
        tensor = identifier(target.tensor)
        if self.whole(target):
            self.walked.add(target.tensor)
            self.fill_whole(target, value)
            return
        self.partial = True
        slots = self.slots(target.index)
        call = self.whole_call(value) if self.covers(target) else None
        if call is not None:
            self.into(call, f"arrays.read({tensor}, {slots})")
            return
        text = self.moved(value) if isinstance(value, i.Access) else self.expr(value)
        self.emit(f"arrays.store({tensor}, {text}, {slots})")

    def fill_whole(self, target: i.Access, value: i.Expr) -> None:
        """A store for each place of the box, all of a tensor."""
        tensor = identifier(target.tensor)
        if isinstance(value, i.Access):
            where, slots = self.place(value)
            self.emit(
                f"arrays.copy({tensor}, {where}, {slots})" if slots else f"{tensor}[...] = {where}"
            )
            return
        typed = self.typed(target.tensor)
        number = self.may_be_number(value)
        if self.one_store() and self.pointwise(value) and not typed and not number:
            self.partial = True  # it makes blocks by itself
            self.chain(value, target.tensor)
            return
        call = None if typed else self.whole_call(value)
        if call is not None:
            self.into(call, tensor)
            return
        text = self.expr(value)
        if self.kind(value) == ARRAY and not self.checked and not number:
            self.emit(f"{tensor}[...] = {text}")
            return
        self.emit(f"arrays.store_all({tensor}, {text})")

    def may_be_number(self, value: i.Expr) -> bool:
        """Whether a choice by the call may give an integer of the host, which may be any."""
        match value:
            case i.Const(value=known):
                return not -128 <= known < 128
            case i.Select(then=then, otherwise=otherwise):
                return self.may_be_number(then) or self.may_be_number(otherwise)
            case _:
                return self.kind(value) == HOST

    def into(self, call: str, target: str) -> None:
        """A call with an array for its result."""
        self.emit(f'{call[:-1]}, out={target}, casting="unsafe")')

    def typed(self, tensor: str) -> bool:
        return tensor not in self.operator.precise_outputs

    def whole_call(self, value: i.Expr) -> str | None:
        """A value that one ufunc makes of arrays last, as its call."""
        if self.kind(value) != ARRAY or self.has_reals or self.checked:
            return None
        match value:
            case i.Binary(op="-", left=i.Const(value=0), right=right):
                return f"np.negative({self.expr(right)})"
            case i.Binary(op="+" | "-" | "*" as op, left=left, right=right):
                return f"{UFUNCS[op]}({self.number(left)}, {self.number(right)})"
            case i.Call(function="max" | "min" as name, arguments=(left, right)):
                return f"np.{name}imum({self.number(left)}, {self.number(right)})"
            case i.Call(function="abs", arguments=(operand,)):
                return f"np.abs({self.number(operand)})"
            case _:
                return None


def margin(line: str) -> int:
    return len(line) - len(line.lstrip())


def mentions(text: str, name: str) -> bool:
    """Whether code has a name among its words."""
    return re.search(rf"\b{name}\b", text) is not None
