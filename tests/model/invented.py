"""Small networks with what models are made of: groups, strides, odd sizes, residuals, heads."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from cvmgen.graph.limits import Array
from cvmgen.graph.names import our_operator
from cvmgen.graph.operators import OperatorLibrary, sorted_inputs
from cvmgen.graph.symbol import NodeOutput, OutputReference, SymbolGraph, SymbolNode
from cvmgen.paths import spec_folder
from cvmgen.schedule.schedules import Schedules, checked_schedules
from cvmgen.source import Source
from cvmgen.spec.schedules import parse_schedules

Place = tuple[int, int]


class Sketch:
    """A graph in the making; shapes and precisions are what the operators infer."""

    def __init__(self, operators: OperatorLibrary, seed: int) -> None:
        self.operators = operators
        self.random = np.random.default_rng(seed)
        self.nodes: list[SymbolNode] = []
        self.arrays: dict[str, Array] = {}

    def entry(self, place: Place) -> tuple[tuple[int, ...], int]:
        found = self.nodes[place[0]].outputs[place[1]]
        assert found.precision is not None
        return found.shape, found.precision

    def data(self, *shape: int, precision: int = 8) -> Place:
        return self.variable("data", shape, precision)

    def variable(self, name: str, shape: tuple[int, ...], precision: int) -> Place:
        self.nodes.append(SymbolNode(name, (NodeOutput(shape, precision),)))
        return len(self.nodes) - 1, 0

    def parameter(self, *shape: int, precision: int = 8) -> Place:
        """Values from all over the precision."""
        limit = (1 << (precision - 1)) - 1
        name = f"weight{len(self.nodes)}"
        self.arrays[name] = self.random.integers(-limit, limit, shape, np.int32, endpoint=True)
        return self.variable(name, shape, precision)

    def use(self, operator: str, *inputs: Place, **attributes: Any) -> Place:
        return self.outputs(operator, *inputs, **attributes)[0]

    def outputs(self, operator: str, *inputs: Place, **attributes: Any) -> list[Place]:
        entries = [self.entry(place) for place in inputs]
        shapes, precisions = [each[0] for each in entries], [each[1] for each in entries]
        ours, plain = our_operator(operator, tuple(attributes.items()), shapes)
        known = getattr(self.operators.cvm, ours)
        inferred = known.infer(
            shapes=sorted_inputs(known, shapes),
            precisions=sorted_inputs(known, precisions),
            **plain,
        )
        made = tuple(map(NodeOutput, inferred.shapes, inferred.precisions))
        sources = tuple(OutputReference(*place) for place in inputs)
        name = f"{operator}{len(self.nodes)}"
        self.nodes.append(SymbolNode(name, made, operator, sources, tuple(attributes.items())))
        return [(len(self.nodes) - 1, at) for at in range(len(made))]

    def conv(
        self, x: Place, channels: int, kernel: int, *, bias: bool = True, **more: Any
    ) -> Place:
        (_, depth, _, _), _ = self.entry(x)
        groups = more.get("groups", 1)
        weight = self.parameter(channels, depth // groups, kernel, kernel)
        inputs = [x, weight, *([self.parameter(channels, precision=16)] if bias else [])]
        return self.use("conv2d", *inputs, **more)

    def requantized(self, x: Place, *, relu: bool = True) -> Place:
        """Back to 8 bits: shift, scale each channel, shift, cut."""
        _, precision = self.entry(x)
        if precision > 16:
            x = self.use("cvm_right_shift", x, precision=16, shift_bit=precision - 16)
        (_, channels, *_), _ = self.entry(x)
        x = self.use("broadcast_mul", x, self.parameter(channels, 1, 1, precision=12))
        x = self.use("cvm_right_shift", x, precision=9, shift_bit=17)
        x = self.use("cvm_clip", x, precision=8)
        return self.use("relu", x) if relu else x

    def symbol(self, *heads: Place) -> SymbolGraph:
        chosen = tuple(OutputReference(*place) for place in heads)
        return SymbolGraph(tuple(self.nodes), chosen, file="invented.json")


def chain(s: Sketch) -> SymbolGraph:
    """Odd sizes, strides, paddings, groups, a convolution for each channel."""
    x = s.data(2, 3, 13, 9)
    x = s.requantized(s.conv(x, 8, 3, strides=(2, 1), padding=(1, 1)))
    x = s.requantized(s.conv(x, 12, 3, groups=2, padding=(2, 0), bias=False))
    x = s.requantized(s.conv(x, 12, 3, groups=12, padding=(1, 1), dilation=(2, 1)))
    x = s.requantized(s.conv(x, 20, 1), relu=False)
    x = s.use("max_pool2d", x, pool_size=(3, 2), strides=(2, 2), padding=(1, 0))
    return s.symbol(s.use("sum", x, axis=(2, 3)))


def residual(s: Sketch) -> SymbolGraph:
    """Two ways that meet again, both of convolutions and of copies."""
    x = s.data(1, 4, 8, 8)
    x = s.requantized(s.conv(x, 16, 3, padding=(1, 1)), relu=False)
    for _ in range(2):
        y = s.requantized(s.conv(s.use("relu", x), 16, 3, padding=(1, 1)))
        y = s.requantized(s.conv(y, 16, 3, padding=(1, 1)), relu=False)
        x = s.use("cvm_clip", s.use("elemwise_add", x, y), precision=8)
    narrow = s.requantized(s.conv(x, 32, 1, strides=(2, 2), bias=False))
    wide = s.requantized(s.conv(x, 32, 3, strides=(2, 2), padding=(1, 1)))
    return s.symbol(s.use("elemwise_add", wide, narrow))


def pyramid(s: Sketch) -> SymbolGraph:
    """Upsampling and concatenation; several heads, of which one is read again, one is data."""
    data = s.data(1, 3, 12, 10)
    fine = s.requantized(s.conv(data, 6, 3, padding=(1, 1)))
    coarse = s.requantized(s.conv(fine, 10, 3, strides=(2, 2), padding=(1, 1)))
    up = s.use("upsampling", coarse, scale=2)
    both = s.use("concatenate", fine, up, axis=1)
    mixed = s.requantized(s.conv(both, 7, 1))
    last = s.use("transpose", mixed, axes=(0, 2, 3, 1))
    return s.symbol(last, coarse, data, s.use("strided_slice", both, begin=(0, 2), end=(1, 9)))


def classifier(s: Sketch) -> SymbolGraph:
    """Dense layers behind a flattened picture, a table, wide integers between them."""
    x = s.use("max_pool2d", s.data(3, 2, 6, 6), pool_size=(2, 2), strides=(2, 2))
    x = s.use("flatten", x)
    x = s.use("dense", x, s.parameter(24, 18), s.parameter(24, precision=18))
    x = s.use("cvm_right_shift", x, precision=8, shift_bit=9)
    x = s.use("cvm_lut", x, s.parameter(200))
    x = s.use("dense", x, s.parameter(10, 24, precision=10))
    x = s.use("broadcast_add", x, s.parameter(10, precision=24))
    return s.symbol(s.use("broadcast_max", x, s.use("negative", x)), s.use("max", x, axis=(1,)))


def wide(s: Sketch) -> SymbolGraph:
    """Data and results beyond 8 bits."""
    x = s.data(1, 5, 7, 7, precision=15)
    y = s.conv(x, 17, 3, padding=(1, 1))
    y = s.use("cvm_right_shift", y, precision=14, shift_bit=12)
    x = s.use("conv2d", y, s.parameter(3, 17, 2, 2, precision=11))
    return s.symbol(s.use("abs", x), s.use("sum", y))


def blocks(s: Sketch) -> SymbolGraph:
    """Products that are divided into blocks of rows and of columns; one border for two readers."""
    x = s.requantized(s.conv(s.data(1, 9, 6, 19), 11, 3, dilation=(2, 1), padding=(2, 2)))
    near = s.requantized(s.conv(x, 13, 3, padding=(1, 0), dilation=(1, 2)))
    far = s.requantized(s.conv(x, 13, 2, padding=(3, 1), strides=(3, 1)))
    many = s.requantized(s.conv(near, 1040, 1))
    flat = s.use("flatten", s.use("max", many, axis=(2, 3), keepdims=True))
    row = s.use("dense", flat, s.parameter(203, 1040))
    return s.symbol(many, far, row)


def boxes(s: Sketch) -> SymbolGraph:
    """Selected lists between other steps."""
    x = s.use("abs", s.data(2, 40, 6))
    _, kept = s.outputs("get_valid_counts", x, score_threshold=30)
    number, _ = s.outputs("get_valid_counts", kept, score_threshold=50)
    found = s.use("non_max_suppression", kept, number, iou_threshold=20, max_output_size=7)
    return s.symbol(s.use("relu", found), number)


def classified(s: Sketch) -> SymbolGraph:
    """One head of bytes."""
    x = s.data(1, 3, 15, 11)
    x = s.requantized(s.conv(x, 24, 3, strides=(2, 2), padding=(1, 1)))
    x = s.requantized(s.conv(x, 24, 3, groups=24, padding=(1, 1)))
    x = s.use("max_pool2d", x, pool_size=(2, 2), strides=(2, 2), ceil_mode=True)
    x = s.use("dense", s.use("flatten", x), s.parameter(70, 24 * 4 * 3))
    return s.symbol(s.use("cvm_right_shift", x, precision=8, shift_bit=11))


def residual_bytes(s: Sketch) -> SymbolGraph:
    symbol = residual(s)
    wide = (symbol.heads[0].node, symbol.heads[0].output)
    return s.symbol(s.use("cvm_clip", wide, precision=8))


ALONE = {"residual": residual_bytes, "classified": classified}
MODELS: dict[str, Callable[[Sketch], SymbolGraph]] = {
    each.__name__: each for each in (chain, residual, pyramid, classifier, wide, blocks, boxes)
}


@cache
def for_small_models() -> Schedules:
    """The schedules of models, by which threads share steps that take less time than that too."""
    text = (spec_folder() / "schedules" / "model.sched").read_text()
    text, changed = re.subn(r"(parallelise outer when work >=) \d+", r"\1 1000", text)
    assert changed == 4
    return checked_schedules(parse_schedules(Source("model.sched", text)))
