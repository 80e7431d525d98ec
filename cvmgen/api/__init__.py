"""Loading the generated operators and calling them from Python."""

from cvmgen.api.library import load
from cvmgen.api.operator import Bound, Inferred, Operator
from cvmgen.api.opsets import Operators, Opset

__all__ = ["Bound", "Inferred", "Operator", "Operators", "Opset", "load"]
