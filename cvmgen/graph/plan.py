"""From a graph to a plan: the order, every shape and precision, and a place for every tensor.

A plan is what models of all formats become: steps of one opset between tensors of any element
type. `make_plan` is that of CVM graphs; what other formats hold is read by packages of their own,
`tflite`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol, cast

import numpy as np

from cvmgen.errors import CvmgenError, ModelError
from cvmgen.graph.limits import INPUT, Array, largest_magnitude
from cvmgen.graph.memory import Lifetime, MemoryPlan, plan_memory
from cvmgen.graph.names import AttributeFault, check_shapes, our_operator
from cvmgen.graph.operators import InferredStep, LibraryOperator, OperatorLibrary, sorted_inputs
from cvmgen.graph.symbol import (
    NodeOutput,
    OutputReference,
    SymbolGraph,
    SymbolNode,
    execution_order,
    first_entries,
)
from cvmgen.graph.values import Value

OPSET: Final = "cvm"


@dataclass(frozen=True, slots=True)
class PlannedTensor:
    """The value of one output of node `node`, as inferred: elements of a precision, which lie in
    int32, or of a type of their own, without one."""

    node: str
    shape: tuple[int, ...]
    precision: int | None
    dtype: np.dtype[Any] = field(default=np.dtype(np.int32))

    @property
    def declared(self) -> int:
        """The precision of a tensor that has one."""
        assert self.precision is not None, f"elements of {self.node} have a type of their own"
        return self.precision

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One operator to run, under our names; inputs and outputs are indices of tensors."""

    node: str
    operator: str
    attributes: tuple[tuple[str, Value], ...]
    inputs: tuple[int | None, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PlanState:
    """What a call leaves for the next one: tensor `read` is `first` in the first call, and in each
    other one what `written` was in the call before."""

    name: str
    read: int
    written: int
    first: Array


@dataclass(frozen=True, slots=True)
class Plan:
    """All that running a graph takes.

    `inputs` are what a caller gives and `heads` what it gets; `variables` names these inputs, and
    the parameters of a graph; `constants` are tensors with their values. `steps` are operators of
    the opset, only those that a head or a state needs; `layout` places the tensors that steps
    write, and inputs and states where something reads them. `rounding` says whose kernels the steps
    round as, where the format has kernels that do it in several ways.
    """

    tensors: tuple[PlannedTensor, ...]
    inputs: tuple[int, ...]
    steps: tuple[PlanStep, ...]
    heads: tuple[int, ...]
    layout: MemoryPlan
    variables: Mapping[str, int]
    constants: Mapping[int, Array] = field(default_factory=dict)
    states: tuple[PlanState, ...] = ()
    opset: str = OPSET
    rounding: str | None = None


def unknown_rounding(rounding: str, known: Iterable[str]) -> str:
    """What is said of a rounding that models of a format do not have."""
    return f"is rounded as {' or '.join(known)}, not as '{rounding}'"


class ModelSource(Protocol):
    """A model of any format: `file` is the name that errors quote."""

    @property
    def file(self) -> str | None: ...

    def plan(self, operators: OperatorLibrary) -> Plan:
        """The whole model as steps of operators; ModelError names the node that does not fit."""
        ...


@dataclass(frozen=True, slots=True)
class CvmModel:
    """A CVM graph and its parameters."""

    symbol: SymbolGraph
    parameters: Mapping[str, Array]

    @property
    def file(self) -> str | None:
        return self.symbol.file

    def plan(self, operators: OperatorLibrary) -> Plan:
        made = make_plan(self.symbol, operators)
        checked = check_parameters(self.symbol, self.parameters)
        constants = {
            made.variables[name]: np.array(each, np.int32, order="C")
            for name, each in checked.items()
        }
        return replace(made, constants=constants)


def make_plan(symbol: SymbolGraph, operators: OperatorLibrary) -> Plan:
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
    needed = needed_steps(steps, heads)
    ordered = tuple(tensors[index] for index in range(starts[-1]))
    given = (variables[INPUT],)
    return Plan(ordered, given, needed, heads, placed(ordered, needed, heads, given), variables)


def check_parameters(symbol: SymbolGraph, parameters: Mapping[str, Array]) -> dict[str, Array]:
    """The parameters of the graph's variables; ModelError unless each is there and fits.

    Parameters that the graph does not name are left out.
    """
    return {
        node.name: _parameter(symbol, node, parameters)
        for node in symbol.nodes
        if node.operator is None and node.name != INPUT
    }


def library_operator(operators: OperatorLibrary, name: str, opset: str = OPSET) -> LibraryOperator:
    """The operator `name` of an opset; ModelError when the library has none."""
    try:
        return cast(LibraryOperator, getattr(getattr(operators, opset), name))
    except (AttributeError, CvmgenError) as error:
        raise ModelError(f"the operator library has no operator '{name}'") from error


# Variables


def _entry(starts: tuple[int, ...], reference: OutputReference) -> int:
    return starts[reference.node] + reference.output


def _variable(node: SymbolNode) -> PlannedTensor:
    (entry,) = node.outputs
    assert entry.precision is not None, "validate() refuses variables without a precision"
    return PlannedTensor(node.name, entry.shape, entry.precision)


def _variables(symbol: SymbolGraph, starts: tuple[int, ...]) -> dict[str, int]:
    variables = {
        node.name: starts[index] for index, node in enumerate(symbol.nodes) if node.operator is None
    }
    if INPUT not in variables:
        symbol.fail(f"no variable is named '{INPUT}', as the input must be", "nodes")
    return variables


def _parameter(symbol: SymbolGraph, node: SymbolNode, parameters: Mapping[str, Array]) -> Array:
    where = f"node {node.name}"
    if node.name not in parameters:
        symbol.fail("the parameter is missing", where)
    array = np.asarray(parameters[node.name])
    tensor = _variable(node)
    if array.dtype not in (np.int8, np.int32):
        symbol.fail(f"the parameter is {array.dtype}, neither int8 nor int32", where)
    if array.shape != tensor.shape:
        symbol.fail(f"stated shape {tensor.shape}, the parameter has {array.shape}", where)
    limit = largest_magnitude(tensor.declared)
    outside = (array > limit) | (array < -limit)
    if outside.any():
        index = tuple(int(i) for i in np.argwhere(outside)[0])
        rule = f"outside precision {tensor.precision}, which allows -{limit}..{limit}"
        symbol.fail(f"the parameter has {array[index]} at {index}, {rule}", where)
    return array


# Operators


def _step(
    symbol: SymbolGraph,
    node: SymbolNode,
    operators: OperatorLibrary,
    inputs: Sequence[PlannedTensor],
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


def _compare(symbol: SymbolGraph, stated: NodeOutput, inferred: PlannedTensor) -> None:
    where = f"node {inferred.node}"
    if stated.shape != inferred.shape:
        symbol.fail(f"stated shape {stated.shape}, inferred {inferred.shape}", where)
    if stated.precision not in (None, inferred.precision):
        rule = f"stated precision {stated.precision}, inferred {inferred.precision}"
        symbol.fail(rule, where)


# Liveness


def needed_steps(steps: Sequence[PlanStep], heads: Iterable[int]) -> tuple[PlanStep, ...]:
    """The steps that a head depends on, in their order."""
    wanted = set(heads)
    needed: list[PlanStep] = []
    for step in reversed(steps):
        if wanted.intersection(step.outputs):
            wanted.update(each for each in step.inputs if each is not None)
            needed.append(step)
    return tuple(reversed(needed))


def placed(
    tensors: Sequence[PlannedTensor],
    steps: Sequence[PlanStep],
    heads: Sequence[int],
    given: Iterable[int],
) -> MemoryPlan:
    """Where each written tensor lies, and each given one that something reads; heads are kept to
    after the last step.

    Step 0 is the arrival of what is given. A tensor lives on in the step that reads it last, so
    that no step writes over its own inputs.
    """
    first = dict.fromkeys(given, 0)
    last: dict[int, int] = {}
    for number, step in enumerate(steps, start=1):
        for output in step.outputs:
            first[output] = last[output] = number
        last.update({each: number for each in step.inputs if each is not None})
    last.update(dict.fromkeys(heads, len(steps) + 1))
    return plan_memory(
        Lifetime(index, tensors[index].bytes, first[index], last[index])
        for index in first
        if index in last
    )
