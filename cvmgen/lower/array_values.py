"""Expressions of a nest as arrays: an index is an axis, an element access a view."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cvmgen.analysis.definedness import always_evaluated, may_fail
from cvmgen.functions import ELEMENTARY
from cvmgen.ir import arrays as a
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import combination, conjunction, conjuncts
from cvmgen.ir.loops import Over, bound_name, distance
from cvmgen.ir.uses import has, may_be_real, names_in
from cvmgen.ir.visit import substitute, walk, with_children
from cvmgen.lower.array_scope import (
    ARRAY,
    HOST,
    INDEX,
    Front,
    NestScope,
    NotAnArray,
    OneByOne,
    seen,
    tensor_itself,
)

MOST_INLINED = 40
FEW_NODES = 8
"""What is so small may be computed in two places."""
# Functions of the array library and of `vectors` that do what those of formulas do.
OF_ARRAYS = {
    **{name: f"np.{name}" for name in ("floor", "ceil", "trunc", "sqrt")},
    **{name: f"vectors.{name}" for name in (*ELEMENTARY, "fma")},
    "round": "vectors.round_away",
    "roundeven": "np.rint",
    **{
        name: f"vectors.{name}"
        for name in (
            "isnan",
            "order",
            "power",
            "floor_log2",
            "ceil_log2",
            "bit_length",
            "ceildiv",
            "isqrt",
            "real",
        )
    },
    "float32": "vectors.to_float32",
    "unflatten": "vectors.unflattened",
    "flatten_index": "flatten_index",
}


@dataclass(frozen=True, slots=True)
class IndexAxis:
    """An index as an axis: the axis, what the index is, of how many axes, and whether it is cut."""

    over: Over
    axis: i.Var
    index: i.Var
    count: i.Expr
    split: bool


class Values:
    """Makes the values of a nest; `fold` makes its reductions."""

    def __init__(self, scope: NestScope, fold: Callable[[i.Fold], i.Expr]) -> None:
        self.scope = scope
        self.fold = fold
        self.reals = scope.operator.has_reals  # whether numbers can be real; places are integers

    # -------------------------------------------------------- expressions

    def place(self, expr: i.Expr) -> i.Expr:
        """A place or an end of a range: an integer; what it compares or rounds may be real."""
        outer = self.reals
        self.reals = outer and any(map(may_be_real, walk(expr)))
        made = self.value(expr)
        self.reals = outer
        return made

    def value(self, expr: i.Expr) -> i.Expr:
        scope = self.scope
        kind = scope.kind(expr)
        if scope.choices and kind == HOST:
            return self.chosen(expr)
        match expr:
            case i.Var(name=name):
                scope.partial |= scope.kinds.get(name) == INDEX
                return scope.shown.get(name, expr)
            case i.Bind(name=name, value=value, body=body):
                return self.bind(name, value, body)
            case i.Access():
                return self.access(expr)
            case i.Fold() if kind != HOST:
                with scope.choosing():
                    return self.fold(expr)
            case i.Gather() | i.Fold():
                return self.comprehension(expr)
            case i.Item(index=index) if scope.kind(index) != HOST:
                if scope.axes_in(index):
                    raise OneByOne(scope.axes_in(index))
                raise NotAnArray("an entry of a list that elements choose")
            case _ if kind == HOST:
                return self.same(expr)
            case i.Binary():
                return self.binary(expr, kind)
            case i.Compare(op=op, left=left, right=right):
                return i.Compare(op, self.number(left), self.number(right))
            case i.Logic(op=op, operands=operands):
                with scope.choosing():
                    return self.logic(op, operands)
            case i.Not(operand=operand):
                return i.Call("np.logical_not", (self.value(operand),))
            case i.Select():
                return self.select(expr)
            case i.Call():
                return self.call(expr)
            case i.Convert(operand=position):
                return self.value(position)
            case i.Contains(element=element, collection=known) if scope.kind(known) == HOST:
                return i.Call("vectors.among", (self.value(element), self.value(known)))
            case i.ListOf() | i.Part() | i.Item() if isinstance(expr, i.ListOf) or not has(
                expr, i.Access
            ):
                return self.same(expr)
            case _:
                raise NotAnArray(type(expr).__name__)

    def same(self, expr: i.Expr) -> i.Expr:
        """The same operation of operands as arrays."""
        return with_children(expr, self.below)

    def below(self, node: Any) -> Any:
        if isinstance(node, (tuple, i.Over, i.OverPack)):
            return with_children(node, self.below)
        return self.value(node) if isinstance(node, i.Expr) else node

    def comprehension(self, expr: i.Gather | i.Fold) -> i.Expr:
        with self.scope.bound({}):
            for each in expr.over:
                self.scope.shown.pop(bound_name(each), None)
            self.scope.listing += 1
            made = self.same(expr)
            self.scope.listing -= 1
        return made

    def chosen(self, expr: i.Expr) -> i.Expr:
        """A number of the call, computed whatever a choice between arrays takes."""
        if may_be_missing(expr):
            raise NotAnArray("a number of the call that may not be there")
        choices, self.scope.choices = self.scope.choices, 0
        made = self.value(expr)
        self.scope.choices = choices
        return made

    def number(self, expr: i.Expr) -> i.Expr:
        """A value beside elements; an index in their type where they may be Python's integers."""
        made = self.value(expr)
        if self.scope.checked and self.scope.kind(expr) == INDEX:
            return i.Call("vectors.values", (made, self.scope.integer))
        return made

    def bind(self, name: str, value: i.Expr, body: i.Expr) -> i.Expr:
        scope = self.scope
        kind = scope.kind(value)
        made = self.value(value)
        if not is_name(made):
            made = scope.let(scope.new(name), made)
        outer = scope.kinds.get(name, HOST), scope.shown.get(name)
        scope.bind(name, kind, made)
        result = self.value(body)
        scope.kinds[name] = outer[0]
        scope.shown.pop(name)
        if outer[1] is not None:
            scope.shown[name] = outer[1]
        return result

    def binary(self, expr: i.Binary, kind: str) -> i.Expr:
        left, right = expr.left, expr.right
        match expr.op:
            case "-" if left == i.ZERO:
                return i.Binary("-", left, self.number(right))
            case "shl" if left == i.ONE:
                return i.Call("vectors.power_of_two", (self.number(right), self.scope.integer))
            case "floordiv" | "mod" as op if self.scope.kind(right) != HOST:
                return i.Call(f"vectors.{op}", (self.number(left), self.number(right)))
            case "truncdiv" | "over" as op:
                return i.Call(f"vectors.{op}", (self.number(left), self.number(right)))
            case "union" | "difference":
                raise NotAnArray("sets")
            case _ if kind == INDEX:
                return i.Binary(expr.op, self.value(left), self.value(right))
            case op:
                return i.Binary(op, self.number(left), self.number(right))

    def logic(self, op: str, operands: tuple[i.Expr, ...]) -> i.Expr:
        """Conditions on elements; those on the call come first and decide alone where they can."""
        known = [each for each in operands if self.scope.kind(each) == HOST]
        rest = [each for each in operands if self.scope.kind(each) != HOST]
        both = op == "and"
        whole = i.Logic("both" if both else "either", tuple(map(self.value, rest)))
        if not known:
            return whole
        test = combination(op, map(self.value, known))
        if both:
            return i.Select(test, whole, i.Const(False))
        return i.Select(test, i.Const(True), whole)

    def select(self, expr: i.Select) -> i.Expr:
        filled = self.filled(expr)
        if filled is not None:
            return filled
        if self.scope.kind(expr.condition) == HOST:
            return self.branches(expr)
        tests = conjuncts(expr.condition)
        known = list(self.known_first(tests))
        if known and sum(1 for _ in walk(expr.otherwise)) <= FEW_NODES:
            rest = conjunction(each for each in tests if each not in known)
            inner = replace(expr, condition=rest)
            return self.branches(i.Select(conjunction(known), inner, expr.otherwise))
        with self.scope.choosing():
            test = self.value(expr.condition)
            parts = (test, self.number(expr.then), self.number(expr.otherwise))
        if self.scope.checked:
            return i.Call("vectors.choose", (*parts, self.scope.integer))
        return i.Call("vectors.where", parts)

    def filled(self, expr: i.Select) -> i.Expr | None:
        """A choice between an element and a number, by whether the element is there, reads it."""
        match expr:
            case i.Select(then=i.Access() as access, otherwise=i.Const() as fill):
                if self.asks_inside(access, conjuncts(expr.condition)):
                    return self.access(access, fill)
            case _:
                pass
        return None

    def asks_inside(self, access: i.Access, tests: tuple[i.Expr, ...]) -> bool:
        """Whether tests ask just whether slots of an access lie inside its tensor."""
        known = self.scope.extents.of(access.tensor)
        if known is None or any(pack for _, pack in known) or access.which is not None:
            return False
        wanted: dict[i.Expr, i.Expr] = {}
        for (slot, _), (extent, _) in zip(access.index, known, strict=True):
            low, high = i.Compare("<=", i.ZERO, slot), i.Compare("<", slot, extent)
            wanted[low], wanted[high] = slot, slot
        if not all(test in wanted for test in tests):
            return False
        tested = {wanted[test] for test in tests}
        return all(sum(wanted[test] == slot for test in set(tests)) == 2 for slot in tested)

    def known_first(self, tests: tuple[i.Expr, ...]) -> Iterator[i.Expr]:
        """The tests of the call that can be asked before those of elements."""
        first = True
        for each in tests:
            host = self.scope.kind(each) == HOST
            first = first and host
            if first or (host and not may_be_missing(each)):
                yield each

    def branches(self, expr: i.Select) -> i.Expr:
        """A choice by the call: only the branch taken is computed."""
        scope = self.scope
        test = self.value(expr.condition)
        with scope.apart(seen(expr.condition)) as before:
            then = self.value(expr.then)
        with scope.apart(seen(i.Not(expr.condition))) as behind:
            otherwise = self.value(expr.otherwise)
        if not before and not behind:
            return i.Select(test, then, otherwise)
        local = scope.new("value")
        first = (*before, i.Let(local, "int", then, scope.span))
        second = (*behind, i.Let(local, "int", otherwise, scope.span))
        scope.emit(a.Choose(local, test, first, second, span=scope.span))
        return i.Var(local)

    def call(self, expr: i.Call) -> i.Expr:
        of_lists = expr.function in ("flatten_index", "unflatten")
        made = tuple(map(self.value if of_lists else self.number, expr.arguments))
        match expr.function:
            case "negate":
                return i.Call("negate", made)
            case "max" | "min" as name if self.reals or self.scope.checked:
                return i.Call(f"vectors.{name}imum", made)
            case "max" | "min" as name:
                result, *others = made
                for each in others:
                    result = i.Call(f"np.{name}imum", (result, each))
                return result
            case "clip" if self.scope.checked:
                value, low, high = made
                return i.Call("vectors.minimum", (i.Call("vectors.maximum", (value, low)), high))
            case "abs" if self.scope.checked:
                return i.Call("abs", made)
            case "clip" | "abs" as name:
                return i.Call(f"np.{name}", made)
            case "int":
                return i.Call("vectors.to_int", (*made, self.scope.integer))
            case name if name in OF_ARRAYS:
                return i.Call(OF_ARRAYS[name], made)
            case name:
                raise NotAnArray(name)

    # -------------------------------------------------------- axes

    def axes(
        self,
        over: Sequence[Over],
        inside: i.Expr | None,
        divisor: Callable[[i.Over], i.Expr | None] = lambda _: None,
    ) -> list[IndexAxis]:
        """Makes indices axes; one that has a `divisor` becomes two, of quotients and remainders."""
        scope = self.scope
        made: list[IndexAxis] = []
        extents: list[i.Expr] = []
        later: list[i.Let] = []
        for each in over:
            axis = i.Var(scope.new(bound_name(each)))
            index, by = axis, None
            match each:
                case i.Over(index=name, low=low, high=high):
                    assert low is not None
                    extents.append(self.place(distance(low, high)))
                    by = divisor(each) if low == i.ZERO else None
                    count: i.Expr = i.Const(1 if by is None else 2)
                    if by is not None:
                        extents[-1] = i.Call("arrays.Split", (extents[-1], self.place(by)))
                    if low != i.ZERO:
                        index = i.Var(scope.new(name))
                        moved = i.Binary("+", self.value(low), axis)
                        later.append(i.Let(index.name, "int", moved, scope.span))
                case i.OverPack(pack=name, extents=box, slots=slots):
                    extents.append(self.place(box))
                    count = i.Call("len", (axis,))
                    if slots is not None:
                        index = i.Var(scope.new(name))
                        placed = self.placed(name, slots, axis, name in scope.shown)
                        later.append(i.Let(index.name, "list", placed, scope.span))
            made.append(IndexAxis(each, axis, index, count, by is not None))
        names = tuple(each.axis.name for each in made)
        if names:
            scope.emit(a.Axes(names, tuple(extents), inside, span=scope.span))
        for statement in later:
            scope.emit(statement)
        return made

    def placed(self, pack: str, slots: i.Expr, part: i.Var, known: bool) -> i.Expr:
        """A multi-index with a part of it at some slots; the rest is what is `known` around."""
        outer = (self.scope.shown.get(pack, i.Var(pack)),) if known else ()
        return i.Call("arrays.placed", (self.value(slots), part, *outer))

    def open_loop(self, over: Over) -> None:
        """Opens a loop of Python's own."""
        scope = self.scope
        local = scope.new(bound_name(over))
        match over:
            case i.OverPack(pack=pack, extents=extents, slots=slots):
                box = self.place(extents)
                scope.open(lambda body: i.PackLoop(local, box, None, body, scope.span))
                if slots is not None:
                    known = scope.kinds.get(pack) == INDEX
                    placed = self.placed(pack, slots, i.Var(local), known)
                    scope.shown[pack] = scope.let(scope.new(pack), placed)
                    return
            case i.Over(low=low, high=high):
                if low is None and scope.kind(high) != HOST:
                    names = scope.axes_in(high)
                    raise OneByOne(names) if names else NotAnArray("a list of elements' indices")
                first, end = None if low is None else self.place(low), self.place(high)
                scope.open(lambda body: i.Loop(local, first, end, body, 0, scope.span))
        scope.bind(bound_name(over), HOST, i.Var(local))

    # -------------------------------------------------------- accesses

    def slots(self, index: a.IndexList) -> a.IndexList:
        return tuple((self.place(each), spread) for each, spread in index)

    def access(self, access: i.Access, fill: i.Expr | None = None) -> i.Expr:
        """The elements at a multi-index: the tensor itself where the box is all of it.

        Those that a recurrence reads of its own lie in memory as int64, whatever it computes with.
        """
        found = self.elements(access, fill)
        scope = self.scope
        if scope.checked and access.tensor == scope.nest.tensor and not scope.operator.has_reals:
            return i.Call("vectors.values", (found, scope.integer))
        return found

    def elements(self, access: i.Access, fill: i.Expr | None) -> i.Expr:
        scope = self.scope
        scope.computed.add(access.tensor)
        single = all(scope.kind(each) == HOST and not spread for each, spread in access.index)
        array, index = self.located(access)
        if not index:
            return array
        if fill is None:
            alone = single and not scope.free and not scope.choices
            return a.At(array, index) if alone else a.Read(array, index)
        if scope.front is not None and self.settled(access, scope.front):
            return a.Read(self.hoisted(access, array, fill, scope.front), index)
        return a.Read(array, index, fill)

    def settled(self, access: i.Access, front: Front) -> bool:
        """Whether what loops read of a tensor can be told in front of them."""
        scope = self.scope
        places = tuple(each for each, _ in access.index)
        looped = names_in(places) & set(scope.spans)
        names = names_in(places) - looped | names_in(access.which)
        known = all(
            scope.shown.get(each) == front.shown.get(each)
            and scope.kinds.get(each) == front.kinds.get(each)
            for each in names
        )
        there = access.tensor not in scope.optional - front.given
        with scope.bound(dict.fromkeys(looped, INDEX)):
            plain = all(scope.kind(each) != ARRAY for each in places)
        lists = has(places, i.Bind, i.Fold)
        return bool(looped) and known and there and plain and not lists and not scope.listing

    def moved(self, access: i.Access) -> i.Expr:
        """Elements that are stored as they are, whatever their type."""
        array, index = self.located(access)
        return a.Read(array, index) if index else array

    def located(self, access: i.Access) -> tuple[i.Expr, a.IndexList]:
        """The tensor of an access and the slots, none where the box is all of it."""
        scope = self.scope
        if access.tensor in scope.optional - scope.given:
            raise NotAnArray("an input that may not be there, read whatever the elements")
        which = None if access.which is None else self.value(access.which)
        array: i.Expr = tensor_itself(access.tensor, which)
        if scope.whole(access):
            scope.walked.add(access.tensor)
            return array, ()
        scope.looked_up.add(access.tensor)
        index = access.index
        position = scope.extents.flattened(access)
        if position is not None:
            kept = len(index) - 1
            array = i.Call("arrays.flat", (array, i.Const(kept)) if kept else (array,))
            index = (*index[:-1], (position, False))
        return array, self.slots(index)

    def hoisted(self, access: i.Access, array: i.Expr, fill: i.Expr, front: Front) -> i.Var:
        """The tensor with a border, made in front of the loops that walk beyond it."""
        scope = self.scope
        local = scope.new(f"{access.tensor}_padded")
        shown = dict(scope.shown)
        scope.shown |= scope.spans
        slots = self.slots(access.index)
        scope.shown = shown
        front.emit(i.Let(local, "int", a.Padded(array, fill, slots), scope.span))
        return i.Var(local)


