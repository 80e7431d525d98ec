"""`hoist`: what is the same in every iteration is computed in front of a loop."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import names_in
from cvmgen.lower.copies import plain
from cvmgen.lower.guards import assigned, changed
from cvmgen.schedule.forms import Use
from cvmgen.schedule.rewriting import Block, rewritten
from cvmgen.schedule.subject import Subject


def hoist(subject: Subject, use: Use) -> Subject:
    """Locals of sums and products that do not vary in the loop go in front of it.

    They have a value even where the loop has no iteration.
    """
    names = set(use.loops(subject, 0))

    def change(statement: i.Stmt) -> Block | None:
        if not isinstance(statement, i.Loop) or statement.index not in names:
            return None
        before, kept = steady(statement)
        body = rewritten(kept, change)
        return (*before, replace(statement, body=body))

    return subject.with_body(rewritten(subject.body, change))


def steady(loop: i.Loop) -> tuple[Block, Block]:
    """The body of a loop in two: the locals that do not vary, and the rest."""
    varying = assigned((loop,))
    before: list[i.Stmt] = []
    kept: list[i.Stmt] = []
    for each in loop.body:
        match each:
            case i.Let(name=name, value=value) if (
                plain(value) and name not in changed(loop.body) and not names_in(value) & varying
            ):
                before.append(each)
                varying = varying - {name}
            case _:
                kept.append(each)
    return tuple(before), tuple(kept)
