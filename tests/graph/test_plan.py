"""Planning: order, inferred shapes and precisions against stated ones, parameters, memory."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from cvmgen.errors import ModelError
from cvmgen.graph.plan import Plan, check_parameters, make_plan
from cvmgen.graph.symbol import NodeOutput, SymbolGraph, SymbolNode
from tests.graph.stubs import LIBRARY, graph, use, variable

DATA = variable("data", (1, 2, 4))


def planned(*nodes: SymbolNode, **more: Any) -> Plan:
    return make_plan(graph(*nodes, **more), LIBRARY)


def test_shapes_and_precisions_flow_through_the_graph() -> None:
    plan = planned(
        DATA,
        use("flat", "flatten", [0], (1, 8)),
        variable("w", (3, 8), 7),
        use("fc", "dense", [1, 2], (1, 3), units=3),
        variable("b", (3,), 30),
        use("biased", "dense", [1, 2, 4], (1, 3), use_bias=True),
        use("out", "elemwise_add", [3, 5], NodeOutput((1, 3), 32)),
    )
    found = {tensor.node: (tensor.shape, tensor.precision) for tensor in plan.tensors}
    assert found["flat"] == ((1, 8), 8)
    assert found["fc"] == ((1, 3), 8 + 7 + 4), "bits(8) is 4"
    assert found["biased"] == ((1, 3), 31), "max(19, 30) + 1"
    assert found["out"] == ((1, 3), 32)
    assert [step.operator for step in plan.steps] == [
        "batch_flatten",
        "dense",
        "dense",
        "elemwise_add",
    ]
    assert plan.variables == {"data": 0, "w": 2, "b": 4}


REFUSED: list[tuple[list[SymbolNode], str, str]] = [
    (
        [DATA, use("r", "relu", [0], (2, 1, 4))],
        "node r",
        "stated shape (2, 1, 4), inferred (1, 2, 4)",
    ),
    (
        [DATA, use("r", "relu", [0], NodeOutput((1, 2, 4), 9))],
        "node r",
        "stated precision 9, inferred 8",
    ),
    (
        [DATA, use("r", "relu", [0], (1, 2, 4), axis=1)],
        "node r",
        "attribute axis: relu has no such attribute; its attributes: none",
    ),
    (
        [DATA, use("c", "cvm_clip", [0], (1, 2, 4), precision="high")],
        "node c",
        "attribute precision: must be an integer, not 'high'",
    ),
    (
        [
            variable("data", (1, 2)),
            variable("w", (3, 2)),
            use("d", "dense", [0, 1], (1, 3), units=4),
        ],
        "node d",
        "attribute units: is 4, and the node needs 3",
    ),
    (
        [DATA, variable("w", (2, 4)), use("a", "elemwise_add", [0, 1], (1, 2, 4))],
        "node a",
        "elemwise_add: B = (2, 4): must be (1, 2, 4)",
    ),
    (
        [variable("data", (1,), 32), use("a", "elemwise_add", [0, 0], (1,))],
        "node a",
        "output precision = 33: must be at most 32",
    ),
    (
        [DATA, use("t", "tile", [0], (1, 2, 4), reps=(1,))],
        "node t",
        "the operator library has no operator 'tile'",
    ),
    (
        [DATA, use("v", "get_valid_counts", [0], (1,), score_threshold=0)],
        "node v",
        "get_valid_count gives 2 outputs",
    ),
    (
        [variable("x", (1,)), use("r", "relu", [0], (1,))],
        "nodes",
        "no variable is named 'data'",
    ),
]


@pytest.mark.parametrize(("nodes", "where", "rule"), REFUSED)
def test_what_does_not_fit_is_named_with_its_node(
    nodes: list[SymbolNode], where: str, rule: str
) -> None:
    with pytest.raises(ModelError) as caught:
        planned(*nodes)
    assert caught.value.file == "model.json"
    assert caught.value.where == where
    assert rule in caught.value.rule


def test_nodes_that_no_head_needs_are_checked_and_not_run() -> None:
    dead = use("dead", "relu", [0], (1, 2, 4))
    plan = planned(DATA, dead, use("out", "negative", [0], (1, 2, 4)))
    assert [step.node for step in plan.steps] == ["out"]
    assert 1 not in plan.layout.offsets
    wrong = use("dead", "relu", [0], (9,))
    with pytest.raises(ModelError, match="node dead: stated shape"):
        planned(DATA, wrong, use("out", "negative", [0], (1, 2, 4)))


# Parameters

WITH_PARAMETER = graph(
    variable("data", (1, 3)), variable("w", (2, 3), 4), use("d", "dense", [0, 1], (1, 2))
)
PARAMETERS = [
    ({}, "the parameter is missing"),
    ({"W": np.zeros((2, 3), np.int8)}, "the parameter is missing"),
    ({"w": np.zeros((3, 2), np.int8)}, r"stated shape \(2, 3\), the parameter has \(3, 2\)"),
    ({"w": np.zeros((2, 3), np.int16)}, "is int16, neither int8 nor int32"),
    (
        {"w": np.array([[0, 7, -7], [0, -8, 0]], np.int8)},
        r"has -8 at \(1, 1\), outside precision 4, which allows -7..7",
    ),
]


@pytest.mark.parametrize(("parameters", "rule"), PARAMETERS)
def test_parameters_that_do_not_fit(parameters: dict[str, np.ndarray], rule: str) -> None:
    with pytest.raises(ModelError, match=rule) as caught:
        check_parameters(WITH_PARAMETER, parameters)
    assert caught.value.where == "node w"


def test_other_parameters_are_left_out() -> None:
    arrays = {"w": np.zeros((2, 3), np.int8), "unused": np.zeros(1), "data": np.zeros(9)}
    assert list(check_parameters(WITH_PARAMETER, arrays)) == ["w"]


@pytest.mark.parametrize(
    ("precision", "limit"), [(1, 0), (8, 127), (31, 2**30 - 1), (32, 2**31 - 1)]
)
def test_the_range_of_each_precision_is_symmetric(precision: int, limit: int) -> None:
    symbol = graph(variable("data", (1,)), variable("w", (2,), precision), heads=[(1, 0)])
    check_parameters(symbol, {"w": np.array([limit, -limit], np.int32)})
    beyond = np.array([0, -limit - 1], np.int32)
    with pytest.raises(ModelError, match="outside precision"):
        check_parameters(symbol, {"w": beyond})


def test_a_precision_wider_than_the_parameters_type() -> None:
    symbol = graph(variable("data", (1,)), variable("w", (2,), 31), heads=[(1, 0)])
    check_parameters(symbol, {"w": np.array([127, -128], np.int8)})


# Memory


def residual(depth: int) -> SymbolGraph:
    """Blocks of two operators with the block's input added to their result."""
    shape = (1, 100)
    nodes = [variable("data", shape)]
    for block in range(depth):
        start = len(nodes) - 1
        nodes += [
            use(f"a{block}", "relu", [start], shape),
            use(f"b{block}", "negative", [start + 1], shape),
            use(f"c{block}", "elemwise_add", [start, start + 2], shape),
        ]
    return graph(*nodes)


