"""A thread for each iteration of the outermost loops, as far as these run in parallel."""

from __future__ import annotations

from cvmgen.analysis.grid import Grid, grid
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import iterations, unravelled
from cvmgen.ir.threads import GRID, THREAD
from cvmgen.ir.uses import names_in
from cvmgen.ir.visit import fresh
from cvmgen.schedule.gpu.mapped import Function, Mapped, Task, domain, launch, of_host


def threads(task: Task, name: str = "") -> Mapped:
    """The mapping of any nest; its kernel has a name of its own if one is given."""
    found = grid(task.body)
    kernel = Function(name or task.name, "grid", over(found, GRID, THREAD, "elements", task))
    elements = of_host("elements", domain(found.extents), task)
    return Mapped((kernel,), (elements,), (launch(task, i.Var("elements"), kernel.name),))


def over(found: Grid, share: i.Share, number: i.Expr, count: str, task: Task) -> i.Block:
    """The iterations of a grid shared among threads or blocks; `number` is that of one of these,
    the first of which does all where there is no loop."""
    span, taken = task.nest.span, task.taken
    match found.loops:
        case ():
            others = i.If(i.Compare(">", number, i.ZERO), (i.Return(span),), (), span)
            return (others, *found.body)
        case (loop,) if loop.low == i.ZERO:
            return (i.Loop(loop.index, i.ZERO, loop.high, found.body, 0, span, share=share),)
        case loops:
            elements, at = fresh(count, taken), fresh("at", taken)
            place = unravelled(loops, i.Var(at), names_in(found.body), taken, span)
            body = (*place, *found.body)
            return (
                i.Let(elements, "i64", iterations(loops), span),
                i.Loop(at, i.ZERO, i.Var(elements), body, 0, span, share=share),
            )
