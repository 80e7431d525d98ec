"""`enumerate`: copies of loops for a few iterations of a loop in them, one after the other."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from cvmgen.algebra import simplify
from cvmgen.analysis.dependences import have_room
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import distance, leaves_loop
from cvmgen.ir.rewrite import renamed, rewritten, with_offsets
from cvmgen.ir.uses import assigned, names_in, read_tensors
from cvmgen.ir.visit import fresh, walk
from cvmgen.schedule.actions.unroll import passes
from cvmgen.schedule.forms import Use
from cvmgen.schedule.rewriting import loops
from cvmgen.schedule.subject import Subject


def enumerated(subject: Subject, use: Use) -> Subject:
    """Copies of the outer loops for each number of iterations from 2 up to the one given, which
    all loops of the first role in them have. The first new role is that of the copies; the second
    one, if there is one, is that of the loops in them around the iterations.

    What such a copy accumulates stays in a register, and its loop is a single one. Legal where the
    loops in it go one by one to their end: a copy runs where there are so many iterations, and in
    their order. Others stay as they are.
    """
    names, most, over = set(use.loops(subject, 0)), use.copies(1), set(use.loops(subject, 2))
    if same := names & over:
        use.refuse(f"the loop {min(same)} has no copies for its own iterations ({subject.place})")
    used = subject.taken
    roles = [use.roles(at)[0] for at in range(3, len(use.given))]
    made: dict[str, dict[str, None]] = {role: {} for role in roles}

    def new_name(loop: i.Loop, role: str) -> str:
        index = fresh(f"{loop.index}_{role}", used)
        made[role][index] = None
        return index

    def change(loop: i.Loop) -> i.Block | None:
        found = enumerated_range(loop, names)
        if found is None:
            return None
        if not all(have_room(subject.body, each, most) for each in loops(loop.body, names)):
            return None
        low, high = found
        use.copied(loop, most * (most + 1) // 2)
        new = {loop.index: new_name(loop, roles[0])}
        for each in _between(loop, names) if len(roles) > 1 else ():
            new[each.index] = new_name(each, roles[1])
        count = distance(low, high)
        result: i.Stmt = loop
        for number in range(2, most + 1):
            copies = with_iterations(loop, names, low, number, used)
            test = i.Compare("==", count, i.Const(number))
            result = i.If(test, renamed(copies, new), (result,), loop.span)
        return (result,)

    return subject.with_loops(over, change).with_roles(
        {role: tuple(found) for role, found in made.items()}
    )


def enumerated_range(outer: i.Loop, names: Collection[str]) -> tuple[i.Expr, i.Expr] | None:
    """The range of all loops of these indices in another one, which it does not change; None if
    there are none, or they differ, or are around others."""
    found = [*loops(outer.body, names)]
    ranges = {(each.low, each.high) for each in found}
    whole = all(each.step == 1 and not leaves_loop(each.body) for each in found)
    if len(ranges) != 1 or not whole:
        return None
    ((low, high),) = ranges
    if low is None or names_in((low, high)) & assigned((outer,)):
        return None
    if read_tensors((low, high)):
        return None
    single = not any(isinstance(each, i.Loop) for loop in found for each in loop.body)
    return (low, high) if single else None


def _between(outer: i.Loop, names: Collection[str]) -> Iterator[i.Loop]:
    """The loops in another one that are around those of these indices."""
    for each in walk(outer.body):
        if isinstance(each, i.Loop) and each.index not in names and any(loops(each.body, names)):
            yield each


def with_iterations(
    outer: i.Loop, names: Collection[str], low: i.Expr, number: int, used: set[str]
) -> i.Block:
    """The outer loop with so many iterations of those in it in their place."""
    places = [simplify(i.Binary("+", low, i.Const(ahead))) for ahead in range(number)]

    def change(statement: i.Stmt) -> i.Block | None:
        if isinstance(statement, i.Loop) and statement.index in names:
            return passes(statement, places, used)
        return None

    return with_offsets(rewritten((outer,), change), simplify)
