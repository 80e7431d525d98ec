"""Operators of single elements and pairs of them, conversions, and reductions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cvmgen.graph.onnx.node import GraphTensor, Node, Quantized
from cvmgen.graph.onnx.products import Scale, scale_at

INTEGERS = ("int8", "uint8", "int32", "int64")


def paired(operator: str, *, turned: bool = False) -> Callable[[Node], GraphTensor]:
    """Elements of tensors that broadcast; `turned` with the sides the other way round."""

    def made(node: Node) -> GraphTensor:
        given = [node.made(at) for at in range(len(node.node.inputs))]
        if len(given) == 1:
            return given[0]
        found = given[0]
        for other in given[1:]:
            sides = (other, found) if turned else (found, other)
            whole = broadcast(node, found.shape, other.shape)
            index = node.step(operator, *(each.index for each in sides)).index
            found = GraphTensor(index, whole)
        return found

    return made


def broadcast(node: Node, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        node.refuse(f"the shapes {', '.join(map(str, shapes))} do not broadcast")


def single(operator: str) -> Callable[[Node], GraphTensor]:
    def made(node: Node) -> GraphTensor:
        return GraphTensor(node.step(operator, node.given(0)).index, node.shape(0))

    return made


def identity(node: Node) -> GraphTensor:
    return node.made(0)


def where(node: Node) -> GraphTensor:
    whole = broadcast(node, *(node.shape(at) for at in range(3)))
    return GraphTensor(node.step("where", *node.all_given()).index, whole)


def clip(node: Node) -> GraphTensor:
    dtype = node.dtype(0)
    ends = np.finfo(dtype) if dtype.startswith("float") else np.iinfo(dtype)
    given = []
    for at, name, end in ((1, "min", ends.min), (2, "max", ends.max)):
        if node.has(at):
            given.append(node.shaped(node.given(at), (1,)).index)
        else:
            given.append(node.constant([node.attribute(name, end)], dtype))
    return GraphTensor(node.step("clip", node.given(0), *given).index, node.shape(0))


def cast(node: Node) -> GraphTensor:
    x = node.made(0)
    code = node.attribute("to")
    wanted = {1: "float32", 2: "uint8", 3: "int8", 6: "int32", 7: "int64", 9: "bool"}.get(code)
    given = node.building.dtype(x.index)
    if given == wanted:
        return x
    steps = ("int8 int32", "uint8 int32", "int32 int64", "int64 int32")
    if given in INTEGERS and wanted == "float32":
        return GraphTensor(node.step("cast_to_float", x.index).index, x.shape)
    if f"{given} {wanted}" not in steps:
        node.refuse(f"no formula casts {given} to {wanted or f'type {code}'}")
    return GraphTensor(node.step("cast", x.index).index, x.shape)


# ---------------------------------------------------------------- scales


def quantize_linear(node: Node) -> GraphTensor:
    dtype = node.dtype(2) if node.has(2) else "uint8"
    return by_scales(node, "quantize_linear", dtype)


def dequantize_linear(node: Node) -> GraphTensor:
    known = node.translated.known
    if node.input(1) in known and (not node.has(2) or node.input(2) in known):
        zero = node.values(2) if node.has(2) else np.zeros((), np.int32)
        axis = int(node.attribute("axis", 1))
        quantized = Quantized(node.input(0), node.values(1), zero, axis)
        node.translated.quantized[node.node.outputs[0]] = quantized
    return by_scales(node, "dequantize_linear", node.dtype(0))


def by_scales(node: Node, operator: str, dtype: str) -> GraphTensor:
    x, scale = node.made(0), node.made(1)
    if node.attribute("block_size", 0) or len(scale.shape) > 1:
        node.refuse("scales of blocks have no kernel")
    count = scale.shape[0] if scale.shape else 1
    axis = 0 if count == 1 else node.axis(node.attribute("axis", 1), len(x.shape))
    if node.has(2):
        zero = node.shaped(node.given(2), (count,)).index
    else:
        zero = node.constant([0] * count, dtype)
    return GraphTensor(node.step(operator, x.index, scale.index, zero, axis=axis).index, x.shape)


def dynamic_quantize_linear(node: Node) -> list[GraphTensor]:
    y, scale, zero = node.building.several(node.name, "dynamic_quantize_linear", node.given(0))
    return [GraphTensor(y, node.shape(0)), GraphTensor(scale, ()), GraphTensor(zero, ())]


def linear_pair(operator: str) -> Callable[[Node], GraphTensor]:
    def made(node: Node) -> GraphTensor:
        sides = (node.made(0), scale_at(node, 1)), (node.made(3), scale_at(node, 4))
        return quantized_pair(node, operator, *sides, scale_at(node, 6))

    return made


def quantized_pair(
    node: Node, operator: str, a: tuple[GraphTensor, Scale], b: tuple[GraphTensor, Scale], y: Scale
) -> GraphTensor:
    (first, sa), (second, sb) = a, b
    whole = broadcast(node, first.shape, second.shape)
    points = {"sa": sa.scale, "za": sa.zero, "sb": sb.scale, "zb": sb.zero}
    made = node.step(operator, first.index, second.index, **points, sy=y.scale, zy=y.zero)
    return GraphTensor(made.index, whole)


def linear(operator: str) -> Callable[[Node], GraphTensor]:
    def made(node: Node) -> GraphTensor:
        return quantized_single(
            node, operator, (node.made(0), scale_at(node, 1)), scale_at(node, 3)
        )

    return made


def quantized_single(
    node: Node, operator: str, x: tuple[GraphTensor, Scale], y: Scale
) -> GraphTensor:
    given, sx = x
    points: dict[str, float] = {"sx": sx.scale, "zx": sx.zero, "sy": y.scale, "zy": y.zero}
    if operator == "qlinear_leaky_relu":
        points["alpha"] = float(node.attribute("alpha", float(np.float32(0.01))))
    if operator == "qlinear_global_average_pool" and node.attribute("channels_last", 0):
        node.refuse("the channels must stand in front of the places")
    made = node.step(operator, given.index, **points)
    return made if given.shape else GraphTensor(made.index, ())


# ---------------------------------------------------------------- reductions


def reduced(operator: str) -> Callable[[Node], GraphTensor]:
    def made(node: Node) -> GraphTensor:
        x = node.made(0)
        listed = node.listed("axes", 1)
        rank = len(x.shape)
        if not listed and node.attribute("noop_with_empty_axes", 0):
            return x
        axes = sorted({node.axis(each, rank) for each in listed or range(rank)})
        found = node.step(operator, x.index, axes=tuple(axes))
        return _without(node, found, axes)

    return made


def _without(node: Node, made: GraphTensor, axes: list[int]) -> GraphTensor:
    """The same without axes of extent 1, unless they are kept."""
    if node.attribute("keepdims", 1):
        return made
    return node.shaped(made.index, [n for at, n in enumerate(made.shape) if at not in axes])


def placed(operator: str) -> Callable[[Node], GraphTensor]:
    def made(node: Node) -> GraphTensor:
        if node.attribute("select_last_index", 0):
            node.refuse("the last of equal elements has no kernel")
        x = node.made(0)
        axis = node.axis(node.attribute("axis", 0), len(x.shape))
        return _without(node, node.step(operator, x.index, axis=axis), [axis])

    return made
