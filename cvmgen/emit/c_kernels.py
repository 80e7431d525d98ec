"""Nests as C: the statements of a kernel, and when its loops are worth several threads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cvmgen.emit.c_like import CPrinter, identifier
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import names_in, walk
from cvmgen.lower.copies import Run
from cvmgen.lower.guards import assigned, changed
from cvmgen.lower.parallel import repeated

SERIAL_ELEMENTS = 16384  # below, starting threads costs more than an elementwise loop
SERIAL_REDUCTIONS = 256
SERIAL_ENTRIES = 4096  # of selected lists


class KernelPrinter(CPrinter):
    """Statements of a nest; lists come in through pointers."""

    def __init__(
        self,
        program: i.Program,
        body: tuple[i.Stmt, ...],
        lists: Iterable[str],
        entries: Sequence[i.Expr] = (),
    ) -> None:
        super().__init__(lists, host=False)
        self.entries = entries  # the extents of the memory of the list that the nest fills
        self.optional = {item.name for item in program.operator.inputs if item.optional}
        self.changing = frozenset(changed(body))
        self.accumulators = {each.name: each.type for each in walk(body) if isinstance(each, i.Let)}
        self.span_line = ""

    def given(self, name: str) -> str:
        return f"{identifier(name)} != NULL" if name in self.optional else f"has_{name}"

    def loop(self, loop: i.Loop) -> list[str]:
        lines = super().loop(loop)
        return [*self.pragma(loop), *lines] if loop.parallel else lines

    def pragma(self, loop: i.Loop) -> list[str]:
        collapse = f" collapse({loop.parallel})" if loop.parallel > 1 else ""
        return [f"CVMGEN_OMP(omp parallel for{collapse} if ({self.worth(loop)}))"]

    def worth(self, loop: i.Loop) -> str:
        """The test that the iterations are worth more than one thread."""
        if self.entries:
            return f"{' * '.join(self.expr(each, 11) for each in self.entries)} >= {SERIAL_ENTRIES}"
        extents, inner = [], loop
        for _ in range(loop.parallel):
            extents.append(self.count(inner))
            body = inner.body[0]
            if isinstance(body, i.Loop):
                inner = body
        heavy = any(isinstance(each, (i.Accumulate, i.Break)) for each in walk(loop.body))
        least = SERIAL_REDUCTIONS if heavy else SERIAL_ELEMENTS
        if not heavy:
            within = assigned((loop,))
            inside = (each for each in repeated(inner.body) if not names_in(ends(each)) & within)
            extents += [self.count(each) for each in inside]
        several = ""
        if loop.parallel == 1 and any(isinstance(each, Run) for each in repeated(loop.body)):
            several = f"{self.expr(loop.high, 8)} > 1 && "  # one long run has its own threads
        return f"{several}{' * '.join(extents)} >= {least}"

    def count(self, statement: i.Loop | Run) -> str:
        """About how many iterations a loop has, or elements a run."""
        match statement:
            case i.Loop(low=None, high=members):
                return self.length(members)
            case i.Loop(high=high):
                return self.expr(high, 10)
            case _:
                return self.expr(statement.count, 10)


def ends(statement: i.Loop | Run) -> tuple[i.Expr | None, ...]:
    """What decides how often a loop runs, or how long a run is."""
    if isinstance(statement, i.Loop):
        return (statement.low, statement.high)
    return (statement.count,)


def parallel(body: tuple[i.Stmt, ...]) -> bool:
    return any(isinstance(each, i.Loop) and each.parallel > 0 for each in body)
