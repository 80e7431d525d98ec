"""A loaded network: arrays in, arrays out, with all memory and calls prepared beforehand."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn, cast

import numpy as np
import numpy.typing as npt

from cvmgen.errors import CvmgenError, ModelError
from cvmgen.escape import html_table, in_html, latex_table
from cvmgen.graph.files import FilePath
from cvmgen.graph.limits import (
    Array,
    checked_data,
    checked_typed,
    clamped,
    largest_magnitude,
)
from cvmgen.graph.operators import BoundOperator, OperatorLibrary, sorted_inputs
from cvmgen.graph.parameters import read_parameters
from cvmgen.graph.plan import (
    CvmModel,
    ModelSource,
    Plan,
    PlannedTensor,
    PlanStep,
    library_operator,
    unknown_rounding,
)
from cvmgen.graph.symbol import SymbolGraph, validate
from cvmgen.graph.symbol_file import read_symbol
from cvmgen.memory import zeroed_bytes
from cvmgen.paths import ROUNDINGS, stands_alone

HEADS: Final = ("node", "operator", "attributes", "gives", "bits")
BYTE_PRECISION: Final = 8  # what an int8 holds


def load(
    model: FilePath | SymbolGraph,
    params: FilePath | Mapping[str, Array] | None = None,
    target: str = "c",
    operators: OperatorLibrary | None = None,
    rounding: str | None = None,
) -> Network:
    """The network of a model's files, ready to be called.

    A CVM graph comes with its parameters; a Symbol and a mapping of arrays do as well. A .tflite
    or .onnx file stands alone; `rounding` says whose kernels a .tflite file is meant for: `tflm`
    if nothing is said, `litert` or `xnnpack`. `operators` replaces the library that
    `cvmgen.load(target)` gives. ModelError names the file, the place and the rule.
    """
    library = operators_for(target) if operators is None else operators
    return Network(read_model(model, params, rounding), library)


def read_model(
    model: FilePath | SymbolGraph | ModelSource,
    params: FilePath | Mapping[str, Array] | None = None,
    rounding: str | None = None,
) -> ModelSource:
    """A model, from its files or as it is given, in the format that it is in."""
    if not isinstance(model, (str, os.PathLike, SymbolGraph)):
        return model
    if not isinstance(model, SymbolGraph) and stands_alone(model):
        if params is not None:
            raise ModelError("holds its parameters itself: none beside it", file=os.fspath(model))
        return read_alone(model, rounding)
    if rounding is not None:
        raise ModelError(
            "its operators are integers of CVM, which nothing rounds: no rounding is chosen",
            file=None if isinstance(model, SymbolGraph) else str(model),
        )
    if params is None:
        raise ModelError(
            "a graph needs its parameters",
            file=None if isinstance(model, SymbolGraph) else str(model),
        )
    graph = model if isinstance(model, SymbolGraph) else read_symbol(model)
    validate(graph)
    return CvmModel(graph, params if isinstance(params, Mapping) else read_parameters(params))


def read_alone(model: FilePath, rounding: str | None = None) -> ModelSource:
    """A model that is one file, with the rounding of the kernels that it is meant for."""
    known = ROUNDINGS[Path(model).suffix]
    if rounding is not None and rounding not in known:
        raise ModelError(unknown_rounding(rounding, known), file=os.fspath(model))
    # Imported here, as formats come with packages of their own.
    if Path(model).suffix == ".onnx":
        from cvmgen.graph.onnx import read_onnx

        return read_onnx(model)
    from cvmgen.graph.tflite import read_tflite

    return read_tflite(model, rounding or known[0])


class Network:
    """A model bound to buffers; calls from several threads take turns.

    `input_names`, `input_shapes`, `input_dtypes` and `input_precisions` tell what goes in, those
    of `output_` what comes out; a precision is None where elements have a type of their own. The
    first input's are also `input_shape` and `input_precision`. `peak_bytes` is the memory for
    values between operators and `total_bytes` what it would be if they shared none; `nodes` are
    the steps that a call runs, in order; `states` names what a call leaves for the next one.
    """

    def __init__(self, model: ModelSource, operators: OperatorLibrary) -> None:
        plan = model.plan(operators)
        given, heads = ([plan.tensors[at] for at in each] for each in (plan.inputs, plan.heads))
        names = {index: name for name, index in plan.variables.items()}
        self.input_names = tuple(names[index] for index in plan.inputs)
        self.input_shapes = tuple(tensor.shape for tensor in given)
        self.input_precisions = tuple(tensor.precision for tensor in given)
        self.input_dtypes = tuple(tensor.dtype for tensor in given)
        self.input_shape, self.input_precision = self.input_shapes[0], self.input_precisions[0]
        self.output_shapes = tuple(tensor.shape for tensor in heads)
        self.output_precisions = tuple(tensor.precision for tensor in heads)
        self.output_dtypes = head_types(heads)
        self.output_dtype = self.output_dtypes[0]
        self.peak_bytes = plan.layout.peak_bytes
        self.total_bytes = plan.layout.total_bytes
        self.nodes = plan.steps
        self.states = tuple(each.name for each in plan.states)
        self._plan, self._model, self._operators = plan, model, operators
        self._file = model.file
        self._lock = threading.Lock()
        self._arrays = _buffers(plan) | dict(plan.constants)
        there = _on_device(plan, self._arrays, operators)
        self._there = {} if there is self._arrays else there
        self.reset()
        self._calls = tuple((step.node, self._bind(step, there)) for step in plan.steps)

    def reset(self) -> None:
        """What states hold is again what it was before the first call."""
        with self._lock:
            for each in self._plan.states:
                self._put(each.read, each.first)

    def __call__(self, *inputs: npt.ArrayLike) -> Array | tuple[Array, ...]:
        """Run the network on an array for each input, of its shape.

        One with a precision takes integers of any type; values beyond it are clamped to it.
        Another one takes elements of its own type. The result is a fresh array, or a tuple of
        arrays for several heads: of those with a precision int8 when the largest is at most 8,
        else int32. ModelError for another shape or for values of another kind.
        """
        if len(inputs) != len(self._plan.inputs):
            self._fail(f"takes {len(self._plan.inputs)} inputs, not {len(inputs)}", None)
        given = [self._checked(at, np.asarray(x)) for at, x in enumerate(inputs)]
        with self._lock:
            for index, values in zip(self._plan.inputs, given, strict=True):
                self._put(index, values)
            for node, call in self._calls:
                try:
                    call()
                except CvmgenError as error:
                    self._fail(str(error), f"node {node}")
            results = tuple(
                self._got(index).astype(dtype)
                for index, dtype in zip(self._plan.heads, self.output_dtypes, strict=True)
            )
            left = [self._got(each.written).copy() for each in self._plan.states]
            for each, values in zip(self._plan.states, left, strict=True):
                self._put(each.read, values)
        return results[0] if len(results) == 1 else results

    def _checked(self, at: int, values: Array) -> Array:
        """The values of an input, as they are stored."""
        name, precision = self.input_names[at], self.input_precisions[at]
        dtype, shape = self.input_dtypes[at], self.input_shapes[at]
        if precision is None:
            return checked_typed(values, shape, dtype, name, self._file)
        checked = checked_data(values, shape, self._file)
        return clamped(checked, largest_magnitude(precision), dtype)

    def _put(self, index: int, values: Array) -> None:
        """Store the elements of a tensor that something reads."""
        if index not in self._arrays:
            return
        np.copyto(self._arrays[index], values, casting="no")
        if self._there:
            self._there[index].copy_from(self._arrays[index])

    def _got(self, index: int) -> Array:
        """The elements of a tensor."""
        if self._there:
            self._there[index].copy_to(self._arrays[index])
        return self._arrays[index]

    def __reduce__(self) -> tuple[Any, ...]:
        """Another network of the same model, with memory of its own and states as at first."""
        return Network, (self._model, self._operators)

    def __repr__(self) -> str:
        return (
            f"<Network {self._file or ''} {', '.join(map(str, self.input_shapes))} -> "
            f"{', '.join(map(str, self.output_shapes))}, {len(self.nodes)} nodes>"
        )

    def _repr_html_(self) -> str:
        """For notebooks: the steps in order, with the shapes and precisions of their results."""
        return f"<p>{in_html(repr(self))}</p>{html_table(HEADS, self._rows())}"

    def _repr_latex_(self) -> str:
        """The same as a block of LaTeX."""
        return latex_table(HEADS, self._rows())

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for each in self.nodes:
            given = ", ".join(f"{name}={value}" for name, value in each.attributes)
            results = [self._plan.tensors[index] for index in each.outputs]
            shapes = ", ".join(str(result.shape) for result in results)
            bits = ", ".join(str(result.precision or result.dtype) for result in results)
            yield each.node, each.operator, given, shapes, bits

    def _fail(self, rule: str, where: str | None) -> NoReturn:
        raise ModelError(rule, file=self._file, where=where)

    def _bind(self, step: PlanStep, arrays: Mapping[int, Any]) -> BoundOperator:
        plan = self._plan
        operator = library_operator(self._operators, step.operator, plan.opset)
        outputs = tuple(arrays[index] for index in step.outputs)
        given = sorted_inputs(operator, step.inputs)
        constants = [
            name
            for name, index in zip(operator.inputs, given, strict=True)
            if not isinstance(index, list) and index in plan.constants
        ]
        declared = [None if at is None else plan.tensors[at].precision for at in step.inputs]
        typed = all(each is None for each in declared)
        operands = [None if at is None else arrays[at] for at in step.inputs]
        try:
            return operator.bind(
                *sorted_inputs(operator, operands),
                out=outputs[0] if len(outputs) == 1 else outputs,
                precisions=None if typed else sorted_inputs(operator, declared),
                constants=constants,
                **dict(step.attributes),
            )
        except CvmgenError as error:
            self._fail(str(error), f"node {step.node}")


def head_types(heads: Sequence[PlannedTensor]) -> tuple[np.dtype[Any], ...]:
    """The element types of results: one for all that have a precision, int8 if it holds them."""
    precisions = [each.precision for each in heads if each.precision is not None]
    narrow = np.dtype(np.int8 if max(precisions, default=0) <= BYTE_PRECISION else np.int32)
    return tuple(each.dtype if each.precision is None else narrow for each in heads)


def operators_for(target: str) -> OperatorLibrary:
    """The library of a target."""
    # Imported here so that reading and checking models needs no operator library.
    from cvmgen.api import load as load_operators

    return cast(OperatorLibrary, load_operators(target=target))


def _buffers(plan: Plan) -> dict[int, Array]:
    """The arrays that steps write, all in one aligned block of memory."""
    layout = plan.layout
    try:
        block = zeroed_bytes(layout.peak_bytes)
    except MemoryError as error:
        rule = f"the values between operators need {layout.peak_bytes} bytes, too many here"
        raise ModelError(rule) from error
    result: dict[int, Array] = {}
    for index, offset in layout.offsets.items():
        tensor = plan.tensors[index]
        items = block[offset:][: tensor.bytes].view(tensor.dtype)
        result[index] = items.reshape(tensor.shape)
    return result


def _on_device(
    plan: Plan, arrays: Mapping[int, Array], operators: OperatorLibrary
) -> Mapping[int, Any]:
    """The arrays where the operators take them: these, or others in the memory of a device."""
    device = getattr(operators, "device", None)
    if device is None:
        return arrays
    from cvmgen.api.device_array import DeviceArray

    layout = plan.layout
    block = DeviceArray.empty(device, (layout.peak_bytes,), np.int8)
    return {
        index: DeviceArray(
            device, block.data + layout.offsets[index], array.shape, array.dtype, owner=block
        )
        if index in layout.offsets
        else DeviceArray.of(device, array)
        for index, array in arrays.items()
    }
