"""Sums of products and windows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cvmgen.graph.limits import Array
from cvmgen.graph.onnx.node import GraphTensor, Node
from cvmgen.graph.values import Value

PADDINGS = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale and the zero point of a tensor."""

    scale: float
    zero: int


def image_shape(node: Node, made: GraphTensor) -> tuple[int, ...]:
    if len(made.shape) != 4:
        node.refuse(f"an image has 4 dimensions, and this is {made.shape}")
    return made.shape


def _window(node: Node, x: GraphTensor, kernel: tuple[int, int]) -> dict[str, Value]:
    """Padding, strides and dilations of a window over an image."""
    shape = image_shape(node, x)[2:]
    strides, dilations = (pair(node, name) for name in ("strides", "dilations"))
    if min(*strides, *dilations, *kernel) < 1:
        node.refuse(f"strides {strides}, dilations {dilations}, window {kernel} must be above 0")
    kind = node.attribute("auto_pad", "NOTSET")
    if kind not in PADDINGS:
        node.refuse(f"there is no padding {kind}")
    pads = tuple(node.attribute("pads", (0, 0, 0, 0)))
    if kind != "NOTSET":
        pads = automatic(kind, shape, kernel, strides, dilations)
    if len(pads) != 4:
        node.refuse(f"an image has 4 paddings, not {pads}")
    return {"pads": pads, "strides": strides, "dilations": dilations}


def pair(node: Node, name: str) -> tuple[int, int]:
    found = tuple(node.attribute(name, (1, 1)))
    if len(found) != 2:
        node.refuse(f"{name} of an image has 2 entries, not {found}")
    return found


def automatic(
    kind: str,
    shape: tuple[int, ...],
    kernel: tuple[int, int],
    strides: tuple[int, int],
    dilations: tuple[int, int],
) -> tuple[int, ...]:
    """As much padding as gives a result for each stride; the odd one stands behind, or before."""
    ends = []
    for size, k, by, apart in zip(shape, kernel, strides, dilations, strict=True):
        total = max((math.ceil(size / by) - 1) * by + (k - 1) * apart + 1 - size, 0)
        less, more = total // 2, total - total // 2
        ends.append(
            (0, 0) if kind == "VALID" else (less, more) if "UPPER" in kind else (more, less)
        )
    (top, bottom), (left, right) = ends
    return (top, left, bottom, right)


def _convolution(node: Node, x: GraphTensor, w: GraphTensor) -> dict[str, Value]:
    kernel = image_shape(node, w)[2:]
    stated = tuple(node.attribute("kernel_shape", kernel))
    if stated != kernel:
        node.refuse(f"the kernel {stated} is not that of the weights, {kernel}")
    group = int(node.attribute("group", 1))
    return {**_window(node, x, (kernel[0], kernel[1])), "group": group}


def conv_integer(node: Node) -> GraphTensor:
    x, w = node.made(0), node.made(1)
    return node.step("conv_integer", x.index, w.index, *_points(node), **_convolution(node, x, w))


def _points(node: Node) -> list[int | None]:
    """Zero points of both sides, as tensors; those that are known are one number."""
    found: list[int | None] = []
    for at in (2, 3):
        if not node.has(at):
            found.append(None)
        elif node.input(at) in node.translated.known:
            values = node.values(at)
            zero = node.one_zero(values)
            found.append(node.building.constant(node.name, np.array([zero], values.dtype)))
        else:
            found.append(node.shaped(node.given(at), (1,)).index)
    return found


def weights_scale(found: Array) -> Array:
    return np.atleast_1d(found).astype(np.float32)


def quantized_conv(
    node: Node,
    x: tuple[GraphTensor, Scale],
    w: tuple[GraphTensor, Array, int],
    y: Scale,
    bias: int | None,
) -> GraphTensor:
    """QLinearConv of a tensor and weights with what their numbers mean."""
    (given, sx), (weights, sw, zw) = x, w
    scales = node.building.constant(node.name, weights_scale(sw))
    return node.step(
        "qlinear_conv",
        given.index,
        weights.index,
        scales,
        bias,
        **_convolution(node, given, weights),
        sx=sx.scale,
        zx=sx.zero,
        zw=zw,
        sy=y.scale,
        zy=y.zero,
    )


