"""cvmgen: neural-network operators generated from their formulas, the same bits everywhere.

ops = cvmgen.load(target="c")
Y = ops.cvm.conv2d(X, W, padding=(1, 1))
"""

from cvmgen import graph
from cvmgen.api import load
from cvmgen.errors import BuildError, CvmgenError, ModelError, OperatorError

__version__ = "0.1.0"

__all__ = [
    "BuildError",
    "CvmgenError",
    "ModelError",
    "OperatorError",
    "__version__",
    "graph",
    "load",
]
