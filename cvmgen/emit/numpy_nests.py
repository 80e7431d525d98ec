"""Nests as array operations: free indices become axes, what is left stays a loop of Python."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from cvmgen.emit.numpy_printer import (
    ARRAY,
    HOST,
    INDEX,
    UFUNCS,
    Axis,
    NotAnArray,
    OneByOne,
    inlined,
)
from cvmgen.emit.numpy_reductions import ReductionPrinter
from cvmgen.emit.python_names import identifier
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import LEAVES, fresh, names_in, substitute, walk
from cvmgen.lower.guards import conjuncts

Block = tuple[i.Stmt, ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """Perfectly nested loops, and what stands in the innermost one."""

    loops: tuple[i.Loop | i.PackLoop, ...]
    body: Block


def chain_of(statement: i.Stmt) -> Chain:
    loops: list[i.Loop | i.PackLoop] = []
    body: Block = (statement,)
    while len(body) == 1 and isinstance(body[0], (i.Loop, i.PackLoop)):
        loops.append(body[0])
        body = body[0].body
    return Chain(tuple(loops), body)


def name_of(loop: i.Loop | i.PackLoop) -> str:
    return loop.index if isinstance(loop, i.Loop) else loop.pack


@dataclass(frozen=True, slots=True)
class Selection:
    """A loop that appends what passes to a list: `counter` tells how much there is.

    Entries found before may rule a candidate out: `ruled_out` is what they must not meet, for the
    entry `entry`.
    """

    loop: i.Loop
    lets: tuple[i.Let, ...]
    conditions: tuple[i.Expr, ...]
    store: i.Store
    counter: str
    entry: str = ""
    passes: i.Expr | None = None


class NestPrinter(ReductionPrinter):
    """Prints the statements of a nest. `single` are the indices that stay loops of Python."""

    def __init__(
        self, program: i.Program, nest: i.Nest, integer: str, single: frozenset[str] = frozenset()
    ) -> None:
        super().__init__(program, nest, integer)
        self.single = single
        operands = (*self.tensors, *self.operator.output_names)
        self.taken |= {*map(identifier, operands), *(each.name for each in program.scratch)}
        if nest.each is not None:
            self.taken.add(identifier(nest.each[0]))

    def statements(self, body: Block) -> None:
        for each in body:
            self.one(each)

    def elementwise(self) -> bool:
        """Whether the nest does the same to each element, whatever its place."""
        chain = chain_of(self.nest.body[0])
        alone = len(self.nest.body) == 1 and bool(chain.loops) and not self.single
        given = any(isinstance(each, i.Given) for each in walk(self.nest.body))
        folded = any(isinstance(each, i.Fold) for each in walk(self.nest.body))
        return alone and not self.partial and not given and not folded and self.nest.each is None

    def read_lines(self) -> list[str]:
        """The lines of the nest without axes that nothing reads."""
        kept: list[str] = []
        for line in reversed(self.lines):
            names, _, value = line.strip().partition(" = ")
            declared = value.startswith("arrays.axes(")
            if not declared or any(mentions(later, n) for n in names.split(", ") for later in kept):
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
                with self.indented():
                    self.statements(then)
                if otherwise:
                    self.emit("else:")
                    with self.indented():
                        self.statements(otherwise)
            case i.Accumulate(name=name, op="+", value=i.Const() as value) if not self.free:
                self.emit(f"{self.shown.get(name, name)} += {value.value}")
            case _:
                raise NotAnArray(type(statement).__name__)

    def let(self, name: str, value: i.Expr) -> None:
        """A local; one that no axis changes is a number of Python."""
        kind, text = self.kind(value), self.expr(value)
        local = self.new(name)
        if kind == ARRAY and not self.axes_in(value) and not self.depends(value):
            kind, text = HOST, f"np.asarray({text}).item()"
        self.emit(f"{local} = {text}")
        self.kinds[name], self.shown[name] = kind, local

    def depends(self, value: i.Expr) -> bool:
        """Whether a value reads a name that has axes."""
        return any(self.kinds.get(name, HOST) != HOST for name in names_in(value))

    # -------------------------------------------------------- loops

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

    def python_loop(self, loop: i.Loop | i.PackLoop) -> None:
        """The head of a loop of Python's own."""
        for end in ends(loop):
            names = self.axes_in(end)
            if names:
                raise OneByOne(names)
        local = self.new(name_of(loop))
        match loop:
            case i.PackLoop(pack=pack, extents=extents, slots=slots):
                if slots is not None:
                    raise NotAnArray("a part of a multi-index, one by one")
                self.emit(f"for {local} in support.indices({self.index(extents)}):")
            case i.Loop(index=pack, low=None, high=high):
                if self.kind(high) != HOST:
                    raise NotAnArray("a loop over a list that depends on elements")
                self.emit(f"for {local} in {self.index(high)}:")
            case i.Loop(index=pack, low=low, high=high):
                assert low is not None
                self.emit(f"for {local} in {self.span(low, high)}:")
        self.kinds[pack], self.shown[pack] = HOST, local

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

    def alone(self, loop: i.Loop | i.PackLoop) -> bool:
        return name_of(loop) in self.single or (isinstance(loop, i.Loop) and loop.low is None)

    def check_box(self, loops: list[i.Loop | i.PackLoop]) -> None:
        """The ends of axes are the host's; an axis on which another depends stays a loop."""
        names = frozenset(map(name_of, loops))
        for loop in loops:
            for end in ends(loop):
                if names_in(end) & names:
                    raise OneByOne(names_in(end) & names)
                if self.kind(end) != HOST and self.depends(end):
                    raise NotAnArray("a range that depends on elements")

    def declare(self, loops: list[i.Loop | i.PackLoop]) -> None:
        """The line that makes the axes, where anything reads them."""
        declared, extents, later = [], [], []
        for loop in loops:
            name = name_of(loop)
            local = self.new(name)
            declared.append(local)
            self.shown[name] = local
            if isinstance(loop, i.PackLoop):
                extents.append(self.index(loop.extents))
                if loop.slots is None:
                    self.free.append(Axis(name, True, loop.extents))
                else:
                    self.free.append(Axis(name, True, i.ListOf(())))
                    where = self.expr(loop.slots)
                    self.shown[name] = self.new(name)
                    later.append(f"{self.shown[name]} = arrays.placed({where}, {local})")
                self.box.append(f"len({local})")
                continue
            low = loop.low
            assert low is not None
            self.box.append("1")
            if low == i.Const(0):
                extents.append(self.index(loop.high))
                self.free.append(Axis(name, False, loop.high))
                continue
            extents.append(self.index(i.Binary("-", loop.high, low)))
            self.free.append(Axis(name, False, i.ListOf(())))
            later.append(f"{local} = {self.expr(low, 9)} + {local}")
        if declared:
            self.emit(f"{', '.join(declared)} = arrays.axes({', '.join(extents)})")
        for line in later:
            self.emit(line)

    # -------------------------------------------------------- stores

    def store(self, statement: i.Store) -> None:
        target = statement.target
        assert isinstance(target, i.Access)
        value = inlined(statement.value)
        tensor = identifier(target.tensor)
        if not self.whole(target):
            self.partial = True
            text = self.expr(value)
            self.emit(f"arrays.store({tensor}, {text}, {self.slots(target.index)})")
            return
        ufunc = self.whole_call(value)
        if ufunc is not None and not self.typed(target.tensor) and not self.checked:
            self.emit(f'{ufunc[:-1]}, out={tensor}, casting="unsafe")')
            return
        text = self.expr(value)
        if self.kind(value) == ARRAY and not self.checked:
            self.emit(f"{tensor}[...] = {text}")
            return
        self.emit(f"arrays.store_all({tensor}, {text})")

    def typed(self, tensor: str) -> bool:
        return tensor not in self.operator.precise_outputs

    def whole_call(self, value: i.Expr) -> str | None:
        """A value that one ufunc makes of arrays last, as its call."""
        if self.kind(value) != ARRAY or self.has_reals:
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

    # -------------------------------------------------------- lists

    def sort(self, entries: i.Entries, keys: i.Access | i.Load, width: int) -> None:
        assert isinstance(entries.first, i.Access) and isinstance(keys, i.Access)
        *front, (first, _) = entries.first.index
        if first != i.Const(0):
            raise NotAnArray("a part of a list, sorted")
        where = "".join(f"{self.expr(each)}, " for each, _ in front)
        length = self.expr(entries.length)
        listed = f"{identifier(entries.first.tensor)}[{where}:{length}]"
        rows = f"{identifier(keys.tensor)}[{where}:{length}, :{width}]"
        self.emit(f"arrays.sort({listed}, {rows})")

    def selection(self, loop: i.Stmt) -> Selection | None:
        """The parts of a loop that appends what passes to a list; else None."""
        if not isinstance(loop, i.Loop) or loop.low is None:
            return None
        *lets, last = loop.body
        conditions: tuple[i.Expr, ...] = ()
        rest: Block = (last,)
        if isinstance(last, i.If) and not last.otherwise:
            conditions, rest = (inlined(last.condition),), last.then
        elif lets and isinstance(lets[-1], i.Store):
            *lets, before = lets
            rest = (before, last)
        match rest:
            case (
                i.Store(target=i.Access(index=(*_, (i.Var(name=at), False)))) as store,
                i.Accumulate(name=counter, op="+", value=i.Const(value=1)),
            ) if at == counter and all(isinstance(each, i.Let) for each in lets):
                listed = tuple(each for each in lets if isinstance(each, i.Let))
                found = Selection(loop, listed, conditions, store, counter)
                return self.greedy(found)
            case _:
                return None

    def greedy(self, selection: Selection) -> Selection | None:
        """The selection with what entries before a candidate must meet apart from the rest."""
        own = selection.store.target.tensor
        index = selection.loop.index
        plain: list[i.Expr] = []
        for test in (each for one in selection.conditions for each in conjuncts(one)):
            match test:
                case i.Fold(
                    op="all",
                    over=(i.Over(index=entry, low=None, high=i.Entries() as entries),),
                    element=element,
                    condition=condition,
                ) if entries.first.tensor == own and not selection.entry:
                    if condition is not None:
                        element = i.Logic("or", (i.Not(condition), element))
                    selection = replace(selection, entry=entry, passes=element)
                case _:
                    plain.append(test)
        read = (tuple(plain), selection.passes, tuple(each.value for each in selection.lets))
        fine = not any(
            isinstance(each, (i.Access, i.Entries)) and tensor_of(each) == own
            for each in walk(read)
        )
        counted = selection.counter in names_in(read)
        alone = not selection.entry or (
            selection.store.value == i.Var(index)
            and not selection.lets
            and selection.loop.low == i.Const(0)
        )
        if not fine or counted or not alone:
            return None
        return replace(selection, conditions=tuple(plain))

    def select_entries(self, selection: Selection) -> None:
        loop, store, counter = selection.loop, selection.store, selection.counter
        assert isinstance(store.target, i.Access)
        count = self.shown.get(counter, counter)
        tensor = identifier(store.target.tensor)
        front = "".join(f"{self.expr(each)}, " for each, _ in store.target.index[:-1])
        self.check_box([loop])
        with self.bound({loop.index: INDEX}):
            self.declare([loop])
            index = self.shown[loop.index]
            for each in selection.lets:
                self.let(each.name, inlined(each.value))
            passes = self.all_of(selection.conditions)
            if selection.entry:
                self.one_after_another(selection, passes, f"{tensor}[{front}{count}]", count)
                self.free, self.box = [], []
                return
            value = inlined(store.value)
            made = "" if value == i.Var(loop.index) else f", {self.number(value)}"
            found = self.new("found")
            self.emit(f"{found} = arrays.chosen({passes}, {index}{made})")
            self.free, self.box = [], []
        self.emit(f"{tensor}[{front}{count}:{count} + len({found})] = {found}")
        self.emit(f"{count} += len({found})")

    def all_of(self, conditions: tuple[i.Expr, ...]) -> str:
        if not conditions:
            return "True"
        whole = conditions[0] if len(conditions) == 1 else i.Logic("and", conditions)
        return self.expr(whole)

    def one_after_another(self, selection: Selection, passes: str, place: str, count: str) -> None:
        """Candidates in order: each that is left rules out those behind it, all at once."""
        assert selection.passes is not None
        index, entry = selection.loop.index, selection.entry
        own = self.shown[index]
        length, left, chosen = self.new("length"), self.new("left"), self.new(entry)
        self.emit(f"{length} = {self.expr(selection.loop.high)}")
        self.emit(f"{left} = np.array(np.broadcast_to({passes}, {length}))")
        test = self.in_front(selection)
        self.emit(f"for {chosen} in range({length}):")
        with self.indented():
            self.emit(f"if not {left}[{chosen}]:")
            self.emit("    continue")
            self.emit(f"{place} = {chosen}")
            self.emit(f"{count} += 1")
            self.emit(f"{own} = {chosen} + 1 + arrays.axes({length} - {chosen} - 1)")
            self.kinds[entry], self.shown[entry] = HOST, chosen
            self.free = [Axis(index, False, i.ListOf(()))]  # no tensor is walked whole
            for name, local in self.columns.items():
                self.kinds[name], self.shown[name] = ARRAY, f"{local}[{chosen} + 1:]"
            for name, local in self.rows.items():
                self.kinds[name], self.shown[name] = ARRAY, f"{local}[{chosen}]"
            self.emit(f"{left}[{chosen} + 1:] &= {self.expr(test)}")

    def in_front(self, selection: Selection) -> i.Expr:
        """The test of a pair, with what depends on one of the two alone taken out of it.

        That is computed for all candidates at once, in front of the loop: `columns` are the names
        of values of later candidates, `rows` those of the same values of the entry.
        """
        assert selection.passes is not None
        bindings, test = taken_out(inlined(selection.passes))
        index, entry = selection.loop.index, selection.entry
        self.columns: dict[str, str] = {}
        self.rows: dict[str, str] = {}
        known: dict[i.Expr, str] = {}  # values of candidates, and the arrays that hold them
        as_candidate: dict[str, i.Expr] = {entry: i.Var(index)}
        kept: list[tuple[str, i.Expr]] = []
        mixed: set[str] = set()
        for name, value in bindings:
            names = names_in(value)
            of_entry = bool(names & {entry, *self.rows})
            of_candidate = bool(names & {index, *self.columns})
            if names & mixed or of_entry == of_candidate:
                mixed.add(name)
                kept.append((name, value))
                continue
            alike = substitute(value, as_candidate) if of_entry else value
            if alike not in known:
                known[alike] = self.for_candidates(name, alike)
            if of_entry:
                self.rows[name] = known[alike]
                as_candidate[name] = i.Var(known[alike])
            else:
                self.columns[name] = known[alike]
                self.kinds[name], self.shown[name] = ARRAY, known[alike]
                if name != known[alike]:
                    as_candidate[name] = i.Var(known[alike])
        for name, value in reversed(kept):
            test = i.Bind(name, value, test)
        return test

    def for_candidates(self, name: str, value: i.Expr) -> str:
        """The array of a value for all candidates."""
        text = self.expr(value)
        local = self.new(name)
        self.emit(f"{local} = {text}")
        self.kinds[local] = ARRAY
        return local


