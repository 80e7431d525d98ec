"""`reorder`: a loop moves into those that stand in it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from cvmgen.analysis.definedness import is_defined
from cvmgen.analysis.dependences import own_place
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import (
    assigned,
    carried,
    has,
    names_in,
    nodes_in,
    read_tensors,
    reassigned,
    stored_tensors,
)
from cvmgen.schedule.forms import Use
from cvmgen.schedule.subject import Subject


def reorder(subject: Subject, use: Use) -> Subject:
    """The second loop, which stands around loops of the first role, goes inside them; of loops in
    each other the innermost first.

    Each of its iterations still meets theirs in their order: what it accumulates in memory of its
    own comes out the same. Legal where the loops are others, do not decide how often each other
    run, where no local goes from one iteration of the moved loop to the next, nor from one of the
    other to its next, and where what is stored and read lies in memory, an element for each
    iteration of the moved loop.
    """
    outward, inward = set(use.loops(subject, 0)), set(use.loops(subject, 1))
    if same := outward & inward:
        use.refuse(f"the loop {min(same)} cannot go inside itself ({subject.place})")
    return subject.with_loops(
        inward, lambda loop: pushed(loop, outward, use, subject), inner_first=True
    )


def pushed(loop: i.Loop, outward: Collection[str], use: Use, subject: Subject) -> i.Block:
    """The loop inside the loop that ends its body, as far as that is one of the names."""
    *locals_, last = loop.body
    if not isinstance(last, i.Loop) or last.index not in outward:
        return (loop,)
    if not all(isinstance(each, i.Let) for each in locals_):
        return (loop,)
    if has(last, i.Break):
        use.refuse(f"the loop {last.index} may end early: it cannot go around {loop.index}")
    if last.low is None:
        use.refuse(f"the loop {last.index} goes through a list: it cannot go around {loop.index}")
    if lost := carried(loop):
        use.refuse(
            f"the loop {loop.index} carries {' and '.join(sorted(lost))}, which comes out "
            f"otherwise in another order ({subject.place})",
            "expand what it carries",
        )
    refuse_dependences(loop, last, use, subject)
    varying = {loop.index}
    before: list[i.Stmt] = []
    within: list[i.Stmt] = []
    for each in locals_:
        assert isinstance(each, i.Let)
        moves = names_in(each.value) & varying or not is_defined(each.value)
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


def refuse_dependences(loop: i.Loop, last: i.Loop, use: Use, subject: Subject) -> None:
    """Refuse loops whose iterations need what others did that would be another one's then."""
    locals_ = loop.body[:-1]
    if lost := assigned(locals_) & reassigned(last.body):
        use.refuse(
            f"the loop {last.index} changes {' and '.join(sorted(lost))}, which each iteration of "
            f"{loop.index} begins anew: they cannot change places ({subject.place})",
            f"expand it over the loop {loop.index}",
        )
    stored, ends = stored_tensors(last), (last.low, last.high, loop.low, loop.high)
    if read_tensors((locals_, ends)) & stored:
        use.refuse(
            f"the loop {last.index} stores what the loop {loop.index} reads in front of it: they "
            f"cannot change places ({subject.place})"
        )
    own = {each.name for each in nodes_in(last, i.Array)}
    for tensor in sorted(stored - own):
        read = reads_of(last, tensor) or tensor not in subject.outside.tensors
        if read and own_place((last,), tensor, loop.index) is None:
            use.refuse(
                f"iterations of the loop {loop.index} share elements of {tensor}, which come out "
                f"otherwise in another order ({subject.place})"
            )


def reads_of(loop: i.Loop, tensor: str) -> bool:
    """Whether a loop reads elements of a tensor, or stores them again and again."""
    places = [each.target for each in nodes_in(loop, i.Store)]
    loads = [each for each in nodes_in(loop, i.Load) if each.tensor == tensor]
    return len(loads) > sum(each.tensor == tensor for each in places)
