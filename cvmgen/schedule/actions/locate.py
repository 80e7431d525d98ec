"""`locate`: places that elements name are known for a whole loop before what lies there is read."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.analysis.indirect import named_place
from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import rewritten
from cvmgen.ir.uses import read_tensors, stored_tensors
from cvmgen.ir.visit import fresh, replaced
from cvmgen.schedule.actions.split import counts_up, most_iterations
from cvmgen.schedule.forms import Use
from cvmgen.schedule.subject import Subject


def locate(subject: Subject, use: Use) -> Subject:
    """A loop that finds places, and one that reads there.

    The first alone is done for several places at once. Legal for every loop from 0 or behind it
    whose number of iterations is limited, and which does not store what places are read from: the
    inputs of a call share no memory with its results.
    """
    names, used = set(use.loops(subject, 0)), subject.taken

    def change(statement: i.Stmt) -> i.Block | None:
        if not isinstance(statement, i.Loop) or statement.index not in names:
            return None
        place = named_place(statement)
        if place is None or read_tensors(place) & stored_tensors(statement):
            return None
        most = most_iterations(subject.body, statement)
        if most is None:
            use.refuse(
                f"nothing limits how often the loop {statement.index} runs: an array has a size",
                "split it, and locate over the inner loop",
            )
        if not counts_up(subject.body, statement):
            use.refuse(f"the loop {statement.index} does not begin at 0, as an array does")
        use.room(most)
        span = statement.span
        array = i.Array(fresh("places", used), "i32", most, span)
        known = i.Load(array.name, None, i.Var(statement.index))
        found = replace(statement, body=(i.Store(known, place, span),))
        body = replaced(statement.body, lambda each: known if each == place else each)
        return (array, found, replace(statement, body=body))

    return subject.with_body(rewritten(subject.body, change))