SMALL_GRAPHS = [
    (graph(DATA, use("r", "relu", [0], (1, 2, 4))), 2, "input and output of the only step"),
    (residual(1), 3, "the block's input stays until the addition"),
    (residual(9), 3, "blocks reuse the same three buffers"),
    (
        graph(
            DATA,
            use("r", "relu", [0], (1, 2, 4)),
            use("n", "negative", [1], (1, 2, 4)),
            use("m", "negative", [2], (1, 2, 4)),
            heads=[(1, 0), (3, 0)],
        ),
        3,
        "a head is kept to the end",
    ),
    (
        graph(DATA, use("r", "relu", [0], (1, 2, 4)), heads=[(0, 0), (1, 0)]),
        2,
        "the input as a head",
    ),
]


@pytest.mark.parametrize(("symbol", "buffers", "why"), SMALL_GRAPHS)
def test_buffers_are_shared_when_nothing_needs_them(
    symbol: SymbolGraph, buffers: int, why: str
) -> None:
    plan = make_plan(symbol, LIBRARY)
    size = plan.layout.total_bytes // len(plan.layout.offsets)
    assert plan.layout.peak_bytes == buffers * size, why


@pytest.mark.parametrize("symbol", [row[0] for row in SMALL_GRAPHS])
def test_no_step_writes_over_what_is_still_needed(symbol: SymbolGraph) -> None:
    """Replay the steps and keep, for each tensor, the bytes it holds until its last use."""
    plan = make_plan(symbol, LIBRARY)

    def extent(tensor: int) -> tuple[int, int]:
        start = plan.layout.offsets[tensor]
        return start, start + 4 * int(np.prod(plan.tensors[tensor].shape))

    live = {plan.variables["data"]}
    for number, step in enumerate(plan.steps):
        live.update(step.outputs)
        extents = sorted(extent(tensor) for tensor in live)
        assert all(one[1] <= other[0] for one, other in pairwise(extents))
        later = {i for after in plan.steps[number + 1 :] for i in after.inputs}
        live &= later | set(plan.heads)
    assert live == set(plan.heads)
