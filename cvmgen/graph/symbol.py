"""A CVM graph as frozen data: nodes, what a file states about their outputs, heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final, NoReturn

from cvmgen.errors import ModelError
from cvmgen.graph.limits import MAX_PRECISION, shape_fault
from cvmgen.graph.values import Value

VERSIONS: Final = ("cvm_1.0.0", "cvm_1.1.0")


@dataclass(frozen=True, slots=True)
class OutputReference:
    """Output `output` of the node with index `node`."""

    node: int
    output: int = 0


@dataclass(frozen=True, slots=True)
class NodeOutput:
    """What the file states about one output of a node; precision None where it states none.

    `storage` is the memory that another runtime is to put it in; it means nothing here.
    """

    shape: tuple[int, ...]
    precision: int | None = None
    storage: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SymbolNode:
    """A variable (no operator) or the use of an operator, under its name in graphs."""

    name: str
    outputs: tuple[NodeOutput, ...]
    operator: str | None = None
    inputs: tuple[OutputReference, ...] = ()
    attributes: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True, slots=True)
class SymbolGraph:
    """A whole graph; `file` is the name that errors quote."""

    nodes: tuple[SymbolNode, ...]
    heads: tuple[OutputReference, ...]
    version: str = VERSIONS[0]
    postprocess: str | None = None
    file: str | None = field(default=None, compare=False)

    def entry(self, reference: OutputReference) -> NodeOutput:
        return self.nodes[reference.node].outputs[reference.output]

    def fail(self, rule: str, where: str | None = None) -> NoReturn:
        raise ModelError(rule, file=self.file, where=where)


def first_entries(output_counts: Sequence[int]) -> tuple[int, ...]:
    """The index of each node's first output among all outputs, then the number of outputs."""
    return tuple(accumulate(output_counts, initial=0))


def validate(symbol: SymbolGraph) -> None:
    """ModelError unless names, references, limits, version and order are those of a graph."""
    if symbol.version not in VERSIONS:
        known = ", ".join(VERSIONS)
        symbol.fail(f"version '{symbol.version}' is not supported; known are {known}", "version")
    _check_names(symbol)
    for node in symbol.nodes:
        _check_entries(symbol, node)
        for position, reference in enumerate(node.inputs):
            _check_reference(symbol, reference, f"node {node.name}", f"input {position}")
    if not symbol.heads:
        symbol.fail("there must be at least one head", "heads")
    for position, reference in enumerate(symbol.heads):
        _check_reference(symbol, reference, f"heads[{position}]", "the head")
    execution_order(symbol)


def execution_order(symbol: SymbolGraph) -> tuple[int, ...]:
    """All node indices, each after those it takes inputs from; ModelError names a cycle.

    The order of the file is kept as far as possible, and wholly where it is already one.
    """
    order: list[int] = []
    done = [False] * len(symbol.nodes)
    for root in range(len(symbol.nodes)):
        _visit(symbol, root, done, order)
    return tuple(order)


def _visit(symbol: SymbolGraph, root: int, done: list[bool], order: list[int]) -> None:
    """Append `root` after all that it needs, depth first and without recursion."""
    path = [] if done[root] else [root]
    on_path = set(path)
    while path:
        current = path[-1]
        sources = (source.node for source in symbol.nodes[current].inputs)
        missing = next((source for source in sources if not done[source]), None)
        if missing is None:
            done[current] = True
            on_path.discard(path.pop())
            order.append(current)
        elif missing in on_path:
            cycle = [*path[path.index(missing) :], missing]
            names = " <- ".join(symbol.nodes[index].name for index in cycle)
            symbol.fail(f"the nodes form a cycle: {names}", f"node {symbol.nodes[missing].name}")
        else:
            path.append(missing)
            on_path.add(missing)


def _check_names(symbol: SymbolGraph) -> None:
    first: dict[str, int] = {}
    for index, node in enumerate(symbol.nodes):
        if node.name in first:
            rule = f"nodes {first[node.name]} and {index} have the same name"
            symbol.fail(rule, f"node {node.name}")
        first[node.name] = index


def _check_entries(symbol: SymbolGraph, node: SymbolNode) -> None:
    where = f"node {node.name}"
    for output, entry in enumerate(node.outputs):
        fault = shape_fault(entry.shape)
        if fault is not None:
            symbol.fail(f"shape {list(entry.shape)} of output {output}: {fault}", where)
        if entry.precision is not None and not 1 <= entry.precision <= MAX_PRECISION:
            rule = f"precision {entry.precision} is not in 1..{MAX_PRECISION}"
            symbol.fail(f"{rule} (-1 leaves it open)", where)
    if node.operator is not None:
        return
    if node.inputs:
        symbol.fail("a variable has no inputs", where)
    if any(entry.precision is None for entry in node.outputs):
        symbol.fail("the precision of a variable must be set", where)


def _check_reference(
    symbol: SymbolGraph, reference: OutputReference, where: str, what: str
) -> None:
    nodes = symbol.nodes
    if not 0 <= reference.node < len(nodes):
        rule = f"{what} refers to node {reference.node}, and the nodes are 0 to {len(nodes) - 1}"
        symbol.fail(rule, where)
    source = nodes[reference.node]
    if not 0 <= reference.output < len(source.outputs):
        rule = f"{what} refers to output {reference.output} of node {source.name}, which has "
        symbol.fail(f"{rule}{len(source.outputs)}", where)