def is_name(made: i.Expr) -> bool:
    """Whether a value has a name already, or is as good as one."""
    match made:
        case i.Access(which=None, index=()) | i.Var() | i.Const(value=True | False):
            return True
        case _:
            return False


def with_index_bindings(expr: i.Expr) -> i.Expr:
    """The expression with bindings of index arithmetic put where they are used, unless it would
    grow by much: values that are made of each other would double with each."""
    found: i.Expr = _without_places(expr, frozenset())
    return found


def _without_places(node: Any, kept: frozenset[str]) -> Any:
    """A tree without the bindings that read no element, nor a binding that is `kept`."""
    if isinstance(node, i.Bind):
        value = _without_places(node.value, kept)
        if not has(value, i.Access, i.Fold, i.Entries) and not names_in(value) & kept:
            uses = sum(each == i.Var(node.name) for each in walk(node.body))
            if uses > 1 and uses * sum(1 for _ in walk(value)) > MOST_INLINED:
                return i.Bind(node.name, value, _without_places(node.body, kept))
            return _without_places(substitute(node.body, {node.name: value}), kept)
        return i.Bind(node.name, value, _without_places(node.body, kept | {node.name}))
    return with_children(node, lambda each: _without_places(each, kept))


def may_be_missing(expr: i.Expr) -> bool:
    """Whether a number of the call has no value in some calls, be it a term of a reduction. Entries
    at an index that stands alone are there: it is one of the list's."""

    def missing(node: object) -> bool:
        return may_fail(node) and not (isinstance(node, i.Item) and isinstance(node.index, i.Var))

    parts = tuple(always_evaluated(expr))
    terms = (walk(each) for each in parts if isinstance(each, i.Fold))
    return any(map(missing, parts)) or any(any(map(missing, each)) for each in terms)
