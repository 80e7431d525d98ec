"""`jam`: several iterations of a loop at once, inside the loop that stands in it."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.algebra import simplify
from cvmgen.analysis.dependences import Locals, own_place, steady_range
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import distance
from cvmgen.ir.rewrite import inlined, rewritten, with_offsets
from cvmgen.ir.uses import assigned, names_in, read_tensors
from cvmgen.ir.visit import fresh, substitute
from cvmgen.schedule.forms import Use
from cvmgen.schedule.subject import Subject


def jam(subject: Subject, use: Use) -> Subject:
    """Each pass over the inner loop does the work of several iterations of the outer one.

    So each element of an array in which the inner loop accumulates is read and stored once for
    all of them, and they read from several places of memory at a time. What comes together in an
    element does so in the same order as before, since each iteration of the inner loop has an
    element of its own. The iterations left over follow one by one. Legal where the inner loop does
    no more than that, in an array of the nest, and runs as often whatever the outer one does;
    others stay as they are.
    """
    names, size, inner = set(use.loops(subject, 0)), use.copies(1), set(use.loops(subject, 2))
    used, arrays = subject.taken, Locals.of(subject.body).arrays

    def change(statement: i.Stmt) -> i.Block | None:
        if not isinstance(statement, i.Loop):
            return None
        match with_places(statement):
            case i.Loop(
                index=index,
                low=low,
                body=(
                    i.Loop(body=(i.Store(target=i.Load(tensor=array) as place) as store,)) as lane,
                ),
            ) if index in names and lane.index in inner and array in arrays:
                more = element_update(store, place, index)
                if more is None or low is None or statement.step != 1:
                    return None
                if own_place(lane.body, array, lane.index) is None or not steady_range(statement):
                    return None
                if names_in((lane.low, lane.high)) & assigned((statement,)):
                    return None
                whole = fresh(f"{index}_whole", used)
                end = i.Let(
                    whole, "i64", last_whole_group(low, statement.high, size), statement.span
                )
                so_far = i.Let(fresh(f"{array}_so_far", used), arrays[array], place, store.span)
                jammed = replace(lane, body=_composed(store, so_far, more, index, size))
                main = replace(statement, high=i.Var(whole), step=size, body=(jammed,))
                return (end, main, replace(statement, low=i.Var(whole)))
            case _:
                return None

    return subject.with_body(rewritten(subject.body, change))


def with_places(loop: i.Loop) -> i.Loop:
    """A loop around another one without the locals of both that are only names of places."""
    match loop.body:
        case (*outer, i.Loop(body=(*inner, i.Store()))) if outer or inner:
            pass
        case _:
            return loop
    match inlined(loop.body):
        case (i.Loop() as lane,):
            body = with_offsets(inlined(lane.body), simplify)
            return replace(loop, body=(replace(lane, body=body),))
        case _:
            return loop


def last_whole_group(low: i.Expr, high: i.Expr, size: int) -> i.Expr:
    """Where the last whole group of iterations ends."""
    count = distance(low, high)
    whole = i.Binary("*", i.Binary("truncdiv", count, i.Const(size)), i.Const(size))
    return whole if low == i.ZERO else i.Binary("+", low, whole)


def element_update(store: i.Store, place: i.Load, index: str) -> tuple[str, i.Expr] | None:
    """The operation and the value by which a store changes an element that stays the same."""
    found: tuple[str, i.Expr]
    match store.value:
        case i.Binary(op="+" | "*" as op, left=left, right=value) if left == place:
            found = op, value
        case i.Call(function=function, arguments=(left, value)) if (
            left == place and function.startswith(("max_", "min_"))
        ):
            found = function.partition("_")[0], value
        case i.Logic(op=op, operands=(left, value)) if left == place:
            found = op, value
        case _:
            return None
    varies = index in names_in(place) or place.tensor in read_tensors(found[1])
    return None if varies else found


def _composed(
    store: i.Store, so_far: i.Let, more: tuple[str, i.Expr], index: str, size: int
) -> i.Block:
    """What a pass does with an element: take it, accumulate several values, store it."""
    op, value = more
    values = (
        substitute(value, {index: i.Binary("+", i.Var(index), i.Const(ahead))} if ahead else {})
        for ahead in range(size)
    )
    steps = (i.Accumulate(so_far.name, op, each, store.span) for each in values)
    return (so_far, *steps, replace(store, value=i.Var(so_far.name)))
