"""A loaded network: arrays in, arrays out, with all memory and calls prepared beforehand."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping, Set
from typing import Any, NoReturn, cast

import numpy as np
import numpy.typing as npt

from cvmgen.errors import CvmgenError, ModelError
from cvmgen.escape import html_table, in_html, latex_table
from cvmgen.graph.files import FilePath
from cvmgen.graph.limits import INPUT, Array, checked_data, clamp, largest_magnitude
from cvmgen.graph.operators import BoundOperator, OperatorLibrary, sorted_inputs
from cvmgen.graph.parameters import read_parameters
from cvmgen.graph.plan import (
    Plan,
    PlanStep,
    check_parameters,
    library_operator,
    make_plan,
)
from cvmgen.graph.symbol import Symbol, validate
from cvmgen.graph.symbol_file import read_symbol
from cvmgen.memory import zeroed_bytes

HEADS = ("node", "operator", "attributes", "gives", "bits")


def load(
    symbol: FilePath | Symbol,
    params: FilePath | Mapping[str, Array],
    target: str = "c",
    operators: OperatorLibrary | None = None,
) -> Network:
    """The network of a graph file and a parameter file, ready to be called.

    A Symbol and a mapping of arrays do as well. `operators` replaces the library that
    `cvmgen.load(target)` gives. ModelError names the file, the place and the rule.
    """
    library = operators_for(target) if operators is None else operators
    return Network(*read_model(symbol, params), library)


def read_model(
    symbol: FilePath | Symbol, params: FilePath | Mapping[str, Array]
) -> tuple[Symbol, Mapping[str, Array]]:
    """The graph, checked, and the parameters, from their files or as they are given."""
    graph = symbol if isinstance(symbol, Symbol) else read_symbol(symbol)
    validate(graph)
    return graph, params if isinstance(params, Mapping) else read_parameters(params)


class Network:
    """A graph bound to its parameters and to buffers; calls from several threads take turns.

    `input_shape` and `input_precision` are those of the variable `data`, `output_shapes` and
    `output_precisions` those of the heads; `peak_bytes` is the memory for values between
    operators and `total_bytes` what it would be if they shared none; `nodes` are the steps that
    a call runs, in order.
    """

    def __init__(
        self, symbol: Symbol, parameters: Mapping[str, Array], operators: OperatorLibrary
    ) -> None:
        plan = make_plan(symbol, operators)
        data = plan.tensors[plan.variables[INPUT]]
        heads = [plan.tensors[index] for index in plan.heads]
        self.input_shape = data.shape
        self.input_precision = data.precision
        self.output_shapes = tuple(tensor.shape for tensor in heads)
        self.output_precisions = tuple(tensor.precision for tensor in heads)
        self.output_dtype = np.dtype(np.int8 if max(self.output_precisions) <= 8 else np.int32)
        self.peak_bytes = plan.layout.peak_bytes
        self.total_bytes = plan.layout.total_bytes
        self.nodes = plan.steps
        self._tensors = plan.tensors
        self._symbol, self._operators = symbol, operators
        self._file = symbol.file
        self._lock = threading.Lock()
        self._parameters = _constants(check_parameters(symbol, parameters))
        arrays = _buffers(plan)
        arrays |= {plan.variables[name]: array for name, array in self._parameters.items()}
        self._data = arrays.get(plan.variables[INPUT])
        self._heads = tuple(arrays[index] for index in plan.heads)
        there = _on_device(plan, arrays, operators)
        self._there = {} if there is arrays else there
        self._in, self._out = plan.variables[INPUT], plan.heads
        fixed = {plan.variables[name] for name in parameters}
        self._calls = tuple(
            (step.node, self._bind(plan, step, there, operators, fixed)) for step in plan.steps
        )

    def __call__(self, x: npt.ArrayLike) -> Array | tuple[Array, ...]:
        """Run the network on `x`, an array of integers of shape `input_shape`.

        Values beyond the input's precision are clamped to it. The result is a fresh array, or a
        tuple of arrays for several heads: int8 when the largest output precision is at most 8,
        else int32. ModelError for another shape or for values that are no integers.
        """
        values = checked_data(np.asarray(x), self.input_shape, self._file)
        with self._lock:
            if self._data is not None:
                clamp(values, largest_magnitude(self.input_precision), self._data)
            if self._data is not None and self._there:
                self._there[self._in].copy_from(self._data)
            for node, call in self._calls:
                try:
                    call()
                except CvmgenError as error:
                    self._fail(str(error), f"node {node}")
            for index, head in zip(self._out, self._heads, strict=True):
                if self._there:
                    self._there[index].copy_to(head)
            results = tuple(head.astype(self.output_dtype) for head in self._heads)
        return results[0] if len(results) == 1 else results

    def __reduce__(self) -> tuple[Any, ...]:
        """Another network of the same graph and parameters, with memory of its own."""
        return Network, (self._symbol, self._parameters, self._operators)

    def __repr__(self) -> str:
        return (
            f"<Network {self._file or ''} {self.input_shape} -> "
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
            results = [self._tensors[index] for index in each.outputs]
            shapes = ", ".join(str(result.shape) for result in results)
            bits = ", ".join(str(result.precision) for result in results)
            yield each.node, each.operator, given, shapes, bits

    def _fail(self, rule: str, where: str) -> NoReturn:
        raise ModelError(rule, file=self._file, where=where)

    def _bind(
        self,
        plan: Plan,
        step: PlanStep,
        arrays: Mapping[int, Any],
        operators: OperatorLibrary,
        fixed: Set[int],
    ) -> BoundOperator:
        operator = library_operator(operators, step.operator)
        outputs = tuple(arrays[index] for index in step.outputs)
        precisions = [plan.tensors[index].precision for index in step.inputs]
        constants = [
            name
            for name, index in zip(
                operator.inputs, sorted_inputs(operator, step.inputs), strict=True
            )
            if not isinstance(index, list) and index in fixed
        ]
        try:
            return operator.bind(
                *sorted_inputs(operator, [arrays[index] for index in step.inputs]),
                out=outputs[0] if len(outputs) == 1 else outputs,
                precisions=sorted_inputs(operator, precisions),
                constants=constants,
                **dict(step.attributes),
            )
        except CvmgenError as error:
            self._fail(str(error), f"node {step.node}")


def operators_for(target: str) -> OperatorLibrary:
    """The library of a target."""
    # Imported here so that reading and checking models needs no operator library.
    from cvmgen.api import load as load_operators

    return cast(OperatorLibrary, load_operators(target=target))


def _buffers(plan: Plan) -> dict[int, Array]:
    """The int32 arrays that steps write, all in one aligned block of memory."""
    layout = plan.layout
    try:
        block = zeroed_bytes(layout.peak_bytes)
    except MemoryError as error:
        rule = f"the values between operators need {layout.peak_bytes} bytes, too many here"
        raise ModelError(rule) from error
    result: dict[int, Array] = {}
    for index, offset in layout.offsets.items():
        shape = plan.tensors[index].shape
        items: npt.NDArray[Any] = block[offset:][: math.prod(shape) * 4].view(np.int32)
        result[index] = items.reshape(shape)
    return result


def _constants(parameters: Mapping[str, Array]) -> dict[str, Array]:
    return {name: np.array(array, np.int32, order="C") for name, array in parameters.items()}


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
