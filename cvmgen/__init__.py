"""cvmgen: neural-network operators generated from their formulas, the same bits everywhere.

ops = cvmgen.load(target="c")
Y = ops.cvm.conv2d(X, W, padding=(1, 1))
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cvmgen.version import __version__

if TYPE_CHECKING:
    from cvmgen import graph
    from cvmgen.api import load
    from cvmgen.errors import BuildError, CvmgenError, ModelError, OperatorError
    from cvmgen.graph import load_model

__all__ = [
    "BuildError",
    "CvmgenError",
    "ModelError",
    "OperatorError",
    "__version__",
    "graph",
    "load",
    "load_model",
]


# Imported when they are asked for: the command is there at once, and programs that only call
# operators do without models.
_MODULES = {
    "api": ("load",),
    "errors": ("BuildError", "CvmgenError", "ModelError", "OperatorError"),
    "graph": ("load_model",),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name == module or name in names:
            found = importlib.import_module(f"cvmgen.{module}")
            return found if name == module else getattr(found, name)
    raise AttributeError(f"module 'cvmgen' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
