"""Loading the generated operators and calling them from Python.

- `load` finds a target's files and compiles what is missing (`library.py`, `on_demand.py`); what it
  gives has a member for each opset (`opsets.py`), and these for each operator (`operator.py`)
- a call is sorted and checked (`arguments.py`) and goes as a `calls.Call` to the target's backend:
  `python_backend.py` (numpy too), `c_backend.py`, `cuda_backend.py`, `cuda_cpu_backend.py`
- a GPU: `driver.py` and `device*.py` (memory, streams, what kernels note), arrays of other
  libraries: `dlpack.py`, `frameworks.py`
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cvmgen.api.calls import Bound, Inferred
from cvmgen.api.library import load
from cvmgen.api.operator import Operator
from cvmgen.api.opsets import Operators, Opset

if TYPE_CHECKING:
    from cvmgen.api.device_array import DeviceArray

__all__ = ["Bound", "DeviceArray", "Inferred", "Operator", "Operators", "Opset", "load"]


def __getattr__(name: str) -> Any:
    if name == "DeviceArray":  # programs without a device do without it
        from cvmgen.api.device_array import DeviceArray

        return DeviceArray
    raise AttributeError(f"module 'cvmgen.api' has no attribute '{name}'")
