"""The oracle: an operator's meaning in exact Python integers, straight from its formula.

It shares no code with the lowering, so that both cannot be wrong alike. `arguments.py` checks a
call, `expressions.py` evaluates, `operator.py` puts it together; `probe.py` tries each operator on
small calls, which `sampling.py` draws.
"""

from cvmgen.reference.failures import FormulaError
from cvmgen.reference.operator import Reference, ReferenceResult
from cvmgen.reference.tensor import Tensor

__all__ = ["FormulaError", "Reference", "ReferenceResult", "Tensor"]
