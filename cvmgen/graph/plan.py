"""From a graph to a plan: the order, every shape and precision, and a place for every tensor."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

import numpy as np

from cvmgen.errors import CvmgenError, ModelError
from cvmgen.graph.limits import INPUT, Array, largest_magnitude
from cvmgen.graph.memory import Layout, Lifetime, plan_memory
from cvmgen.graph.names import AttributeFault, check_shapes, our_operator
from cvmgen.graph.operators import InferredStep, LibraryOperator, OperatorLibrary, sorted_inputs
from cvmgen.graph.symbol import (
    NodeOutput,
    OutputReference,
    Symbol,
    SymbolNode,
    execution_order,
    first_entries,
)
from cvmgen.graph.values import Value

ITEM_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class PlannedTensor:
    """The value of one output of node `node`, as inferred."""

    node: str
    shape: tuple[int, ...]
    precision: int


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One operator to run, under our names; inputs and outputs are indices of tensors."""

    node: str
    operator: str
    attributes: tuple[tuple[str, Value], ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """All that running a graph takes, but for the values.

    `variables` gives the tensor of each variable, `data` among them; `steps` are only those that
    a head needs; `layout` places the tensors that steps write, and `data` where a step or head
    reads it.
    """

    tensors: tuple[PlannedTensor, ...]
    variables: Mapping[str, int]
    steps: tuple[PlanStep, ...]
    heads: tuple[int, ...]
    layout: Layout


def make_plan(symbol: Symbol, operators: OperatorLibrary) -> Plan:
    """Plan `symbol` with `operators`; ModelError names the node that does not fit.

    Every stated shape and precision must be the inferred one, in nodes that no head needs too.
    """
    starts = first_entries([len(node.outputs) for node in symbol.nodes])
    tensors: dict[int, PlannedTensor] = {}
    steps: list[PlanStep] = []
    for index in execution_order(symbol):
        node = symbol.nodes[index]
        inputs = tuple(_entry(starts, source) for source in node.inputs)
        outputs = tuple(range(starts[index], starts[index + 1]))
        if node.operator is None:
            results = [_variable(node)]
        else:
            step, results = _step(symbol, node, operators, [tensors[i] for i in inputs])
            steps.append(PlanStep(node.name, step[0], tuple(step[1].items()), inputs, outputs))
        tensors.update(zip(outputs, results, strict=True))
    variables = _variables(symbol, starts)
    heads = tuple(_entry(starts, head) for head in symbol.heads)
    needed = _needed(steps, heads)
    ordered = tuple(tensors[index] for index in range(starts[-1]))
    layout = plan_memory(_lifetimes(ordered, needed, heads, variables[INPUT]))
    return Plan(ordered, variables, needed, heads, layout)


def check_parameters(symbol: Symbol, parameters: Mapping[str, Array]) -> dict[str, Array]:
    """The parameters of the graph's variables; ModelError unless each is there and fits.

    Parameters that the graph does not name are left out.
    """
    return {
        node.name: _parameter(symbol, node, parameters)
        for node in symbol.nodes
        if node.operator is None and node.name != INPUT
    }


def library_operator(operators: OperatorLibrary, name: str) -> LibraryOperator:
    """The operator `name` of the CVM opset; ModelError when the library has none."""
    try:
        return cast(LibraryOperator, getattr(operators.cvm, name))
    except (AttributeError, CvmgenError) as error:
        raise ModelError(f"the operator library has no operator '{name}'") from error


# Variables


def _entry(starts: tuple[int, ...], reference: OutputReference) -> int:
    return starts[reference.node] + reference.output


def _variable(node: SymbolNode) -> PlannedTensor:
    (entry,) = node.outputs
    assert entry.precision is not None, "validate() refuses variables without a precision"
    return PlannedTensor(node.name, entry.shape, entry.precision)


def _variables(symbol: Symbol, starts: tuple[int, ...]) -> dict[str, int]:
    variables = {
        node.name: starts[index] for index, node in enumerate(symbol.nodes) if node.operator is None
    }
    if INPUT not in variables:
        symbol.fail(f"no variable is named '{INPUT}', as the input must be", "nodes")
    return variables


def _parameter(symbol: Symbol, node: SymbolNode, parameters: Mapping[str, Array]) -> Array:
    where = f"node {node.name}"
    if node.name not in parameters:
        symbol.fail("the parameter is missing", where)
    array = np.asarray(parameters[node.name])
    tensor = _variable(node)
    if array.dtype not in (np.int8, np.int32):
        symbol.fail(f"the parameter is {array.dtype}, neither int8 nor int32", where)
    if array.shape != tensor.shape:
        symbol.fail(f"stated shape {tensor.shape}, the parameter has {array.shape}", where)
    limit = largest_magnitude(tensor.precision)
    outside = (array > limit) | (array < -limit)
    if outside.any():
        index = tuple(int(i) for i in np.argwhere(outside)[0])
        rule = f"outside precision {tensor.precision}, which allows -{limit}..{limit}"
        symbol.fail(f"the parameter has {array[index]} at {index}, {rule}", where)
    return array


# Operators


def _step(
    symbol: Symbol, node: SymbolNode, operators: OperatorLibrary, inputs: Sequence[PlannedTensor]
) -> tuple[tuple[str, dict[str, Value]], list[PlannedTensor]]:
    """Our operator with its attributes, and its outputs, for a node with `inputs`."""
    where = f"node {node.name}"
    name = cast(str, node.operator)
    shapes = [tensor.shape for tensor in inputs]
    try:
        ours, attributes = our_operator(name, node.attributes, shapes)
        inferred = _infer(library_operator(operators, ours), inputs, attributes)
        check_shapes(name, node.attributes, shapes)
    except (AttributeFault, CvmgenError) as error:
        symbol.fail(str(error), where)
    if len(inferred.shapes) != len(node.outputs):
        symbol.fail(f"{ours} gives {len(inferred.shapes)} outputs", where)
    results = [
        PlannedTensor(node.name, tuple(shape), precision)
        for shape, precision in zip(inferred.shapes, inferred.precisions, strict=True)
    ]
    for entry, result in zip(node.outputs, results, strict=True):
        _compare(symbol, entry, result)
    return (ours, attributes), results


def _infer(
    operator: LibraryOperator, inputs: Sequence[PlannedTensor], attributes: dict[str, Value]
) -> InferredStep:
    return operator.infer(
        shapes=sorted_inputs(operator, [tensor.shape for tensor in inputs]),
        precisions=sorted_inputs(operator, [tensor.precision for tensor in inputs]),
        **attributes,
    )


def _compare(symbol: Symbol, stated: NodeOutput, inferred: PlannedTensor) -> None:
    where = f"node {inferred.node}"
    if stated.shape != inferred.shape:
        symbol.fail(f"stated shape {stated.shape}, inferred {inferred.shape}", where)
    if stated.precision not in (None, inferred.precision):
        rule = f"stated precision {stated.precision}, inferred {inferred.precision}"
        symbol.fail(rule, where)


# Liveness


def _needed(steps: Sequence[PlanStep], heads: Iterable[int]) -> tuple[PlanStep, ...]:
    """The steps that a head depends on, in their order."""
    wanted = set(heads)
    needed: list[PlanStep] = []
    for step in reversed(steps):
        if wanted.intersection(step.outputs):
            wanted.update(step.inputs)
            needed.append(step)
    return tuple(reversed(needed))


def _lifetimes(
    tensors: Sequence[PlannedTensor], steps: Sequence[PlanStep], heads: Sequence[int], data: int
) -> list[Lifetime]:
    """From when to when each written tensor must be kept; heads to after the last step.

    Step 0 is the arrival of `data`. A tensor lives on in the step that reads it last, so that no
    step writes over its own inputs.
    """
    first = {data: 0}
    last: dict[int, int] = {}
    for number, step in enumerate(steps, start=1):
        for output in step.outputs:
            first[output] = last[output] = number
        last.update(dict.fromkeys(step.inputs, number))
    last.update(dict.fromkeys(heads, len(steps) + 1))
    return [
        Lifetime(index, math.prod(tensors[index].shape) * ITEM_BYTES, first[index], last[index])
        for index in first
        if index in last
    ]
