"""Every operator of graphs, in a graph of one node: each target gives what the formula says.

A row has the operator's name in graphs, its attributes as a file has them, and the call of our
operator that this stands for. A row whose operator has no formula yet is skipped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from cvmgen.errors import ModelError
from cvmgen.graph import load
from cvmgen.graph.names import OPERATORS
from cvmgen.graph.plan import make_plan
from cvmgen.graph.symbol import NodeOutput, OutputReference, SymbolGraph, SymbolNode
from cvmgen.graph.symbol_file import format_symbol, parse_symbol
from cvmgen.graph.values import parse_value
from tests.conformance.calls import Array, Call, Conformance
from tests.graph.stubs import graph, use, variable
from tests.targets import TARGETS

Texts = Mapping[str, str]


def ramp(*shape: int, precision: int = 8) -> Array:
    """Values from all over a precision, in no order."""
    limit = (1 << (precision - 1)) - 1
    return (np.arange(int(np.prod(shape))).reshape(shape) * 37 % (2 * limit + 1) - limit).astype(
        np.int32
    )


def call(operator: str, *inputs: Any, precisions: Any = None, **attributes: Any) -> Call:
    """A call of our operator; the precision of an input is 8 unless `precisions` are given."""
    every = [[8] * len(each) if isinstance(each, list) else 8 for each in inputs]
    return Call(f"cvm.{operator}", inputs, attributes, tuple(precisions or every))


def alike(*names: str) -> list[tuple[str, Texts, Call]]:
    """Operators of two tensors without attributes."""
    return [(name, {}, call(name, ramp(2, 3), ramp(2, 3)[::-1])) for name in names]


A, B, C = ramp(2, 3), ramp(3), ramp(2, 3, 4)
IMAGE = ramp(1, 2, 5, 4)
KERNEL, GROUPED, BIAS = ramp(2, 2, 3, 2), ramp(2, 1, 3, 2), ramp(2)
CONDITION = np.array([[0, 1, -1], [2, 0, 0]], np.int32)
INDICES = np.array([[1, 9], [-3, 0]], np.int32)
# Class, score, corners: the first two of class 1 overlap, and so does the third, of class 2.
BOXES = np.array(
    [
        [
            [1, 60, 0, 0, 10, 10],
            [1, 90, 1, 0, 11, 10],
            [2, 80, 0, 1, 10, 11],
            [-1, 99, 40, 40, 50, 50],
            [1, 20, 70, 70, 90, 90],
        ]
    ],
    np.int32,
)
VALID = np.array([4], np.int32)
NMS = {"iou_threshold": 50, "max_output_size": 2, "force_suppress": True, "top_k": 3}
ALL_BOXES = {"iou_threshold": 30, "max_output_size": -1, "force_suppress": False, "top_k": -1}

ROWS: list[tuple[str, Texts, Call]] = [
    *alike("broadcast_add", "broadcast_sub", "broadcast_mul", "broadcast_div"),
    *alike("broadcast_max", "broadcast_greater", "elemwise_add", "elemwise_sub"),
    ("broadcast_sub", {}, call("broadcast_sub", B, A)),
    *((name, {}, call(name, A)) for name in ("relu", "abs", "negative", "cvm_precision")),
    ("flatten", {}, call("batch_flatten", C)),
    ("where", {}, call("where", CONDITION, A, -A, precisions=(3, 8, 8))),
    ("where", {}, call("where", CONDITION[:, 0], A, -A, precisions=(3, 8, 9))),
    ("sum", {}, call("sum", C)),
    ("sum", {"axis": "(1, 2)", "dtype": "int32"}, call("sum", C, axes=(1, 2))),
    ("sum", {"axis": "-1", "keepdims": "true"}, call("sum", C, axes=(-1,), keepdims=True)),
    ("sum", {"axis": "[0]", "exclude": "True"}, call("sum", C, axes=(0,), exclude=True)),
    ("max", {"axis": "()", "keepdims": "0"}, call("max", C)),
    (
        "max",
        {"axis": "[1]", "keepdims": "1", "exclude": "false", "dtype": "int32"},
        call("max", C, axes=(1,), keepdims=True),
    ),
    ("conv2d", {"padding": "[1, 0]"}, call("conv2d", IMAGE, KERNEL, padding=(1, 0))),
    (
        "conv2d",
        {
            "strides": "(2, 1)",
            "padding": "(2, 1)",
            "dilation": "(1, 2)",
            "groups": "2",
            "channels": "2",
            "kernel_size": "[3, 2]",
            "use_bias": "True",
            "layout": "NCHW",
            "kernel_layout": "OIHW",
        },
        call(
            "conv2d",
            IMAGE,
            GROUPED,
            BIAS,
            stride=(2, 1),
            padding=(2, 1),
            dilation=(1, 2),
            groups=2,
        ),
    ),
    ("dense", {"units": "2", "use_bias": "False"}, call("dense", A, -A)),
    ("dense", {"use_bias": "true"}, call("dense", A, -A, BIAS, precisions=(8, 8, 20))),
    (
        "max_pool2d",
        {"pool_size": "(2, 3)", "strides": "(2, 2)", "padding": "1", "layout": "NCHW"},
        call("max_pool2d", IMAGE, pool_size=(2, 3), strides=(2, 2), padding=(1, 1)),
    ),
    (
        "max_pool2d",
        {"pool_size": "[3, 3]", "strides": "[2, 2]", "padding": "(1, 0)", "ceil_mode": "True"},
        call("max_pool2d", IMAGE, pool_size=(3, 3), strides=(2, 2), padding=(1, 0), ceil_mode=True),
    ),
    (
        "upsampling",
        {"scale": "2", "layout": "NCHW", "method": "NEAREST_NEIGHBOR"},
        call("upsampling", IMAGE, scale=2),
    ),
    ("clip", {"a_min": "-19", "a_max": "10"}, call("clip", A, a_min=-19, a_max=10)),
    ("cvm_clip", {"precision": "5", "is_sign": "True"}, call("cvm_clip", A, precision=5)),
    *(
        (
            name,
            {"precision": "6", "shift_bit": "2", "is_sign": "1"},
            call(name, A, precision=6, shift_bit=2),
        )
        for name in ("cvm_left_shift", "cvm_right_shift")
    ),
    ("repeat", {"axis": "-2", "repeats": "3"}, call("repeat", A, axis=-2, repeats=3)),
    ("tile", {"reps": "(2, 1, 2)"}, call("tile", A, reps=(2, 1, 2))),
    ("tile", {"reps": "2"}, call("tile", A, reps=(2,))),
    (
        "concatenate",
        {},
        call("concatenate", [A, A[:, :1], -A], axis=1, precisions=[[8, 9, 11]]),
    ),
    ("concatenate", {"axis": "-2"}, call("concatenate", [A, A[:1]], axis=-2)),
    ("concatenate", {"axis": "0"}, call("concatenate", [A], axis=0)),
    ("expand_dims", {"axis": "-1"}, call("expand_dims", A, axis=-1, num_newaxis=1)),
    (
        "expand_dims",
        {"axis": "1", "num_newaxis": "3"},
        call("expand_dims", A, axis=1, num_newaxis=3),
    ),
    ("reshape", {"shape": "(4, 6)"}, call("reshape", C, target_shape=(4, 6))),
    ("reshape", {"shape": "[0, -1]"}, call("reshape", C, target_shape=(2, 12))),
    ("reshape", {"shape": "(1, -2)"}, call("reshape", C[:1], target_shape=(1, 3, 4))),
    ("reshape", {"shape": "(-3, -4, 2, -1)"}, call("reshape", C, target_shape=(6, 2, 2))),
    ("reshape", {"shape": "-1"}, call("reshape", C, target_shape=(24,))),
    ("squeeze", {}, call("squeeze", C[:1, :, :1])),
    ("squeeze", {"axis": "0"}, call("squeeze", C[:1, :, :1], axes=(0,))),
    ("squeeze", {"axis": "(-1, 0)"}, call("squeeze", C[:1, :, :1], axes=(-1, 0))),
    ("squeeze", {}, call("squeeze", C[:1, :1, :1])),
    ("transpose", {}, call("transpose", C)),
    ("transpose", {"axes": "()"}, call("transpose", C)),
    ("transpose", {"axes": "[1, -1, 0]"}, call("transpose", C, axes=(1, -1, 0))),
    ("strided_slice", {}, call("slice", C)),
    (
        "strided_slice",
        {"begin": "[0, -1]", "end": "(2, 0)", "stride": "(1, -1)"},
        call("slice", C, begin=(0, -1), end=(2, 0), strides=(1, -1)),
    ),
    (
        "strided_slice",
        {"begin": "1", "end": "[99, 3, -1]"},
        call("slice", C, begin=(1,), end=(99, 3, -1)),
    ),
    ("slice_like", {}, call("slice_like", C, C[:1, :2])),
    ("slice_like", {"axis": "()"}, call("slice_like", C, C[:1, :2])),
    ("slice_like", {"axis": "-2"}, call("slice_like", C, C[:1, :2], axes=(-2,))),
    ("slice_like", {"axis": "(0, 1)"}, call("slice_like", C, A[:1, :2], axes=(0, 1))),
    ("take", {}, call("take", A, INDICES, precisions=(8, 5))),
    ("take", {"axis": "None"}, call("take", A, INDICES, precisions=(8, 5))),
    ("take", {"axis": "-1"}, call("take", A, INDICES, axis=-1, precisions=(8, 5))),
    ("cvm_lut", {"in_dim": "6"}, call("cvm_lut", INDICES, A, precisions=(5, 8))),
    (
        "get_valid_counts",
        {"score_threshold": "60"},
        call("get_valid_count", BOXES, score_threshold=60),
    ),
    (
        "non_max_suppression",
        {
            "iou_threshold": "50",
            "max_output_size": "2",
            "force_suppress": "True",
            "top_k": "3",
            "return_indices": "False",
            "invalid_to_bottom": "True",
            "id_index": "0",
            "score_index": "1",
            "coord_start": "2",
        },
        call("non_max_suppression", BOXES, VALID, **NMS),
    ),
    (
        "non_max_suppression",
        {
            "iou_threshold": "30",
            "max_output_size": "-1",
            "force_suppress": "false",
            "top_k": "-1",
        },
        call("non_max_suppression", BOXES, VALID, **ALL_BOXES),
    ),
]


def named(rows: Sequence[tuple[str, Texts, Call]]) -> list[str]:
    return [" ".join([name, *map("=".join, texts.items())]) for name, texts, _ in rows]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("name", "texts", "ours"), ROWS, ids=named(ROWS))
def test_a_graph_of_one_node(
    conformance: Conformance, target: str, name: str, texts: Texts, ours: Call
) -> None:
    if ours.operator not in conformance.references:
        pytest.skip(f"there is no formula of the operator {ours.operator} yet")
    expected = conformance.expected(ours)
    assert not expected.refusal, "a row is a call that the formula admits"
    outputs = expected.outputs
    symbol, arrays = one_node(
        name, texts, ours, [NodeOutput(o.shape, o.precision) for o in outputs]
    )
    network = load(symbol, arrays, operators=conformance.libraries[target])
    found = network(arrays["data"])
    assert network.nodes[0].operator == ours.operator.removeprefix("cvm.")
    results = found if isinstance(found, tuple) else (found,)
    for result, output in zip(results, outputs, strict=True):
        assert result.shape == output.shape
        assert result.ravel().tolist() == output.values


def one_node(
    name: str, texts: Texts, ours: Call, outputs: Sequence[NodeOutput]
) -> tuple[SymbolGraph, dict[str, Array]]:
    """The graph, as reading its file gives it, and an array for each variable."""
    arrays, precisions = flat(ours.inputs), flat(ours.precisions or ())
    names = ["data", *(f"parameter{index}" for index in range(1, len(arrays)))]
    nodes = [
        variable(each, array.shape, precision)
        for each, array, precision in zip(names, arrays, precisions, strict=True)
    ]
    attributes = tuple((each, parse_value(text)) for each, text in texts.items())
    sources = tuple(map(OutputReference, range(len(nodes))))
    node = SymbolNode("node", tuple(outputs), name, sources, attributes)
    heads = [(len(nodes), index) for index in range(len(outputs))]
    symbol = graph(*nodes, node, heads=heads)
    return parse_symbol(format_symbol(symbol)), dict(zip(names, arrays, strict=True))


def flat(items: Sequence[Any]) -> list[Any]:
    """The items, and those of lists among them."""
    return [one for each in items for one in (each if isinstance(each, list) else [each])]


def test_every_operator_and_attribute_has_a_row() -> None:
    used = {name: set().union(*(t for n, t, _ in ROWS if n == name)) for name in OPERATORS}
    assert {name for name, _, _ in ROWS} == set(OPERATORS)
    assert used == {name: set(known.attributes) for name, known in OPERATORS.items()}


LACKING: list[tuple[str, str, dict[str, Any]]] = [
    ("relu", "relu", {}),
    ("concatenate", "concatenate", {}),
    ("reshape", "reshape", {"shape": (-1,)}),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("name", "operator", "attributes"), LACKING)
def test_a_node_without_inputs(
    conformance: Conformance, target: str, name: str, operator: str, attributes: dict[str, Any]
) -> None:
    if f"cvm.{operator}" not in conformance.references:
        pytest.skip(f"there is no formula of the operator cvm.{operator} yet")
    node = use("none", name, [], (6,), **attributes)
    with pytest.raises(ModelError, match=r"input is (missing|needed)") as caught:
        make_plan(graph(variable("data", (6,)), node), conformance.libraries[target])
    assert caught.value.where == "node none"
