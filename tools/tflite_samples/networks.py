"""Two whole models: a small network for pictures, and a stream that remembers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from graphs import Graph

Size = tuple[int, int]


class Picture(Graph):
    """A network of convolutions whose padding keeps the size."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.dice = np.random.default_rng(seed)

    def convolution(
        self,
        x: int,
        size: Size,
        channels: Size,
        kernel: int,
        end: tuple[float, int],
        *,
        stride: int = 1,
        depthwise: bool = False,
        activation: int = 0,
    ) -> tuple[int, Size]:
        given, made = channels
        scales = [float(np.float32(each)) for each in self.dice.uniform(0.01, 0.03, made)]
        shape = (1, kernel, kernel, made) if depthwise else (made, kernel, kernel, given)
        weights = self.tensor(
            shape,
            scale=scales,
            data=self.dice.integers(-127, 128, shape),
            axis=3 if depthwise else 0,
            name=f"w{len(self.graph.tensors)}",
        )
        values = self.dice.integers(-500, 500, (made,))
        bias = self.tensor((made,), "int32", scale=scales, data=values)
        height, width = -(-size[0] // stride), -(-size[1] // stride)
        y = self.tensor((1, height, width, made), scale=end[0], zero=end[1])
        attributes = {"padding": 0, "strideH": stride, "strideW": stride}
        attributes |= {"dilationHFactor": 1, "dilationWFactor": 1}
        attributes |= {"fusedActivationFunction": activation}
        attributes |= {"depthMultiplier": 1} if depthwise else {}
        name = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
        table = "DepthwiseConv2DOptions" if depthwise else "Conv2DOptions"
        self.operator(name, [x, weights, bias], [y], table, 3, **attributes)
        return y, (height, width)


def small_network() -> bytes:
    made = Picture(5)
    x = made.tensor((1, 10, 8, 3), scale=0.05, zero=-3, name="image")
    first = {"stride": 2, "activation": 3}
    y, size = made.convolution(x, (10, 8), (3, 8), 3, (0.0235, -128), **first)
    z, size = made.convolution(y, size, (8, 8), 3, (0.04, -128), depthwise=True, activation=1)
    z, size = made.convolution(z, size, (8, 8), 1, (0.05, 7))
    end = {"scale": 0.06, "zero": -20}
    both = made.tensor((1, *size, 8), **end)
    made.operator("ADD", [y, z], [both], "AddOptions", 2, fusedActivationFunction=1)
    pooled = made.tensor((1, 2, 2, 8), **end)
    window = {"padding": 0, "strideH": 3, "strideW": 2, "filterHeight": 3, "filterWidth": 2}
    table = "Pool2DOptions"
    made.operator(
        "AVERAGE_POOL_2D", [both], [pooled], table, 2, fusedActivationFunction=0, **window
    )
    flat = made.tensor((1, 32), **end)
    made.operator("RESHAPE", [pooled, made.integers(1, 32)], [flat], "ReshapeOptions")
    values = made.dice.integers(-127, 128, (5, 32)), made.dice.integers(-900, 900, (5,))
    weights = made.tensor((5, 32), scale=0.002, data=values[0])
    bias = made.tensor((5,), "int32", scale=0.00012, data=values[1])
    scores = made.tensor((1, 5), scale=0.03, zero=4)
    layer(made, [flat, weights, bias], scores)
    y = made.tensor((1, 5), scale=1 / 256, zero=-128, name="probabilities")
    made.operator("SOFTMAX", [scores], [y], "SoftmaxOptions", 2, beta=1.0)
    return made.file([x], [y])


def layer(made: Graph, inputs: Sequence[int], result: int) -> None:
    table = "FullyConnectedOptions"
    made.operator("FULLY_CONNECTED", inputs, [result], table, 4, fusedActivationFunction=0)


def variable(made: Graph, handle: int) -> None:
    named = {"sharedName": b"ring", "container": b""}
    made.operator("VAR_HANDLE", [], [handle], "VarHandleOptions", **named)


def stream() -> bytes:
    dice, made = np.random.default_rng(6), Graph()
    like: dict[str, Any] = {"scale": 0.1, "zero": 5}
    x, main = made.tensor((1, 1, 4), name="frame", **like), made.graph
    made.another()
    handle = made.handle()
    first = made.tensor((1, 2, 4), data=[[[5] * 4, [7] * 4]], **like)
    variable(made, handle)
    made.operator("ASSIGN_VARIABLE", [handle, first], [], "AssignVariableOptions")
    made.graph = main
    made.operator("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=1)
    handle = made.handle()
    variable(made, handle)
    old = made.tensor((1, 2, 4), **like)
    made.operator("READ_VARIABLE", [handle], [old], "ReadVariableOptions")
    three = made.tensor((1, 3, 4), **like)
    made.operator("CONCATENATION", [old, x], [three], "ConcatenationOptions", 2, axis=1)
    new = made.tensor((1, 2, 4), **like)
    ends = [made.integers(*each) for each in ((0, 1, 0), (1, 3, 4), (1, 1, 1))]
    masks = {"beginMask": 0, "endMask": 0, "shrinkAxisMask": 0}
    made.operator("STRIDED_SLICE", [three, *ends], [new], "StridedSliceOptions", 2, **masks)
    made.operator("ASSIGN_VARIABLE", [handle, new], [], "AssignVariableOptions")
    flat = made.tensor((1, 12), **like)
    made.operator("RESHAPE", [three, made.integers(1, 12)], [flat], "ReshapeOptions")
    weights = made.tensor((3, 12), scale=0.01, data=dice.integers(-127, 128, (3, 12)))
    bias = made.tensor((3,), "int32", scale=0.001, data=[10, 20, -30])
    scores = made.tensor((1, 3), scale=0.2, name="scores")
    layer(made, [flat, weights, bias], scores)
    unsigned = made.tensor((1, 3), "uint8", scale=0.21, zero=130, name="unsigned")
    made.operator("QUANTIZE", [scores], [unsigned])
    return made.file([x], [scores, unsigned])
