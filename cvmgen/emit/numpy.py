"""The numpy target: nests as operations on whole arrays, importable with numpy alone.

The pass `arrays` says what operations; a nest that these do not express is loops over Python's
numbers.
"""

from __future__ import annotations

from cvmgen import arrays, indices, vectors
from cvmgen.emit import python
from cvmgen.emit.numpy_calls import ArrayCalls
from cvmgen.emit.numpy_printer import ArrayPrinter
from cvmgen.emit.python import PythonEmitter, emit_header, is_python, read
from cvmgen.ir import nodes as i

__all__ = ["emit_header", "emit_operator", "emit_support"]


def emit_operator(program: i.Program) -> str:
    """The module of an operator whose nests are operations on arrays."""
    return is_python(PythonEmitter(ArrayPrinter(program), ArrayCalls(program)).text())


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
