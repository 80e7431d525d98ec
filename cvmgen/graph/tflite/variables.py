"""Variables of a .tflite model: what one call leaves for the next one.

A variable is a name in the file. READ_VARIABLE gives what the last ASSIGN_VARIABLE before it has
stored, or what the call before left; CALL_ONCE names the graph that stores what it is at first,
before any call. A tensor may be a variable by itself, too: an operator stores in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cvmgen.graph.building import Building
from cvmgen.graph.limits import Array
from cvmgen.graph.plan import PlanState
from cvmgen.graph.tflite.file import FileGraph, FileOperator, FileTensor
from cvmgen.graph.tflite.node import Node, Translated

HANDLE, READ, ASSIGN, ONCE = "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE"
OPERATORS = (HANDLE, READ, ASSIGN, ONCE)


@dataclass(slots=True)
class Variables:
    """The variables of a model: those of a graph by their handles, and what stands in each."""

    graphs: tuple[FileGraph, ...]
    firsts: dict[str, Array] = field(default_factory=dict)
    handles: dict[int, str] = field(default_factory=dict)
    read: dict[str, int] = field(default_factory=dict)  # what a call begins with
    last: dict[str, int] = field(default_factory=dict)  # what was stored last
    tensors: dict[int, int] = field(default_factory=dict)  # variables by themselves, as read

    def operator(self, node: Node) -> list[int]:
        """One of the operators of variables; the results that it has."""
        match node.operator.name:
            case "VAR_HANDLE":
                self.handles[node.operator.outputs[0]] = shared_name(node)
            case "CALL_ONCE":
                self.once(node)
            case "READ_VARIABLE":
                return [self.value(node)]
            case _:
                self.assign(node)
        return []

    def name_of(self, node: Node) -> str:
        handle = node.operator.inputs[0] if node.has(0) else -1
        if handle not in self.handles:
            node.refuse("input 0 is no variable")
        return self.handles[handle]

    def value(self, node: Node) -> int:
        name, stated = self.name_of(node), node.result()
        if name in self.last:
            return node.shaped(self.last[name], stated.shape)
        if stated.dtype not in ("int8", "int16", "int32", "float32"):
            node.refuse(f"variables of {stated.dtype} are not known")
        index = node.building.add(f"state {name}", stated.shape, stated.dtype)
        self.read[name] = self.last[name] = index
        return index

    def assign(self, node: Node) -> None:
        name = self.name_of(node)
        given = node.given(1)
        if name in self.read:
            given = node.shaped(given, node.shape(self.read[name]))
        self.last[name] = given

    def once(self, node: Node) -> None:
        """Run what is to be run before the first call: constants that are stored."""
        number = node.option("CallOnceOptions", "InitSubgraphIndex")
        if not 0 < number < len(self.graphs):
            node.refuse(f"there is no graph {number} to be called once")
        graph = self.graphs[number]
        handles: dict[int, str] = {}
        for each in graph.operators:
            inner = Node(Translated(graph, node.building), each)
            match each.name:
                case "VAR_HANDLE":
                    handles[each.outputs[0]] = shared_name(inner)
                case "ASSIGN_VARIABLE" if inner.has(1) and each.inputs[0] in handles:
                    values = inner.input(1)
                    zeros = np.zeros(values.shape, values.dtype)
                    self.firsts[handles[each.inputs[0]]] = (
                        zeros if values.data is None else values.data
                    )
                case _:
                    node.refuse(f"the graph that is called once has {each.name}")

    def begin(self, number: int, tensor: FileTensor, building: Building) -> int:
        """A tensor that is a variable by itself, as a call finds it."""
        index = building.add(f"state {tensor.name}", tensor.shape, tensor.dtype)
        self.tensors[number] = index
        return index

    def states(self, translated: Translated) -> tuple[PlanState, ...]:
        """What the calls of the model share."""
        found, building = [], translated.plan
        for number, index in self.tensors.items():
            stored = translated.graph.tensors[number]
            # Interpreters fill int8 with the zero point, and all else with 0.
            zero = stored.zeros[0] if stored.dtype == "int8" and stored.zeros else 0
            first = np.full(stored.shape, zero, stored.dtype)
            found.append(PlanState(stored.name, index, translated.at[number], first))
        for name, index in self.read.items():
            tensor = building.tensors[index]
            first = self.firsts.get(name, np.zeros(tensor.shape, tensor.dtype))
            fits = first.size == np.prod(tensor.shape) and first.dtype == tensor.dtype
            values = first.reshape(tensor.shape) if fits else np.zeros(tensor.shape, tensor.dtype)
            found.append(PlanState(name, index, self.last[name], values))
        return tuple(found)


def shared_name(node: Node) -> str:
    if not node.operator.outputs:
        node.refuse("output 0 is missing")
    name = node.option("VarHandleOptions", "SharedName") or b""
    return str(name.decode(errors="replace"))


def is_of_variables(operator: FileOperator) -> bool:
    return operator.name in OPERATORS
