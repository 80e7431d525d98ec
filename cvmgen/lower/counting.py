"""Selections that append what passes, and choices by the length of a list, without branches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cvmgen.dtypes import DType
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import fresh, names_in, walk
from cvmgen.lower.copies import copy_runs
from cvmgen.lower.facts import Facts
from cvmgen.lower.guards import assigned
from cvmgen.lower.list_loops import Block, selection

ZERO = i.Const(0)


# ---------------------------------------------------------------- lists that grow


def store_always(body: Block, own: Sequence[str], capacity: i.Expr) -> Block:
    """A list whose entries pass a test: each is stored, and counts only if it passes.

    There is room for it: of a loop from 0 to the capacity, no more than all before it have passed.
    """
    return tuple(stored(each, own, capacity) for each in body)


def stored(statement: i.Stmt, own: Sequence[str], capacity: i.Expr) -> i.Stmt:
    match statement:
        case i.Loop(low=i.Const(value=0), high=high, body=body) as loop:
            if high == capacity and (done := appended(body, own)) is not None:
                return replace(loop, body=done)
            return replace(loop, body=store_always(body, own, capacity))
        case _:
            return statement


def appended(body: Block, own: Sequence[str]) -> Block | None:
    """What a loop appends, without the branch; None where more hangs on the test."""
    counter = selection(body)
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


# ---------------------------------------------------------------- choices by a length


@dataclass(frozen=True, slots=True)
class Cuts:
    """Loops that choose by their index become one loop for each branch."""

    dtypes: dict[str, DType]
    facts: Facts
    taken: set[str]

    def block(self, body: Block) -> Block:
        return tuple(part for each in body for part in self.statement(each))

    def statement(self, statement: i.Stmt) -> Block:
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
                asked = loop.low == ZERO and self.facts.positive(loop.high)
                read = any(isinstance(each, i.Load) for each in walk(right))
                return right if steady and asked and read else None
            case _:
                return None

    def cut(self, loop: i.Loop, choice: i.If, end: i.Expr) -> Block:
        name = fresh("cut", self.taken)
        inside = i.Call("max_i64", (ZERO, i.Call("min_i64", (end, loop.high))))
        first = replace(loop, high=i.Var(name), body=choice.then)
        second = replace(loop, low=i.Var(name), body=choice.otherwise)
        return (
            i.Let(name, "i64", inside, loop.span),
            *((first,) if choice.then else ()),
            *copy_runs((second,) if choice.otherwise else (), self.dtypes, self.facts),
        )
