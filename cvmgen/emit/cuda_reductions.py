"""Reductions as CUDA kernels: a team of threads for each result, as large as the host chooses."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.analysis.grid import Grid, grid
from cvmgen.analysis.reductions import Reduction, Sweep, reduction, steps
from cvmgen.emit.c_like import identifier, indent
from cvmgen.emit.c_text import wrapped_list
from cvmgen.emit.cuda_kernels import CudaKernelPrinter
from cvmgen.emit.cuda_mappings import Kernel, Mapping, Task
from cvmgen.ir import nodes as i
from cvmgen.ir.loops import extent
from cvmgen.ir.visit import walk

# How the header calls what joins the shares of an accumulator.
OPERATIONS = {
    "+": "cvmgen_plus",
    "*": "cvmgen_times",
    "max": "cvmgen_greatest",
    "min": "cvmgen_least",
    "and": "cvmgen_every",
    "or": "cvmgen_some",
}


class TeamPrinter(CudaKernelPrinter):
    """Statements of a reduction: sweeps are divided among a team, one thread of it stores."""

    def __init__(self, program: i.Program, body: tuple[i.Stmt, ...], found: Reduction) -> None:
        super().__init__(program, body)
        self.found = found
        self.team = self.fresh("team")

    def teams(self, results: Grid) -> list[str]:
        """The kernel's statements: blocks stride over results, and over parts of them."""
        item, team = self.fresh("item"), self.team
        lines = [f"const cvmgen_team {team} = cvmgen_team_of(teams, {item});"]
        if results.loops:
            lines += self.unravel(results, f"{team}.result")
        lines += [*self.block(self.found.head), *self.stored()]
        steps = f"{item} < cvmgen_items(teams); {item} += gridDim.x"
        return [f"for (int64_t {item} = blockIdx.x; {steps}) {{", *indent(lines), "}"]

    def stored(self) -> list[str]:
        lines = self.block(self.found.tail)
        if len(lines) == 1:
            return [f"if (cvmgen_stores({self.team})) {lines[0]}"]
        return [f"if (cvmgen_stores({self.team})) {{", *indent(lines), "}"]

    def loop(self, loop: i.Loop) -> list[str]:
        sweep = self.found.sweeps.get(loop)
        return super().loop(loop) if sweep is None else self.divided(sweep)

    def divided(self, sweep: Sweep) -> list[str]:
        """The share of a thread, and what the team has then."""
        share = self.fresh("share")
        rows = [self.expr(extent(each), 11 if len(sweep.rows) > 1 else 0) for each in sweep.rows]
        columns = self.expr(extent(sweep.columns))
        box = f"{self.team}, {' * '.join(rows) or 1}, {columns}"
        lines = [f"const cvmgen_share {share} = cvmgen_share_of({box});"]
        lines += self.rows(sweep, share, self.columns(sweep.columns, share))
        for name, op in sweep.combined:
            local, number = identifier(name), self.found.accumulators.index(name)
            given = [self.team, local, *([str(number)] if number else [])]
            lines.append(f"{local} = cvmgen_combine<{OPERATIONS[op]}>({', '.join(given)});")
        return lines

    def rows(self, sweep: Sweep, share: str, inner: list[str]) -> list[str]:
        if not sweep.rows:
            return inner
        lines = [*self.block(sweep.locals), *inner]
        if len(sweep.rows) == 1:
            return [
                self.stepped(sweep.rows[0], f"{share}.row", f"{share}.rows"),
                *indent(lines),
                "}",
            ]
        row = self.fresh("row")
        count = " * ".join(self.expr(extent(each), 11) for each in sweep.rows)
        steps = f"{row} < {count}; {row} += {share}.rows"
        lines = [*self.unravel(Grid(sweep.rows, (*sweep.locals, sweep.columns)), row), *lines]
        return [f"for (int64_t {row} = {share}.row; {steps}) {{", *indent(lines), "}"]

    def columns(self, loop: i.Loop, share: str) -> list[str]:
        head = self.stepped(loop, f"{share}.column", f"{share}.columns")
        lines = self.block(loop.body)
        # Loads wait for each other where a loop may end between them, or has loops of its own.
        simple = not any(isinstance(each, (i.Break, i.Loop)) for each in walk(loop.body))
        unroll = ["CVMGEN_OVERLAP"] if simple else []
        if len(lines) == 1 and not isinstance(loop.body[0], i.If):
            return [*unroll, head.removesuffix(" {"), *indent(lines)]
        return [*unroll, head, *indent(lines), "}"]

    def stepped(self, loop: i.Loop, first: str, step: str) -> str:
        """The head of a loop that begins late and goes in steps."""
        assert loop.low is not None
        index = identifier(loop.index)
        start = first if loop.low == i.Const(0) else f"{self.expr(loop.low, 9)} + {first}"
        end = self.expr(loop.high, 8)
        return f"for (int64_t {index} = {start}; {index} < {end}; {index} += {step}) {{"


class Teams(Mapping):
    """A team of threads for each result, or for each part of one."""

    kind = "reduction"
    headers = ("cvmgen_reduce.h",)

    def __init__(self, task: Task, found: Reduction) -> None:
        super().__init__(task)
        self.found = found

    def kernels(self) -> list[Kernel]:
        task = self.task
        parameters = ("const __grid_constant__ cvmgen_teams teams", *task.parameters)
        lines = TeamPrinter(task.program, task.body, self.found).teams(self.grid)
        # The host alone reads how many iterations the outermost loop has.
        inner = [(each.low, each.high) for each in self.grid.loops[1:]]
        reads = (*inner, *(each.low for each in self.grid.loops), *self.grid.body)
        text = replace(task, parameters=parameters).kernel(lines, reads=reads)
        return [Kernel(task.name, self.kind, text)]

    def before(self) -> list[str]:
        task = self.task
        sweep = next(iter(self.found.sweeps.values()))
        function = "cvmgen_choose_teams" if self.found.splits else "cvmgen_choose_blocks"
        return [
            *task.domain("elements", self.grid.extents),
            *task.domain("reduced", [extent(each) for each in sweep.loops]),
            *wrapped_list(
                f"const cvmgen_teams teams = {function}(",
                ["elements", "reduced", self.across()],
                ");",
            ),
        ]

    def start(self) -> list[str]:
        count = len(self.found.accumulators)
        return self.task.launch(f"cvmgen_launch_teams<{count}>", "teams")

    def across(self) -> str:
        """Whether the elements of neighbouring results are closer together than those of one."""
        if not self.grid.loops:
            return "false"
        found = steps(self.found, self.grid.body, self.grid.loops[-1].index)
        match found:
            case None:
                return "false"
            case (i.Const(value=across), i.Const(value=along)):
                return "true" if abs(across) < abs(along) else "false"
            case (i.Const(value=0), _):
                return "true"
            case (_, i.Const(value=1)):
                return "false"
            case (across, along):
                return f"{self.task.on_host(across, 8)} < {self.task.on_host(along, 8)}"


def teams(task: Task) -> Teams | None:
    """The mapping of a nest whose results are reductions that threads can share."""
    results = grid(task.body)
    found = reduction([each.index for each in results.loops], results.body)
    return None if found is None else Teams(task, found)