def scale_at(node: Node, at: int) -> Scale:
    """Scale and zero point that are inputs, one behind the other."""
    return Scale(node.number(at), node.zero(at + 1))


def qlinear_conv(node: Node) -> GraphTensor:
    w = (node.made(3), node.values(4), node.zero(5))
    bias = node.given(8) if node.has(8) else None
    return quantized_conv(node, (node.made(0), scale_at(node, 1)), w, scale_at(node, 6), bias)


# ---------------------------------------------------------------- matrices


def as_matrices(node: Node, a: GraphTensor, b: GraphTensor) -> tuple[int, int, tuple[int, ...]]:
    """Both sides as lists of matrices, and the shape of the result."""
    if len(a.shape) < 2 or len(b.shape) < 2:
        node.refuse(f"{a.shape} and {b.shape} are no matrices")
    batch, shared = a.shape[:-2], b.shape[:-2]
    if math.prod(shared) == 1 and len(shared) <= len(batch):
        first = node.shaped(a.index, (1, math.prod(a.shape[:-1]), a.shape[-1]))
    elif batch == shared:
        first = node.shaped(a.index, (math.prod(batch), *a.shape[-2:]))
    else:
        node.refuse(f"matrices of the shapes {a.shape} and {b.shape} do not go together")
    second = node.shaped(b.index, (math.prod(shared), *b.shape[-2:]))
    return first.index, second.index, (*a.shape[:-1], b.shape[-1])


def matmul_integer(node: Node) -> GraphTensor:
    a, b, shape = as_matrices(node, node.made(0), node.made(1))
    return node.shaped(node.step("matmul_integer", a, b, *_points(node)).index, shape)


def quantized_matmul(
    node: Node,
    a: tuple[GraphTensor, Scale],
    b: tuple[GraphTensor, Array, int],
    y: Scale,
    bias: int | None,
) -> GraphTensor:
    """QLinearMatMul of two tensors with what their numbers mean, and QGemm with a bias."""
    (first, sa), (second, sb, zb) = a, b
    one, other, shape = as_matrices(node, first, second)
    scales = node.building.constant(node.name, weights_scale(sb).reshape(-1))
    points = {"sa": sa.scale, "za": sa.zero, "zb": zb, "sy": y.scale, "zy": y.zero}
    made = node.step("qlinear_matmul", one, other, scales, bias, **points)
    return node.shaped(made.index, shape)


def qlinear_matmul(node: Node) -> GraphTensor:
    b = (node.made(3), node.values(4), node.zero(5))
    a = (node.made(0), scale_at(node, 1))
    return quantized_matmul(node, a, b, scale_at(node, 6), None)


def max_pool(node: Node) -> GraphTensor:
    x = node.made(0)
    kernel = pair(node, "kernel_shape")
    given = _window(node, x, kernel)
    if given.pop("dilations") != (1, 1) or node.attribute("storage_order", 0):
        node.refuse("windows with holes, and places by columns, have no kernel")
    if node.attribute("ceil_mode", 0):
        given["pads"] = rounded_up(node, x, kernel, given)
    return node.step("max_pool", x.index, kernel_shape=kernel, **given)


def rounded_up(
    node: Node, x: GraphTensor, kernel: tuple[int, int], given: dict[str, Value]
) -> tuple[int, ...]:
    """The padding with which a window that lies over the end counts."""
    pads, strides = given["pads"], given["strides"]
    assert isinstance(pads, tuple) and isinstance(strides, tuple)
    found = [int(each) for each in pads]
    for at in range(2):
        by, room = int(strides[at]), x.shape[2 + at] + found[at] + found[2 + at] - kernel[at]
        over = -room % by
        if (room + over) // by * by < x.shape[2 + at] + found[at]:
            found[2 + at] += over
    return tuple(found)
