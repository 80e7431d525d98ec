"""The operators of ONNX and of ONNX Runtime that have a translation, by domain and name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from cvmgen.graph.onnx import moves, pointwise, products
from cvmgen.graph.onnx.node import GraphTensor, Node

Translator = Callable[[Node], GraphTensor | list[GraphTensor]]
MICROSOFT: Final = "com.microsoft"

OPERATORS: Final[Mapping[str, Translator]] = MappingProxyType(
    {
        "Abs": pointwise.single("abs"),
        "Add": pointwise.paired("add"),
        "And": pointwise.paired("logical_and"),
        "ArgMax": pointwise.placed("arg_max"),
        "ArgMin": pointwise.placed("arg_min"),
        "Cast": pointwise.cast,
        "Clip": pointwise.clip,
        "Concat": moves.concat,
        "ConvInteger": products.conv_integer,
        "DequantizeLinear": pointwise.dequantize_linear,
        "Div": pointwise.paired("div"),
        "DynamicQuantizeLinear": pointwise.dynamic_quantize_linear,
        "Equal": pointwise.paired("equal"),
        "Expand": moves.expand,
        "Flatten": moves.flatten,
        "Gather": moves.gather,
        "Greater": pointwise.paired("less", turned=True),
        "GreaterOrEqual": pointwise.paired("less_or_equal", turned=True),
        "Identity": pointwise.identity,
        "Less": pointwise.paired("less"),
        "LessOrEqual": pointwise.paired("less_or_equal"),
        "MatMulInteger": products.matmul_integer,
        "Max": pointwise.paired("max"),
        "MaxPool": products.max_pool,
        "Min": pointwise.paired("min"),
        "Mul": pointwise.paired("mul"),
        "Neg": pointwise.single("neg"),
        "Not": pointwise.single("logical_not"),
        "Or": pointwise.paired("logical_or"),
        "Pad": moves.pad,
        "QLinearConv": products.qlinear_conv,
        "QLinearMatMul": products.qlinear_matmul,
        "QuantizeLinear": pointwise.quantize_linear,
        "ReduceMax": pointwise.reduced("reduce_max"),
        "ReduceMin": pointwise.reduced("reduce_min"),
        "ReduceSum": pointwise.reduced("reduce_sum"),
        "Relu": pointwise.single("relu"),
        "Reshape": moves.reshape,
        "Slice": moves.slice_,
        "Split": moves.split,
        "Squeeze": moves.squeeze,
        "Sub": pointwise.paired("sub"),
        "Tile": moves.tile,
        "Transpose": moves.transpose,
        "Unsqueeze": moves.unsqueeze,
        "Where": pointwise.where,
        f"{MICROSOFT}.QLinearAdd": pointwise.linear_pair("qlinear_add"),
        f"{MICROSOFT}.QLinearGlobalAveragePool": pointwise.linear("qlinear_global_average_pool"),
        f"{MICROSOFT}.QLinearLeakyRelu": pointwise.linear("qlinear_leaky_relu"),
        f"{MICROSOFT}.QLinearMul": pointwise.linear_pair("qlinear_mul"),
        f"{MICROSOFT}.QLinearSigmoid": pointwise.linear("qlinear_sigmoid"),
    }
)

WHOLE_GRAPHS: Final = ("If", "Loop", "Scan", "SequenceMap")
"""Operators that hold graphs, which of them run is known only while a model runs."""
