"""Graph files: what is read, how every damage is reported, and that writing loses nothing."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cvmgen.errors import ModelError
from cvmgen.graph import read_symbol, write_symbol
from cvmgen.graph.symbol import NodeOutput, OutputReference, SymbolGraph, execution_order, validate
from cvmgen.graph.symbol_file import format_symbol, parse_symbol
from tests.graph.stubs import encoded, graph, small_json, use, variable

Edit = Callable[[dict[str, Any]], None]


def put(value: Any, *path: str | int) -> Edit:
    """Replace the member that `path` leads to."""

    def edit(table: Any) -> None:
        for step in path[:-1]:
            table = table[step]
        table[path[-1]] = value

    return edit


def drop(*path: str | int) -> Edit:
    def edit(table: Any) -> None:
        for step in path[:-1]:
            table = table[step]
        del table[path[-1]]

    return edit


def test_what_a_small_graph_says() -> None:
    symbol = parse_symbol(encoded(small_json()), "m.json")
    data, *_, dense, cut = symbol.nodes
    assert data.operator is None
    assert data.outputs == (NodeOutput((1, 3), 8, 0),)
    assert dense.operator == "dense", "the suffix _7 only makes function names differ"
    assert dense.attributes == (("units", 2), ("use_bias", True))
    assert dense.inputs == (OutputReference(0), OutputReference(1), OutputReference(2))
    assert dense.outputs == (NodeOutput((1, 2), None, 3),), "-1 leaves the precision open"
    assert cut.outputs[0].precision == 8
    assert symbol.heads == (OutputReference(4),)
    assert symbol.version == "cvm_1.0.0"
    assert symbol.file == "m.json"


def nothing(table: Any) -> None:
    """The table as it is."""


ACCEPTED = [
    (nothing, "the table as it is"),
    (drop("arg_nodes"), "optional"),
    (drop("node_row_ptr"), "optional"),
    (drop("attrs", "dltype"), "optional"),
    (put("cvm_1.1.0", "version"), "the other known version"),
    (put("ssd", "postprocess"), "kept, and means nothing here"),
    (put("anything", "attrs", "dtype"), "other attributes mean nothing"),
    (put("x", "nodes", 3, "attrs", "num_inputs"), "nothing but func_name matters"),
    (put("", "attrs", "op_attrs", 1, 4), "an empty text means no attributes"),
]


@pytest.mark.parametrize(("edit", "why"), ACCEPTED)
def test_accepted(edit: Edit, why: str) -> None:
    table = small_json()
    edit(table)
    symbol = parse_symbol(encoded(table))
    assert parse_symbol(format_symbol(symbol)) == symbol, why


def swapped(table: Any) -> None:
    """The two operators each feed on the other."""
    table["nodes"][3]["inputs"][0] = [4, 0, 0]


ATTRS = "attrs"
DAMAGED: list[tuple[Edit, str, str]] = [
    # keys
    (drop("nodes"), "", "the key 'nodes' is missing"),
    (drop("heads"), "", "the key 'heads' is missing"),
    (drop("attrs"), "", "the key 'attrs' is missing"),
    (drop("attrs", "shape"), "attrs", "the key 'shape' is missing"),
    (drop("attrs", "storage_id"), "attrs", "the key 'storage_id' is missing"),
    (drop("attrs", "op_attrs"), "attrs", "the key 'op_attrs' is missing"),
    (drop("nodes", 1, "name"), "node 1", "the key 'name' is missing"),
    (drop("nodes", 1, "op"), "node w", "the key 'op' is missing"),
    (drop("nodes", 3, "inputs"), "node fc", "the key 'inputs' is missing"),
    (drop("nodes", 3, "attrs"), "node fc", "the key 'attrs' is missing"),
    (drop("nodes", 3, "attrs", "func_name"), "node fc.attrs", "the key 'func_name' is missing"),
    # types
    (put({}, "nodes"), "nodes", "must be a list, not an object"),
    (put(7, "nodes", 0), "node 0", "must be an object, not the number 7"),
    (put(None, "nodes", 0, "name"), "node 0.name", "must be a string, not null"),
    (put(3, "nodes", 3, "op"), "node fc.op", "must be a string, not the number 3"),
    (put("0", "heads", 0, 0), "heads[0][0]", "must be an integer, not the string '0'"),
    (put(True, "heads", 0, 0), "heads[0][0]", "must be an integer, not true"),
    (put(1.0, "heads", 0, 0), "heads[0][0]", "must be an integer, not the number 1.0"),
    (put([], "attrs"), "attrs", "must be an object, not a list of 0"),
    (put(3, "version"), "version", "must be a string, not the number 3"),
    (put([], "postprocess"), "postprocess", "must be a string, not a list of 0"),
    (put(8, ATTRS, "shape", 1, 0), "attrs.shape[0]", "must be a list, not the number 8"),
    (put(1.5, ATTRS, "shape", 1, 0, 0), "attrs.shape[0][0]", "must be an integer"),
    (put("8", ATTRS, "precision", 1, 0), "attrs.precision[0]", "must be an integer"),
    (put("a", ATTRS, "storage_id", 1, 0), "attrs.storage_id[0]", "must be an integer"),
    (put("float32", ATTRS, "dltype", 1, 2), "attrs.dltype[2]", "must be one of int8, int32"),
    (put({}, ATTRS, "op_attrs", 1, 3), "attrs.op_attrs[3]", "must be a string, not an object"),
    # the shape of the lists
    (put([[1, 3]], ATTRS, "shape", 1), "attrs.shape", "has 1 items for the 5 outputs"),
    (put([8], ATTRS, "precision", 1), "attrs.precision", "has 1 items for the 5 outputs"),
    (put([], ATTRS, "dltype", 1), "attrs.dltype", "has 0 items for the 5 outputs"),
    (put([""] * 6, ATTRS, "op_attrs", 1), "attrs.op_attrs", "has 6 items for the 5 outputs"),
    (put([[1]], ATTRS, "storage_id"), "attrs.storage_id", 'must be ["list_...", [...]]'),
    (put("int", ATTRS, "shape", 0), "attrs.shape[0]", "must start with 'list_'"),
    (put([0, 1], "arg_nodes"), "arg_nodes", "has 2 items, and the nodes make it 3"),
    (put([0, 1, 3], "arg_nodes"), "arg_nodes[2]", "is 3, and the nodes make it 2"),
    (put(6, "node_row_ptr", 5), "node_row_ptr[5]", "is 6, and the nodes make it 5"),
    # operators
    (put("cvm", "nodes", 3, "op"), "node fc.op", "'cvm' is neither 'null' nor 'cvm_op'"),
    (
        put("dens_3", "nodes", 3, "attrs", "func_name"),
        "node fc",
        "there is no operator 'dens'; did you mean 'dense'?",
    ),
    (put("get_valid_counts", "nodes", 4, "attrs", "func_name"), "node_row_ptr[5]", "make it 6"),
    # references
    (put([9, 0, 0], "nodes", 4, "inputs", 0), "node cut", "input 0 refers to node 9"),
    (put([-1, 0, 0], "nodes", 4, "inputs", 0), "node cut", "input 0 refers to node -1"),
    (put([3, 1, 0], "nodes", 4, "inputs", 0), "node cut", "refers to output 1 of node fc"),
    (put([3, 0], "nodes", 4, "inputs", 0), "node cut.inputs[0]", "must be [node, output, version]"),
    (put([], "heads"), "heads", "there must be at least one head"),
    (put([5, 0, 0], "heads", 0), "heads[0]", "the head refers to node 5"),
    (put([4, 1, 0], "heads", 0), "heads[0]", "refers to output 1 of node cut, which has 1"),
    (swapped, "node fc", "the nodes form a cycle: fc <- cut <- fc"),
    (put([4, 0, 0], "nodes", 4, "inputs", 0), "node cut", "form a cycle: cut <- cut"),
    (put("w", "nodes", 3, "name"), "node w", "nodes 1 and 3 have the same name"),
    (put([[0, 0, 0]], "nodes", 1, "inputs"), "node w", "a variable has no inputs"),
    # limits
    (put([], ATTRS, "shape", 1, 1), "node w", "1 to 6 dimensions, not 0"),
    (put([1] * 7, ATTRS, "shape", 1, 1), "node w", "1 to 6 dimensions, not 7"),
    (put([2, 0], ATTRS, "shape", 1, 1), "node w", "extent 0 of dimension 1"),
    (put([2**24 + 1], ATTRS, "shape", 1, 1), "node w", "extent 16777217 of dimension 0"),
    (put([2**24, 65], ATTRS, "shape", 1, 1), "node w", "elements are more than 1073741824"),
    (put(33, ATTRS, "precision", 1, 1), "node w", "precision 33 is not in 1..32"),
    (put(0, ATTRS, "precision", 1, 1), "node w", "precision 0 is not in 1..32"),
    (put(-2, ATTRS, "precision", 1, 3), "node fc", "precision -2 is not in 1..32"),
    (put(-1, ATTRS, "precision", 1, 1), "node w", "the precision of a variable must be set"),
    (drop("attrs", "precision"), "node data", "the precision of a variable must be set"),
    (put("cvm_9", "version"), "version", "version 'cvm_9' is not supported"),
    # attributes
    (put("{", ATTRS, "op_attrs", 1, 3), "node fc, op_attrs, line 1, column 2", "is not JSON"),
    (put("[]", ATTRS, "op_attrs", 1, 3), "node fc, op_attrs", "must be an object"),
    (
        put('{"units": 2}', ATTRS, "op_attrs", 1, 3),
        "node fc, attribute units",
        "must be a string, not the number 2",
    ),
    (
        put('{"units": "2.5"}', ATTRS, "op_attrs", 1, 3),
        "node fc, attribute units",
        "'2.5' is neither an integer",
    ),
    (
        put('{"units": "2", "units": "3"}', ATTRS, "op_attrs", 1, 3),
        "node fc, op_attrs",
        "the key 'units' is there twice",
    ),
]


@pytest.mark.parametrize(("edit", "where", "rule"), DAMAGED)
def test_damage_is_named_with_its_place(edit: Edit, where: str, rule: str) -> None:
    table = copy.deepcopy(small_json())
    edit(table)
    with pytest.raises(ModelError) as caught:
        parse_symbol(encoded(table), "m.json")
    assert (caught.value.where or "") == where
    assert rule in caught.value.rule
    assert str(caught.value).startswith("m.json: ")


TEXTS = [
    (b"", "line 1, column 1", "is not JSON"),
    (b'{\n  "nodes": [,]\n}', "line 2, column 13", "is not JSON: Expecting value"),
    (b'{"a": "\xff"}', "byte 7", "is not UTF-8"),
    (b"[1, 2]", "", "must be an object, not a list of 2"),
    (b'{"a": 1, "a": 2}', "", "the key 'a' is there twice"),
    (b"[" * 100_000, "", "is not usable JSON"),
    (b"[" + b"9" * 10_000 + b"]", "", "is not usable JSON"),
]


@pytest.mark.parametrize(("data", "where", "rule"), TEXTS)
def test_texts_that_are_no_graph(data: bytes, where: str, rule: str) -> None:
    with pytest.raises(ModelError) as caught:
        parse_symbol(data, "m.json")
    assert (caught.value.where or "") == where
    assert rule in caught.value.rule


SMALL = encoded(small_json())


def place_of_damage(data: bytes) -> str | None:
    try:
        parse_symbol(data, "m.json")
    except ModelError as error:
        return error.file
    return "m.json"


@given(st.integers(0, len(SMALL) - 1), st.binary(max_size=3), st.integers(0, 3))
def test_changed_bytes_never_raise_anything_else(at: int, new: bytes, dropped: int) -> None:
    assert place_of_damage(SMALL[:at] + new + SMALL[at + dropped :]) == "m.json"


def test_any_order_of_nodes_is_put_in_order() -> None:
    symbol = graph(
        use("last", "relu", [2], (2,)),
        variable("data", (2,)),
        use("first", "relu", [1], (2,)),
        heads=[(0, 0)],
    )
    assert execution_order(symbol) == (1, 2, 0)
    assert parse_symbol(format_symbol(symbol)) == symbol


def test_a_long_chain_needs_no_recursion() -> None:
    count = 5000
    nodes = [use(f"n{i}", "relu", [i + 1], (1,)) for i in range(count)]
    symbol = graph(*nodes, variable("data", (1,)), heads=[(0, 0)])
    assert execution_order(symbol) == tuple(range(count, -1, -1))
    back = graph(*nodes, use("data", "relu", [17], (1,)), heads=[(0, 0)])
    with pytest.raises(ModelError, match="form a cycle: n17 <- n18 <- "):
        execution_order(back)


def test_each_graph_that_is_written_is_valid() -> None:
    with pytest.raises(ModelError, match="at least one head"):
        format_symbol(SymbolGraph((variable("data", (1,)),), ()))
    with pytest.raises(ModelError, match="refers to node 3"):
        validate(graph(variable("data", (1,)), heads=[(3, 0)]))


def test_operator_texts_for_each_node_or_for_each_output() -> None:
    """Several outputs: the existing runtime keeps one text for each node."""
    outputs = (NodeOutput((1,)), NodeOutput((1, 4, 6)))
    symbol = graph(
        variable("data", (1, 4, 6)),
        use("count", "get_valid_counts", [0], *outputs, score_threshold=3),
        use("kept", "relu", [(1, 1)], (1, 4, 6)),
        heads=[(1, 0), (2, 0)],
    )
    written = format_symbol(symbol)
    assert parse_symbol(written) == symbol
    table = json.loads(written)
    assert table["node_row_ptr"] == [0, 1, 3, 4]
    assert len(table["attrs"]["op_attrs"][1]) == 4
    del table["attrs"]["op_attrs"][1][2]
    assert parse_symbol(encoded(table)) == symbol


def test_storage_is_kept_or_made_different_for_each_output() -> None:
    table = small_json()
    table["attrs"]["storage_id"][1] = [4, 3, 2, 0, 0]
    written = json.loads(format_symbol(parse_symbol(encoded(table))))
    assert written["attrs"]["storage_id"] == ["list_int", [4, 3, 2, 0, 0]]
    fresh = graph(variable("data", (1,)), use("r", "relu", [0], (1,)))
    assert json.loads(format_symbol(fresh))["attrs"]["storage_id"] == ["list_int", [0, 1]]


def test_files(tmp_path: Path) -> None:
    symbol = parse_symbol(encoded(small_json()))
    path = tmp_path / "symbol.json"
    write_symbol(path, symbol)
    assert read_symbol(path) == symbol
    assert read_symbol(path).file == str(path)
    with pytest.raises(ModelError, match="cannot be read"):
        read_symbol(tmp_path / "none.json")
    with pytest.raises(ModelError, match="cannot be written"):
        write_symbol(tmp_path / "no folder" / "symbol.json", symbol)


def test_a_file_that_begins_with_a_mark(tmp_path: Path) -> None:
    digits = Path(__file__).resolve().parents[2] / "examples/digits/digits.json"
    marked = tmp_path / "digits.json"
    marked.write_bytes(b"\xef\xbb\xbf" + digits.read_bytes())
    assert read_symbol(marked).nodes == read_symbol(digits).nodes
