"""Lists that depend on elements: candidates that pass, and greedy selections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from cvmgen.ir import arrays as a
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import conjunction, conjuncts
from cvmgen.ir.uses import names_in, nodes_in
from cvmgen.ir.visit import fresh, substitute, walk, with_children
from cvmgen.lower.array_scope import ARRAY, HOST, FreeAxis, NestScope, tensor_itself
from cvmgen.lower.array_values import Values, with_index_bindings


@dataclass(frozen=True, slots=True)
class Selection:
    """A loop that appends what passes to a list: `counter` tells how much there is.

    Entries found before may rule a candidate out: `passes` is what it must meet with each of
    them, for the entry `entry`.
    """

    loop: i.Loop
    lets: tuple[i.Let, ...]
    conditions: tuple[i.Expr, ...]
    target: i.Access
    value: i.Expr
    counter: str
    entry: str = ""
    passes: i.Expr | None = None


def selection_of(loop: i.Stmt) -> Selection | None:
    """The parts of a loop that appends what passes to a list; else None."""
    if not isinstance(loop, i.Loop) or loop.low is None:
        return None
    *lets, last = loop.body
    conditions: tuple[i.Expr, ...] = ()
    rest: i.Block = (last,)
    if isinstance(last, i.If) and not last.otherwise:
        conditions, rest = (with_index_bindings(last.condition),), last.then
    elif lets and isinstance(lets[-1], i.Store):
        *lets, before = lets
        rest = (before, last)
    match rest:
        case (
            i.Store(target=i.Access(index=(*_, (i.Var(name=at), False))) as target, value=value),
            i.Accumulate(name=counter, op="+", value=i.Const(value=1)),
        ) if at == counter and all(isinstance(each, i.Let) for each in lets):
            listed = tuple(each for each in lets if isinstance(each, i.Let))
            return with_greedy_tests(Selection(loop, listed, conditions, target, value, counter))
        case _:
            return None


def with_greedy_tests(selection: Selection) -> Selection | None:
    """The selection with what entries before a candidate must meet apart from the rest."""
    own = selection.target.tensor
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
    accesses = (each for each in walk(read) if isinstance(each, (i.Access, i.Entries)))
    if own in map(_tensor_of, accesses) or selection.counter in names_in(read):
        return None
    indices = selection.value == i.Var(selection.loop.index) and selection.loop.low == i.ZERO
    if selection.entry and (selection.lets or not indices):
        return None
    return replace(selection, conditions=tuple(plain))


class ListMemory:
    """Makes the nests that fill the memory of a list; `let` makes locals."""

    def __init__(
        self, scope: NestScope, values: Values, let: Callable[[str, i.Expr], None]
    ) -> None:
        self.scope = scope
        self.values = values
        self.let = let

    def select(self, selection: Selection) -> None:
        """What a selection finds, behind its axis."""
        scope, values, loop = self.scope, self.values, selection.loop
        array = tensor_itself(selection.target.tensor)
        count = scope.shown.get(selection.counter, i.Var(selection.counter))
        assert isinstance(count, i.Var)
        front = values.slots(selection.target.index[:-1])
        # what follows is in the scope of the axis
        for each in selection.lets:
            self.let(each.name, with_index_bindings(each.value))
        passes = self.all_of(selection.conditions)
        if selection.entry:
            place = a.At(array, (*front, (count, False)))
            self.one_after_another(selection, passes, place, count)
            return
        index = scope.shown[loop.index]
        value = with_index_bindings(selection.value)
        made = () if value == i.Var(loop.index) else (values.number(value),)
        found = scope.new("found")
        scope.let(found, i.Call("arrays.chosen", (passes, index, *made)))
        length = i.Call("len", (i.Var(found),))
        part = a.Slice(count, i.Binary("+", count, length))
        target = a.At(array, (*front, (part, False)))
        scope.emit(a.FillArray(target, i.Var(found), span=scope.span))
        scope.emit(i.Accumulate(count.name, "+", length, scope.span))

    def all_of(self, conditions: tuple[i.Expr, ...]) -> i.Expr:
        return self.values.value(conjunction(conditions)) if conditions else i.Const(True)

    def one_after_another(
        self, selection: Selection, passes: i.Expr, place: a.At, count: i.Var
    ) -> None:
        """Candidates in order: each that is left rules out those behind it, all at once."""
        scope, span = self.scope, self.scope.span
        index, entry = selection.loop.index, selection.entry
        own = scope.shown[index]
        assert isinstance(own, i.Var)
        length, left, chosen = map(i.Var, map(scope.new, ("length", "left", entry)))
        scope.let(length.name, self.values.value(selection.loop.high))
        everywhere = i.Call("np.broadcast_to", (passes, length))
        scope.let(left.name, i.Call("np.array", (everywhere,)))
        columns, rows, test = self.in_front(selection, length)
        behind = i.Binary("+", chosen, i.ONE)
        with scope.inside(lambda body: i.Loop(chosen.name, i.ZERO, length, body, 0, span)):
            out = i.Not(i.Item(left, chosen))
            scope.emit(i.If(out, (a.Continue(span=span),), (), span))
            scope.emit(a.FillArray(place, chosen, span=span))
            scope.emit(i.Accumulate(count.name, "+", i.ONE, span))
            rest = i.Binary("-", i.Binary("-", length, chosen), i.ONE)
            scope.let(own.name, i.Binary("+", behind, i.Call("arrays.axes", (rest,))))
            scope.bind(entry, HOST, chosen)
            scope.free = [FreeAxis(index, False, i.ListOf(()))]  # no tensor is walked whole
            for name, local in columns.items():
                scope.bind(name, ARRAY, i.Part(i.Var(local), behind, None))
            for name, local in rows.items():
                scope.bind(name, ARRAY, i.Item(i.Var(local), chosen))
            held = self.values.value(test)
            scope.emit(a.FillArray(i.Part(left, behind, None), held, "&", span=span))

    def in_front(
        self, selection: Selection, length: i.Var
    ) -> tuple[dict[str, str], dict[str, str], i.Expr]:
        """The test of a pair, with what depends on one of the two alone taken out of it.

        That is computed for all candidates at once, in front of the loop: `columns` are the names
        of values of later candidates, `rows` those of the same values of the entry.
        """
        assert selection.passes is not None
        bindings, test = taken_out(with_index_bindings(selection.passes))
        index, entry = selection.loop.index, selection.entry
        columns: dict[str, str] = {}
        rows: dict[str, str] = {}
        known: dict[i.Expr, str] = {}  # values of candidates, and the arrays that hold them
        as_candidate: dict[str, i.Expr] = {entry: i.Var(index)}
        kept: list[tuple[str, i.Expr]] = []
        mixed: set[str] = set()
        for name, value in bindings:
            names = names_in(value)
            of_entry = bool(names & {entry, *rows})
            of_candidate = bool(names & {index, *columns})
            if names & mixed or of_entry == of_candidate:
                mixed.add(name)
                kept.append((name, value))
                continue
            alike = substitute(value, as_candidate) if of_entry else value
            if alike not in known:
                known[alike] = self.for_candidates(name, alike, length)
            local = known[alike]
            if of_entry:
                rows[name] = local
                as_candidate[name] = i.Var(local)
            else:
                columns[name] = local
                self.scope.bind(name, ARRAY, i.Var(local))
                if name != local:
                    as_candidate[name] = i.Var(local)
        for name, value in reversed(kept):
            test = i.Bind(name, value, test)
        return columns, rows, test

    def for_candidates(self, name: str, value: i.Expr, length: i.Var) -> str:
        """The array of a value for all candidates."""
        made = self.values.value(value)
        if isinstance(value, i.Access):  # which may be one element for all of them
            made = i.Call("np.broadcast_to", (made, length))
        local = self.scope.new(name)
        self.scope.let(local, made)
        self.scope.kinds[local] = ARRAY
        return local


def taken_out(expr: i.Expr) -> tuple[list[tuple[str, i.Expr]], i.Expr]:
    """The bindings of an expression in order, accesses to elements among them, and what is left."""
    bindings: list[tuple[str, i.Expr]] = []
    named: dict[i.Expr, str] = {}
    taken = {each.name for each in nodes_in(expr, i.Bind)} | names_in(expr)
    taken |= {each.tensor for each in nodes_in(expr, i.Access)}

    def change(node: Any) -> Any:
        match node:
            case i.Bind(name=name, value=value, body=body):
                if isinstance(value, i.Access) and value not in named:
                    named[value] = name
                    bindings.append((name, value))
                else:
                    bindings.append((name, change(value)))
                return change(body)
            case i.Access():
                if node not in named:
                    named[node] = fresh(node.tensor, taken)
                    bindings.append((named[node], node))
                return i.Var(named[node])
            case i.Fold() | i.Gather():
                return node
            case _:
                return with_children(node, change)

    left = change(expr)
    return bindings, left


def _tensor_of(node: i.Access | i.Entries) -> str:
    return node.tensor if isinstance(node, i.Access) else node.first.tensor
