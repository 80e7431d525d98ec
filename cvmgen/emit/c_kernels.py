"""Nests as C: the statements of a kernel."""

from __future__ import annotations

from collections.abc import Iterable

from cvmgen.emit.c_like import CPrinter, identifier
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import walk
from cvmgen.lower.guards import changed
from cvmgen.schedule.dependences import combined, read_tensors, stored_tensors

OPERATIONS = {"and": "&&", "or": "||"}


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
        self.arrays = {each.name for each in walk(body) if isinstance(each, i.Array)}
        self.in_threads = False  # whether what is printed runs in threads
        self.span_line = ""

    def given(self, name: str) -> str:
        return f"{identifier(name)} != NULL" if name in self.optional else f"has_{name}"

    def loop(self, loop: i.Loop) -> list[str]:
        around, shared = self.in_threads, self.shared_loops
        self.in_threads = around or loop.parallel > 0
        self.shared_loops = loop.parallel or max(shared - 1, 0)
        lines = super().loop(loop)
        self.in_threads, self.shared_loops = around, shared
        if loop.parallel:
            return [*self.pragma(loop), *lines]
        return ["CVMGEN_APART", *lines] if around and self.apart(loop) else lines

    def apart(self, loop: i.Loop) -> bool:
        """Whether a loop for vector instructions stores what it makes of elements of tensors."""
        read, written = read_tensors(loop), stored_tensors(loop) - self.arrays
        return bool(loop.vector and written and read - written - self.arrays)

    def shares(self, loop: i.Loop) -> list[str]:
        """The clauses for accumulators of which each thread has a share."""
        joined = combined(loop, dict(self.accumulators)) or {}
        return [
            f"reduction({OPERATIONS.get(op, op)} : {identifier(name)})"
            for name, op in sorted(joined.items())
        ]

    def pragma(self, loop: i.Loop) -> list[str]:
        collapse = f"collapse({loop.parallel})" if loop.parallel > 1 else ""
        worth = "" if loop.worth is None else f"if ({self.expr(loop.worth)})"
        clauses = (collapse, *self.shares(loop), worth)
        return [f"CVMGEN_PARALLEL({' '.join(filter(None, clauses))})"]
