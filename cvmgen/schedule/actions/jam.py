"""`jam`: several iterations of a loop at once, inside the loop that stands in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import fresh, names_in, substitute, walk
from cvmgen.schedule.dependences import Locals
from cvmgen.schedule.forms import Use
from cvmgen.schedule.guards import ZERO
from cvmgen.schedule.rewriting import Block, rewritten
from cvmgen.schedule.subject import Subject


def jam(subject: Subject, use: Use) -> Subject:
    """Each pass over the inner loop does the work of several iterations of the outer one.

    So each element of an array in which the inner loop accumulates is read and stored once for
    all of them, and they read from several places of memory at a time. What comes together in an
    element does so in the same order as before. The iterations left over follow one by one. Legal
    where the inner loop does no more than that, in an array of the nest; others stay as they are.
    """
    names, size, inner = set(use.loops(subject, 0)), use.copies(1), set(use.loops(subject, 2))
    used, arrays = subject.taken, Locals.of(subject.body).arrays

    def change(statement: i.Stmt) -> Block | None:
        if not isinstance(statement, i.Loop) or statement.index not in names:
            return None
        match statement.body:
            case (
                *before,
                i.Loop(body=(i.Store(target=i.Load(tensor=array) as place) as store,)) as lane,
            ) if lane.index in inner and array in arrays:
                locals_ = tuple(each for each in before if isinstance(each, i.Let))
                varying = those_that_vary(locals_, statement.index)
                more = accumulated(store, place, varying)
                if more is None or names_in((lane.low, lane.high)) & varying:
                    return None
                if statement.low is None or len(locals_) < len(before):
                    return None
                so_far = i.Let(fresh(f"{array}_so_far", used), arrays[array], place, store.span)
                copies = [ahead(locals_, varying, statement.index, at, used) for at in range(size)]
                jammed = replace(lane, body=composed(store, so_far, more, copies))
                steady = (each for each in locals_ if each.name not in varying)
                own = (each for copy in copies for each in copy.locals_)
                return in_steps(statement, statement.low, size, (*steady, *own, jammed), used)
            case _:
                return None

    return subject.with_body(rewritten(subject.body, change))


def in_steps(loop: i.Loop, low: i.Expr, size: int, body: Block, used: set[str]) -> Block:
    """A loop that does several iterations at once, and the one for those left over."""
    whole = fresh(f"{loop.index}_whole", used)
    count = loop.high if low == ZERO else i.Binary("-", loop.high, low)
    several = i.Binary("*", i.Binary("truncdiv", count, i.Const(size)), i.Const(size))
    end = i.Let(whole, "i64", several if low == ZERO else i.Binary("+", low, several), loop.span)
    main = replace(loop, high=i.Var(whole), step=size, body=body)
    rest = replace(loop, low=i.Var(whole), parallel=0, worth=None, totals=())
    return (end, main, rest)


@dataclass(frozen=True, slots=True)
class Ahead:
    """An iteration some way ahead: what its index and locals are there, and these locals."""

    values: Mapping[str, i.Expr]
    locals_: tuple[i.Let, ...]


def those_that_vary(locals_: Iterable[i.Let], index: str) -> frozenset[str]:
    """The index and the locals that depend on it."""
    found = {index}
    for each in locals_:
        if names_in(each.value) & found:
            found.add(each.name)
    return frozenset(found)


def ahead(
    locals_: Iterable[i.Let], varying: frozenset[str], index: str, count: int, used: set[str]
) -> Ahead:
    values: dict[str, i.Expr] = {}
    if count:
        values[index] = i.Binary("+", i.Var(index), i.Const(count))
    own: list[i.Let] = []
    for each in locals_:
        if each.name in varying:
            name = fresh(each.name, used) if count else each.name
            own.append(replace(each, name=name, value=substitute(each.value, values)))
            values[each.name] = i.Var(name)
    return Ahead(values, tuple(own))


def accumulated(
    store: i.Store, place: i.Load, varying: frozenset[str]
) -> tuple[str, i.Expr] | None:
    """The operation and the value by which a store changes an element that stays the same."""
    found: tuple[str, i.Expr]
    match store.value:
        case i.Binary(op="+" | "*" as op, left=left, right=value) if left == place:
            found = op, value
        case i.Call(function=function, arguments=(left, value)) if left == place:
            found = function.partition("_")[0], value
        case i.Logic(op=op, operands=(left, value)) if left == place:
            found = op, value
        case _:
            return None
    tensors = {each.tensor for each in walk(found[1]) if isinstance(each, i.Load)}
    return None if names_in(place) & varying or place.tensor in tensors else found


def composed(
    store: i.Store, so_far: i.Let, more: tuple[str, i.Expr], copies: Iterable[Ahead]
) -> Block:
    """What a pass does with an element: take it, accumulate several values, store it."""
    op, value = more
    values = (substitute(value, dict(copy.values)) for copy in copies)
    steps = (i.Accumulate(so_far.name, op, each, store.span) for each in values)
    return (so_far, *steps, replace(store, value=i.Var(so_far.name)))
