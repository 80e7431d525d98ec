"""An ONNX model as a plan of steps."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from cvmgen.dtypes import PLAIN
from cvmgen.errors import ModelError
from cvmgen.graph.building import Building, RefusedNode, refusal
from cvmgen.graph.files import FilePath, read_bytes
from cvmgen.graph.limits import shape_fault
from cvmgen.graph.onnx.file import FileGraph, FileNode, FileValue, damage, parse_file
from cvmgen.graph.onnx.folding import ARITHMETIC, MOVES, folded
from cvmgen.graph.onnx.fusion import FUSED, fused
from cvmgen.graph.onnx.node import OPSET, GraphTensor, Node, Translated
from cvmgen.graph.onnx.operators import OPERATORS, WHOLE_GRAPHS, Translator
from cvmgen.graph.operators import OperatorLibrary
from cvmgen.graph.plan import Plan
from cvmgen.source import did_you_mean


@dataclass(frozen=True, slots=True)
class OnnxModel:
    """The bytes of a .onnx file; `file` is the name that errors quote, `folder` the one that data
    outside of the file may lie in."""

    data: bytes
    file: str | None = None
    folder: Path | None = None

    def plan(self, operators: OperatorLibrary) -> Plan:
        """The main graph as steps of the opset `onnx`.

        ModelError for a file that is damaged, and for nodes that have no translation: all of them,
        and why.
        """
        graph = parse_file(self.data, self.file, self.folder)
        return _Translation(graph, operators, self.file).plan()


def read_onnx(path: FilePath) -> OnnxModel:
    """The model of a file; ModelError when it cannot be read."""
    return OnnxModel(read_bytes(path), os.fspath(path), Path(path).parent)


class _Translation:
    """Goes through the nodes of the graph in their order: each stands behind what it reads."""

    def __init__(self, graph: FileGraph, operators: OperatorLibrary, file: str | None) -> None:
        self.graph, self.file = graph, file
        self.building = Building(operators, OPSET)
        self.translated = Translated(graph, self.building, known=dict(graph.constants))
        self.readers: defaultdict[str, list[FileNode | None]] = defaultdict(list)
        self.faults: list[str] = []
        self.unknown: set[str] = set()  # what refused nodes would have made
        self.passed: set[int] = set()  # nodes that a quantized operator stands for

    def plan(self) -> Plan:
        graph = self.graph
        if not graph.inputs or not graph.outputs:
            self.fail("it has no inputs, or no outputs")
        for node in graph.nodes:
            for name in node.inputs:
                self.readers[name].append(node)
        for value in graph.outputs:
            self.readers[value.name].append(None)
        inputs = tuple(self.placeholder(each) for each in graph.inputs)
        for node in graph.nodes:
            with damage(self.file, f"node {node.shown}"):
                self.translate(Node(self.translated, node))
        if self.faults:
            raise refusal(self.faults, len(graph.nodes), self.file)
        return self.building.finished(inputs, tuple(map(self.head, graph.outputs)))

    def placeholder(self, value: FileValue) -> int:
        shape = value.shape
        if shape is None or any(isinstance(each, str) for each in shape):
            shown = "none" if shape is None else f"({', '.join(map(str, shape))})"
            self.fail(f"the shape of the input {value.name} must be fixed, and is {shown}")
        fixed = tuple(int(each) for each in shape)
        fault = shape_fault(fixed or (1,))
        if fault is not None or value.dtype not in PLAIN:
            self.fail(f"input {value.name}: {fault or f'its elements are {value.dtype}'}")
        index = self.building.add(value.name, fixed, value.dtype)
        self.translated.at[value.name] = GraphTensor(index, fixed)
        return index

    def translate(self, node: Node) -> None:
        """The steps of a node; what needs a refused one is looked at by its name alone."""
        outputs = node.node.outputs
        if node.node.number in self.passed:
            return
        if any(each in self.unknown for each in node.node.inputs):
            self.unknown.update(outputs)
            if not could_be_used(node.node):
                self.faults.append(f"node {node.name}: no formula of the opset onnx")
            return
        before = len(self.building.steps)
        try:
            for name in outputs:
                self.checked_new(node, name)
            if not self.is_known(node):
                self.made(node)
        except RefusedNode as error:
            self.faults.append(f"node {node.name}: {error}")
            del self.building.steps[before:]
            self.unknown.update(outputs)

    def checked_new(self, node: Node, name: str) -> None:
        if name and (name in self.translated.at or name in self.translated.known):
            node.refuse(f"{name} is made twice")

    def is_known(self, node: Node) -> bool:
        """Whether the values of its results are known beforehand; then they are from now on."""
        values = folded(node)
        if values is None:
            return False
        for name, each in zip(node.node.outputs, values, strict=False):
            if each.dtype.name not in PLAIN:
                node.refuse(f"gives elements of {each.dtype}")
            self.translated.known[name] = each
        return True

    def made(self, node: Node) -> None:
        whole = fused(node, self.readers)
        if whole is not None:
            made, end = whole
            self.passed.update(end.passed)
            self.translated.at[end.result] = made
            return
        found = self.translator(node)(node)
        results = found if isinstance(found, list) else [found]
        if any(node.node.outputs[len(results) :]):
            node.refuse(f"gives {len(results)} results, not {len(node.node.outputs)}")
        self.translated.at.update(zip(node.node.outputs, results, strict=False))

    def translator(self, node: Node) -> Translator:
        domain, operator = node.node.domain, node.node.operator
        name = f"{domain}.{operator}" if domain else operator
        if name in OPERATORS:
            return OPERATORS[name]
        if operator in WHOLE_GRAPHS:
            node.refuse("holds a graph of its own, and which part runs is not known beforehand")
        if not domain and operator in FUSED:
            node.refuse(
                "there is no formula for real numbers; nearest is the quantized one, for which"
                " inputs come from DequantizeLinear and the result goes to QuantizeLinear alone"
            )
        hint = did_you_mean(name, OPERATORS)
        node.refuse("no formula of the opset onnx" + (f"; {hint}" if hint else ""))

    # -------------------------------------------------------- the end

    def head(self, value: FileValue) -> int:
        """A result, as the file states it."""
        try:
            made = self.translated.tensor(value.name)
        except RefusedNode as error:
            self.fail(f"output {value.name}: {error}")
        dtype = self.building.dtype(made.index)
        stated = value.shape if value.shape is not None else made.shape
        fits = len(stated) == len(made.shape) and all(
            isinstance(each, str) or each == n for each, n in zip(stated, made.shape, strict=True)
        )
        if dtype != value.dtype or not fits:
            rule = f"is {dtype} {made.shape}, and the file states {value.dtype} {stated}"
            self.fail(f"output {value.name}: {rule}")
        return made.index

    def fail(self, rule: str) -> NoReturn:
        raise ModelError(rule, file=self.file)


def could_be_used(node: FileNode) -> bool:
    """Whether there is a translation for some inputs."""
    known = OPERATORS.keys() | FUSED.keys() | ARITHMETIC | MOVES
    return (f"{node.domain}.{node.operator}" if node.domain else node.operator) in known
