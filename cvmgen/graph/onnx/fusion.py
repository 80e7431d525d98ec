"""Nodes between DequantizeLinear and QuantizeLinear as quantized operators, as in ONNX Runtime.

A sum of products of real numbers would have no bits that all agree on; that of the integers is
exact. What cuts the result in between, Relu and Clip, cuts the integers: rounding keeps the order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

import numpy as np

from cvmgen.graph.limits import Array
from cvmgen.graph.onnx.file import FileNode
from cvmgen.graph.onnx.node import GraphTensor, Node, Quantized
from cvmgen.graph.onnx.operators import OPERATORS
from cvmgen.graph.onnx.pointwise import quantized_pair, quantized_single
from cvmgen.graph.onnx.products import Scale, quantized_conv, quantized_matmul

Given = Sequence[Quantized]


@dataclass(frozen=True, slots=True)
class End:
    """Where a chain of nodes ends: the QuantizeLinear, what is cut before it, all nodes passed."""

    scale: Scale
    dtype: str
    low: float
    high: float
    result: str
    passed: tuple[int, ...]


def one_scale(node: Node, given: Quantized) -> tuple[GraphTensor, Scale]:
    """A tensor with one scale."""
    if given.scale.size != 1:
        node.refuse(f"{given.name} has {given.scale.size} scales, and must have one")
    scale = float(given.scale.reshape(-1)[0])
    return node.tensor(given.name), Scale(scale, node.one_zero(given.zero))


def weights(node: Node, given: Quantized, axis: int) -> tuple[GraphTensor, Array, int]:
    """Weights with a scale, or with one for each index of an axis."""
    made = node.tensor(given.name)
    if given.scale.size != 1 and given.axis % len(made.shape) != axis % len(made.shape):
        node.refuse(f"the scales of {given.name} are along axis {given.axis}, not {axis}")
    return made, given.scale, node.one_zero(given.zero)


def bias_of(node: Node, given: Given) -> int | None:
    if len(given) < 3:
        return None
    made = node.tensor(given[2].name)
    if node.building.dtype(made.index) != "int32" or node.one_zero(given[2].zero) != 0:
        node.refuse(f"the bias {given[2].name} must be int32 without a zero point")
    return node.shaped(made.index, (int(np.prod(made.shape)),)).index


def conv(node: Node, given: Given, y: Scale) -> GraphTensor:
    x, w = one_scale(node, given[0]), weights(node, given[1], 0)
    return quantized_conv(node, x, w, y, bias_of(node, given))


def matmul(node: Node, given: Given, y: Scale) -> GraphTensor:
    a, b = one_scale(node, given[0]), weights(node, given[1], -1)
    return quantized_matmul(node, a, b, y, None)


def gemm(node: Node, given: Given, y: Scale) -> GraphTensor:
    if node.attribute("alpha", 1.0) != 1 or node.attribute("beta", 1.0) != 1:
        node.refuse("alpha and beta must be 1")
    turned = bool(node.attribute("transB", 0))
    (a, sa), (b, sb, zb) = one_scale(node, given[0]), weights(node, given[1], -2 if turned else -1)
    if node.attribute("transA", 0):
        a = node.step("transpose", a.index, perm=(1, 0))
    if turned:
        b = node.step("transpose", b.index, perm=(1, 0))
    return quantized_matmul(node, (a, sa), (b, sb, zb), y, bias_of(node, given))


def pair(operator: str) -> Callable[[Node, Given, Scale], GraphTensor]:
    return lambda node, given, y: quantized_pair(
        node, operator, one_scale(node, given[0]), one_scale(node, given[1]), y
    )


def _single(operator: str) -> Callable[[Node, Given, Scale], GraphTensor]:
    return lambda node, given, y: quantized_single(node, operator, one_scale(node, given[0]), y)


FUSED: Final[Mapping[str, Callable[[Node, Given, Scale], GraphTensor]]] = MappingProxyType(
    {
        "Add": pair("qlinear_add"),
        "Conv": conv,
        "Gemm": gemm,
        "GlobalAveragePool": _single("qlinear_global_average_pool"),
        "LeakyRelu": _single("qlinear_leaky_relu"),
        "MatMul": matmul,
        "Mul": pair("qlinear_mul"),
        "Sigmoid": _single("qlinear_sigmoid"),
    }
)

MOVED: Final = (
    "Expand", "Flatten", "Gather", "MaxPool", "Reshape", "Slice", "Squeeze", "Tile", "Transpose",
    "Unsqueeze",
)  # fmt: skip
"""Operators with one result whose elements are some of those that they are given."""


def fused(
    node: Node, readers: Mapping[str, Sequence[FileNode | None]]
) -> tuple[GraphTensor, End] | None:
    """A quantized operator in place of the nodes from one to a QuantizeLinear; None for neither."""
    operator = node.node.operator
    if node.node.domain or operator not in (*FUSED, *MOVED):
        return None
    found = node.translated.quantized
    names = [each for each in node.node.inputs if each]
    wanted = names[:1] if operator in MOVED else names
    given = [found[each] for each in wanted if each in found]
    if len(given) < len(wanted) or not given:
        return None
    end = _end_of(node, readers)
    if end is None:
        return None
    if operator in FUSED:
        return _cut(node, FUSED[operator](node, given, end.scale), end), end
    made, scale = one_scale(node, given[0])
    if (scale, node.building.dtype(made.index)) != (end.scale, end.dtype):
        return None
    inner = replace(node.node, inputs=(given[0].name, *node.node.inputs[1:]))
    moved = OPERATORS[operator](replace(node, node=inner))
    assert isinstance(moved, GraphTensor)
    return _cut(node, moved, end), end


def _end_of(node: Node, readers: Mapping[str, Sequence[FileNode | None]]) -> End | None:
    """The QuantizeLinear that alone reads a result, behind Relu and Clip of constants or not."""
    low, high = -np.inf, np.inf
    at, passed = node.node, [node.node.number]
    while True:
        after = readers.get(at.outputs[0], ())
        if len(after) != 1 or after[0] is None:
            return None
        at = after[0]
        if at.domain:  # where names mean something else
            return None
        reader = Node(node.translated, at)
        passed.append(at.number)
        match at.operator:
            case "Relu":
                low = max(low, 0.0)
            case "Clip" if all(each in node.translated.known for each in at.inputs[1:] if each):
                first, last = (
                    reader.number(index) if reader.has(index) else reader.attribute(name, end)
                    for index, name, end in ((1, "min", -np.inf), (2, "max", np.inf))
                )
                low, high = max(low, first), min(high, last)
            case "QuantizeLinear":
                return quantize_end(reader, low, high, tuple(passed))
            case _:
                return None


def quantize_end(reader: Node, low: float, high: float, passed: tuple[int, ...]) -> End | None:
    known, names = reader.translated.known, reader.node.inputs[1:]
    if not all(each in known for each in names if each) or reader.values(1).size != 1:
        return None
    dtype = reader.values(2).dtype.name if reader.has(2) else "uint8"
    scale = Scale(float(reader.values(1).reshape(-1)[0]), reader.zero(2))
    return End(scale, dtype, low, high, reader.node.outputs[0], passed)


def _cut(node: Node, made: GraphTensor, end: End) -> GraphTensor:
    """What Relu and Clip leave of the integers."""
    dtype = node.building.dtype(made.index)
    if dtype != end.dtype:
        node.refuse(f"gives {dtype}, and QuantizeLinear {end.dtype}")
    ends = np.iinfo(dtype)
    low, high = (quantized(each, end.scale, ends) for each in (end.low, end.high))
    if (low, high) == (ends.min, ends.max):
        return made
    given = (node.constant([each], dtype) for each in (low, high))
    return GraphTensor(node.step("clip", made.index, *given).index, made.shape)


def quantized(x: float, y: Scale, ends: np.iinfo[np.integer[np.typing.NBitBase]]) -> int:
    """A real number as QuantizeLinear has it."""
    if np.isinf(x):
        return int(ends.min if x < 0 else ends.max)
    place = np.rint(np.float32(x) / np.float32(y.scale)) + y.zero
    return int(np.clip(place, ends.min, ends.max))
