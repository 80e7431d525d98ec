"""Loops to threads: `parallelise`, and when that is worth it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from cvmgen.analysis.dependences import Locals, conflict
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import assigned, names_in, read_tensors, reassigned, stored_tensors
from cvmgen.schedule.forms import Use
from cvmgen.schedule.measures import enough, known_outcome
from cvmgen.schedule.subject import Subject

ENOUGH = 32  # iterations for threads to share: more loops make more indices of each position


def parallelise(subject: Subject, use: Use) -> Subject:
    """The loops of the roles in parallel, the outermost and those that stand right in it.

    Every iteration writes elements of its own: in gather form by construction, in scatter form
    because each element is written once. Legal where iterations share nothing else but
    accumulators that come out the same in every order. Locals between two of the loops are
    computed in the inner one, since threads take iterations of both at once; where that loop
    changes them, or what they are read from, it stays with one thread. Of loops of known length
    no more are counted as one than threads need, and none where a test between numbers fails.
    """
    names = set(use.loops(subject, 0))
    locals_ = Locals.of(subject.body)

    def change(loop: i.Loop) -> i.Block | None:
        if why := conflict(loop, locals_):
            use.refuse(
                f"the loop {loop.index} {why}: its iterations cannot run in parallel "
                f"({subject.place})",
                "expand what it carries, or parallelise loops around it",
            )
        whole, count = collapsed(loop, names, locals_)
        marked = replace(whole, parallel=count)
        if len(use.given) == 1:
            return (marked,)
        worth = enough(subject, marked, use.test(1))
        return (loop if known_outcome(worth) is False else replace(marked, worth=worth),)

    return subject.with_loops(names, change)


def collapsed(
    loop: i.Loop, names: Collection[str], locals_: Locals, times: int = 1
) -> tuple[i.Loop, int]:
    """The loop with those of the names right below it, nothing between, and how many these are;
    no more than it takes for `ENOUGH` iterations, where their number is known."""
    times *= loop.high.value if isinstance(loop.high, i.Const) else 0
    *between, last = loop.body
    if times >= ENOUGH:
        return loop, 1
    if not isinstance(last, i.Loop) or last.index not in names:
        return loop, 1
    set_here = {loop.index} | assigned(tuple(between))
    if not all(isinstance(each, i.Let) for each in between):
        return loop, 1
    # Of loops that are counted as one, compilers make no vectors.
    if last.vector or last.low is None or names_in((last.low, last.high)) & set_here:
        return loop, 1
    if read_tensors(tuple(between)) & stored_tensors(last) or last.parallel:
        return loop, 1
    if assigned(tuple(between)) & reassigned(last.body) or conflict(last, locals_):
        return loop, 1
    inner, count = collapsed(replace(last, body=(*between, *last.body)), names, locals_, times)
    return replace(loop, body=(inner,)), count + 1
