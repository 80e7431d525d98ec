"""`distribute`: a loop around several steps as one loop for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import NoReturn

from cvmgen.analysis.dependences import own_place, steady_range
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import leaves_loop
from cvmgen.ir.rewrite import locals_reached, without_dead
from cvmgen.ir.uses import assigned, carried, read_tensors, reassigned, stored_tensors
from cvmgen.schedule.forms import Use
from cvmgen.schedule.subject import Subject


def distribute(subject: Subject, use: Use) -> Subject:
    """The loop runs to its end for each step in it before the next step begins.

    Legal where a step needs of the others only what they did in the same iteration, and where that
    lies in memory, an element for each iteration, or can be computed again: locals that change, and
    arrays that are made anew, belong to one step.
    """

    def change(loop: i.Loop) -> i.Block | None:
        if leaves_loop(loop.body) or not steady_range(loop):
            use.refuse(f"the loop {loop.index} decides when it ends ({subject.place})")
        if lost := carried(loop):
            use.refuse(
                f"the loop {loop.index} carries {' and '.join(sorted(lost))} from one "
                f"iteration to the next: its steps cannot run apart ({subject.place})",
                "expand what it carries",
            )
        return tuple(replace(loop, body=step) for step in statement_groups(loop, use, subject))

    return subject.with_loops(use.loops(subject, 0), change)


def statement_groups(loop: i.Loop, use: Use, subject: Subject) -> list[i.Block]:
    """The statements in groups, a loop by itself, each with the locals that it reads."""
    groups: list[list[i.Stmt]] = [[]]
    for each in loop.body:
        if isinstance(each, i.Loop):
            groups += [[each], []]
        else:
            groups[-1].append(each)
    _apart(loop, groups, use, subject)
    locals_ = {each.name: each for each in loop.body if isinstance(each, i.Let)}
    found = []
    for group in groups:
        needed = recomputable(group, locals_, loop, use, subject) | read_tensors(tuple(group))
        needed -= set(map(local_of, group))
        before = [each for each in loop.body if local_of(each) in needed]
        kept = without_dead((*before, *group))
        if any(not isinstance(each, (i.Let, i.Array)) for each in kept):
            found.append(kept)
    return found


def local_of(statement: i.Stmt) -> str:
    """The local or the array that a statement makes; empty where it makes none."""
    return statement.name if isinstance(statement, (i.Let, i.Array)) else ""


def recomputable(
    group: Sequence[i.Stmt], locals_: dict[str, i.Let], loop: i.Loop, use: Use, subject: Subject
) -> set[str]:
    """The locals that a group reads, if they can be computed again for it."""
    own = {each.name for each in group if isinstance(each, i.Let)}
    needed = locals_reached(tuple(group), locals_)
    written, changes = stored_tensors(loop.body), reassigned(loop.body)
    for name in sorted(needed - own):
        if name in changes:
            refuse_change(name, loop, use, subject)
        if read_tensors(locals_[name]) & written:
            use.refuse(
                f"the local {name} is read after more of the loop {loop.index} has run, when what "
                "it was computed from may have changed"
            )
    return needed


def refuse_change(name: str, loop: i.Loop, use: Use, subject: Subject) -> NoReturn:
    use.refuse(
        f"the local {name} changes in one step of the loop {loop.index} and is read in "
        f"another: its steps cannot run apart ({subject.place})",
        f"expand it over the loop {loop.index}",
    )


def _apart(loop: i.Loop, groups: Sequence[Sequence[i.Stmt]], use: Use, subject: Subject) -> None:
    """Refuse steps of which one needs what another did in other iterations."""
    made = {each.name for each in loop.body if isinstance(each, i.Array)}
    for one, other in combinations(map(tuple, groups), 2):
        memory = read_tensors(one) & read_tensors(other)
        memory &= stored_tensors(one) | stored_tensors(other)
        for tensor in sorted(memory):
            if tensor in made:
                use.refuse(
                    f"the loop {loop.index} makes the array {tensor} anew in each iteration, for "
                    f"several of its steps: they cannot run apart ({subject.place})"
                )
            if own_place(loop.body, tensor, loop.index) is None:
                use.refuse(
                    f"steps of the loop {loop.index} share more of {tensor} than an element for "
                    f"each iteration: they cannot run apart ({subject.place})"
                )
        if both := assigned(one) & reassigned(other) | assigned(other) & reassigned(one):
            refuse_change(min(both), loop, use, subject)
