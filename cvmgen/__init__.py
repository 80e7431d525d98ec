"""cvmgen: neural-network operators generated from their formulas, the same bits everywhere.

ops = cvmgen.load(target="c")
Y = ops.cvm.conv2d(X, W, padding=(1, 1))
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cvmgen.api import load
from cvmgen.errors import BuildError, CvmgenError, ModelError, OperatorError
from cvmgen.graph import load_model

if TYPE_CHECKING:
    from cvmgen import graph

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
    if name == "graph":  # programs that only call operators do without it
        return importlib.import_module("cvmgen.graph")
    raise AttributeError(f"module 'cvmgen' has no attribute '{name}'")
