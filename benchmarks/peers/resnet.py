"""ResNet-20 for pictures of CIFAR, of the shape of the published model, with random weights.

Version 2 of the network: normalisation and relu before each convolution. As in the integer model,
normalisation between two convolutions is folded into the first; elsewhere it is a 1x1 convolution
of each channel by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

PICTURE = (1, 3, 32, 32)
STAGES = ((16, 1), (32, 2), (64, 2))
BLOCKS = 3
CLASSES = 10


@dataclass(frozen=True, slots=True)
class Block:
    """Two 3x3 convolutions, and beside them a 1x1 one where the shape changes."""

    name: str
    before: int
    channels: int
    stride: int

    @property
    def projected(self) -> bool:
        return self.stride > 1


def blocks() -> Iterator[Block]:
    before = STAGES[0][0]
    for stage, (channels, stride) in enumerate(STAGES):
        for at in range(BLOCKS):
            yield Block(f"stage{stage}_block{at}", before, channels, 1 if at else stride)
            before = channels


def weights(random: np.random.Generator, *shape: int) -> Any:
    return random.integers(-127, 127, shape, dtype=np.int8, endpoint=True)


def torch_network() -> tuple[Any, Any]:
    """The network of float32 in PyTorch, and a picture."""
    import torch
    from torch import nn

    class Residual(nn.Module):
        def __init__(self, block: Block) -> None:
            super().__init__()
            before, channels, stride = block.before, block.channels, block.stride
            self.scale = nn.Conv2d(before, before, 1, groups=before)
            self.first = nn.Conv2d(before, channels, 3, stride, 1)
            self.second = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
            self.beside = (
                nn.Conv2d(before, channels, 1, stride, bias=False) if block.projected else None
            )

        def forward(self, x: Any) -> Any:
            y = torch.relu(self.scale(x))
            kept = x if self.beside is None else self.beside(y)
            return kept + self.second(torch.relu(self.first(y)))

    found = list(blocks())
    last = found[-1].channels
    network = nn.Sequential(
        nn.Conv2d(3, 3, 1, groups=3),
        nn.Conv2d(3, found[0].before, 3, 1, 1),
        *map(Residual, found),
        nn.Conv2d(last, last, 1, groups=last),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(last, CLASSES),
    ).eval()
    return network, torch.rand(PICTURE)


def onnx_model(*, quantized: bool) -> Any:
    """The network in ONNX: of float32, or of QOperator's int8 operators."""
    return _Graph(quantized).model()


class _Graph:
    """Nodes and weights as they are added; `quantized` chooses the operators."""

    def __init__(self, quantized: bool) -> None:
        self.quantized = quantized
        self.random = np.random.default_rng(7)
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        if quantized:
            self.constant("scale", np.float32(0.05))
            self.constant("weight_scale", np.float32(0.002))
            self.constant("zero", np.uint8(128))
            self.constant("relu_zero", np.uint8(0))
            self.constant("weight_zero", np.int8(0))

    def constant(self, name: str, value: Any) -> str:
        from onnx import numpy_helper

        self.initializers.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        from onnx import helper

        domain = "com.microsoft" if operator in ("QLinearAdd", "QLinearGlobalAveragePool") else ""
        self.nodes.append(
            helper.make_node(operator, inputs, [output], name=output, domain=domain, **attributes)
        )
        return output

    def convolution(
        self, x: str, name: str, shape: tuple[int, ...], stride: int, *, relu: bool, groups: int = 1
    ) -> str:
        """With relu the result begins at its zero, which cuts what is below it."""
        attributes = {
            "kernel_shape": shape[2:], "strides": (stride, stride), "group": groups,
            "pads": (shape[2] // 2,) * 4,
        }  # fmt: skip
        filters = weights(self.random, *shape)
        if not self.quantized:
            given = self.constant(f"{name}_weight", filters.astype(np.float32) * 0.002)
            made = self.node("Conv", [x, given], name, **attributes)
            return self.node("Relu", [made], f"{name}_relu") if relu else made
        given = self.constant(f"{name}_weight", filters)
        inputs = [
            x, "scale", self.zero(x), given, "weight_scale", "weight_zero",
            "scale", "relu_zero" if relu else "zero",
        ]  # fmt: skip
        return self.node("QLinearConv", inputs, f"{name}_relu" if relu else name, **attributes)

    @staticmethod
    def zero(value: str) -> str:
        return "relu_zero" if value.endswith("_relu") else "zero"

    def add(self, a: str, b: str, name: str) -> str:
        if not self.quantized:
            return self.node("Add", [a, b], name)
        inputs = [a, "scale", self.zero(a), b, "scale", self.zero(b), "scale", "zero"]
        return self.node("QLinearAdd", inputs, name)

    def scaled(self, x: str, name: str, channels: int, *, relu: bool = True) -> str:
        return self.convolution(x, name, (channels, 1, 1, 1), 1, relu=relu, groups=channels)

    def block(self, x: str, block: Block) -> str:
        name, before, channels = block.name, block.before, block.channels
        y = self.scaled(x, f"{name}_scale", before)
        shape = (channels, before, 3, 3)
        z = self.convolution(y, f"{name}_first", shape, block.stride, relu=True)
        z = self.convolution(z, f"{name}_second", (channels, channels, 3, 3), 1, relu=False)
        if block.projected:
            shape = (channels, before, 1, 1)
            x = self.convolution(y, f"{name}_beside", shape, block.stride, relu=False)
        return self.add(x, z, name)

    def head(self, x: str, channels: int) -> str:
        matrix = weights(self.random, channels, CLASSES)
        if not self.quantized:
            given = self.constant("dense_weight", matrix.astype(np.float32) * 0.002)
            x = self.node("GlobalAveragePool", [x], "pooled")
            return self.node("MatMul", [self.node("Flatten", [x], "flat"), given], "scores")
        given = self.constant("dense_weight", matrix)
        inputs = [x, "scale", self.zero(x), "scale", "zero"]
        x = self.node("QLinearGlobalAveragePool", inputs, "pooled", channels_last=0)
        inputs = [
            self.node("Flatten", [x], "flat"), "scale", "zero", given, "weight_scale",
            "weight_zero", "scale", "zero",
        ]  # fmt: skip
        return self.node("QLinearMatMul", inputs, "scores")

    def model(self) -> Any:
        from onnx import TensorProto, helper

        found = list(blocks())
        x = self.scaled("data", "data_scale", PICTURE[1], relu=False)
        x = self.convolution(x, "conv0", (found[0].before, 3, 3, 3), 1, relu=False)
        for each in found:
            x = self.block(x, each)
        last = found[-1].channels
        result = self.head(self.scaled(x, "last_scale", last), last)
        kind = TensorProto.UINT8 if self.quantized else TensorProto.FLOAT
        graph = helper.make_graph(
            self.nodes,
            "resnet20",
            [helper.make_tensor_value_info("data", kind, PICTURE)],
            [helper.make_tensor_value_info(result, kind, (1, CLASSES))],
            self.initializers,
        )
        domains = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=domains, ir_version=8)
