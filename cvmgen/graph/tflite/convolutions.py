"""Sums of products: convolutions, layers, products of matrices, and windows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cvmgen.graph.limits import Array
from cvmgen.graph.tflite.file import FileTensor
from cvmgen.graph.tflite.node import Node
from cvmgen.graph.tflite.scales import multiplier_of, padding_of, single
from cvmgen.graph.values import Value

PADDINGS = ("SAME", "VALID")
# What the scales of data and weights over the result's come to, for each channel.
Factors = Callable[[Node, FileTensor, FileTensor, int], tuple[Array, ...]]


def channel_factors(node: Node, x: FileTensor, w: FileTensor, channels: int) -> tuple[Array, Array]:
    """Multipliers and shifts for each channel."""
    (sx, _), (sy, _) = node.scale(x), node.scale(node.result())
    pairs = [multiplier_of(sx * sw / sy) for sw in channel_scales(node, w, channels)]
    multipliers, shifts = np.array(pairs, np.int32).reshape(-1, 2).T
    return multipliers, shifts


def channel_scales(node: Node, w: FileTensor, channels: int) -> list[float]:
    """The scale of the weights for each channel; their zero point has to be 0."""
    if len(w.scales) not in (1, channels) or not w.scales:
        node.refuse(f"{w.name} has {len(w.scales)} scales, and there are {channels} channels")
    if any(w.zeros):
        node.refuse(f"the zero point of the weights {w.name} must be 0")
    return [*w.scales] * (channels // len(w.scales))


def bias_of(node: Node, at: int) -> int | None:
    """The bias, one for each channel."""
    if not node.has(at):
        return None
    index = node.given(at)
    return node.shaped(index, (int(np.prod(node.shape(index))),))


def padding_name(node: Node, table: str) -> str:
    code = node.option(table, "Padding")
    if not 0 <= code < len(PADDINGS):
        node.refuse(f"there is no padding {code}")
    return PADDINGS[code]


def image_shape(node: Node, index: int) -> tuple[int, ...]:
    shape = node.shape(index)
    if len(shape) != 4:
        node.refuse(f"an image has 4 dimensions, and this is {shape}")
    return shape


def _window(
    node: Node, table: str, x: int, kernel: tuple[int, int], dilation: tuple[int, int]
) -> dict[str, Value]:
    """Stride and padding of a window over an image."""
    shape = image_shape(node, x)
    stride = (node.option(table, "StrideH"), node.option(table, "StrideW"))
    if min(*stride, *dilation, *kernel) < 1:
        node.refuse(f"stride {stride}, dilation {dilation} and window {kernel} must be above 0")
    kind = padding_name(node, table)
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    (top, bottom), (left, right) = (
        padding_of(kind, shape[1 + at], extents[at], stride[at]) for at in range(2)
    )
    return {"padding": (top, left, bottom, right), "stride": stride}


def conv_2d(node: Node, operator: str = "conv_2d", factors: Factors = channel_factors) -> int:
    x, w = node.given(0), node.given(1)
    image, weights = image_shape(node, x), image_shape(node, w)
    groups = {} if image[3] == weights[3] else {"groups": image[3] // weights[3]}
    return _convolution(node, operator, factors, "Conv2DOptions", weights[0], **groups)


def depthwise_conv_2d(
    node: Node, operator: str = "depthwise_conv_2d", factors: Factors = channel_factors
) -> int:
    weights = image_shape(node, node.given(1))
    return _convolution(node, operator, factors, "DepthwiseConv2DOptions", weights[3])


def _convolution(
    node: Node, operator: str, factors: Factors, table: str, channels: int, **groups: Value
) -> int:
    x, w = node.given(0), node.given(1)
    _, height, width, _ = image_shape(node, w)
    scaled = factors(node, node.input(0), node.input(1), channels)
    dilation = (node.option(table, "DilationHFactor"), node.option(table, "DilationWFactor"))
    attributes = _window(node, table, x, (height, width), dilation)
    attributes |= {"dilation": dilation, **node.activation(table), **groups}
    attributes["zx"], attributes["zy"] = node.scale(node.input(0))[1], node.scale(node.result())[1]
    given = map(node.constant, scaled)
    return node.step(operator, x, w, *given, bias_of(node, 2), **attributes)


def transpose_conv(
    node: Node, operator: str = "transpose_conv", factors: Factors = channel_factors
) -> int:
    table = "TransposeConvOptions"
    x, w = node.given(2), node.given(1)
    _, height, width, _ = _four(node, node.integers(0))
    weights = image_shape(node, w)
    scaled = factors(node, node.input(2), node.input(1), weights[0])
    stride = (node.option(table, "StrideH"), node.option(table, "StrideW"))
    kind = padding_name(node, table)
    # Padding is that of the convolution from the result to the input.
    top, _ = padding_of(kind, height, weights[1], stride[0])
    left, _ = padding_of(kind, width, weights[2], stride[1])
    return node.step(
        operator,
        x,
        w,
        *map(node.constant, scaled),
        bias_of(node, 3),
        extent=(height, width),
        padding=(top, left),
        stride=stride,
        zx=node.scale(node.input(2))[1],
        zy=node.scale(node.result())[1],
        **node.activation(table),
    )


def _four(node: Node, found: list[int]) -> list[int]:
    if len(found) != 4:
        node.refuse(f"a shape of an image has 4 entries, not {len(found)}")
    return found


def layer_factors(node: Node, x: FileTensor, w: FileTensor, channels: int) -> tuple[Array, Array]:
    """Those of a layer; with one scale for all weights the product is one of 32 bits."""
    if len(w.scales) != 1:
        return channel_factors(node, x, w, channels)
    (sx, _), (sy, _) = node.scale(x), node.scale(node.result())
    (sw, *_) = channel_scales(node, w, channels)
    m, s = multiplier_of(single(single(sx) * single(sw)) / sy)
    return np.full(channels, m, np.int32), np.full(channels, s, np.int32)


def fully_connected(
    node: Node, operator: str = "fully_connected", factors: Factors = layer_factors
) -> int:
    table = "FullyConnectedOptions"
    if node.option(table, "WeightsFormat", 0) != 0:
        node.refuse("the weights are in an order of another kernel")
    x, w = node.given(0), node.given(1)
    weights = node.shape(w)
    if len(weights) != 2:
        node.refuse(f"the weights must be a matrix, not {weights}")
    scaled = factors(node, node.input(0), node.input(1), weights[0])
    size = int(np.prod(node.shape(x)))
    if size % weights[1]:
        node.refuse(f"{size} elements do not split into rows of {weights[1]}")
    return node.step(
        operator,
        node.shaped(x, (size // weights[1], weights[1])),
        w,
        *map(node.constant, scaled),
        bias_of(node, 2),
        zx=node.scale(node.input(0))[1],
        zy=node.scale(node.result())[1],
        **node.activation(table),
    )


def batch_matmul(node: Node) -> int:
    table = "BatchMatMulOptions"
    a, b = node.given(0), node.given(1)
    shapes = node.shape(a), node.shape(b)
    if min(map(len, shapes)) < 2 or shapes[0][:-2] != shapes[1][:-2]:
        node.refuse(f"matrices of the shapes {shapes[0]} and {shapes[1]} do not go together")
    (sa, za), (sb, zb) = node.scale(node.input(0)), node.scale(node.input(1))
    sy, zy = node.scale(node.result())
    m, s = multiplier_of(single(single(sa) * single(sb)) / sy)
    batch = int(np.prod(shapes[0][:-2]))
    return node.step(
        "batch_matmul",
        node.shaped(a, (batch, *shapes[0][-2:])),
        node.shaped(b, (batch, *shapes[1][-2:])),
        transpose_a=bool(node.option(table, "AdjX", False)),
        transpose_b=bool(node.option(table, "AdjY", False)),
        za=za,
        zb=zb,
        zy=zy,
        m=m,
        s=s,
    )


def average_pool_2d(node: Node) -> int:
    return pooling(node, "average_pool_2d")


def max_pool_2d(node: Node) -> int:
    return pooling(node, "max_pool_2d")


def pooling(node: Node, operator: str) -> int:
    table = "Pool2DOptions"
    kernel = (node.option(table, "FilterHeight"), node.option(table, "FilterWidth"))
    x = node.given(0)
    attributes = _window(node, table, x, kernel, (1, 1)) | node.activation(table)
    return node.step(operator, x, window=kernel, **attributes)
