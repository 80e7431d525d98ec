"""`clip`: a loop whose iterations a guard decides runs through those that pass it."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import substitute
from cvmgen.schedule.forms import Use
from cvmgen.schedule.guards import (
    Bound,
    bounds,
    first_from,
    inlined_values,
    largest,
    slope,
    smallest,
)
from cvmgen.schedule.rewriting import Block, rewritten
from cvmgen.schedule.subject import Subject


def clip(subject: Subject, use: Use) -> Subject:
    """Guards that are linear in the index become bounds of the loop; other loops stay.

    Iterations that do not pass do nothing, and the others keep their order.
    """
    names = set(use.loops(subject, 0))

    def change(statement: i.Stmt) -> Block | None:
        if not isinstance(statement, i.Loop) or statement.index not in names:
            return None
        *locals_, last = statement.body
        if not isinstance(last, i.If) or last.otherwise or statement.step != 1:
            return None
        found = ends(tuple(locals_), last.condition, statement.index, subject)
        if found is None or statement.low is None:
            return None
        low = largest((statement.low, *found[0]))
        high = smallest((statement.high, *found[1]))
        body = rewritten((*locals_, *last.then), change)
        return (replace(statement, low=low, high=high, body=body),)

    return subject.with_body(rewritten(subject.body, change))


def ends(
    locals_: Block, condition: i.Expr, index: str, subject: Subject
) -> tuple[list[i.Expr], list[i.Expr]] | None:
    """The indices from which on and below which a condition holds."""
    values = inlined_values(locals_)
    guard = bounds(condition)
    if guard is None or len(values) < len(locals_):
        return None
    lows: list[i.Expr] = []
    highs: list[i.Expr] = []
    for each in guard:
        line = slope(substitute(each.place, values), index, subject.facts)
        if line is None:
            return None
        end, side = limit(each), lows if each.high is None else highs
        side.append(first_from(substitute(end, values), line))
    return lows, highs


def limit(bound: Bound) -> i.Expr:
    found = bound.low if bound.high is None else bound.high
    assert found is not None
    return found
