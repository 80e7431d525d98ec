"""An operator of a .tflite graph while it becomes steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from cvmgen.graph.building import Building, Operand, RefusedNode, reshaped
from cvmgen.graph.limits import Array
from cvmgen.graph.tflite.file import FileGraph, FileOperator, FileTensor
from cvmgen.graph.tflite.scales import activation_ends
from cvmgen.graph.values import Value

OPSET: Final = "tflite"
ACTIVATIONS: Final = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT")


@dataclass(slots=True)
class Translated:
    """A plan as far as it is made: `at` has the tensor of the plan for each one of the graph."""

    graph: FileGraph
    plan: Building
    at: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Node:
    """One operator; RefusedNode where something is not as it has to be."""

    translated: Translated
    operator: FileOperator

    @property
    def graph(self) -> FileGraph:
        return self.translated.graph

    @property
    def building(self) -> Building:
        return self.translated.plan

    @property
    def name(self) -> str:
        """What people find it by: its number, its operator, the tensor that it makes."""
        made = [self.graph.tensors[at].name for at in self.operator.outputs[:1]]
        return " ".join([str(self.operator.number), self.operator.name, *made])

    def refuse(self, rule: str) -> NoReturn:
        raise RefusedNode(rule)

    # -------------------------------------------------------- what it is given

    def has(self, at: int) -> bool:
        return at < len(self.operator.inputs) and self.operator.inputs[at] >= 0

    def input(self, at: int) -> FileTensor:
        if not self.has(at):
            self.refuse(f"input {at} is missing")
        return self.graph.tensors[self.operator.inputs[at]]

    def result(self, at: int = 0) -> FileTensor:
        if at >= len(self.operator.outputs):
            self.refuse(f"output {at} is missing")
        return self.graph.tensors[self.operator.outputs[at]]

    def given(self, at: int) -> int:
        """The tensor of the plan for an input."""
        found = self.translated.at.get(self.operator.inputs[at]) if self.has(at) else None
        if found is None:
            self.refuse(f"nothing makes input {at}, {self.input(at).name}, before")
        return found

    def store(self, at: int, index: int) -> None:
        """Make a tensor the value of an input that is a variable, from here on."""
        if not self.input(at).variable:
            self.refuse(f"input {at}, {self.input(at).name}, must be a variable")
        self.translated.at[self.operator.inputs[at]] = index

    def shape(self, index: int) -> tuple[int, ...]:
        return self.building.shape(index)

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
        return self.building.step(self.name, operator, *inputs, **attributes)

    def shaped(self, index: int, shape: Sequence[int]) -> int:
        """The same elements in another shape."""
        return reshaped(self.building, self.name, index, shape, "target_shape")
