"""An operator of a .tflite graph while it becomes steps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

import numpy as np

from cvmgen.errors import CvmgenError
from cvmgen.graph.limits import Array
from cvmgen.graph.operators import OperatorLibrary, sorted_inputs
from cvmgen.graph.plan import PlannedTensor, PlanStep, library_operator
from cvmgen.graph.tflite.file import FileGraph, FileOperator, FileTensor
from cvmgen.graph.tflite.scales import activation_ends
from cvmgen.graph.values import Value

OPSET: Final = "tflite"
ACTIVATIONS: Final = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT")
Operand = int | None | list[int]


class RefusedNode(Exception):
    """An operator that cannot be translated, and why."""


@dataclass(slots=True)
class Building:
    """A plan as far as it is made: `at` has the tensor of the plan for each one of the graph."""

    graph: FileGraph
    operators: OperatorLibrary
    tensors: list[PlannedTensor] = field(default_factory=list)
    constants: dict[int, Array] = field(default_factory=dict)
    steps: list[PlanStep] = field(default_factory=list)
    at: dict[int, int] = field(default_factory=dict)

    def add(self, name: str, shape: tuple[int, ...], dtype: Any) -> int:
        """A new tensor; one without dimensions has one of extent 1."""
        self.tensors.append(PlannedTensor(name, shape or (1,), None, np.dtype(dtype)))
        return len(self.tensors) - 1

    def constant(self, name: str, values: Array) -> int:
        index = self.add(name, values.shape, values.dtype)
        self.constants[index] = np.ascontiguousarray(values).reshape(self.tensors[index].shape)
        return index


@dataclass(frozen=True, slots=True)
class Node:
    """One operator; RefusedNode where something is not as it has to be."""

    building: Building
    operator: FileOperator

    @property
    def name(self) -> str:
        """What people find it by: its number, its operator, the tensor that it makes."""
        made = [self.building.graph.tensors[at].name for at in self.operator.outputs[:1]]
        return " ".join([str(self.operator.number), self.operator.name, *made])

    def refuse(self, rule: str) -> NoReturn:
        raise RefusedNode(rule)

    # -------------------------------------------------------- what it is given

    def has(self, at: int) -> bool:
        return at < len(self.operator.inputs) and self.operator.inputs[at] >= 0

    def input(self, at: int) -> FileTensor:
        if not self.has(at):
            self.refuse(f"input {at} is missing")
        return self.building.graph.tensors[self.operator.inputs[at]]

    def result(self, at: int = 0) -> FileTensor:
        if at >= len(self.operator.outputs):
            self.refuse(f"output {at} is missing")
        return self.building.graph.tensors[self.operator.outputs[at]]

    def given(self, at: int) -> int:
        """The tensor of the plan for an input."""
        found = self.building.at.get(self.operator.inputs[at]) if self.has(at) else None
        if found is None:
            self.refuse(f"nothing makes input {at}, {self.input(at).name}, before")
        return found

    def shape(self, index: int) -> tuple[int, ...]:
        return self.building.tensors[index].shape

    def values(self, at: int) -> Array:
        """The values of an input that has to be a constant."""
        found = self.building.constants.get(self.given(at))
        if found is None:
            self.refuse(f"input {at}, {self.input(at).name}, must be a constant")
        return found

    def integers(self, at: int) -> list[int]:
        found = self.values(at)
        if found.dtype.kind not in "iu":
            self.refuse(f"input {at} must hold integers, not {found.dtype}")
        return [int(each) for each in found.ravel()]

    def axis(self, number: int, rank: int, beyond: int = 0) -> int:
        """An axis that may be negative, of `rank`."""
        count = rank + beyond
        if not -count <= number < count:
            self.refuse(f"there is no axis {number} of {count}")
        return number % count

    def scale(self, tensor: FileTensor) -> tuple[float, int]:
        """Scale and zero point of a tensor that has one of each."""
        if len(tensor.scales) != 1:
            self.refuse(f"{tensor.name} must be quantized, with one scale: it is {tensor.dtype}")
        return tensor.scales[0], tensor.zeros[0]

    def option(self, table: str, member: str, default: Any = None) -> Any:
        """An attribute; the default where the operator has no table of them."""
        try:
            made = self.operator.options(table)
        except ValueError:
            if default is None:
                raise
            return default
        return getattr(made, member)()

    def activation(self, table: str) -> dict[str, Value]:
        """The ends of int8 that a fused activation leaves."""
        code = self.option(table, "FusedActivationFunction", 0)
        name = ACTIVATIONS[code] if 0 <= code < len(ACTIVATIONS) else str(code)
        try:
            low, high = activation_ends(name, *self.scale(self.result()))
        except KeyError:
            self.refuse(f"no kernel fuses the activation {name}")
        return {"low": low, "high": high}

    # -------------------------------------------------------- what is made of it

    def constant(self, values: Array) -> int:
        return self.building.constant(self.name, values)

    def step(self, operator: str, *inputs: Operand, **attributes: Value) -> int:
        """A step of our operator, and the tensor that it gives."""
        building = self.building
        library = library_operator(building.operators, operator, OPSET)
        flat = [each for one in inputs for each in (one if isinstance(one, list) else [one])]
        tensors = [None if each is None else building.tensors[each] for each in flat]
        given = sorted_inputs(library, tensors)
        row = self.row(operator, library.types, library.inputs, given, attributes)
        shapes = sorted_inputs(library, [None if each is None else each.shape for each in tensors])
        try:
            made = library.infer(
                shapes=shapes,
                precisions=[None] * len(given),
                **attributes,
            )
        except CvmgenError as error:
            self.refuse(str(error))
        (shape,) = made.shapes
        index = building.add(self.name, tuple(shape), row[library.outputs[0]])
        step = PlanStep(self.name, operator, tuple(attributes.items()), tuple(flat), (index,))
        building.steps.append(step)
        return index

    def row(
        self,
        operator: str,
        types: Sequence[Any],
        names: Sequence[str],
        given: Sequence[PlannedTensor | list[PlannedTensor | None] | None],
        attributes: Mapping[str, Value],
    ) -> dict[str, str]:
        """The element types of the operator that are those of what it is given."""
        found = {name: {str(value)} for name, value in attributes.items() if name in types[0]}
        for name, each in zip(names, given, strict=True):
            several = each if isinstance(each, list) else [each]
            found[name] = {one.dtype.name for one in several if one is not None}
        for row in types:
            if all(kinds <= {row[name]} for name, kinds in found.items() if name in row):
                return dict(row)
        shown = ", ".join(f"{name} {'/'.join(sorted(k))}" for name, k in found.items() if k)
        known = [", ".join(f"{n} {row[n]}" for n in names if n in row) for row in types]
        self.refuse(f"{operator} has no kernel for {shown}; nearest is {known[0]}")

    def shaped(self, index: int, shape: Sequence[int]) -> int:
        """The same elements in another shape."""
        wanted = tuple(shape) or (1,)
        if self.shape(index) == wanted:
            return index
        if math.prod(self.shape(index)) != math.prod(wanted):
            self.refuse(f"gives the shape {self.shape(index)}, and the file states {wanted}")
        return self.step("reshape", index, target_shape=wanted)
