"""Short ways to the operators of spec/, to operators written in a test, and to their results."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvmgen.reference import Reference, Tensor
from cvmgen.source import Source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.spec.formula import Operator
from tests.operators import product

Array = NDArray[np.int64]
SPEC = Path(__file__).parents[2] / "spec"


@cache
def operators() -> dict[str, Operator]:
    """The operators of the CVM by name."""
    return {operator.name: operator for operator in product() if operator.opset == "cvm"}


def written(text: str) -> Operator:
    """The last operator of a text."""
    return check_files([SpecFile(Source("test.cvm", text), "")])[-1]


def tensor(value: Any, precision: int | None = None) -> Any:
    """An array or nested list as a Tensor; a list of Tensors stays one."""
    if value is None or isinstance(value, Tensor) or _several(value):
        return value
    return Tensor.of(value, precision)


def _several(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], Tensor)


def run(operator: Operator, *inputs: Any, **attributes: Any) -> Any:
    """The first output as an array of exact integers."""
    names = [item.name for item in operator.inputs]
    given = {name: tensor(value) for name, value in zip(names, inputs, strict=False)}
    result = Reference(operator).evaluate(given, attributes)
    output = result.outputs[operator.output_names[0]]
    return np.array(output.values, dtype=object).reshape(output.shape)


def precision(operator: Operator, shapes: list[Any], precisions: list[Any], **given: Any) -> int:
    """The precision of the first output for inputs of these shapes and precisions."""
    tensors = {
        item.name: None if shape is None else Tensor(shape, [], bits)
        for item, shape, bits in zip(operator.inputs, shapes, precisions, strict=True)
    }
    return Reference(operator).infer(tensors, given).outputs[operator.output_names[0]].precision
