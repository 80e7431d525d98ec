"""The numpy target: nests as operations on whole arrays, importable with numpy alone.

The pass `arrays` says what operations; a nest that these do not express is loops over Python's
numbers.
"""

from __future__ import annotations

from cvmgen import arrays, indices, matrices, quick_reals, quick_tables, vectors
from cvmgen.emit import python
from cvmgen.emit.numpy_calls import ArrayCalls
from cvmgen.emit.numpy_printer import ArrayPrinter
from cvmgen.emit.python import PythonEmitter, copied, emit_header, is_python
from cvmgen.ir import nodes as i

__all__ = ["emit_header", "emit_operator", "emit_support"]


def emit_operator(program: i.Program) -> str:
    """The module of an operator whose nests are operations on arrays."""
    return is_python(PythonEmitter(ArrayPrinter(program), ArrayCalls(program)).text())


def emit_support() -> dict[str, str]:
    """The modules that operators import: copies of cvmgen's own."""
    modules = (arrays, indices, matrices, quick_reals, quick_tables, vectors)
    return python.emit_support() | dict(map(copied, modules))
