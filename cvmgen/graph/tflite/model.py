"""A .tflite model as a plan of steps."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from cvmgen.dtypes import PLAIN
from cvmgen.errors import ModelError
from cvmgen.graph.building import Building, RefusedNode, refusal
from cvmgen.graph.files import FilePath, read_bytes
from cvmgen.graph.operators import OperatorLibrary
from cvmgen.graph.plan import Plan, unknown_rounding
from cvmgen.graph.tflite.file import FileGraph, FileTensor, damage, parse_file
from cvmgen.graph.tflite.node import OPSET, Node, Translated
from cvmgen.graph.tflite.operators import ROUNDINGS, Translator
from cvmgen.graph.tflite.variables import Variables, is_of_variables
from cvmgen.source import did_you_mean


@dataclass(frozen=True, slots=True)
class TfliteModel:
    """The bytes of a .tflite file; `file` is the name that errors quote.

    `rounding` says whose kernels are meant, where kernels differ: `tflm`, TensorFlow Lite's for
    microcontrollers, `litert`, its reference kernels, or `xnnpack`.
    """

    data: bytes
    file: str | None = None
    rounding: str = "tflm"

    def plan(self, operators: OperatorLibrary) -> Plan:
        """The main graph as steps of the opset `tflite`.

        ModelError for a file that is damaged, for a rounding that is not known, and for operators
        that have no translation: all of them with their nodes, and why.
        """
        table = ROUNDINGS.get(self.rounding)
        if table is None:
            raise ModelError(unknown_rounding(self.rounding, ROUNDINGS), file=self.file)
        graphs = parse_file(self.data, self.file)
        made = _Translation(graphs, operators, table, self.file).plan()
        return replace(made, rounding=self.rounding)


def read_tflite(path: FilePath, rounding: str = "tflm") -> TfliteModel:
    """The model of a file; ModelError when it cannot be read."""
    return TfliteModel(read_bytes(path), os.fspath(path), rounding)


class _Translation:
    """Goes through the operators of the main graph in their order."""

    def __init__(
        self,
        graphs: tuple[FileGraph, ...],
        operators: OperatorLibrary,
        table: Mapping[str, Translator],
        file: str | None,
    ) -> None:
        self.graph, self.table, self.file = graphs[0], table, file
        self.building = Building(operators, OPSET)
        self.translated = Translated(self.graph, self.building)
        self.at = self.translated.at
        self.variables = Variables(graphs)
        self.faults: list[str] = []

    def plan(self) -> Plan:
        building, graph = self.building, self.graph
        if not graph.inputs or not graph.outputs:
            self.fail("it has no inputs, or no outputs")
        for at, tensor in enumerate(graph.tensors):
            if tensor.data is not None:
                self.at[at] = building.constant(tensor.name, tensor.data)
            elif tensor.variable and tensor.dtype in PLAIN:
                self.at[at] = self.variables.begin(at, tensor, building)
        for at in graph.inputs:
            self.at[at] = self.placeholder(graph.tensors[at])
        inputs = tuple(self.at[at] for at in graph.inputs)
        for operator in graph.operators:
            node = Node(self.translated, operator)
            with damage(self.file, f"node {node.name}"):
                self.translate(node)
        if self.faults:
            raise refusal(self.faults, len(self.graph.operators), self.file)
        return self.finished(inputs)

    def placeholder(self, tensor: FileTensor) -> int:
        """A tensor that something else makes."""
        if tensor.dtype not in PLAIN:
            self.fail(f"the elements of {tensor.name} are {tensor.dtype}")
        return self.building.add(tensor.name, tensor.shape, tensor.dtype)

    def translate(self, node: Node) -> None:
        """The steps of an operator; where it is refused its results are taken as they are stated,
        so that what comes behind is looked at too."""
        before = len(self.building.steps)
        try:
            results = self.results(node)
            for at, index in zip(node.operator.outputs, results, strict=False):
                self.at[at] = self.checked(node, self.graph.tensors[at], index)
        except RefusedNode as error:
            self.faults.append(f"node {node.name}: {error}")
            del self.building.steps[before:]
            for at in node.operator.outputs:
                tensor = self.graph.tensors[at]
                if tensor.dtype in PLAIN:
                    self.at[at] = self.placeholder(tensor)

    def results(self, node: Node) -> list[int]:
        if is_of_variables(node.operator):
            return self.variables.operator(node)
        translator = self.table.get(node.operator.name)
        if translator is None:
            hint = did_you_mean(node.operator.name, self.table)
            node.refuse("no formula of the opset tflite" + (f"; {hint}" if hint else ""))
        found = translator(node)
        results = found if isinstance(found, list) else [found]
        if len(results) != len(node.operator.outputs):
            node.refuse(f"gives {len(results)} results, not {len(node.operator.outputs)}")
        return results

    def checked(self, node: Node, stated: FileTensor, index: int) -> int:
        """A result as the file states it."""
        made = self.building.tensors[index]
        if made.dtype.name != stated.dtype:
            node.refuse(f"gives elements of {made.dtype}, and {stated.name} is {stated.dtype}")
        if index in self.building.constants:
            return index
        return node.shaped(index, stated.shape)

    # -------------------------------------------------------- the end

    def finished(self, inputs: tuple[int, ...]) -> Plan:
        missing = [at for at in self.graph.outputs if at not in self.at]
        if missing:
            self.fail(f"nothing makes the output {self.graph.tensors[missing[0]].name}")
        heads = tuple(self.at[at] for at in self.graph.outputs)
        return self.building.finished(inputs, heads, self.variables.states(self.translated))

    def fail(self, rule: str) -> NoReturn:
        raise ModelError(rule, file=self.file)
