"""Nests as C: the statements of a kernel."""

from __future__ import annotations

from collections.abc import Iterable

from cvmgen.emit.c_like import CPrinter, identifier
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import walk
from cvmgen.lower.guards import changed


class KernelPrinter(CPrinter):
    """Statements of a nest; lists come in through pointers."""

    def __init__(
        self,
        program: i.Program,
        body: tuple[i.Stmt, ...],
        lists: Iterable[str],
    ) -> None:
        super().__init__(lists, host=False)
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
        collapse = f"collapse({loop.parallel})" if loop.parallel > 1 else ""
        worth = "" if loop.worth is None else f"if ({self.expr(loop.worth)})"
        return [f"CVMGEN_PARALLEL({' '.join(filter(None, (collapse, worth)))})"]
