"""cvmgen: neural-network operators generated from their formulas, the same bits everywhere.

ops = cvmgen.load(target="c")
Y = ops.cvm.conv2d(X, W, padding=(1, 1))
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cvmgen.api import load
from cvmgen.errors import BuildError, CvmgenError, ModelError, OperatorError

if TYPE_CHECKING:
    from cvmgen import graph
    from cvmgen.graph import load_model

__version__ = "0.1.0"

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


def __getattr__(name: str) -> Any:
    # Programs that only call operators do without these.
    if name == "graph":
        return importlib.import_module("cvmgen.graph")
    if name == "load_model":
        return importlib.import_module("cvmgen.graph").load_model
    raise AttributeError(f"module 'cvmgen' has no attribute '{name}'")
