"""Networks: what a call takes and gives, with operators in plain numpy."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cvmgen.errors import ModelError
from cvmgen.graph import Network, load, write_parameters, write_symbol
from cvmgen.graph.symbol import NodeOutput, SymbolNode
from tests.graph.stubs import LIBRARY, graph, use, variable

DATA = variable("data", (2, 3), 4)
NEGATIVE = use("n", "negative", [0], (2, 3))


def network(
    *nodes: SymbolNode, parameters: dict[str, np.ndarray] | None = None, **more: Any
) -> Network:
    return load(graph(*nodes, **more), parameters or {}, operators=LIBRARY)


def test_what_a_network_tells_about_itself() -> None:
    net = network(DATA, NEGATIVE)
    assert net.input_shape == (2, 3)
    assert net.input_precision == 4
    assert net.output_shapes == ((2, 3),)
    assert net.output_precisions == (4,)
    assert net.peak_bytes == net.total_bytes == 2 * 64, "two tensors of one cache line each"
    assert [step.node for step in net.nodes] == ["n"]
    assert repr(net) == "<Network model.json (2, 3) -> (2, 3), 1 nodes>"


INTEGER_TYPES = [np.dtype(kind) for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4")]


@pytest.mark.parametrize("dtype", INTEGER_TYPES, ids=str)
def test_values_are_clamped_to_the_precision(dtype: np.dtype) -> None:
    info = np.iinfo(dtype)
    x = np.array([[info.min, info.max, 0], [1, 7, 8]], dtype)
    low = 7 if info.min < 0 else 0
    np.testing.assert_array_equal(network(DATA, NEGATIVE)(x), [[low, -7, 0], [-1, -7, -7]])


@pytest.mark.parametrize("dtype", INTEGER_TYPES, ids=str)
def test_a_precision_wider_than_the_type(dtype: np.dtype) -> None:
    info = np.iinfo(dtype)
    x = np.array([info.min, info.max], dtype)
    wide = network(variable("data", (2,), 32), use("n", "negative", [0], (2,)))
    limit = 2**31 - 1
    expected = [-max(info.min, -limit), -min(info.max, limit)]
    np.testing.assert_array_equal(wide(x), expected)


REFUSED = [
    (np.zeros((3, 2), np.int8), r"must have shape \(2, 3\), not \(3, 2\)"),
    (np.zeros((1, 2, 3), np.int8), "must have shape"),
    (np.zeros((2, 3)), "must hold integers, not float64"),
    (np.zeros((2, 3), bool), "must hold integers, not bool"),
    (None, "must hold integers, not object"),
]


@pytest.mark.parametrize(("x", "rule"), REFUSED)
def test_inputs_that_are_refused(x: Any, rule: str) -> None:
    with pytest.raises(ModelError, match=rule) as caught:
        network(DATA, NEGATIVE)(x)
    assert caught.value.where == "node data"


@pytest.mark.parametrize(("precision", "dtype"), [(8, np.int8), (9, np.int32), (1, np.int8)])
def test_the_result_is_int8_when_its_precision_allows(precision: int, dtype: type) -> None:
    net = network(DATA, use("c", "cvm_clip", [0], (2, 3), precision=precision))
    assert net(np.zeros((2, 3), int)).dtype == dtype


def test_the_widest_head_decides_for_all() -> None:
    net = network(
        DATA,
        use("narrow", "cvm_clip", [0], (2, 3), precision=2),
        use("wide", "elemwise_add", [0, 0], NodeOutput((2, 3), 5)),
        use("wider", "broadcast_mul", [2, 2], NodeOutput((2, 3), 10)),
        heads=[(1, 0), (3, 0), (0, 0)],
    )
    x = np.array([[1, -2, 3], [4, 5, 6]])
    narrow, wider, same = net(x)
    assert narrow.dtype == wider.dtype == same.dtype == np.int32
    np.testing.assert_array_equal(narrow, np.clip(x, -1, 1))
    np.testing.assert_array_equal(wider, 4 * x * x)
    np.testing.assert_array_equal(same, x)
    assert net.output_precisions == (2, 10, 4)


def test_an_operator_with_two_outputs() -> None:
    shape = (1, 3, 2)
    net = network(
        variable("data", shape),
        use("v", "get_valid_counts", [0], (1,), shape, score_threshold=4),
        use("r", "relu", [(1, 1)], shape),
        heads=[(1, 0), (2, 0)],
    )
    count, kept = net(np.array([[[1, 5], [2, 3], [3, 9]]]))
    np.testing.assert_array_equal(count, [2])
    np.testing.assert_array_equal(kept, [[[1, 5], [0, 0], [3, 9]]])


def test_results_are_the_callers_own() -> None:
    net = network(DATA, NEGATIVE, heads=[(1, 0), (1, 0)])
    first, second = net(np.ones((2, 3), int))
    first[...] = 99
    np.testing.assert_array_equal(second, -1)
    third, _ = net(np.full((2, 3), 2))
    np.testing.assert_array_equal(second, -1)
    np.testing.assert_array_equal(third, -2)


def test_a_head_may_be_a_parameter_and_the_input_unused() -> None:
    w = np.array([3, -3], np.int8)
    net = network(DATA, variable("w", (2,)), heads=[(1, 0)], parameters={"w": w})
    result = net(np.zeros((2, 3), int))
    np.testing.assert_array_equal(result, w)
    result[...] = 0
    np.testing.assert_array_equal(net(np.zeros((2, 3), int)), w)
    assert net.peak_bytes == 0


def test_changing_a_parameter_array_later_changes_nothing() -> None:
    w = np.array([[1, 2, 3]], np.int32)
    net = network(
        DATA, variable("w", (1, 3)), use("d", "dense", [0, 1], (2, 1)), parameters={"w": w}
    )
    w[...] = 0
    np.testing.assert_array_equal(net(np.ones((2, 3), int)), [[6], [6]])


def test_a_step_that_fails_is_named() -> None:
    net = network(DATA, use("boom", "abs", [0], (2, 3)))
    with pytest.raises(ModelError, match="fails when it runs") as caught:
        net(np.zeros((2, 3), int))
    assert str(caught.value) == "model.json: node boom: abs: X = 1: fails when it runs"


def test_more_memory_than_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is the machine's, so the test plays a machine that has none."""

    def refuse(size: int, dtype: type) -> None:
        raise MemoryError(size)

    monkeypatch.setattr(np, "zeros", refuse)
    with pytest.raises(ModelError, match="need 128 bytes, too many here"):
        network(DATA, NEGATIVE)


