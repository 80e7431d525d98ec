"""A node of an ONNX graph while it becomes steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

import numpy as np

from cvmgen.graph.building import Building, Operand, RefusedNode, reshaped
from cvmgen.graph.limits import Array
from cvmgen.graph.onnx.file import FileGraph, FileNode
from cvmgen.graph.values import Value

OPSET: Final = "onnx"


@dataclass(frozen=True, slots=True)
class GraphTensor:
    """A tensor of the plan, and its shape in the graph: () is (1,) in the plan."""

    index: int
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Quantized:
    """What DequantizeLinear was given: integers by name, and their scales and zero points."""

    name: str
    scale: Array
    zero: Array
    axis: int


@dataclass(slots=True)
class Translated:
    """A plan as far as it is made: tensors and known values by their names in the graph."""

    graph: FileGraph
    plan: Building
    at: dict[str, GraphTensor] = field(default_factory=dict)
    known: dict[str, Array] = field(default_factory=dict)
    quantized: dict[str, Quantized] = field(default_factory=dict)
    folded: int = 0  # elements that were computed beforehand

    def tensor(self, name: str) -> GraphTensor:
        """The tensor of a name; a known value becomes a constant of the plan."""
        if name not in self.at and name in self.known:
            values = self.known[name]
            if values.size == 0:
                raise RefusedNode(f"{name} has no elements")
            self.at[name] = GraphTensor(self.plan.constant(name, values), values.shape)
        if name not in self.at:
            raise RefusedNode(f"nothing makes {name} before")
        return self.at[name]


@dataclass(frozen=True, slots=True)
class Node:
    """One node; RefusedNode where something is not as it has to be."""

    translated: Translated
    node: FileNode

    @property
    def name(self) -> str:
        return self.node.shown

    @property
    def building(self) -> Building:
        return self.translated.plan

    def refuse(self, rule: str) -> NoReturn:
        raise RefusedNode(rule)

    # -------------------------------------------------------- what it is given

    def has(self, at: int) -> bool:
        return at < len(self.node.inputs) and self.node.inputs[at] != ""

    def input(self, at: int) -> str:
        if not self.has(at):
            self.refuse(f"input {at} is missing")
        return self.node.inputs[at]

    def made(self, at: int) -> GraphTensor:
        return self.tensor(self.input(at))

    def tensor(self, name: str) -> GraphTensor:
        return self.translated.tensor(name)

    def given(self, at: int) -> int:
        return self.made(at).index

    def all_given(self) -> list[int]:
        return [self.given(at) for at in range(len(self.node.inputs))]

    def shape(self, at: int) -> tuple[int, ...]:
        return self.made(at).shape

    def dtype(self, at: int) -> str:
        return self.building.dtype(self.given(at))

    def values(self, at: int) -> Array:
        """The values of an input that has to be known beforehand."""
        name = self.input(at)
        if name not in self.translated.known:
            self.refuse(f"input {at}, {name}, must be a constant")
        return self.translated.known[name]

    def integers(self, at: int) -> list[int]:
        found = self.values(at)
        if found.dtype.kind not in "iu":
            self.refuse(f"input {at} must hold integers, not {found.dtype}")
        return [int(each) for each in found.ravel()]

    def number(self, at: int) -> float:
        """The one real number of an input."""
        found = self.values(at)
        if found.size != 1 or found.dtype.kind != "f":
            self.refuse(f"input {at} must be one real number, not {found.dtype} {found.shape}")
        return float(found.reshape(-1)[0])

    def zero(self, at: int) -> int:
        """The one zero point of an input, 0 where there is none; all are the same."""
        if not self.has(at):
            return 0
        return self.one_zero(self.values(at))

    def one_zero(self, found: Array) -> int:
        if found.size == 0 or (found != found.reshape(-1)[0]).any():
            self.refuse("the zero points of the channels must be one number")
        return int(found.reshape(-1)[0])

    def attribute(self, name: str, default: Any = None) -> Any:
        found = self.node.attributes.get(name, default)
        if found is None:
            self.refuse(f"the attribute {name} is missing")
        return found

    def listed(self, name: str, at: int) -> list[int] | None:
        """Integers that are an input, or an attribute in older versions; None for neither."""
        if self.has(at):
            return self.integers(at)
        found = self.node.attributes.get(name)
        return None if found is None else [int(each) for each in found]

    def axis(self, number: int, rank: int) -> int:
        """An axis that may be negative, of `rank`."""
        if not -rank <= number < rank:
            self.refuse(f"there is no axis {number} of {rank}")
        return number % rank

    # -------------------------------------------------------- what is made of it

    def constant(self, values: Any, dtype: str) -> int:
        return self.building.constant(self.name, np.array(values, dtype))

    def step(self, operator: str, *inputs: Operand, **attributes: Value) -> GraphTensor:
        """A step of our operator, and the tensor that it gives."""
        index = self.building.step(self.name, operator, *inputs, **attributes)
        return GraphTensor(index, self.building.shape(index))

    def shaped(self, index: int, shape: Sequence[int]) -> GraphTensor:
        """The same elements in another shape."""
        made = reshaped(self.building, self.name, index, shape, "shape")
        return GraphTensor(made, tuple(shape))
