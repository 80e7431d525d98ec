"""The functions of a generated numpy module that users call."""

from __future__ import annotations

from cvmgen.emit.lines import Valued, indented
from cvmgen.emit.numpy_printer import NUMBERS
from cvmgen.emit.python_calls import Calls
from cvmgen.emit.python_text import literal
from cvmgen.ir import arrays as a
from cvmgen.ir import nodes as i
from cvmgen.ir.python_names import python_identifier

ELEMENTS = {"real": "float64", "object": "object"}  # of the memory of lets; else int64


class ArrayCalls(Calls):
    """Prints what differs from the python target: tensors are arrays, and nests fill them."""

    held = "array"

    def tensors(self, nest: i.Nest) -> list[str]:
        """The tensors of a nest; sorting needs no memory here."""
        spare = {each.name for each in self.program.scratch if each.is_spare}
        return [name for name in super().tensors(nest) if name not in spare]

    def exact_integers(self, output: str) -> str:
        """The type in which an output holds every integer that its nests store."""
        bodies = (nest.body for nest in self.program.nests if nest.tensor == output)
        types = {each.name for body in bodies for each in body if isinstance(each, a.Integers)}
        return self.helper("np.int64") if types <= {"int32", "int64"} else "object"

    def elements(self, memory: i.Scratch) -> tuple[str, ...]:
        kind = ELEMENTS.get(memory.kind, "int64")
        return (self.helper(f"np.{kind}") if kind in NUMBERS else kind,)

    def values(self, output: str) -> list[str]:
        return []

    def results(self) -> list[str]:
        """Arrays for the results: the caller's or new ones; those of types of their own are
        filled with exact values first."""
        lines = super().results()
        outputs, empty = self.operator.output_names, self.helper("np.empty")
        for at, output in enumerate(outputs):
            name, made = f"{python_identifier(output)} =", f"{output}_dtype"
            given = "out" if len(outputs) == 1 else f"out[{at}]"
            if output not in self.precise:
                made = self.called("vectors.working", f"{made}, {self.exact_integers(output)}")
                lines.append(Valued(name, f"{empty}(plan.{output}_shape, {made})"))
                continue
            new = f"{empty}(plan.{output}_shape, {made})"
            lines.append(Valued(name, f"{new} if out is None else {given}"))
        return lines

    def nest_calls(self) -> list[str]:
        # What a choice does not take is computed all the same, a quotient by 0 for one.
        ignoring = self.called("np.errstate", 'all="ignore"')
        return [f"with {ignoring}:", *indented(super().nest_calls())]

    def finish(self) -> list[str]:
        outputs = self.operator.output_names
        lines = []
        for at, output in enumerate(outputs):
            if output in self.precise:
                continue
            name = python_identifier(output)
            given = "out" if len(outputs) == 1 else f"out and out[{at}]"
            what = f"OPERATOR, {literal(output)}, {name}, {output}_dtype, {given}"
            lines.append(Valued(f"{name} =", self.called("vectors.result", what)))
        return [*lines, f"return {', '.join(map(python_identifier, outputs))}"]
