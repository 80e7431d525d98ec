"""`unroll`: several iterations of a loop, written out one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cvmgen.algebra import simplify
from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import rewritten
from cvmgen.ir.visit import fresh, rebuild, substitute, walk
from cvmgen.schedule.actions.jam import multiple
from cvmgen.schedule.dependences import have_room, steady_range
from cvmgen.schedule.forms import Use
from cvmgen.schedule.rewriting import loops
from cvmgen.schedule.subject import Subject


def unroll(subject: Subject, use: Use) -> Subject:
    """Several iterations in each pass of a loop, and those left over one by one; of loops in each
    other the innermost. A loop that is known to have no more iterations is gone.

    Legal for every loop over a range: the order of iterations stays. Loops that may end early, that
    change how often they run, those in steps, and those over arrays that are shorter than what is
    written out, stay as they are. In models, where the length of sums is known, a sum of at most so
    many terms is one expression, for results that count them all.
    """
    names, size = set(use.loops(subject, 0)), use.copies(1)
    used = subject.taken

    def change(statement: i.Stmt) -> i.Block | None:
        if not isinstance(statement, i.Loop) or statement.index not in names:
            return None
        ends = any(isinstance(each, i.Break) for each in walk(statement.body))
        if ends or statement.low is None or statement.step != 1 or not steady_range(statement):
            return None
        if any(True for _ in loops(statement.body, names)):
            return None
        if not isinstance(statement.high, i.Const) and not have_room(subject.body, statement, size):
            return None
        use.copied(statement, size)
        return written_out(statement, size, used)

    return subject.with_body(rewritten(subject.body, change))


def written_out(loop: i.Loop, size: int, used: set[str]) -> i.Block:
    match loop.low, loop.high:
        case i.Const(value=int(low)), i.Const(value=int(high)) if high - low <= size:
            return passes(loop, [i.Const(at) for at in range(low, high)], used)
        case _:
            return in_passes(loop, size, used)


def in_passes(loop: i.Loop, size: int, used: set[str]) -> i.Block:
    """The loop in steps of `size`, and the loop for what is left."""
    assert loop.low is not None
    whole = fresh(f"{loop.index}_whole", used)
    end = i.Let(whole, "i64", simplify(multiple(loop.low, loop.high, size)), loop.span)
    index = i.Var(loop.index)
    places = [i.Binary("+", index, i.Const(at)) if at else index for at in range(size)]
    main = replace(loop, high=i.Var(whole), step=size, body=passes(loop, places, used))
    return (end, main, replace(loop, low=i.Var(whole)))


def passes(loop: i.Loop, places: Sequence[i.Expr], used: set[str]) -> i.Block:
    """The body for each of the values of the index, with locals of its own."""
    own = [each.name for each in loop.body if isinstance(each, (i.Let, i.Array))]
    done: list[i.Stmt] = []
    for number, place in enumerate(places):
        body = tidied(substitute(loop.body, {loop.index: place}))
        done += renamed(body, {name: fresh(name, used) for name in own} if number else {})
    return tuple(done)


def tidied(body: i.Block) -> i.Block:
    """The block with plain sums for the places of elements, and for locals."""

    def change(node: object) -> object:
        match node:
            case i.Load(offset=offset):
                return replace(node, offset=simplify(offset))
            case i.Let(value=value):
                return replace(node, value=simplify(value))
            case _:
                return node

    result: i.Block = rebuild(body, change)
    return result


def renamed(body: i.Block, names: Mapping[str, str]) -> i.Block:
    """The block with other names for some of its locals."""

    def change(node: object) -> object:
        match node:
            case i.Var(name=name) if name in names:
                return i.Var(names[name])
            case i.Load(tensor=tensor) if tensor in names:
                return replace(node, tensor=names[tensor])
            case i.Let(name=name) | i.Array(name=name) if name in names:
                return replace(node, name=names[name])
            case i.Assign(name=name) | i.Accumulate(name=name) if name in names:
                return replace(node, name=names[name])
            case _:
                return node

    result: i.Block = rebuild(body, change)
    return result
