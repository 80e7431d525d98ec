"""Loading the generated operators and calling them from Python."""

from cvmgen.api.device_array import DeviceArray
from cvmgen.api.library import load
from cvmgen.api.operator import Bound, Inferred, Operator
from cvmgen.api.opsets import Operators, Opset

__all__ = ["Bound", "DeviceArray", "Inferred", "Operator", "Operators", "Opset", "load"]
