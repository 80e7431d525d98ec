"""Lists and what is made of them: `stage`, `append`, `cut`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cvmgen.analysis.facts import Facts
from cvmgen.analysis.in_bounds import Inside
from cvmgen.analysis.list_loops import list_counter
from cvmgen.analysis.regions import only_moves, region
from cvmgen.dtypes import DType
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import assigned, names_in, read_tensors, stored_tensors
from cvmgen.ir.visit import fresh
from cvmgen.schedule.copies import copy_runs
from cvmgen.schedule.entries import list_entries
from cvmgen.schedule.forms import Use
from cvmgen.schedule.subject import Subject


def stage_entries(subject: Subject, use: Use) -> Subject:
    """What tests ask of the entries so far lies side by side; nothing changes where that may not
    be computed before the tests around it."""
    block = use.room(use.number(1))
    found = list_entries(
        subject.body, subject.own, subject.dtypes, subject.inside, subject.taken, block
    )
    if found is None:
        return subject.with_roles({use.roles(2)[0]: ()})
    made = replace(subject, body=found.body, kept=found.arrays)
    return made.with_roles({use.roles(2)[0]: (found.together,)})


def append(subject: Subject, use: Use) -> Subject:
    """Entries, or rows, are stored before it is known whether they pass.

    Legal where there is room for each candidate; for rows where each is there to be read, and what
    is behind the last one is stored later. Other loops stay as they are.
    """
    if not subject.memory:
        return subject.with_body(move_always(subject.body, subject.inside))
    return subject.with_body(store_always(subject.body, subject.own, subject.memory[-1]))


def cut(subject: Subject, use: Use) -> Subject:
    """A loop that asks whether its index is below the length of a list becomes two.

    Legal for every such loop: the order of iterations stays.
    """
    cuts = Cuts(dict(subject.dtypes), subject.facts, subject.taken)
    return subject.with_body(cuts.block(subject.body))


# ---------------------------------------------------------------- lists that grow


def store_always(body: i.Block, own: Sequence[str], capacity: i.Expr) -> i.Block:
    """A list whose entries pass a test: each is stored, and counts only if it passes.

    There is room for it: of a loop from 0 to the capacity, no more than all before it have passed.
    """
    return tuple(append_store(each, own, capacity) for each in body)


def append_store(statement: i.Stmt, own: Sequence[str], capacity: i.Expr) -> i.Stmt:
    match statement:
        case i.Loop(low=i.Const(value=0), high=high, body=body) as loop:
            if high == capacity and (done := appends(body, own)) is not None:
                return replace(loop, body=done)
            return replace(loop, body=store_always(body, own, capacity))
        case _:
            return statement


def appends(body: i.Block, own: Sequence[str]) -> i.Block | None:
    """What a loop appends, without the branch; None where more hangs on the test."""
    counter = list_counter(body)
    match body:
        case (
            *before,
            i.If(condition=test, then=(i.Store() as store, i.Accumulate(name=name) as step)),
        ) if counter == name and all(isinstance(each, i.Let) for each in before):
            simple = isinstance(store.value, (i.Var, i.Const)) and store.target.tensor in own
            if not simple or name in names_in((tuple(before), test, store.value)):
                return None
            return (*before, store, replace(step, value=i.Convert("i64", test)))
        case _:
            return None


def move_always(body: i.Block, inside: Inside) -> i.Block:
    """Rows that go behind those before them if they pass a test: each is moved, and counts only
    if it passes, where it may be read and all that is behind the last one is stored later."""
    done: list[i.Stmt] = []
    for at, statement in enumerate(body):
        match statement:
            case i.Loop(low=i.Const(value=0), index=index, high=high, body=within):
                known = inside.within(index, high)
                moved = moved_row(statement, body[at + 1 :], known)
                done.append(moved or replace(statement, body=move_always(within, known)))
            case _:
                done.append(statement)
    return tuple(done)


def moved_row(loop: i.Loop, later: i.Block, inside: Inside) -> i.Loop | None:
    """The loop with each of its rows moved; None where it moves none, or some may not be."""
    match loop.body:
        case (
            *before,
            i.If(
                condition=test,
                then=(row, i.Accumulate(op="+", value=i.Const(value=1)) as step),
                otherwise=(),
            ),
        ) if all(isinstance(each, i.Let) for each in before) and only_moves(row, inside):
            pass
        case _:
            return None
    one = region(row)
    rows = i.Binary("-", loop.high, i.Var(step.name))
    if one is None or step.name in names_in((tuple(before), test)):
        return None
    whole = replace(one, length=i.Binary("*", rows, one.length))
    if not any(whole.is_same(found) for found in map(region, later) if found is not None):
        return None
    return replace(loop, body=(*before, row, replace(step, value=i.Convert("i64", test))))


# ---------------------------------------------------------------- choices by a length


@dataclass(frozen=True, slots=True)
class Cuts:
    """Loops that choose by their index become one loop for each branch."""

    dtypes: dict[str, DType]
    facts: Facts
    taken: set[str]

    def block(self, body: i.Block) -> i.Block:
        return tuple(part for each in body for part in self.statement(each))

    def statement(self, statement: i.Stmt) -> i.Block:
        match statement:
            case i.Loop(body=(i.If(condition=test) as choice,)) as loop:
                end = self.end(loop, test)
                return (statement,) if end is None else self.cut(loop, choice, end)
            case i.Loop(body=body):
                return (replace(statement, body=self.block(body)),)
            case _:
                return (statement,)

    def end(self, loop: i.Loop, test: i.Expr) -> i.Expr | None:
        """Where a test of the index stops holding, if the loop does not change that and always
        asks it."""
        match test:
            case i.Compare(op="<", left=left, right=right) if left == i.Var(loop.index):
                steady = not names_in(right) & {loop.index, *assigned(loop.body)}
                asked = loop.low == i.ZERO and loop.step == 1 and self.facts.positive(loop.high)
                read = read_tensors(right)
                kept = not read & stored_tensors(loop.body)
                return right if steady and asked and read and kept else None
            case _:
                return None

    def cut(self, loop: i.Loop, choice: i.If, end: i.Expr) -> i.Block:
        name = fresh("cut", self.taken)
        inside = i.Call("max_i64", (i.ZERO, i.Call("min_i64", (end, loop.high))))
        first = replace(loop, high=i.Var(name), body=choice.then)
        second = replace(loop, low=i.Var(name), body=choice.otherwise)
        return (
            i.Let(name, "i64", inside, loop.span),
            *((first,) if choice.then else ()),
            *copy_runs((second,) if choice.otherwise else (), self.dtypes, self.facts),
        )
