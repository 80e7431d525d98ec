"""Calls through the plain C interface."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from cvmgen.api import Operator
from cvmgen.api.c_backend import CBackend, ErrorStruct
from cvmgen.api.calls import Described
from tests.conformance.calls import Call, declared


class Raw:
    """A call prepared as ctypes structures, to be spoilt before it is made."""

    def __init__(self, operator: Operator, drawn: Call) -> None:
        backend, info = operator._backend, operator._info
        assert isinstance(backend, CBackend)
        shapes = [shape_of(each) for each in drawn.inputs]
        precisions = declared(operator, drawn.inputs)
        attributes = operator._complete(drawn.attributes)
        inferred = operator.infer(shapes, precisions, **drawn.attributes)
        types, _ = operator._typed(drawn.inputs, attributes)
        outputs = [
            np.zeros(shape, types.get(name, np.int32))
            for name, shape in zip(info.outputs, inferred.shapes, strict=True)
        ]
        described = Described(shapes, precisions, attributes)
        self.args, self.kept = backend.arguments(info, described, list(drawn.inputs))
        for name, array in zip(info.outputs, outputs, strict=True):
            tensor = backend.tensor(array.shape, None, array)
            setattr(self.args, name, ctypes.pointer(tensor))
            self.kept += [tensor, array]
        self.function = backend.function(info.function)
        self.infer = backend.function(f"{info.function}_infer")

    def run(self) -> tuple[int, str, str]:
        """The status, the argument and the rule of the error."""
        error = ErrorStruct()
        status = self.function(ctypes.byref(self.args), ctypes.byref(error))
        assert self.function(ctypes.byref(self.args), None) == status
        assert error.status == status
        return status, error.argument.decode(), error.rule.decode()


def shape_of(operand: Any) -> Any:
    if operand is None:
        return None
    return [one.shape for one in operand] if isinstance(operand, list) else operand.shape
