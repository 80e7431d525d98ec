"""A team of threads for each result of a reduction, or for each part of one, as large as the host
chooses: each thread takes a share of every sweep, the team combines what its threads have, and one
of them stores."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.analysis.grid import grid
from cvmgen.analysis.reductions import NestReduction, Sweep, find_reduction, neighbour_steps
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import extent, iterations, unravelled
from cvmgen.ir.rewrite import rewritten
from cvmgen.ir.threads import BLOCKS
from cvmgen.ir.uses import has, names_in
from cvmgen.schedule.gpu.mapped import (
    DeviceFunction,
    KernelParameter,
    Mapped,
    MappingTask,
    Writer,
    domain,
    host_local,
    on_host,
)

# How the header calls what joins the shares of an accumulator.
OPERATIONS = {
    "+": "plus",
    "*": "times",
    "max": "greatest",
    "min": "least",
    "and": "every",
    "or": "some",
}


def teams(task: MappingTask) -> Mapped | None:
    """The mapping of a nest whose results are reductions that threads can share."""
    results = grid(task.body)
    indices = [each.index for each in results.loops]
    found = find_reduction(indices, results.body, exact=task.known is not None)
    if found is None:
        return None
    divided = Teams(task, results.loops, found)
    kernel = DeviceFunction(task.name, "reduction", divided.body(), leading=(divided.parameter,))
    sweep = next(iter(found.sweeps.values()))
    # Where results may take different branches, or need one sum for the next, all threads of a
    # block make one result, or each its own: they meet where they combine.
    function = "choose_teams" if found.splits else "choose_blocks"
    sizes = (i.Var("elements"), i.Var("reduced"), across(found, results.body, results.loops))
    before = (
        host_local("elements", domain(results.extents), task),
        host_local("reduced", domain([extent(each) for each in sweep.loops]), task),
        host_local("teams", i.Call(function, sizes), task, "teams"),
    )
    start = i.Call("launch_teams", (), constants=(len(found.accumulators),))
    return Mapped(
        (kernel,), before, (i.Launch(start, i.Var("teams"), kernel.name, (), task.nest.span),)
    )


def across(found: NestReduction, body: i.Block, results: tuple[i.Loop, ...]) -> i.Expr:
    """Whether the elements of neighbouring results are closer together than those of one."""
    match neighbour_steps(found, body, results[-1].index) if results else None:
        case None:
            return i.Const(False)
        case (i.Const(value=between), i.Const(value=along)):
            return i.Const(abs(between) < abs(along))
        case (i.Const(value=0), _):
            return i.Const(True)
        case (_, i.Const(value=1)):
            return i.Const(False)
        case (between, along):
            return i.Compare("<", on_host(between), on_host(along))


class Teams(Writer):
    """The statements of a kernel: sweeps are divided among a team, one thread of it stores."""

    def __init__(
        self, task: MappingTask, results: tuple[i.Loop, ...], found: NestReduction
    ) -> None:
        super().__init__(task.nest.span, task.taken)
        self.results, self.found = results, found
        self.read = names_in(grid(task.body).body)
        self.all, self.team = self.fresh("teams"), self.fresh("team")

    @property
    def parameter(self) -> KernelParameter:
        return KernelParameter(self.all.name, "teams")

    def body(self) -> i.Block:
        """Blocks stride over results, and over parts of them."""
        item = self.fresh("item")
        result = i.Member(self.team, "result")
        indices = unravelled(self.results, result, self.read, self.taken, self.span)
        stores = i.Call("stores", (self.team,))
        body = (
            self.let(self.team, "team", i.Call("team_of", (self.all, item))),
            *indices,
            *rewritten(self.found.head, self.divided),
            self.where(stores, *self.found.tail),
        )
        count = i.Call("items", (self.all,))
        return (self.over(item, count, body, share=BLOCKS),)

    def divided(self, statement: i.Stmt) -> i.Block | None:
        """A sweep as the share of a thread, and what the team has then."""
        sweep = self.found.sweeps.get(statement) if isinstance(statement, i.Loop) else None
        if sweep is None:
            return None
        share = self.fresh("share")
        box = (self.team, iterations(sweep.rows), extent(sweep.columns))
        own = self.let(share, "share", i.Call("share_of", box))
        return (own, *self.rows(sweep, share), *map(self.combined, sweep.combined))

    def combined(self, total: tuple[str, str]) -> i.Assign:
        name, op = total
        number = i.Const(self.found.accumulators.index(name))
        given: tuple[i.Expr, ...] = (self.team, i.Var(name))
        given += () if number == i.ZERO else (number,)
        return i.Assign(name, i.Call("combine", given, constants=(OPERATIONS[op],)), self.span)

    def rows(self, sweep: Sweep, share: i.Var) -> i.Block:
        columns = shared(sweep.columns, share, "column", sweep.columns.body)
        # Loads wait for each other where a loop may end between them, or has loops of its own.
        waits = has(columns.body, i.Break, i.Loop)
        inner = (columns if waits else replace(columns, unroll="some"),)
        match sweep.rows:
            case ():
                return inner
            case (row,):
                return (shared(row, share, "row", (*sweep.locals, *inner)),)
            case rows:
                read = names_in((sweep.locals, sweep.columns))
                at = self.fresh("row")
                indices = unravelled(rows, at, read, self.taken, self.span)
                body = (*indices, *sweep.locals, *inner)
                loop = self.over(at, iterations(rows), body)
                return (shared(loop, share, "row", body),)


def shared(loop: i.Loop, share: i.Var, what: str, body: i.Block) -> i.Loop:
    """A loop of which a thread makes its share of rows or of columns."""
    part = i.Share("team", i.Member(share, what), i.Member(share, f"{what}s"))
    return replace(loop, body=body, share=part)
