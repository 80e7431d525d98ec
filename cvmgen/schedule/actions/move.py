"""`move`: loops that only move the elements of a box become one call, whatever its rank."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import fresh
from cvmgen.schedule.forms import Use
from cvmgen.schedule.moves import move_of
from cvmgen.schedule.subject import Subject


def move(subject: Subject, use: Use) -> Subject:
    """The nest as a move.

    Legal for loops around nothing but a store of what is loaded, at places linear in the indices.
    Which runs there are on both sides is known at the call alone, as the
    rank is: so the library looks for them, and turns squares of lines where they differ."""
    found = move_of(subject)
    names = set(use.loops(subject, 0))
    if found is None or {each.index for each in found[0].loops} != names:
        use.refuse(
            f"these loops do more than to move the elements of a box ({subject.place})",
            "name all loops around a store of what is loaded, at places linear in the indices",
        )
    return subject.with_body(named_lists(found[1], subject.taken))


def named_lists(move: i.Move, taken: set[str]) -> i.Block:
    """The move behind locals for the lists that have no name."""
    locals_: list[i.Stmt] = []

    def named(name: str, value: i.Expr) -> i.Expr:
        if isinstance(value, i.Var):
            return value
        local = fresh(name, taken)
        locals_.append(i.Let(local, "list", value, move.span))
        return i.Var(local)

    extents = named("box", move.extents)
    steps = named(f"{move.target.tensor}_steps", move.steps)
    source_steps = named(f"{move.source.tensor}_steps", move.source_steps)
    lists = replace(move, extents=extents, steps=steps, source_steps=source_steps)
    return (*locals_, lists)
