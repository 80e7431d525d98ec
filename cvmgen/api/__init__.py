"""Loading the generated operators and calling them from Python."""

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
