"""Operators as XNNPACK's kernels for x86-64 compute them, from scales that are float32 there.

Most have ends of scales between which they take an operator; beyond them LiteRT's own kernels run,
and so they do here.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from cvmgen.graph.limits import Array
from cvmgen.graph.tflite import convolutions, moves, pointwise
from cvmgen.graph.tflite.convolutions import channel_scales
from cvmgen.graph.tflite.file import FileTensor
from cvmgen.graph.tflite.node import Node
from cvmgen.graph.tflite.scales import padding_of, single


def ratio(*parts: float) -> float:
    """The first number over the last, times those between: each step as float32."""
    first, *factors, last = (single(each) for each in parts)
    for each in factors:
        first = single(first * each)
    return single(first / last) if last else math.inf


def real_factors(node: Node, x: FileTensor, w: FileTensor, channels: int) -> tuple[Array, ...]:
    """One factor for each channel."""
    (sx, _), (sy, _) = node.scale(x), node.scale(node.result())
    found = [ratio(sx, sw, sy) for sw in channel_scales(node, w, channels)]
    for each in found:
        if not 0 < each < 256:
            node.refuse(f"XNNPACK takes factors above 0 and below 256, not {each}")
    return (np.array(found, np.float32),)


def conv_2d(node: Node) -> int:
    return convolutions.conv_2d(node, "xnnpack_conv_2d", real_factors)


def depthwise_conv_2d(node: Node) -> int:
    return convolutions.depthwise_conv_2d(node, "xnnpack_depthwise_conv_2d", real_factors)


def transpose_conv(node: Node) -> int:
    if _reaches_further(node):
        return convolutions.transpose_conv(node)
    return convolutions.transpose_conv(node, "xnnpack_transpose_conv", real_factors)


def _reaches_further(node: Node) -> bool:
    """Whether results stand behind the last window of a transposed convolution."""
    table = "TransposeConvOptions"
    kind = convolutions.padding_name(node, table)
    extents = node.integers(0)[1:3]
    weights, image = (convolutions.image_shape(node, node.given(at)) for at in (1, 2))
    strides = (node.option(table, "StrideH"), node.option(table, "StrideW"))
    windows = zip(extents, weights[1:3], image[1:3], strides, strict=False)
    return any(
        extent > (size - 1) * stride + window - sum(padding_of(kind, extent, window, stride))
        for extent, window, size, stride in windows
        if stride
    )


def fully_connected(node: Node) -> int:
    return convolutions.fully_connected(node, "xnnpack_fully_connected", real_factors)


def resize_bilinear(node: Node) -> int:
    return moves.resize_bilinear(node, "xnnpack_resize_bilinear")


def mul(node: Node) -> int:
    (sa, za), (sb, zb) = node.scale(node.input(0)), node.scale(node.input(1))
    sy, zy = node.scale(node.result())
    factor = ratio(sa, sb, sy)
    if not 2.0**-16 <= factor < 256:
        return pointwise.mul(node)
    given = {"za": za, "zb": zb, "zy": zy, "factor": factor, **node.activation("MulOptions")}
    return node.step("xnnpack_mul", node.given(0), node.given(1), **given)


def add(node: Node) -> int:
    return _of_fractions(node, "xnnpack_add", "AddOptions", pointwise.add)


def sub(node: Node) -> int:
    return _of_fractions(node, "xnnpack_sub", "SubOptions", pointwise.sub)


def _of_fractions(node: Node, operator: str, table: str, beyond: Callable[[Node], int]) -> int:
    """Both scales over that of the result, with as many bits as give the greater one 21; `beyond`
    is what runs where XNNPACK takes no such scales."""
    (sa, za), (sb, zb) = node.scale(node.input(0)), node.scale(node.input(1))
    sy, zy = node.scale(node.result())
    scales = ratio(sa, sy), ratio(sb, sy)
    if not all(2.0**-10 <= each < 256 for each in scales):
        return beyond(node)
    shift = 21 - math.frexp(max(scales))[1]
    ma, mb = (round(each * 2.0**shift) for each in scales)
    given = {"za": za, "zb": zb, "zy": zy, "ma": ma, "mb": mb, "s": shift}
    return node.step(operator, node.given(0), node.given(1), **given, **node.activation(table))


def quantize(node: Node) -> int:
    x, y = node.input(0), node.result()
    if (x.dtype, y.dtype) != ("int8", "int8"):
        return pointwise.quantize(node)
    (sx, zx), (sy, zy) = pointwise.scales_of(node)
    factor = ratio(sx, sy)
    if not 2.0**-8 <= factor <= 128:
        return pointwise.quantize(node)
    given = {"zx": zx, "zy": zy, "m": _in_256ths(factor)}
    return node.step("xnnpack_requantize", node.given(0), **given)


def leaky_relu(node: Node) -> int:
    (sx, zx), (sy, zy) = pointwise.scales_of(node)
    above = ratio(sx, sy)
    below = single(above * single(node.option("LeakyReluOptions", "Alpha")))
    if not (2.0**-8 <= above <= 128 and -127.9998779296875 <= below <= 128 and abs(below) >= 2**-8):
        return pointwise.leaky_relu(node)
    given = {"zx": zx, "zy": zy, "m": _in_256ths(above), "ma": _in_256ths(below)}
    return node.step("xnnpack_leaky_relu", node.given(0), **given)


def _in_256ths(factor: float) -> int:
    """With 8 bits behind the point; of two that are as near the even one."""
    return round(factor * 256)


def mean(node: Node) -> int:
    (sx, zx), (sy, zy) = pointwise.scales_of(node)
    return node.step(
        "xnnpack_mean",
        node.given(0),
        axes=pointwise.axes_of(node),
        zx=zx,
        zy=zy,
        factor=ratio(sx, sy),
    )
