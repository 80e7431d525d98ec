"""ResNet-50 and MobileNetV2 for pictures of 224x224, as tools quantize them for ONNX Runtime.

Bytes without a sign between layers, weights of int8 with a scale for each channel, biases, and a
result of relu that begins at its zero point. Weights are drawn, and scales such that bytes are used
up about as in a trained network.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

PICTURE = (1, 3, 224, 224)
CLASSES = 1000
MIDDLE = 128  # the zero point where a result may have a sign
WEIGHT = 0.003  # the middle of the scales of weights, which are 58 on the average


class Bytes(NamedTuple):
    """A tensor of the graph, with its scale and its zero point."""

    name: str
    channels: int
    scale: float
    zero: int


@dataclass(frozen=True, slots=True)
class Net:
    """A network in ONNX, and how many products of int8 it takes."""

    model: Any
    products: int


class _Graph:
    """Nodes and weights as they are added."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(1)
        self.nodes: list[Any] = []
        self.held: list[Any] = []
        self.products = 0
        self.side = PICTURE[2]

    def constant(self, value: Any, kind: str) -> str:
        from onnx import numpy_helper

        self.held.append(numpy_helper.from_array(np.asarray(value, kind), f"c{len(self.held)}"))
        return str(self.held[-1].name)

    def ends(self, scale: float, zero: int) -> list[str]:
        return [self.constant(scale, "float32"), self.constant(zero, "uint8")]

    def node(self, operator: str, inputs: list[str], **attributes: Any) -> str:
        from onnx import helper

        domain = "com.microsoft" if operator in ("QLinearAdd", "QLinearGlobalAveragePool") else ""
        name = f"t{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(operator, inputs, [name], name=name, domain=domain, **attributes)
        )
        return name

    def convolution(
        self, x: Bytes, channels: int, size: int, stride: int = 1, *, relu: bool = True, **more: int
    ) -> Bytes:
        """The side of pictures is that behind it."""
        group = more.get("group", 1)
        shape = (channels, x.channels // group, size, size)
        weights = self.random.integers(-100, 101, shape)
        scales = self.random.uniform(2 / 3 * WEIGHT, 4 / 3 * WEIGHT, channels)
        bias = self.random.integers(-2000, 2000, channels)
        scale, zero = x.scale * WEIGHT * 58 * math.sqrt(math.prod(shape[1:])), 0 if relu else MIDDLE
        given = [
            x.name, *self.ends(x.scale, x.zero), self.constant(weights, "int8"),
            self.constant(scales, "float32"), self.constant(np.zeros(channels), "int8"),
            *self.ends(scale, zero), self.constant(bias, "int32"),
        ]  # fmt: skip
        name = self.node(
            "QLinearConv", given, kernel_shape=[size] * 2, strides=[stride] * 2,
            pads=[size // 2] * 4, group=group,
        )  # fmt: skip
        places = (-(-self.side // stride)) ** 2
        self.products += places * math.prod(shape)
        return Bytes(name, channels, scale, zero)

    def add(self, a: Bytes, b: Bytes, zero: int) -> Bytes:
        scale = max(a.scale, b.scale) * 1.3
        given = [a.name, *self.ends(*a[2:]), b.name, *self.ends(*b[2:]), *self.ends(scale, zero)]
        return Bytes(self.node("QLinearAdd", given), a.channels, scale, zero)

    def max_pool(self, x: Bytes) -> Bytes:
        name = self.node("MaxPool", [x.name], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
        return x._replace(name=name)

    def classes(self, x: Bytes) -> str:
        """The mean of all places, and a dense layer."""
        scale, last = x.scale / 2, x.channels
        given = [x.name, *self.ends(x.scale, x.zero), *self.ends(scale, x.zero)]
        flat = self.node("Flatten", [self.node("QLinearGlobalAveragePool", given)])
        weights = self.random.integers(-100, 101, (last, CLASSES))
        self.products += last * CLASSES
        given = [
            flat, *self.ends(scale, x.zero), self.constant(weights, "int8"),
            self.constant(WEIGHT, "float32"), self.constant(0, "int8"),
            *self.ends(scale * WEIGHT * 58 * math.sqrt(last) / 64, MIDDLE),
        ]  # fmt: skip
        return self.node("QLinearMatMul", given)

    def net(self, result: str) -> Net:
        from onnx import TensorProto, helper

        graph = helper.make_graph(
            self.nodes,
            "net",
            [helper.make_tensor_value_info("image", TensorProto.UINT8, PICTURE)],
            [helper.make_tensor_value_info(result, TensorProto.UINT8, (1, CLASSES))],
            self.held,
        )
        domains = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        return Net(helper.make_model(graph, opset_imports=domains, ir_version=8), self.products)


IMAGE = Bytes("image", 3, 0.02, 114)


def resnet50() -> Net:
    graph = _Graph()
    x = graph.convolution(IMAGE, 64, 7, 2)
    graph.side //= 2
    x = graph.max_pool(x)
    graph.side //= 2
    for width, blocks, first in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for at in range(blocks):
            stride = 1 if at else first
            beside = x
            y = graph.convolution(x, width, 1)
            if not at:
                beside = graph.convolution(x, 4 * width, 1, stride, relu=False)
            y = graph.convolution(y, width, 3, stride)
            graph.side //= stride
            y = graph.convolution(y, 4 * width, 1, relu=False)
            x = graph.add(y, beside, 0)
    return graph.net(graph.classes(x))


def mobilenet_v2() -> Net:
    graph = _Graph()
    x = graph.convolution(IMAGE, 32, 3, 2)
    graph.side //= 2
    layers = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1))
    for factor, channels, blocks, first in (*layers, (6, 160, 3, 2), (6, 320, 1, 1)):
        for at in range(blocks):
            stride = 1 if at else first
            y = graph.convolution(x, factor * x.channels, 1) if factor > 1 else x
            y = graph.convolution(y, y.channels, 3, stride, group=y.channels)
            graph.side //= stride
            y = graph.convolution(y, channels, 1, relu=False)
            x = graph.add(x, y, MIDDLE) if at else y
    return graph.net(graph.classes(graph.convolution(x, 1280, 1)))


NETS: Mapping[str, Callable[[], Net]] = {"ResNet-50": resnet50, "MobileNetV2": mobilenet_v2}


@cache
def net(name: str) -> Net:
    return NETS[name]()


def picture() -> Any:
    return np.random.default_rng(3).integers(0, 255, PICTURE, np.uint8, endpoint=True)
