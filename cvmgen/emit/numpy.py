"""The numpy target: nests as operations on whole arrays, importable with numpy alone.

The pass `arrays` says what operations; a nest that these do not express is loops over Python's
numbers.
"""

from __future__ import annotations

from cvmgen import arrays, indices, vectors
from cvmgen.emit import python
from cvmgen.emit.numpy_calls import ArrayCalls
from cvmgen.emit.numpy_printer import HEAD, ArrayPrinter
from cvmgen.emit.python import PythonEmitter, emit_header, is_python, read, uses
from cvmgen.ir import arrays as a
from cvmgen.ir import nodes as i

__all__ = ["emit_header", "emit_operator", "emit_support"]


def emit_operator(program: i.Program) -> str:
    """The module of an operator whose nests are operations on arrays."""
    return is_python(NumpyEmitter(program).text())


def emit_support() -> dict[str, str]:
    """The modules that operators import: copies of cvmgen's own."""
    return {
        **python.emit_support(),
        "_arrays.py": relative(read(arrays)),
        "_indices.py": read(indices),
        "_vectors.py": relative(read(vectors)),
    }


def relative(text: str) -> str:
    """A module that stands beside those that it imports."""
    for name in ("arrays", "indices", "support", "typed"):
        text = text.replace(f"from cvmgen.{name} import", f"from ._{name} import")
    return text.replace("from cvmgen import reals", "from . import _reals as reals")


class NumpyEmitter(PythonEmitter):
    """Assembles the module of one operator; the host's part is that of the python target."""

    def __init__(self, program: i.Program) -> None:
        super().__init__(program, ArrayPrinter(program))
        self.calls = ArrayCalls(self)

    def libraries(self, nests: str) -> str:
        return "\nimport numpy as np\n"

    def exact_integers(self, output: str) -> str:
        """The type in which an output holds every integer that its nests store."""
        bodies = (nest.body for nest in self.program.nests if nest.tensor == output)
        types = {each.name for body in bodies for each in body if isinstance(each, a.Integers)}
        return "np.int64" if types <= {"int32", "int64"} else "object"

    def more_imports(self, nests: str) -> str:
        results = self.operator.output_names != self.operator.precise_outputs
        used = ["arrays"] * uses("arrays", nests)
        used += ["vectors"] * (results or uses("vectors", nests))
        lines = [f"from . import _{name} as {name}" for name in used]
        return super().more_imports(nests) + "".join(f"{line}\n" for line in lines)

    def tensors(self, nest: i.Nest) -> list[str]:
        """The tensors of a nest; sorting needs no memory here."""
        spare = {each.name for each in self.program.scratch if each.name.endswith("_spare")}
        return [name for name in super().tensors(nest) if name not in spare]

    def opening(self, body: tuple[i.Stmt, ...]) -> int:
        """How many statements a nest begins with that say what its tensors are."""
        return sum(isinstance(each, HEAD) for each in body)