def test_threads_take_turns() -> None:
    shape = (1, 1000)
    nodes = [variable("data", shape, 16)]
    nodes += [use(f"n{i}", "negative", [i], shape) for i in range(10)]
    net = network(*nodes)
    inputs = [np.full(shape, value) for value in range(200)]
    with ThreadPoolExecutor(8) as pool:
        for x, y in zip(inputs, pool.map(net, inputs), strict=True):
            np.testing.assert_array_equal(x, y)


def test_loading_files(tmp_path: Path) -> None:
    symbol = graph(DATA, variable("w", (1, 3)), use("d", "dense", [0, 1], (2, 1)))
    write_symbol(tmp_path / "m.json", symbol)
    write_parameters(tmp_path / "m.bin", {"w": np.array([[1, 2, 3]], np.int8)})
    net = load(tmp_path / "m.json", str(tmp_path / "m.bin"), operators=LIBRARY)
    np.testing.assert_array_equal(net(np.ones((2, 3), int)), [[6], [6]])
    write_parameters(tmp_path / "m.bin", {})
    with pytest.raises(ModelError, match="node w: the parameter is missing") as caught:
        load(tmp_path / "m.json", tmp_path / "m.bin", operators=LIBRARY)
    assert caught.value.file == str(tmp_path / "m.json")
