"""Statements of a nest as array operations: loops are the axes of a box, or loops of Python."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.ir import arrays as a
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import bound_name, over_of, range_ends
from cvmgen.ir.uses import names_in
from cvmgen.ir.visit import walk
from cvmgen.lower.array_chains import Chain
from cvmgen.lower.array_lists import ListMemory, Selection, selection_of
from cvmgen.lower.array_reductions import Reductions
from cvmgen.lower.array_scope import (
    ARRAY,
    HOST,
    INDEX,
    FreeAxis,
    NestScope,
    NotAnArray,
    OneByOne,
    seen,
    tensor_itself,
)
from cvmgen.lower.array_values import with_index_bindings

AnyLoop = i.Loop | i.PackLoop


def perfect_loops_and_body(statement: i.Stmt) -> tuple[list[AnyLoop], i.Block]:
    """Perfectly nested loops, and what stands in the innermost one."""
    loops: list[AnyLoop] = []
    body: i.Block = (statement,)
    while len(body) == 1 and isinstance(body[0], (i.Loop, i.PackLoop)):
        loops.append(body[0])
        body = body[0].body
    return loops, body


class Statements:
    """Makes the statements of a nest."""

    def __init__(self, scope: NestScope) -> None:
        self.scope = scope
        self.values = Reductions(scope).values
        self.chain = Chain(scope, self.values)

    def block(self, body: i.Block) -> None:
        for each in body:
            self.scope.span = each.span
            self.one(each)

    def one(self, statement: i.Stmt) -> None:
        scope = self.scope
        match statement:
            case i.Loop() | i.PackLoop():
                self.loops(statement)
            case i.Let(name=name, value=value):
                self.let(name, with_index_bindings(value))
            case i.Store():
                self.store(statement)
            case i.Sort():
                self.sort(statement)
            case i.If() if not scope.free:
                self.choice(statement)
            case i.Accumulate(name=name, op="+", value=i.Const()) if not scope.free:
                local = scope.shown.get(name, i.Var(name))
                assert isinstance(local, i.Var)
                scope.emit(replace(statement, name=local.name))
            case _:
                raise NotAnArray(type(statement).__name__)

    def let(self, name: str, value: i.Expr) -> None:
        """A local; one that no axis changes is a number of Python."""
        scope = self.scope
        kind, made = scope.kind(value), self.values.value(value)
        local = scope.new(name)
        if kind == ARRAY and not scope.axes_in(value) and not scope.depends(value):
            kind, made = HOST, i.Call("item", (made,))
        scope.bind(name, kind, scope.let(local, made))

    def choice(self, statement: i.If) -> None:
        scope, condition = self.scope, statement.condition
        test = self.values.value(with_index_bindings(condition))
        with scope.apart(seen(condition)) as then:
            self.block(statement.then)
        with scope.apart(seen(i.Not(condition))) as otherwise:
            self.block(statement.otherwise)
        scope.emit(i.If(test, tuple(then), tuple(otherwise), statement.span))

    def sort(self, statement: i.Sort) -> None:
        entries, keys, spare = statement.entries, statement.keys, statement.spare
        first = entries.first
        assert isinstance(first, i.Access) and isinstance(keys, i.Access)
        assert isinstance(spare, i.Access)
        if first.index[-1][0] != i.ZERO:
            raise NotAnArray("a part of a list, sorted")
        place, keys, spare = (
            replace(each, index=self.values.slots(each.index)) for each in (first, keys, spare)
        )
        length = self.values.value(entries.length)
        entries = replace(entries, first=place, length=length)
        self.scope.emit(replace(statement, entries=entries, keys=keys, spare=spare))

    # -------------------------------------------------------- loops

    def loops(self, statement: AnyLoop) -> None:
        loops, body = perfect_loops_and_body(statement)
        if self.scope.free:
            raise NotAnArray("a loop beside other statements")
        if all(isinstance(each, (i.Let, i.Store)) for each in body):
            self.as_axes(loops, body)
            return
        selection = selection_of(statement)
        if selection is not None:
            self.select(selection)
            return
        depth = len(self.scope.around)
        self.python_loop(statement)
        self.block(statement.body)
        self.scope.close(depth)

    def as_axes(self, loops: list[AnyLoop], body: i.Block) -> None:
        """Loops as the axes of a box, and their statements for the whole box."""
        scope = self.scope
        depth = len(scope.around)
        single = [loop for loop in loops if self.alone(loop)]
        boxed = [loop for loop in loops if loop not in single]
        names = frozenset(map(bound_name, boxed))
        for loop in single:
            if read := names_in(tuple(range_ends(over_of(loop)))) & names:
                raise OneByOne(read)
        for loop in single:
            self.python_loop(loop)
        self.check_box(boxed)
        with scope.bound(dict.fromkeys(names, INDEX)):
            self.declare(boxed)
            self.block(body)
            scope.free, scope.box = [], []
        scope.close(depth)

    def select(self, selection: Selection) -> None:
        scope = self.scope
        self.check_box([selection.loop])
        with scope.bound({selection.loop.index: INDEX}):
            self.declare([selection.loop])
            ListMemory(scope, self.values, self.let).select(selection)
            scope.free, scope.box = [], []

    def alone(self, loop: AnyLoop) -> bool:
        listed = isinstance(loop, i.Loop) and loop.low is None
        return listed or bound_name(loop) in self.scope.single

    def python_loop(self, loop: AnyLoop) -> None:
        """Opens a loop of Python's own."""
        over = over_of(loop)
        for end in range_ends(over):
            if names := self.scope.axes_in(end):
                raise OneByOne(names)
        if isinstance(over, i.OverPack) and over.slots is not None:
            raise NotAnArray("a part of a multi-index, one by one")
        self.values.open_loop(over)

    def check_box(self, loops: list[AnyLoop]) -> None:
        """The ends of axes are the host's; an axis on which another depends stays a loop."""
        names = frozenset(map(bound_name, loops))
        for loop in loops:
            for end in range_ends(over_of(loop)):
                if read := names_in(end) & names:
                    raise OneByOne(read)
                if self.scope.kind(end) != HOST and self.scope.depends(end):
                    raise NotAnArray("a range that depends on elements")

    def declare(self, loops: list[AnyLoop]) -> None:
        """Makes the axes of a box."""
        scope = self.scope
        for each in self.values.axes(list(map(over_of, loops)), None, self.divisor):
            scope.shown[bound_name(each.over)] = each.index
            scope.box.append(each.count)
            pack = isinstance(each.over, i.OverPack)
            extents = each.over.extents if isinstance(each.over, i.OverPack) else each.over.high
            if each.index != each.axis:  # no tensor is walked whole
                extents = i.ListOf(())
            scope.free.append(FreeAxis(bound_name(each.over), pack, extents, each.split))

    def divisor(self, over: i.Over) -> i.Expr | None:
        """What reductions divide a free index by: quotient and remainder become two axes, as a
        view with both in one axis would be a copy with all terms."""
        for fold in walk(self.scope.nest.body):
            if not isinstance(fold, i.Fold):
                continue
            bound = frozenset(map(bound_name, fold.over))
            for each in walk(fold):
                match each:
                    case i.Binary(op="floordiv" | "mod", left=i.Var(name=name), right=right) if (
                        name == over.index
                        and self.scope.kind(right) == HOST
                        and not names_in(right) & bound
                    ):
                        return right
                    case _:
                        pass
        return None

    # -------------------------------------------------------- stores

    def store(self, statement: i.Store) -> None:
        scope, values, target = self.scope, self.values, statement.target
        assert isinstance(target, i.Access)
        value = with_index_bindings(statement.value)
        if scope.whole(target):
            scope.walked.add(target.tensor)
            self.fill(target.tensor, value)
            return
        scope.partial = True
        index = values.slots(target.index)
        call = self.whole_call(value) if scope.covers(target) else None
        if call is not None:
            self.into(call, a.Read(tensor_itself(target.tensor), index))
            return
        made = values.moved(value) if isinstance(value, i.Access) else values.value(value)
        scope.emit(i.Store(replace(target, index=index), made, statement.span))

    def fill(self, tensor: str, value: i.Expr) -> None:
        """A store for each place of the box, all of a tensor."""
        scope, span = self.scope, self.scope.span
        target = tensor_itself(tensor)
        if isinstance(value, i.Access):
            made = self.values.moved(value)
            if isinstance(made, a.Read):
                scope.emit(a.CopyAll(target, made, span=span))
            else:
                self.chain.assign(target, made)
            return
        typed = tensor not in scope.operator.precise_outputs
        number = self.may_be_number(value)
        if self.one_store() and self.chain.pointwise(value) and not typed and not number:
            scope.partial = True  # it makes blocks by itself
            self.chain.fill(value, tensor)
            return
        call = None if typed else self.whole_call(value)
        if call is not None:
            self.into(call, target)
            return
        made = self.values.value(value)
        if scope.kind(value) == ARRAY and not scope.checked and not number:
            self.chain.assign(target, made)
        else:
            scope.emit(i.Store(target, made, span))

    def one_store(self) -> bool:
        """Whether the nest is one box with nothing in it but a store for each place."""
        nest = self.scope.nest
        alone = len(nest.body) == len(perfect_loops_and_body(nest.body[0])[1]) == 1
        return alone and bool(self.scope.free) and not self.scope.single and nest.each is None

    def may_be_number(self, value: i.Expr) -> bool:
        """Whether a choice by the call may give an integer of the host, which may be any."""
        match value:
            case i.Const(value=known):
                return not -128 <= known < 128
            case i.Select(then=then, otherwise=otherwise):
                return self.may_be_number(then) or self.may_be_number(otherwise)
            case _:
                return self.scope.kind(value) == HOST

    def into(self, call: i.Call, target: i.Expr) -> None:
        self.scope.emit(a.Into(call, target, True, span=self.scope.span))

    def whole_call(self, value: i.Expr) -> i.Call | None:
        """A value that one ufunc makes of arrays last, as its call."""
        scope = self.scope
        if scope.kind(value) != ARRAY or scope.operator.has_reals or scope.checked:
            return None
        match value:
            case i.Binary(op="+" | "-" | "*") | i.Call(function="abs"):
                pass
            case i.Call(function="max" | "min", arguments=(_, _)):
                pass
            case _:
                return None
        operation = self.chain.operation(value)
        assert operation is not None
        return i.Call(operation[0], tuple(map(self.values.value, operation[1])))
