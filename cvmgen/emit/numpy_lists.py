"""Lists that depend on elements: candidates that pass, sorted entries, greedy selections."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from cvmgen.emit.numpy_boxes import Block, BoxPrinter
from cvmgen.emit.numpy_printer import ARRAY, HOST, INDEX, Axis, NotAnArray, inlined
from cvmgen.emit.python_names import identifier
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import conjuncts
from cvmgen.ir.uses import names_in
from cvmgen.ir.visit import LEAVES, fresh, substitute, walk


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


class ListPrinter(BoxPrinter):
    """Prints the nests that fill the memory of a list."""

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
        test = self.in_front(selection, length)
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

    def in_front(self, selection: Selection, length: str) -> i.Expr:
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
                known[alike] = self.for_candidates(name, alike, length)
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

    def for_candidates(self, name: str, value: i.Expr, length: str) -> str:
        """The array of a value for all candidates."""
        text = self.expr(value)
        if isinstance(value, i.Access):  # which may be one element for all of them
            text = f"np.broadcast_to({text}, {length})"
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


def tensor_of(node: i.Access | i.Entries) -> str:
    return node.tensor if isinstance(node, i.Access) else node.first.tensor
