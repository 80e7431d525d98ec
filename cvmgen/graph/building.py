"""A plan while it is made, from the operators of a file of any format."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from cvmgen.errors import CvmgenError, ModelError
from cvmgen.graph.limits import Array
from cvmgen.graph.operators import OperatorLibrary, sorted_inputs
from cvmgen.graph.plan import (
    Plan,
    PlannedTensor,
    PlanState,
    PlanStep,
    library_operator,
    needed_steps,
    placed,
)
from cvmgen.graph.values import Value

MOST_TOLD: Final = 20
Operand = int | None | list[int]


class RefusedNode(Exception):
    """An operator that cannot be translated, and why."""


@dataclass(slots=True)
class Building:
    """A plan of an opset as far as it is made; tensors are known by their indices."""

    operators: OperatorLibrary
    opset: str
    tensors: list[PlannedTensor] = field(default_factory=list)
    constants: dict[int, Array] = field(default_factory=dict)
    steps: list[PlanStep] = field(default_factory=list)

    def add(self, name: str, shape: tuple[int, ...], dtype: Any) -> int:
        """A new tensor; one without dimensions has one of extent 1."""
        self.tensors.append(PlannedTensor(name, shape or (1,), None, np.dtype(dtype)))
        return len(self.tensors) - 1

    def constant(self, name: str, values: Array) -> int:
        index = self.add(name, values.shape, values.dtype)
        self.constants[index] = np.ascontiguousarray(values).reshape(self.tensors[index].shape)
        return index

    def shape(self, index: int) -> tuple[int, ...]:
        return self.tensors[index].shape

    def dtype(self, index: int) -> str:
        return str(self.tensors[index].dtype.name)

    def step(self, node: str, operator: str, *inputs: Operand, **attributes: Value) -> int:
        """A step of an operator of the opset, and the tensor that it gives."""
        (index,) = self.several(node, operator, *inputs, **attributes)
        return index

    def several(
        self, node: str, operator: str, *inputs: Operand, **attributes: Value
    ) -> tuple[int, ...]:
        """The same of an operator with several results; RefusedNode where it takes no such."""
        library = library_operator(self.operators, operator, self.opset)
        flat = [each for one in inputs for each in (one if isinstance(one, list) else [one])]
        tensors = [None if each is None else self.tensors[each] for each in flat]
        given = sorted_inputs(library, tensors)
        row = chosen_types(operator, library.types, library.inputs, given, attributes)
        shapes = sorted_inputs(library, [None if each is None else each.shape for each in tensors])
        try:
            made = library.infer(
                shapes=shapes,
                precisions=[None] * len(given),
                **attributes,
            )
        except CvmgenError as error:
            raise RefusedNode(str(error)) from error
        results = tuple(
            self.add(node, tuple(shape), row[name])
            for name, shape in zip(library.outputs, made.shapes, strict=True)
        )
        step = PlanStep(node, operator, tuple(attributes.items()), tuple(flat), results)
        self.steps.append(step)
        return results

    def finished(
        self,
        inputs: tuple[int, ...],
        heads: tuple[int, ...],
        states: tuple[PlanState, ...] = (),
    ) -> Plan:
        """The plan, of the steps that results and states need."""
        kept = (*heads, *(each.written for each in states))
        steps = needed_steps(self.steps, kept)
        tensors = tuple(self.tensors)
        given = (*inputs, *(each.read for each in states))
        used = {at for step in steps for at in (*step.inputs, *step.outputs)} | {*kept}
        return Plan(
            tensors,
            inputs,
            steps,
            heads,
            placed(tensors, steps, kept, given),
            self.names(inputs),
            {at: values for at, values in self.constants.items() if at in used},
            states,
            self.opset,
        )

    def names(self, inputs: tuple[int, ...]) -> dict[str, int]:
        found: dict[str, int] = {}
        for at, index in enumerate(inputs):
            name = self.tensors[index].node
            found[name if name not in found else f"{name} {at}"] = index
        return found


def chosen_types(
    operator: str,
    types: Sequence[Mapping[str, str]],
    names: Sequence[str],
    given: Sequence[PlannedTensor | list[PlannedTensor | None] | None],
    attributes: Mapping[str, Value],
) -> dict[str, str]:
    """The element types of an operator that are those of what it is given."""
    found = {name: {str(value)} for name, value in attributes.items() if name in types[0]}
    for name, each in zip(names, given, strict=True):
        several = each if isinstance(each, list) else [each]
        found[name] = {one.dtype.name for one in several if one is not None}
    for row in types:
        if all(kinds <= {row[name]} for name, kinds in found.items() if name in row):
            return dict(row)
    shown = ", ".join(f"{name} {'/'.join(sorted(k))}" for name, k in found.items() if k)
    known = [", ".join(f"{n} {row[n]}" for n in names if n in row) for row in types]
    raise RefusedNode(f"{operator} has no kernel for {shown}; nearest is {known[0]}")


def reshaped(
    building: Building, node: str, index: int, shape: Sequence[int], attribute: str
) -> int:
    """The same elements in another shape: a constant, or by the opset's operator `reshape`."""
    wanted = tuple(shape) or (1,)
    if building.shape(index) == wanted:
        return index
    if math.prod(building.shape(index)) != math.prod(wanted):
        rule = f"gives the shape {building.shape(index)}, and the file states {wanted}"
        raise RefusedNode(rule)
    if index in building.constants:
        return building.constant(
            building.tensors[index].node, building.constants[index].reshape(wanted)
        )
    return building.step(node, "reshape", index, **{attribute: wanted})


def refusal(faults: Sequence[str], count: int, file: str | None) -> ModelError:
    """All operators that cannot be used at once, out of `count`."""
    rest = len(faults) - MOST_TOLD
    told = [*faults[:MOST_TOLD], *([f"and {rest} more"] if rest > 0 else [])]
    rule = f"{len(faults)} of {count} operators cannot be used: {'; '.join(told)}"
    return ModelError(rule, file=file)
