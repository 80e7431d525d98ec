"""`distribute`: a loop around several steps as one loop for each of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import names_in
from cvmgen.schedule.dependences import carried, read_tensors, stored_tensors
from cvmgen.schedule.forms import Use
from cvmgen.schedule.rewriting import Block, rewritten
from cvmgen.schedule.subject import Subject


def distribute(subject: Subject, use: Use) -> Subject:
    """The loop runs to its end for each step in it before the next step begins.

    Legal where a step needs of those before it only what they did in the same iteration, and
    where what that is lies in memory or can be computed again.
    """
    names = set(use.loops(subject, 0))

    def change(statement: i.Stmt) -> Block | None:
        if not isinstance(statement, i.Loop) or statement.index not in names:
            return None
        if lost := carried(statement):
            use.refuse(
                f"the loop {statement.index} carries {' and '.join(sorted(lost))} from one "
                f"iteration to the next: its steps cannot run apart ({subject.place})",
                "expand what it carries",
            )
        return tuple(
            replace(statement, body=step) for step in steps(statement.body, use, statement.index)
        )

    return subject.with_body(rewritten(subject.body, change))


def steps(body: Block, use: Use, index: str) -> list[Block]:
    """The statements in groups, a loop by itself, each with the locals that it reads."""
    groups: list[list[i.Stmt]] = [[]]
    for each in body:
        if isinstance(each, i.Loop):
            groups += [[each], []]
        else:
            groups[-1].append(each)
    locals_ = {each.name: each for each in body if isinstance(each, i.Let)}
    written = stored_tensors(body)
    found = []
    for group in groups:
        own = {each.name for each in group if isinstance(each, i.Let)}
        needed = reached(group, locals_) - own
        for name in needed:
            if read_tensors(locals_[name]) & written:
                use.refuse(
                    f"the local {name} is read after more of the loop {index} has run, when what "
                    "it was computed from may have changed"
                )
        before = [each for each in body if isinstance(each, i.Let) and each.name in needed]
        kept = without_unread((*before, *group))
        if any(not isinstance(each, i.Let) for each in kept):
            found.append(kept)
    return found


def reached(statements: Iterable[i.Stmt], locals_: dict[str, i.Let]) -> set[str]:
    """The locals that statements read, and those that these are made of."""
    found: set[str] = set()
    new = names_in(tuple(statements)) & locals_.keys()
    while new:
        found |= new
        new = names_in(tuple(locals_[name] for name in new)) & locals_.keys() - found
    return found


def without_unread(body: Block) -> Block:
    """A block without locals that nothing reads."""
    kept: list[i.Stmt] = []
    for each in reversed(body):
        if isinstance(each, i.Let) and each.name not in names_in(tuple(kept)):
            continue
        kept.insert(0, each)
    return tuple(kept)
