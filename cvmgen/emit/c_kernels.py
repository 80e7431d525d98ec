"""Nests as C: the statements of a kernel."""

from __future__ import annotations

from collections.abc import Iterable

from cvmgen.emit.c_like import CPrinter
from cvmgen.emit.c_spelling import c_identifier
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import nodes_in, read_tensors, reassigned, stored_tensors


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
        self.doubles = program.operator.real_attributes
        self.changing = frozenset(reassigned(body))
        self.accumulators = {each.name: each.type for each in nodes_in(body, i.Let)}
        self.arrays = {each.name for each in nodes_in(body, i.Array)}
        self.in_threads = False  # whether what is printed is a part of a loop in threads

    def given(self, name: str) -> str:
        return f"{c_identifier(name)} != NULL" if name in self.optional else f"has_{name}"

    def loop(self, loop: i.Loop) -> list[str]:
        lines = super().loop(loop)
        return ["CVMGEN_APART", *lines] if self.in_threads and self.apart(loop) else lines

    def apart(self, loop: i.Loop) -> bool:
        """Whether a loop for vector instructions stores what it makes of elements of tensors."""
        read, written = read_tensors(loop), stored_tensors(loop) - self.arrays
        return bool(loop.vector and written and read - written - self.arrays)
