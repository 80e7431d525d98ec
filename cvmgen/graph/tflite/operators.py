"""The operators of TensorFlow Lite that have a translation, by their names in the schema: what its
kernels for microcontrollers compute, and in `ROUNDINGS` what other kernels do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from cvmgen.graph.tflite import convolutions, memory, moves, pointwise, xnnpack
from cvmgen.graph.tflite.node import Node

Translator = Callable[[Node], int | list[int]]

OPERATORS: Final[MappingProxyType[str, Translator]] = MappingProxyType(
    {
        "ABS": pointwise.absolute,
        "ADD": pointwise.add,
        "ARG_MAX": pointwise.arg_max,
        "ARG_MIN": pointwise.arg_min,
        "AVERAGE_POOL_2D": convolutions.average_pool_2d,
        "BATCH_MATMUL": convolutions.batch_matmul,
        "BATCH_TO_SPACE_ND": moves.batch_to_space_nd,
        "BROADCAST_TO": moves.broadcast_to,
        "CONCATENATION": moves.concatenation,
        "CONV_2D": convolutions.conv_2d,
        "CUMSUM": pointwise.cumsum,
        "DEPTHWISE_CONV_2D": convolutions.depthwise_conv_2d,
        "DEPTH_TO_SPACE": moves.depth_to_space,
        "DEQUANTIZE": pointwise.dequantize,
        "ELU": pointwise.elu,
        "EQUAL": pointwise.equal,
        "EXP": pointwise.exp,
        "EXPAND_DIMS": moves.reshape,
        "FULLY_CONNECTED": convolutions.fully_connected,
        "GATHER": moves.gather,
        "GREATER": pointwise.greater,
        "GREATER_EQUAL": pointwise.greater_equal,
        "HARD_SWISH": pointwise.hard_swish,
        "LEAKY_RELU": pointwise.leaky_relu,
        "LESS": pointwise.less,
        "LESS_EQUAL": pointwise.less_equal,
        "LOGISTIC": pointwise.logistic,
        "MAXIMUM": pointwise.maximum,
        "MAX_POOL_2D": convolutions.max_pool_2d,
        "MEAN": pointwise.mean,
        "MINIMUM": pointwise.minimum,
        "MIRROR_PAD": moves.mirror_pad,
        "MUL": pointwise.mul,
        "PACK": moves.pack,
        "PAD": moves.pad,
        "PADV2": moves.pad,
        "PRELU": pointwise.prelu,
        "QUANTIZE": pointwise.quantize,
        "REDUCE_MAX": pointwise.reduce_max,
        "REDUCE_MIN": pointwise.reduce_min,
        "RELU": pointwise.relu,
        "RELU6": pointwise.relu6,
        "RESHAPE": moves.reshape,
        "RESIZE_BILINEAR": moves.resize_bilinear,
        "SHAPE": moves.shape,
        "SLICE": moves.slice_,
        "SOFTMAX": pointwise.softmax,
        "SPACE_TO_BATCH_ND": moves.space_to_batch_nd,
        "SPACE_TO_DEPTH": moves.space_to_depth,
        "SPLIT": moves.split,
        "SPLIT_V": moves.split_v,
        "SQUARED_DIFFERENCE": pointwise.squared_difference,
        "SQUEEZE": moves.reshape,
        "STRIDED_SLICE": moves.strided_slice,
        "SUB": pointwise.sub,
        "SVDF": memory.svdf,
        "TANH": pointwise.tanh,
        "TRANSPOSE": moves.transpose,
        "TRANSPOSE_CONV": convolutions.transpose_conv,
        "UNPACK": moves.unpack,
    }
)

# LiteRT's reference kernels, and XNNPACK's for x86-64. Operators that stand in no table of theirs
# give the same as those for microcontrollers.
LITERT: Final[Mapping[str, Translator]] = {
    "FULLY_CONNECTED": partial(convolutions.fully_connected, operator="fully_connected_once")
}
XNNPACK: Final[Mapping[str, Translator]] = {
    "ADD": xnnpack.add,
    "CONV_2D": xnnpack.conv_2d,
    "DEPTHWISE_CONV_2D": xnnpack.depthwise_conv_2d,
    "FULLY_CONNECTED": xnnpack.fully_connected,
    "LEAKY_RELU": xnnpack.leaky_relu,
    "MEAN": xnnpack.mean,
    "MUL": xnnpack.mul,
    "QUANTIZE": xnnpack.quantize,
    "RESIZE_BILINEAR": xnnpack.resize_bilinear,
    "SUB": xnnpack.sub,
    "TRANSPOSE_CONV": xnnpack.transpose_conv,
}
ROUNDINGS: Final[Mapping[str, Mapping[str, Translator]]] = {
    "tflm": OPERATORS,
    "litert": {**OPERATORS, **LITERT},
    "xnnpack": {**OPERATORS, **XNNPACK},
}
