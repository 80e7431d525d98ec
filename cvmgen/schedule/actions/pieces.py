"""`pieces`: loops of any length as pieces of one length, of which the last ones may overlap."""

from __future__ import annotations

from dataclasses import replace

from cvmgen import algebra
from cvmgen.algebra import simplify
from cvmgen.analysis.dependences import have_room, steady_range
from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import with_offsets
from cvmgen.ir.uses import assigned, has, stored_tensors
from cvmgen.ir.visit import fresh, substitute
from cvmgen.schedule.actions.jam import last_whole_group
from cvmgen.schedule.actions.specialise import loads_in
from cvmgen.schedule.forms import Use
from cvmgen.schedule.subject import Subject


def pieces(subject: Subject, use: Use) -> Subject:
    """Loops go by so many iterations at a time. Compilers write such pieces as vectors alone, in
    registers, where a loop of any length has pointers to hold and iterations one by one at its end.

    Legal for every loop over a range, which stays as it is in the loop: what is left behind the
    last whole piece goes one by one.
    Where iterations store what does not depend on what they store, and may so run twice, the last
    piece begins earlier instead, if there are enough for one. Loops that read no elements a known
    step apart stay, and those over arrays that are shorter than a piece.
    """
    names, size = set(use.loops(subject, 0)), use.number(1)
    used, role = subject.taken, use.roles(2)[0]
    made: dict[str, None] = {}
    if size < 2:
        use.refuse(f"a piece has 2 iterations at least, not {size}", "leave the action out")

    def change(loop: i.Loop) -> i.Block | None:
        if not even(loop) or not have_room(subject.body, loop, size):
            return None
        index = fresh(f"{loop.index}_{role}", used)
        made[index] = None
        form = overlapping if may_run_twice(loop) else whole_pieces
        return form(loop, size, index, used)

    return subject.with_loops(names, change).with_roles({role: tuple(made)})


def even(loop: i.Loop) -> bool:
    """Whether neighbouring iterations of an innermost loop read elements a known step apart."""
    inner = has(loop.body, i.Loop, i.Break)
    places = [*loads_in(loop)]
    if inner or not places or loop.low is None or loop.step != 1 or not steady_range(loop):
        return False
    lines = (algebra.line(place.offset, loop.index, assigned(loop.body)) for place in places)
    return all(line and isinstance(line.step, i.Const) for line in lines)


def may_run_twice(loop: i.Loop) -> bool:
    """Whether iterations may run twice."""
    plain = all(isinstance(each, (i.Let, i.Store)) for each in loop.body)
    return plain and not {each.tensor for each in loads_in(loop)} & stored_tensors(loop)


def overlapping(loop: i.Loop, size: int, index: str, used: set[str]) -> i.Block:
    assert loop.low is not None
    piece, at = (i.Var(fresh(f"{loop.index}_{word}", used)) for word in ("piece", "at"))
    last = simplify(i.Binary("-", loop.high, i.Const(size)))
    first = i.Let(at.name, "i64", i.Call("min_i64", (piece, last)), loop.span)
    body = (first, piece_body(loop, size, index, at))
    outer = replace(loop, index=piece.name, body=body, step=size, vector="")
    enough = i.Compare(">=", simplify(i.Binary("-", loop.high, loop.low)), i.Const(size))
    return (i.If(enough, (outer,), (loop,), loop.span),)


def whole_pieces(loop: i.Loop, size: int, index: str, used: set[str]) -> i.Block:
    assert loop.low is not None
    piece, end = (i.Var(fresh(f"{loop.index}_{word}", used)) for word in ("piece", "whole"))
    high = simplify(last_whole_group(loop.low, loop.high, size))
    body = (piece_body(loop, size, index, piece),)
    outer = replace(loop, index=piece.name, high=end, body=body, step=size, vector="")
    return (i.Let(end.name, "i64", high, loop.span), outer, replace(loop, low=end))


def piece_body(loop: i.Loop, size: int, index: str, first: i.Expr) -> i.Loop:
    """The iterations of a piece."""
    place = i.Binary("+", first, i.Var(index))
    body = with_offsets(substitute(loop.body, {loop.index: place}), algebra.simplify)
    return replace(loop, index=index, low=i.ZERO, high=i.Const(size), body=body)
