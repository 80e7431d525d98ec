"""`clip`: iterations that would fail a guard are left out by the ends of their loop."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.algebra import simplify
from cvmgen.analysis.dependences import steady_range
from cvmgen.analysis.guards import condition_bounds, first_from, maximum_of, slope, smallest
from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import index_values, rewritten, with_offsets
from cvmgen.ir.uses import assigned, has, names_in, read_tensors, reassigned
from cvmgen.ir.visit import fresh, substitute
from cvmgen.schedule.forms import Use
from cvmgen.schedule.subject import Subject


def clip(subject: Subject, use: Use) -> Subject:
    """Loops run over the iterations that pass the guard around everything else in them.

    The order of those stays, and the others did nothing: this is legal for every loop over a
    range, one by one, whose guard is linear in its index, stays as it is in the loop and reads no
    element: one that is read in front of the loop need not be there.
    """
    used = subject.taken
    ends: set[str] = set()

    def change(loop: i.Loop) -> i.Block | None:
        found = _clipped(loop, subject, used) or (loop,)
        ends.update(each.name for each in found if isinstance(each, i.Let))
        return hoisted_ends(found, ends)

    return subject.with_loops(use.loops(subject, 0), change, inner_first=True)


def _clipped(loop: i.Loop, subject: Subject, used: set[str]) -> i.Block | None:
    """The loop over its passing iterations, behind their ends; None for other guards."""
    match loop.body:
        case (*locals_, i.If(condition=condition, then=then, otherwise=())) if (
            loop.low is not None
            and loop.step == 1
            and steady_range(loop)
            and all(isinstance(each, i.Let) for each in locals_)
            and not assigned(tuple(locals_)) & reassigned(then)
            and not read_tensors((tuple(locals_), condition))
        ):
            values = index_values(locals_)
        case _:
            return None
    guard = condition_bounds(substitute(condition, values)) or []
    lines = [slope(each.place, loop.index, subject.facts) for each in guard]
    lows, highs = [loop.low], [loop.high]
    for each, line in zip(guard, lines, strict=True):
        limit = each.low if each.high is None else each.high
        if line is None or limit is None or names_in((line.rest, limit)) & assigned((loop,)):
            return None
        (lows if each.high is None else highs).append(first_from(limit, line))
    if not guard or len(values) < len(locals_):
        return None
    ends: list[i.Let] = []
    for end, value in (("low", maximum_of(lows)), ("high", smallest(highs))):
        ends.append(i.Let(fresh(f"{loop.index}_{end}", used), "i64", value, loop.span))
    body = (*locals_, *then)
    if not has(then, i.Loop):
        # Compilers see the steps of places only where these are written out.
        body = with_offsets(substitute(then, values), simplify)
    low, high = (i.Var(each.name) for each in ends)
    return (*ends, replace(loop, low=low, high=high, body=body))


def hoisted_ends(found: i.Block, ends: set[str]) -> i.Block:
    """The ends of loops inside, and of those behind a test, in front of a loop that does not change
    them: one for all that are the same. Elements may be there behind the test only."""
    *before, loop = found
    assert isinstance(loop, i.Loop)
    varying = {*assigned((loop,))}
    same = {each.value: each.name for each in before if isinstance(each, i.Let)}
    others: dict[str, i.Expr] = {}

    def change(statement: i.Stmt) -> i.Block | None:
        if isinstance(statement, i.Loop):
            return (statement,)
        if not isinstance(statement, i.Let) or statement.name not in ends:
            return None
        varying.discard(statement.name)
        value: i.Expr = substitute(statement.value, others)
        if names_in(value) & varying or read_tensors(value):
            varying.add(statement.name)
            return None
        if value in same:
            others[statement.name] = i.Var(same[value])
        else:
            same[value] = statement.name
            before.append(replace(statement, value=value))
        return ()

    kept = substitute(rewritten(loop.body, change), others)
    return (*before, replace(loop, body=kept))
