"""The oracle: an operator's meaning in exact Python integers, straight from its formula."""

from cvmgen.reference.failures import FormulaError
from cvmgen.reference.operator import Reference, ReferenceResult
from cvmgen.reference.tensor import Tensor

__all__ = ["FormulaError", "Reference", "ReferenceResult", "Tensor"]
