"""`reorder`: a loop moves into those that stand in it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import names_in, walk
from cvmgen.lower.guards import assigned
from cvmgen.schedule.dependences import carried, read_tensors, stored_tensors
from cvmgen.schedule.forms import Use
from cvmgen.schedule.rewriting import Block, rewritten
from cvmgen.schedule.subject import Subject


def reorder(subject: Subject, use: Use) -> Subject:
    """The second loop, which stands around loops of the first role, goes inside them; of loops in
    each other the innermost first.

    Each of its iterations still meets theirs in their order: what it accumulates in memory of its
    own comes out the same. Legal where the loops do not decide how often each other run and no
    local goes from one iteration of the moved loop to the next.
    """
    outward, inward = set(use.loops(subject, 0)), set(use.loops(subject, 1))

    def change(statement: i.Stmt) -> Block | None:
        if not isinstance(statement, i.Loop) or statement.index not in inward:
            return None
        inner = replace(statement, body=rewritten(statement.body, change))
        return pushed(inner, outward, use, subject)

    return subject.with_body(rewritten(subject.body, change))


def pushed(loop: i.Loop, outward: Collection[str], use: Use, subject: Subject) -> Block:
    """The loop inside the loop that ends its body, as far as that is one of the names."""
    *locals_, last = loop.body
    if not isinstance(last, i.Loop) or last.index not in outward:
        return (loop,)
    if not all(isinstance(each, i.Let) for each in locals_):
        return (loop,)
    if any(isinstance(each, i.Break) for each in walk(last)):
        use.refuse(f"the loop {last.index} may end early: it cannot go around {loop.index}")
    if lost := carried(loop):
        use.refuse(
            f"the loop {loop.index} carries {' and '.join(sorted(lost))}, which comes out "
            f"otherwise in another order ({subject.place})",
            "expand what it carries",
        )
    varying = {loop.index}
    before: list[i.Stmt] = []
    within: list[i.Stmt] = []
    for each in locals_:
        assert isinstance(each, i.Let)
        moves = names_in(each.value) & varying or read_tensors(each) & stored_tensors(last)
        if moves:
            varying.add(each.name)
        (within if moves else before).append(each)
    if names_in((last.low, last.high)) & varying or names_in((loop.low, loop.high)) & assigned(
        loop.body
    ):
        use.refuse(
            f"the loops {loop.index} and {last.index} decide how often each other run: they "
            f"cannot change places ({subject.place})"
        )
    inner = replace(loop, body=(*within, *last.body))
    return (*before, replace(last, body=pushed(inner, outward, use, subject)))
