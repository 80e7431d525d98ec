"""A thread for each iteration of the outermost loops, as far as these run in parallel."""

from __future__ import annotations

from cvmgen.analysis.grid import Grid, grid
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import iterations, unravelled
from cvmgen.ir.threads import GRID, THREAD
from cvmgen.ir.uses import names_in
from cvmgen.ir.visit import fresh
from cvmgen.schedule.gpu.mapped import (
    DeviceFunction,
    Mapped,
    MappingTask,
    domain,
    host_local,
    launch,
)


def threads(task: MappingTask, name: str = "") -> Mapped:
    """The mapping of any nest; its kernel has a name of its own if one is given."""
    found = grid(task.body, task.outer)
    kernel = DeviceFunction(
        name or task.name, "grid", shared_iterations(found, GRID, THREAD, "elements", task)
    )
    elements = host_local("elements", domain(found.extents), task)
    return Mapped((kernel,), (elements,), (launch(task, i.Var("elements"), kernel.name),))


def shared_iterations(
    found: Grid, share: i.Share, number: i.Expr, count: str, task: MappingTask
) -> i.Block:
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
