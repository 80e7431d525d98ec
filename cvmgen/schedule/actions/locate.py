"""`locate`: places that elements name are known for a whole loop before what lies there is read."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.analysis.indirect import named_place
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import read_tensors, stored_tensors
from cvmgen.ir.visit import fresh, replaced
from cvmgen.schedule.actions.split import array_length
from cvmgen.schedule.forms import Use
from cvmgen.schedule.subject import Subject


def locate(subject: Subject, use: Use) -> Subject:
    """A loop that finds places, and one that reads there.

    The first alone is done for several places at once. Legal for every loop from 0 or behind it
    whose number of iterations is limited, and which does not store what places are read from: the
    inputs of a call share no memory with its results.
    """
    used = subject.taken

    def change(loop: i.Loop) -> i.Block | None:
        place = named_place(loop)
        if place is None or read_tensors(place) & stored_tensors(loop):
            return None
        most, span = array_length(subject, use, loop), loop.span
        array = i.Array(fresh("places", used), "i32", most, span)
        known = i.Load(array.name, None, i.Var(loop.index))
        found = replace(loop, body=(i.Store(known, place, span),))
        body = replaced(loop.body, lambda each: known if each == place else each)
        return (array, found, replace(loop, body=body))

    return subject.with_loops(use.loops(subject, 0), change)
