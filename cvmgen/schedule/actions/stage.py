"""`stage`: what loops read lies side by side before it is read, for windows and for lists."""

from __future__ import annotations

from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import rewritten, without_dead
from cvmgen.schedule.actions.lists import stage_entries
from cvmgen.schedule.forms import Use
from cvmgen.schedule.staging import SHARE, MadeNames, Staging, movable
from cvmgen.schedule.subject import Subject


def stage(subject: Subject, use: Use) -> Subject:
    """What tests ask of the entries of a list; or, over results, copies of what their windows read.

    Legal for entries where what is asked may be computed before the tests around it; for windows
    where the padding of the copy has an element that changes no total. Others stay as they are.
    """
    return stage_entries(subject, use) if len(use.given) == 3 else stage_windows(subject, use)


def stage_windows(subject: Subject, use: Use) -> Subject:
    """Blocks of results read their windows from a copy of the elements, as long as it has room.

    Legal where elements are known by their places alone, and the padding gets one that changes no
    total; nests where that is not so, as for products of real numbers, stay as they are.
    """
    taps, over = set(use.loops(subject, 0)), set(use.loops(subject, 1))
    room = use.room(use.number(2))
    if room < SHARE:
        use.refuse(f"a copy of windows has room for {SHARE} elements at least")
    used, role = subject.taken, use.roles(0)[0]
    roles = [role, *(use.roles(at)[0] for at in (3, 4, 5, 6))]
    made: MadeNames = {each: {} for each in roles}
    made[role] = dict.fromkeys(subject.roles[role])
    front: list[i.Stmt] = []

    def change(statement: i.Stmt) -> i.Block | None:
        match statement:
            case i.Loop(body=(i.Loop(index=index) as results,)) if index in over:
                found = subject.windows(results, statement)
                if found is None or found.rows is None:
                    return None
            case i.Loop(index=index) if index in over:
                found = subject.windows(statement)
            case _:
                return None
        if found is None or found.empty is None or not movable(found):
            return (statement,)
        if found.columns.tap.index not in taps:
            use.refuse(
                f"the windows along {index} have their elements by the loop "
                f"{found.columns.tap.index} ({subject.place})",
                "write: stage taps over results",
            )
        staging = Staging(statement, found, room, used)
        body = staging.body(roles, made)
        front.extend(staging.names.front)
        return (i.If(i.Var(staging.staged.name), body, (statement,), statement.span),)

    body = rewritten(subject.body, change)
    return subject.with_body(without_dead((*front, *body))).with_roles(
        {role: tuple(made[role]) for role in made}
    )
