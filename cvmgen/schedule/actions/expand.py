"""`expand`: accumulators of a loop as arrays, one element for each iteration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cvmgen.analysis.dependences import Locals
from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import folded_totals, rewritten, updated
from cvmgen.ir.uses import assigned, names_in, nodes_in, reassigned
from cvmgen.ir.visit import rebuild
from cvmgen.schedule.actions.split import array_length
from cvmgen.schedule.forms import Use
from cvmgen.schedule.subject import Subject


def expand(subject: Subject, use: Use) -> Subject:
    """Locals that each iteration begins anew get an element for each: iterations share nothing.

    A local that is stored in an array as it is grows there, and one that only ever is a sum right
    behind its start is a value. Legal where the loop declares the
    local itself and, unless it grows so, goes from 0 or behind it up to a known number.
    """
    accumulators, over = set(use.loops(subject, 0)), set(use.loops(subject, 1))
    arrays = Locals.of(subject.body).arrays

    def change(statement: i.Stmt) -> i.Block | None:
        if not isinstance(statement, i.Loop) or statement.index not in over:
            return None
        statement = replace(statement, body=folded_totals(statement.body))
        own = [
            each
            for each in statement.body
            if isinstance(each, i.Let) and each.name in accumulators & reassigned(statement.body)
        ]
        if not own:
            return (replace(statement, body=rewritten(statement.body, change)),)
        place = stored_place(statement, own, arrays)
        if place is not None:
            body = at_places(statement.body[:-1], {own[0].name: (place, own[0].type)})
            return (replace(statement, body=body),)
        most = array_length(subject, use, statement)
        new = tuple(i.Array(each.name, each.type, most, each.span) for each in own)
        at = i.Var(statement.index)
        places = {each.name: (i.Load(each.name, None, at), each.type) for each in own}
        return (*new, replace(statement, body=at_places(statement.body, places)))

    return subject.with_body(rewritten(subject.body, change))


def stored_place(loop: i.Loop, own: list[i.Let], arrays: Mapping[str, str]) -> i.Load | None:
    """The element of an array in which a loop stores its only accumulator in the end, if that is
    of the same type and nothing else of the array is in use."""
    match loop.body[-1]:
        case i.Store(target=i.Load(tensor=tensor, offset=offset) as place, value=i.Var(name=name)):
            pass
        case _:
            return None
    if [each.name for each in own] != [name] or loop.index not in names_in(offset):
        return None
    uses = [each for each in nodes_in(loop.body, i.Load) if each.tensor == tensor]
    if len(uses) > 1 or names_in(offset) & assigned(loop.body):
        return None
    return place if arrays.get(tensor) == own[0].type else None


def at_places(body: i.Block, places: Mapping[str, tuple[i.Load, str]]) -> i.Block:
    """The statements with an element at a place, of some type, for each of the locals."""

    def change(node: object) -> object:
        match node:
            case i.Var(name=name) if name in places:
                return places[name][0]
            case i.Let(name=name, value=value) | i.Assign(name=name, value=value) if name in places:
                return i.Store(places[name][0], value, node.span)
            case i.Accumulate(name=name, op=op, value=value) if name in places:
                place, kind = places[name]
                return i.Store(place, updated(op, kind, place, value), node.span)
            case _:
                return node

    return rebuild(body, change)
