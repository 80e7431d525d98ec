"""The graph file `symbol.json`, read into a Symbol and written from one."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from cvmgen.graph.files import FilePath, read_bytes, write_bytes
from cvmgen.graph.json_value import JsonValue, parse_json
from cvmgen.graph.names import OPERATORS, output_count
from cvmgen.graph.symbol import (
    VERSIONS,
    NodeOutput,
    OutputReference,
    SymbolGraph,
    SymbolNode,
    first_entries,
    validate,
)
from cvmgen.graph.values import Value, parse_value, render_value
from cvmgen.source import did_you_mean

VARIABLE: Final = "null"
OPERATOR: Final = "cvm_op"
UNSET: Final = -1
ELEMENT_TYPES: Final = ("int8", "int32")
_SUFFIX: Final = re.compile(r"_[0-9]+$")


def read_symbol(path: FilePath) -> SymbolGraph:
    """The graph in the file; ModelError names the place of whatever the format does not allow."""
    return parse_symbol(read_bytes(path), os.fspath(path))


def parse_symbol(data: bytes, file: str | None = None) -> SymbolGraph:
    """`read_symbol` of bytes in memory; `file` is the name that errors quote."""
    top = parse_json(data, file)
    nodes = _nodes(top)
    version = top.find("version")
    postprocess = top.find("postprocess")
    symbol = SymbolGraph(
        nodes=nodes,
        heads=tuple(_reference(head) for head in top.member("heads").items()),
        version=VERSIONS[0] if version is None else version.text(),
        postprocess=None if postprocess is None else postprocess.text(),
        file=file,
    )
    validate(symbol)
    return symbol


def write_symbol(path: FilePath, symbol: SymbolGraph) -> None:
    """Write `symbol` in the published form; ModelError when it is no valid graph."""
    write_bytes(path, format_symbol(symbol))


def format_symbol(symbol: SymbolGraph) -> bytes:
    """The bytes that `parse_symbol` turns back into `symbol`."""
    validate(symbol)
    counts = [len(node.outputs) for node in symbol.nodes]
    table: dict[str, Any] = {
        "nodes": [_node_table(node) for node in symbol.nodes],
        "arg_nodes": [i for i, node in enumerate(symbol.nodes) if node.operator is None],
        "node_row_ptr": list(first_entries(counts)),
        "heads": [[head.node, head.output, 0] for head in symbol.heads],
        "attrs": _entry_lists(symbol),
        "version": symbol.version,
    }
    if symbol.postprocess is not None:
        table["postprocess"] = symbol.postprocess
    return _layout(table).encode()


# Reading


def _nodes(top: JsonValue) -> tuple[SymbolNode, ...]:
    values = [_named(value, i) for i, value in enumerate(top.member("nodes").items())]
    operators = [_operator(value) for value in values]
    counts = [_output_count(value, name) for value, name in zip(values, operators, strict=True)]
    starts = first_entries(counts)
    _check_indices(top, operators, starts)
    lists = _Lists(top.member("attrs"), starts[-1], len(values))
    return tuple(
        SymbolNode(
            name=value.member("name").text(),
            outputs=tuple(lists.entry(i) for i in range(starts[index], starts[index + 1])),
            operator=operator,
            inputs=tuple(_reference(item) for item in value.member("inputs").items()),
            attributes=lists.attributes(value, index, starts[index]) if operator else (),
        )
        for index, (value, operator) in enumerate(zip(values, operators, strict=True))
    )


def _named(value: JsonValue, index: int) -> JsonValue:
    return value.at(f"node {value.at(f'node {index}').member('name').text()}")


def _operator(value: JsonValue) -> str | None:
    """The operator of a node without the suffix that makes function names differ."""
    kind = value.member("op")
    if kind.text() == VARIABLE:
        return None
    if kind.text() != OPERATOR:
        kind.fail(f"'{kind.text()}' is neither '{VARIABLE}' nor '{OPERATOR}'")
    return _SUFFIX.sub("", value.member("attrs").member("func_name").text())


def _output_count(value: JsonValue, operator: str | None) -> int:
    if operator is None:
        return 1
    count = output_count(operator)
    if count is None:
        hint = did_you_mean(operator, OPERATORS)
        value.fail(f"there is no operator '{operator}'" + (f"; {hint}" if hint else ""))
    return count


def _check_indices(
    top: JsonValue, operators: Sequence[str | None], starts: tuple[int, ...]
) -> None:
    """The optional lists `arg_nodes` and `node_row_ptr` only repeat what the nodes say."""
    variables = tuple(i for i, operator in enumerate(operators) if operator is None)
    for key, expected in (("arg_nodes", variables), ("node_row_ptr", starts)):
        stated = top.find(key)
        if stated is None or stated.integers() == expected:
            continue
        for item, value in zip(stated.items(), expected, strict=False):
            if item.integer() != value:
                item.fail(f"is {item.integer()}, and the nodes make it {value}")
        stated.fail(f"has {len(stated.items())} items, and the nodes make it {len(expected)}")


def _reference(value: JsonValue) -> OutputReference:
    items = value.items()
    if len(items) != 3:
        value.fail(f"must be [node, output, version], not {len(items)} items")
    node, output, _ = (item.integer() for item in items)
    return OutputReference(node, output)


class _Lists:
    """The lists in the top-level `attrs`, with one item for every output of a node."""

    def __init__(self, attrs: JsonValue, entries: int, nodes: int) -> None:
        self._entries = entries
        self._shapes = self._required(attrs, "shape", (entries,))
        self._storage = self._required(attrs, "storage_id", (entries,))
        # The existing runtime keeps one text for each node; only operators with several outputs
        # make the difference.
        self._texts = self._required(attrs, "op_attrs", (entries, nodes))
        self._precisions = self._optional(attrs, "precision")
        self._types = self._optional(attrs, "dltype")

    def entry(self, index: int) -> NodeOutput:
        if self._types is not None and self._types[index].text() not in ELEMENT_TYPES:
            self._types[index].fail(f"must be one of {', '.join(ELEMENT_TYPES)}")
        stated = UNSET if self._precisions is None else self._precisions[index].integer()
        return NodeOutput(
            shape=self._shapes[index].integers(),
            precision=None if stated == UNSET else stated,
            storage=self._storage[index].integer(),
        )

    def attributes(self, node: JsonValue, index: int, entry: int) -> tuple[tuple[str, Value], ...]:
        by_entry = len(self._texts) == self._entries
        text = self._texts[entry if by_entry else index].text()
        if not text:
            return ()
        table = parse_json(text.encode(), node.file, f"{node.where}, op_attrs").table()
        return tuple((name, _attribute(node, name, value)) for name, value in table.items())

    def _required(self, attrs: JsonValue, key: str, lengths: tuple[int, ...]) -> list[JsonValue]:
        value = attrs.member(key)
        pair = value.items()
        if len(pair) != 2:
            value.fail(f'must be ["list_...", [...]], not {len(pair)} items')
        if not pair[0].text().startswith("list_"):
            pair[0].fail("must start with 'list_'")
        items = pair[1].at(f"attrs.{key}").items()
        if len(items) not in lengths:
            value.fail(f"has {len(items)} items for the {lengths[0]} outputs of the nodes")
        return items

    def _optional(self, attrs: JsonValue, key: str) -> list[JsonValue] | None:
        if attrs.find(key) is None:
            return None
        return self._required(attrs, key, (self._entries,))


def _attribute(node: JsonValue, name: str, value: object) -> Value:
    text = JsonValue(value, node.file, f"{node.where}, attribute {name}")
    try:
        return parse_value(text.text())
    except ValueError as error:
        text.fail(str(error))


# Writing


def _node_table(node: SymbolNode) -> dict[str, Any]:
    table: dict[str, Any] = {"op": VARIABLE, "name": node.name}
    if node.operator is not None:
        table["op"] = OPERATOR
        table["attrs"] = {
            "func_name": node.operator,
            "flatten_data": "0",
            "num_inputs": str(len(node.inputs)),
            "num_outputs": str(len(node.outputs)),
            "op_attrs": "",
        }
    return table | {"inputs": [[source.node, source.output, 0] for source in node.inputs]}


def _entry_lists(symbol: SymbolGraph) -> dict[str, Any]:
    def items(item: Callable[[SymbolNode, NodeOutput], object]) -> list[object]:
        return [item(node, entry) for node in symbol.nodes for entry in node.outputs]

    return {
        "shape": ["list_shape", items(lambda node, entry: list(entry.shape))],
        "storage_id": ["list_int", _storage_ids(symbol)],
        "dltype": ["list_str", items(lambda node, entry: "int32")],
        "precision": ["list_int", items(lambda node, entry: entry.precision or UNSET)],
        "op_attrs": ["list_str", items(lambda node, entry: _attribute_text(node))],
    }


def _storage_ids(symbol: SymbolGraph) -> list[int]:
    """Those of the symbol, or one for each output when the symbol leaves any open."""
    stated = [entry.storage for node in symbol.nodes for entry in node.outputs]
    known = [storage for storage in stated if storage is not None]
    return known if len(known) == len(stated) else list(range(len(stated)))


def _attribute_text(node: SymbolNode) -> str:
    if node.operator is None:
        return ""
    return json.dumps({name: render_value(value) for name, value in node.attributes})


def _layout(table: dict[str, Any]) -> str:
    """The JSON text with one node, and one list of attributes, on each line."""
    members = {key: json.dumps(value) for key, value in table.items()}
    members["nodes"] = _lines("[]", (json.dumps(node) for node in table["nodes"]))
    attrs = (f"{json.dumps(key)}: {json.dumps(items)}" for key, items in table["attrs"].items())
    members["attrs"] = _lines("{}", attrs)
    return _lines("{}", (f'"{key}": {text}' for key, text in members.items()), "") + "\n"


def _lines(brackets: str, items: Iterable[str], margin: str = "  ") -> str:
    inner = ",\n".join(f"{margin}  {item}" for item in items)
    return f"{brackets[0]}\n{inner}\n{margin}{brackets[1]}"
