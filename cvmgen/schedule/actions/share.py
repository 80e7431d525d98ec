"""`share`: threads share a sum of neighbours, each with totals of its own."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.ir import nodes as i
from cvmgen.lower.reductions import ANY_ORDER
from cvmgen.schedule.actions.jam import accumulated
from cvmgen.schedule.dependences import Locals
from cvmgen.schedule.forms import Use
from cvmgen.schedule.measures import MEASURES, product
from cvmgen.schedule.rewriting import Block, rewritten
from cvmgen.schedule.subject import Subject


def share(subject: Subject, use: Use) -> Subject:
    """A loop that adds row after row to an array of totals, in parallel.

    For few results with long sums, whose loops have no iterations for several threads; loops that
    have them run this one in one thread. Legal for operations that give the same in every
    order; other loops stay as they are.
    """
    names, lanes, (measure, least) = set(use.loops(subject, 0)), use.loops(subject, 1), use.test(2)
    arrays = Locals.of(subject.body).arrays

    def change(statement: i.Stmt) -> Block | None:
        match statement:
            case i.Loop(
                index=index,
                body=(
                    i.Loop(
                        index=lane, body=(i.Store(target=i.Load(tensor=array) as place) as store,)
                    ) as row,
                ),
            ) if index in names and lane in lanes and place.offset == i.Var(lane):
                found = accumulated(store, place, index)
                if array not in arrays or found is None:
                    return None
                op, _ = found
                if arrays[array] not in ANY_ORDER[op] - {"f64"}:
                    use.refuse(
                        f"the order of the loop {index} counts for {array}: threads cannot share "
                        f"it ({subject.place})"
                    )
                totals = i.Totals(array, op, row.high)
                marked = replace(statement, parallel=1, totals=(totals,))
                enough = product(MEASURES[measure](subject, marked))
                return (replace(marked, worth=i.Compare(">=", enough, i.Const(least))),)
            case _:
                return None

    return subject.with_body(rewritten(subject.body, change))