def taken_out(expr: i.Expr) -> tuple[list[tuple[str, i.Expr]], i.Expr]:
    """The bindings of an expression in order, accesses to elements among them, and what is left."""
    bindings: list[tuple[str, i.Expr]] = []
    named: dict[i.Expr, str] = {}
    taken = {each.name for each in walk(expr) if isinstance(each, i.Bind)} | names_in(expr)
    taken |= {each.tensor for each in walk(expr) if isinstance(each, i.Access)}

    def change(node: Any) -> Any:
        if isinstance(node, i.Bind):
            if isinstance(node.value, i.Access) and node.value not in named:
                named[node.value] = node.name
                bindings.append((node.name, node.value))
            else:
                bindings.append((node.name, change(node.value)))
            return change(node.body)
        if isinstance(node, i.Access):
            if node not in named:
                named[node] = fresh(node.tensor, taken)
                bindings.append((named[node], node))
            return i.Var(named[node])
        if isinstance(node, tuple):
            return tuple(map(change, node))
        if not is_dataclass(node) or isinstance(node, (*LEAVES, i.Fold, i.Gather)):
            return node
        parts = {each.name: change(getattr(node, each.name)) for each in fields(node)}
        return replace(node, **parts)

    left = change(expr)
    return bindings, left


def mentions(text: str, name: str) -> bool:
    """Whether code has a name among its words."""
    return re.search(rf"\b{name}\b", text) is not None


def tensor_of(node: i.Access | i.Entries) -> str:
    return node.tensor if isinstance(node, i.Access) else node.first.tensor


def ends(loop: i.Loop | i.PackLoop) -> list[i.Expr]:
    """What says how often a loop runs."""
    if isinstance(loop, i.PackLoop):
        return [each for each in (loop.extents, loop.slots) if each is not None]
    return [each for each in (loop.low, loop.high) if each is not None]
