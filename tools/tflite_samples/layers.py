"""Random models of one operator: convolutions, layers, windows, and operators of elements.

Each function takes the dice and gives the bytes of a model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from graphs import Graph

Dice = np.random.Generator
Maker = Callable[[Dice], bytes]
ACTIVATIONS = (0, 1, 2, 3)  # none, relu, relu from -1 to 1, relu6
COMMON = (0, 1, 3)
PAIRS = (
    ((2, 3, 4), (2, 3, 4)),
    ((2, 3, 4), (4,)),
    ((1, 5), (3, 1)),
    ((2, 1, 3), (1, 4, 1)),
    ((6,), (6,)),
    ((2, 2, 3, 2), (1, 1, 1, 2)),
)


def scale(dice: Dice, low: float = 1e-3, high: float = 0.2) -> float:
    return float(np.float32(np.exp(dice.uniform(np.log(low), np.log(high)))))


def zero(dice: Dice) -> int:
    return int(dice.choice([-128, 127, 0, int(dice.integers(-128, 128))]))


def below(dice: Dice, low: int, high: int) -> int:
    return int(dice.integers(low, high))


def bytes_of(dice: Dice, *shape: int) -> Any:
    return dice.integers(-128, 128, shape).astype(np.int8)


def convolution(dice: Dice, *, depthwise: bool = False) -> bytes:
    made = Graph()
    n, h, w, c = below(dice, 1, 3), below(dice, 3, 8), below(dice, 3, 8), below(dice, 1, 5)
    kh, kw = below(dice, 1, 4), below(dice, 1, 4)
    channels = c * below(dice, 1, 3) if depthwise else below(dice, 1, 6)
    each = bool(dice.integers(2)) or depthwise
    x = made.tensor((n, h, w, c), scale=scale(dice), zero=zero(dice))
    shape = (1, kh, kw, channels) if depthwise else (channels, kh, kw, c)
    scales: Any = [scale(dice, 1e-3, 0.05) for _ in range(channels)] if each else None
    scales = scale(dice, 1e-3, 0.05) if scales is None else scales
    weights = made.tensor(
        shape, scale=scales, data=bytes_of(dice, *shape), axis=3 if depthwise else 0
    )
    dice.integers(4)
    bias = made.tensor(
        (channels,),
        "int32",
        scale=scales if each else [scales],
        data=dice.integers(-3000, 3000, (channels,)),
    )
    padding, sh, sw = below(dice, 0, 2), below(dice, 1, 3), below(dice, 1, 3)
    dh, dw = (below(dice, 1, 3), below(dice, 1, 3)) if dice.integers(2) else (1, 1)
    eh, ew = (kh - 1) * dh + 1, (kw - 1) * dw + 1
    if padding and (eh > h or ew > w):
        padding = 0
    same = (-(-h // sh), -(-w // sw))
    size = same if padding == 0 else ((h - eh) // sh + 1, (w - ew) // sw + 1)
    y = made.tensor((n, *size, channels), scale=scale(dice, 0.01, 0.5), zero=zero(dice))
    attributes = {
        "padding": padding,
        "strideH": sh,
        "strideW": sw,
        "dilationHFactor": dh,
        "dilationWFactor": dw,
        "fusedActivationFunction": int(dice.choice(ACTIVATIONS)),
    }
    name = "CONV_2D"
    if depthwise:
        name, attributes["depthMultiplier"] = "DEPTHWISE_CONV_2D", channels // c
    table = "DepthwiseConv2DOptions" if depthwise else "Conv2DOptions"
    made.operator(name, [x, weights, bias], [y], table, 3, **attributes)
    return made.file([x], [y])


def depthwise(dice: Dice) -> bytes:
    return convolution(dice, depthwise=True)


def layer(dice: Dice) -> bytes:
    made = Graph()
    n, k, j = below(dice, 1, 4), below(dice, 1, 20), below(dice, 1, 9)
    x = made.tensor((n, k), scale=scale(dice), zero=zero(dice))
    factor = scale(dice, 1e-3, 0.05)
    weights = made.tensor((j, k), scale=factor, data=bytes_of(dice, j, k))
    bias = made.tensor((j,), "int32", scale=1e-4, data=dice.integers(-3000, 3000, (j,)))
    y = made.tensor((n, j), scale=scale(dice, 0.01, 0.5), zero=zero(dice))
    activation = int(dice.choice(COMMON))
    table = "FullyConnectedOptions"
    ends = ([x, weights, bias], [y])
    made.operator("FULLY_CONNECTED", *ends, table, 4, fusedActivationFunction=activation)
    return made.file([x], [y])


def svdf(dice: Dice) -> bytes:
    """A layer that remembers, with a state of int16 or int8, which alone has a zero point."""
    made, small = Graph(), bool(dice.integers(2))
    n, k, units, rank, memory = (below(dice, 1, end) for end in (4, 20, 6, 4, 9))
    kept, filters = "int8" if small else "int16", units * rank
    x = made.tensor((n, k), scale=scale(dice), zero=zero(dice))
    features = made.tensor((filters, k), scale=scale(dice), data=bytes_of(dice, filters, k))
    most = 128 if small else 2000  # sums of 32 bits would overflow with larger ones
    values = dice.integers(-most, most, (filters, memory))
    factor, own = (1e-3, 0.1) if small else (1e-5, 2e-3)
    factor, own = scale(dice, factor / 5, factor), scale(dice, own / 5, own)
    times = made.tensor((filters, memory), kept, scale=factor, data=values)
    bias = made.tensor(
        (units,), "int32", scale=factor * own, data=dice.integers(-3000, 3000, (units,))
    )
    place = zero(dice) if small else 0
    state = made.tensor((n, filters * memory), kept, scale=own, zero=place, variable=True)
    y = made.tensor((n, units), scale=scale(dice, 0.01, 0.5), zero=zero(dice))
    ends = [x, features, times, bias, state], [y]
    activation = int(dice.choice((0, 1)))
    table = "SVDFOptions"
    made.operator("SVDF", *ends, table, 3, rank=rank, fusedActivationFunction=activation)
    return made.file([x], [y])


def transposed(dice: Dice) -> bytes:
    made = Graph()
    h, w, c, channels = (below(dice, 1, end) for end in (5, 5, 4, 4))
    kh, kw, sh, sw = (below(dice, 1, end) for end in (4, 4, 3, 3))
    padding = below(dice, 0, 2)
    size = (h * sh, w * sw) if padding == 0 else ((h - 1) * sh + kh, (w - 1) * sw + kw)
    x = made.tensor((1, h, w, c), scale=scale(dice), zero=zero(dice))
    scales = [scale(dice, 1e-3, 0.05) for _ in range(channels)]
    shape = (channels, kh, kw, c)
    weights = made.tensor(shape, scale=scales, data=bytes_of(dice, *shape))
    extents = made.integers(1, *size, channels)
    bias = made.tensor(
        (channels,), "int32", scale=scales, data=dice.integers(-3000, 3000, (channels,))
    )
    y = made.tensor((1, *size, channels), scale=scale(dice, 0.01, 0.5), zero=zero(dice))
    attributes = {"padding": padding, "strideH": sh, "strideW": sw}
    ends = ([extents, weights, x, bias], [y])
    made.operator("TRANSPOSE_CONV", *ends, "TransposeConvOptions", 3, **attributes)
    return made.file([x], [y])


def product(dice: Dice) -> bytes:
    made, factor, point = Graph(), scale(dice), zero(dice)
    ta, tb = bool(dice.integers(2)), bool(dice.integers(2))
    a = made.tensor((2, 4, 3) if ta else (2, 3, 4), scale=factor, zero=point)
    b = made.tensor((2, 5, 4) if tb else (2, 4, 5), scale=scale(dice), zero=zero(dice))
    y = made.tensor((2, 3, 5), scale=scale(dice, 0.01, 0.5), zero=zero(dice))
    made.operator("BATCH_MATMUL", [a, b], [y], "BatchMatMulOptions", 2, adjX=ta, adjY=tb)
    return made.file([a, b], [y])


def pooling(name: str) -> Maker:
    def make(dice: Dice) -> bytes:
        made = Graph()
        h, w, c = below(dice, 2, 8), below(dice, 2, 8), below(dice, 1, 5)
        kh, kw = below(dice, 1, min(h, 4) + 1), below(dice, 1, min(w, 4) + 1)
        sh, sw, padding = below(dice, 1, 4), below(dice, 1, 4), below(dice, 0, 2)
        factor, point = scale(dice, 0.01, 0.3), zero(dice)
        x = made.tensor((2, h, w, c), scale=factor, zero=point)
        same = (-(-h // sh), -(-w // sw))
        size = same if padding == 0 else ((h - kh) // sh + 1, (w - kw) // sw + 1)
        y = made.tensor((2, *size, c), scale=factor, zero=point)
        attributes = {"padding": padding, "strideH": sh, "strideW": sw}
        attributes |= {"filterHeight": kh, "filterWidth": kw}
        activation = int(dice.choice(COMMON))
        table = "Pool2DOptions"
        made.operator(name, [x], [y], table, 2, fusedActivationFunction=activation, **attributes)
        return made.file([x], [y])

    return make


def pair(
    name: str, table: str | None, *, fused: bool = False, result: str = "int8", same: bool = False
) -> Maker:
    """Two tensors that broadcast; of one scale where it is the `same`."""

    def make(dice: Dice) -> bytes:
        made = Graph()
        left, right = PAIRS[below(dice, 0, len(PAIRS))]
        factor, point = scale(dice), zero(dice)
        a = made.tensor(left, scale=factor, zero=point)
        own = factor if same else scale(dice)
        b = made.tensor(right, scale=own, zero=point if same else zero(dice))
        out = None
        if result == "int8":
            out = factor if same else scale(dice, 0.005, 0.5)
        shape = np.broadcast_shapes(left, right)
        y = made.tensor(shape, result, scale=out, zero=point if same else zero(dice))
        activation = {"fusedActivationFunction": int(dice.choice(COMMON))} if fused else {}
        made.operator(name, [a, b], [y], table, 2, **activation)
        return made.file([a, b], [y])

    return make


def single(
    name: str,
    table: str | None = None,
    *,
    version: int = 1,
    result: str = "int8",
    end: tuple[float, int] | None = None,
    same: bool = False,
    high: float = 0.2,
    attributes: Callable[[Dice], dict[str, Any]] = lambda _: {},
) -> Maker:
    """One tensor; its result has a scale of its own, the `same`, or that of `end`."""

    def make(dice: Dice) -> bytes:
        made, factor, point = Graph(), scale(dice, 1e-3, high), zero(dice)
        x = made.tensor((3, 40), scale=factor, zero=point)
        if same:
            out, place = factor, point
        else:
            out = end[0] if end else scale(dice, 1e-3, high)
            own = zero if result == "int8" else lambda dice: below(dice, 0, 256)
            place = end[1] if end else own(dice)
        y = made.tensor((3, 40), result, scale=out, zero=place)
        made.operator(name, [x], [y], table, version, **attributes(dice))
        return made.file([x], [y])

    return make


def prelu(dice: Dice) -> bytes:
    made = Graph()
    x = made.tensor((2, 3, 3, 4), scale=scale(dice), zero=zero(dice))
    slopes = {"scale": scale(dice), "zero": zero(dice)}
    a = made.tensor((1, 1, 4), data=bytes_of(dice, 1, 1, 4), **slopes)
    y = made.tensor((2, 3, 3, 4), scale=scale(dice), zero=zero(dice))
    made.operator("PRELU", [x, a], [y])
    return made.file([x], [y])


def reduction(name: str, *, same: bool) -> Maker:
    def make(dice: Dice) -> bytes:
        made = Graph()
        shape = (2, 3, 4, 5)[: below(dice, 2, 5)]
        count = range(below(dice, 1, 3))
        axes = sorted({below(dice, 0, len(shape)) for _ in count})
        keep, factor, point = bool(dice.integers(2)), scale(dice), zero(dice)
        x = made.tensor(shape, scale=factor, zero=point)
        a = made.integers(*axes)
        left = [1 if i in axes else n for i, n in enumerate(shape) if keep or i not in axes]
        if not left:
            return make(dice)
        out = (factor, point) if same else (scale(dice, 0.003, 0.2), zero(dice))
        y = made.tensor(left, scale=out[0], zero=out[1])
        made.operator(name, [x, a], [y], "ReducerOptions", 2, keepDims=keep)
        return made.file([x], [y])

    return make


def place_of(name: str, table: str) -> Maker:
    def make(dice: Dice) -> bytes:
        made, shape, axis = Graph(), (2, 3, 4), below(dice, -3, 3)
        x, a = made.tensor(shape, scale=0.1), made.integers(axis)
        y = made.tensor([n for i, n in enumerate(shape) if i != axis % 3], "int32")
        made.operator(name, [x, a], [y], table, outputType=2)
        return made.file([x], [y])

    return make
