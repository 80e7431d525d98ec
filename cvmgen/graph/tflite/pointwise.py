"""Operators of single elements and of pairs of them, and those of rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from cvmgen.graph.tflite.node import Node
from cvmgen.graph.tflite.scales import INT8, multiplier_of, radius_of, rounded, single
from cvmgen.graph.values import Value

HALF_SCALE = 27  # bits behind the point of what sigmoid and tanh take
ROW_SCALE = 26


def scales_of(node: Node) -> tuple[tuple[float, int], tuple[float, int]]:
    """Scale and zero point of the input, and of the result."""
    return node.scale(node.input(0)), node.scale(node.result())


def pair_scales(node: Node, bits: int, square: bool) -> dict[str, Value]:
    """Both sides brought to twice the larger scale, and from there to that of the result."""
    (sa, za), (sb, zb) = node.scale(node.input(0)), node.scale(node.input(1))
    sy, zy = node.scale(node.result())
    common = 2 * max(sa, sb)
    (ma, pa), (mb, pb) = multiplier_of(sa / common), multiplier_of(sb / common)
    back = common * common / ((1 << 2 * bits) * sy) if square else common / ((1 << bits) * sy)
    my, py = multiplier_of(back)
    first = {"za": za, "zb": zb, "zy": zy, "ma": ma, "sa": pa}
    return {**first, "mb": mb, "sb": pb, "my": my, "sy": py}


def add(node: Node) -> int:
    given = pair_scales(node, 20, False) | node.activation("AddOptions")
    return node.step("add", node.given(0), node.given(1), **given)


def sub(node: Node) -> int:
    given = pair_scales(node, 20, False) | node.activation("SubOptions")
    return node.step("sub", node.given(0), node.given(1), **given)


def squared_difference(node: Node) -> int:
    given = pair_scales(node, 7, True)
    return node.step("squared_difference", node.given(0), node.given(1), **given)


def mul(node: Node) -> int:
    (sa, za), (sb, zb) = node.scale(node.input(0)), node.scale(node.input(1))
    sy, zy = node.scale(node.result())
    my, py = multiplier_of(sa * sb / sy)
    given = {"za": za, "zb": zb, "zy": zy, "my": my, "sy": py, **node.activation("MulOptions")}
    return node.step("mul", node.given(0), node.given(1), **given)


def maximum(node: Node) -> int:
    return node.step("maximum", node.given(0), node.given(1))


def minimum(node: Node) -> int:
    return node.step("minimum", node.given(0), node.given(1))


def _compared(node: Node, operator: str, *, turned: bool) -> int:
    """A comparison; `turned` with its sides the other way round."""
    sides = (1, 0) if turned else (0, 1)
    (sa, za), (sb, zb) = (node.scale(node.input(at)) for at in sides)
    (ma, pa), (mb, pb) = multiplier_of(sa), multiplier_of(sb)
    given = {"za": za, "zb": zb, "ma": ma, "sa": pa, "mb": mb, "sb": pb}
    return node.step(operator, *(node.given(at) for at in sides), **given)


def equal(node: Node) -> int:
    return _compared(node, "equal", turned=False)


def less(node: Node) -> int:
    return _compared(node, "less", turned=False)


def less_equal(node: Node) -> int:
    return _compared(node, "less_equal", turned=False)


def greater(node: Node) -> int:
    return _compared(node, "less", turned=True)


def greater_equal(node: Node) -> int:
    return _compared(node, "less_equal", turned=True)


def relu(node: Node) -> int:
    (sx, zx), (sy, zy) = scales_of(node)
    m, s = multiplier_of(single(single(sx) / single(sy)))
    return node.step("requantize", node.given(0), zx=zx, zy=zy, m=m, s=s, low=max(zy, -128))


def relu6(node: Node) -> int:
    sx, zx = node.scale(node.input(0))
    high = min(127, zx + rounded(single(single(6.0) / single(sx))))
    return node.step("clamp", node.given(0), low=max(zx, -128), high=high)


def leaky_relu(node: Node) -> int:
    (sx, zx), (sy, zy) = scales_of(node)
    alpha = single(node.option("LeakyReluOptions", "Alpha"))
    m, s = multiplier_of(single(single(sx) / single(sy)))
    ma, sa = multiplier_of(single(single(single(sx) * alpha) / single(sy)))
    return node.step("leaky_relu", node.given(0), zx=zx, zy=zy, m=m, s=s, ma=ma, sa=sa)


def prelu(node: Node) -> int:
    (sx, zx), (sy, zy) = scales_of(node)
    sa, za = node.scale(node.input(1))
    (m1, s1), (m2, s2) = multiplier_of(sx / sy), multiplier_of(sx * sa / sy)
    given = {"zx": zx, "za": za, "zy": zy, "m1": m1, "s1": s1, "m2": m2, "s2": s2}
    return node.step("prelu", node.given(0), node.given(1), **given)


def absolute(node: Node) -> int:
    (sx, zx), (sy, zy) = scales_of(node)
    m, s = multiplier_of(single(single(sx) / single(sy)))
    return node.step("abs", node.given(0), zx=zx, zy=zy, m=m, s=s)


def hard_swish(node: Node) -> int:
    (sx, zx), (sy, zy) = scales_of(node)
    fine = single(single(1.0 / 128.0) * single(sx))
    m, s = multiplier_of(single(fine / single(sy)))
    relu_m, relu_s = multiplier_of(single(fine / single(3.0 / 32768.0)))
    given = {"m": upper_half(m), "s": s, "relu_m": upper_half(relu_m), "relu_s": relu_s}
    return node.step("hard_swish", node.given(0), zx=zx, zy=zy, **given)


def upper_half(multiplier: int) -> int:
    """A multiplier of 31 bits as one of 15."""
    return min((multiplier + (1 << 15)) >> 16, (1 << 15) - 1)


def curve(node: Node, operator: str) -> int:
    sx, zx = node.scale(node.input(0))
    m, s = multiplier_of(sx * 2.0**HALF_SCALE)
    radius = min(radius_of(4, s), (1 << 31) - 1)
    return node.step(operator, node.given(0), zx=zx, m=m, s=s, radius=radius)


def logistic(node: Node) -> int:
    return curve(node, "logistic")


def tanh(node: Node) -> int:
    return curve(node, "tanh")


def softmax(node: Node) -> int:
    sx, _ = node.scale(node.input(0))
    beta = node.option("SoftmaxOptions", "Beta")
    m, s = multiplier_of(min(beta * sx * 2.0**ROW_SCALE, 2.0**31 - 1))
    if not 0 <= s < 31:
        node.refuse(f"the scale {sx} times beta {beta} is too small or too large")
    return node.step("softmax", node.given(0), m=m, s=s, diff_min=-min(radius_of(5, s), 1 << 31))


def of_table(node: Node, function: Callable[[float], float]) -> int:
    """A function of one int8, computed in float for each of its values: the entry for each."""
    (sx, zx), (sy, zy) = scales_of(node)
    up = single(1 / single(sy))
    low, high = INT8
    entries = [
        rounded(single(single(function(single(single(sx) * (x - zx)))) * up)) + zy
        for x in range(low, high + 1)
    ]
    table = np.array([max(low, min(each, high)) for each in entries], np.int8)
    return node.step("lookup", node.given(0), node.constant(table))


def exp(node: Node) -> int:
    return of_table(node, limited_exp)


def elu(node: Node) -> int:
    return of_table(node, lambda x: single(limited_exp(x)) - 1 if x < 0 else x)


def limited_exp(x: float) -> float:
    """The exponential of a number; beyond a float it is large enough to be cut off."""
    return math.exp(min(x, 80.0))


def quantize(node: Node) -> int:
    x, y = node.input(0), node.result()
    if x.dtype == "float32":
        sy, zy = node.scale(y)
        return node.step("quantize", node.given(0), scale=sy, zy=zy)
    (sx, zx), (sy, zy) = scales_of(node)
    m, s = multiplier_of(sx / sy)
    if y.dtype == "uint8":
        return node.step("requantize_unsigned", node.given(0), zx=zx, zu=zy, m=m, s=s)
    return node.step("requantize", node.given(0), zx=zx, zy=zy, m=m, s=s)


def dequantize(node: Node) -> int:
    sx, zx = node.scale(node.input(0))
    return node.step("dequantize", node.given(0), scale=sx, zx=zx)


def axes_of(node: Node) -> tuple[int, ...]:
    rank = len(node.shape(node.given(0)))
    return tuple(sorted({node.axis(each, rank) for each in node.integers(1)}))


def mean(node: Node) -> int:
    (sx, zx), (sy, zy) = scales_of(node)
    m, s = multiplier_of(sx / sy)
    return node.step("mean", node.given(0), axes=axes_of(node), zx=zx, zy=zy, m=m, s=s)


def reduce_max(node: Node) -> int:
    return node.step("reduce_max", node.given(0), axes=axes_of(node))


def reduce_min(node: Node) -> int:
    return node.step("reduce_min", node.given(0), axes=axes_of(node))


def arg_max(node: Node) -> int:
    return _place(node, "arg_max")


def arg_min(node: Node) -> int:
    return _place(node, "arg_min")


def _place(node: Node, operator: str) -> int:
    rank = len(node.shape(node.given(0)))
    (axis,) = axes_of(node)
    given = node.given(0)
    if rank == 1:  # its result has no dimension, and one of extent 1 here
        given = node.shaped(given, (1, *node.shape(given)))
        axis = 1
    return node.step(operator, given, axis=axis)


def cumsum(node: Node) -> int:
    table = "CumsumOptions"
    (sx, zx), (sy, zy) = scales_of(node)
    (axis,) = axes_of(node)
    common = 2 * sx
    (mx, px), (my, py) = multiplier_of(sx / common), multiplier_of(common / ((1 << 20) * sy))
    given: dict[str, Any] = {"zx": zx, "zy": zy, "mx": mx, "sx": px, "my": my, "sy": py}
    for name in ("Exclusive", "Reverse"):
        given[name.lower()] = bool(node.option(table, name, False))
    return node.step("cumsum", node.given(0), axis=axis, **given)
