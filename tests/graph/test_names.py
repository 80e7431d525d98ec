"""Names and attributes of graphs, translated to ours or checked against the shapes."""

from __future__ import annotations

import pytest

from cvmgen.graph.names import OPERATORS, AttributeFault, Shapes, check_shapes, our_operator
from cvmgen.graph.values import Value

Attributes = dict[str, Value]

TRANSLATED: list[tuple[str, Attributes, str, Attributes]] = [
    ("flatten", {}, "batch_flatten", {}),
    ("relu", {}, "relu", {}),
    (
        "conv2d",
        {
            "strides": (2, 2),
            "use_bias": True,
            "padding": (1, 1),
            "groups": 1,
            "dilation": (1, 1),
            "channels": 16,
            "layout": "NCHW",
            "kernel_layout": "OIHW",
            "kernel_size": (3, 3),
        },
        "conv2d",
        {"stride": (2, 2), "padding": (1, 1), "groups": 1, "dilation": (1, 1)},
    ),
    ("dense", {"use_bias": False, "units": 10}, "dense", {}),
    ("sum", {"axis": (2, 3)}, "sum", {"axes": (2, 3)}),
    ("max", {"axis": -1, "keepdims": 1}, "max", {"axes": (-1,), "keepdims": True}),
    ("sum", {"exclude": "false"}, "sum", {"exclude": False}),
    ("max_pool2d", {"padding": 1}, "max_pool2d", {"padding": (1, 1)}),
    ("max_pool2d", {"padding": (2,)}, "max_pool2d", {"padding": (2, 2)}),
    ("max_pool2d", {"pool_size": (2, 3)}, "max_pool2d", {"pool_size": (2, 3)}),
    ("cvm_clip", {"precision": 8, "is_sign": True}, "cvm_clip", {"precision": 8}),
    ("strided_slice", {"begin": (1,), "stride": (2,)}, "slice", {"begin": (1,), "strides": (2,)}),
    ("get_valid_counts", {"score_threshold": 3}, "get_valid_count", {"score_threshold": 3}),
    ("reshape", {"shape": (3, 2)}, "reshape", {"target_shape": (3, 2)}),
    ("reshape", {"shape": (0, -1, 1)}, "reshape", {"target_shape": (2, 3, 1)}),
    ("reshape", {"shape": -1}, "reshape", {"target_shape": (6,)}),
    ("squeeze", {"axis": 0}, "squeeze", {"axes": (0,)}),
    ("take", {"axis": None}, "take", {"axis": None}),
    ("concatenate", {}, "concatenate", {"axis": 1}),
    ("concatenate", {"axis": 0}, "concatenate", {"axis": 0}),
]


@pytest.mark.parametrize(("name", "attributes", "ours", "expected"), TRANSLATED)
def test_translated(name: str, attributes: Attributes, ours: str, expected: Attributes) -> None:
    operator, result = our_operator(name, list(attributes.items()), [(2, 3)])
    assert operator == ours
    assert result == expected
    assert [type(value) for value in result.values()] == [type(v) for v in expected.values()]


REFUSED = [
    ("relu", "alpha", 1, "relu has no such attribute; its attributes: none"),
    ("conv2d", "stride", (1, 1), "conv2d has no such attribute; did you mean 'strides'?"),
    ("conv2d", "padding", 1, "must be a pair of integers, not 1"),
    ("conv2d", "strides", (1, 1, 1), "must be a pair of integers, not (1, 1, 1)"),
    ("conv2d", "groups", True, "must be an integer, not True"),
    ("conv2d", "use_bias", 2, "must be True or False, not 2"),
    ("conv2d", "layout", 1, "must be a word, not 1"),
    ("max_pool2d", "padding", (1, 2, 3), "must be an integer or a pair of integers"),
    ("max_pool2d", "pool_size", 2, "must be a pair of integers"),
    ("sum", "axis", "NCHW", "must be a list of integers, not 'NCHW'"),
    ("sum", "axis", None, "must be a list of integers, not None"),
    ("take", "axis", (1,), "must be an integer or None"),
    ("cvm_clip", "precision", "None", "must be an integer"),
]


@pytest.mark.parametrize(("name", "attribute", "value", "rule"), REFUSED)
def test_refused(name: str, attribute: str, value: Value, rule: str) -> None:
    with pytest.raises(AttributeFault) as caught:
        our_operator(name, [(attribute, value)], [])
    assert caught.value.attribute == attribute
    assert rule in caught.value.rule


CONV = [(1, 3, 8, 8), (16, 3, 5, 3), (16,)]
CHECKED = [
    ("conv2d", "channels", 16, 17, CONV, "16"),
    ("conv2d", "kernel_size", (5, 3), (3, 5), CONV, "(5, 3)"),
    ("conv2d", "use_bias", True, False, CONV, "True"),
    ("conv2d", "use_bias", False, True, CONV[:2], "False"),
    ("conv2d", "layout", "NCHW", "NHWC", CONV, "NCHW"),
    ("conv2d", "kernel_layout", "OIHW", "HWIO", CONV, "OIHW"),
    ("dense", "units", 4, 5, [(1, 3), (4, 3)], "4"),
    ("dense", "use_bias", False, True, [(1, 3), (4, 3)], "False"),
    ("cvm_right_shift", "is_sign", True, False, [(1,)], "True"),
    ("cvm_lut", "in_dim", 6, 5, [(1,), (2, 3)], "6"),
    ("upsampling", "method", "NEAREST_NEIGHBOR", "BILINEAR", [(1, 1, 1, 1)], "NEAREST_NEIGHBOR"),
    ("non_max_suppression", "return_indices", False, True, [(1, 4, 6), (1,)], "False"),
]


@pytest.mark.parametrize(("name", "attribute", "right", "wrong", "shapes", "needed"), CHECKED)
def test_what_only_repeats_the_shapes_is_checked(
    name: str, attribute: str, right: Value, wrong: Value, shapes: Shapes, needed: str
) -> None:
    assert attribute not in our_operator(name, [(attribute, right)], shapes)[1]
    check_shapes(name, [(attribute, right)], shapes)
    with pytest.raises(AttributeFault) as caught:
        check_shapes(name, [(attribute, wrong)], shapes)
    assert str(caught.value) == f"attribute {attribute}: is {wrong}, and the node needs {needed}"


def test_two_outputs_only_where_the_formalization_has_two() -> None:
    several = {name for name, operator in OPERATORS.items() if operator.outputs != 1}
    assert several == {"get_valid_counts"}
