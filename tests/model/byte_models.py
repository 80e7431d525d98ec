"""A model of ONNX with bytes of both signs: whose products, borders and zero points tiles take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cvmgen.graph.operators import OperatorLibrary
from cvmgen.graph.plan import Plan, PlannedTensor, PlanStep, placed

CHANNELS = 12


@dataclass(frozen=True)
class ByteModel:
    """Convolutions of one image, with borders of one zero point and of another, of which two read
    the same weights less different numbers; then one of what those make."""

    file: str | None = "bytes"

    def plan(self, operators: OperatorLibrary) -> Plan:
        random = np.random.default_rng(3)
        given, made = (1, 8, 6, 5), (1, CHANNELS, 6, 5)
        weights = random.integers(0, 238, (CHANNELS, 8, 3, 3), np.uint8)
        narrow = random.integers(-128, 128, (CHANNELS, CHANNELS, 1, 1), np.int8)
        scale = random.uniform(0.002, 0.01, CHANNELS).astype(np.float32)
        bias = random.integers(-900, 900, CHANNELS, np.int32)
        around = {"pads": (1, 1, 1, 1)}
        rows = [
            (0, 1, made, {**around, "zx": 200, "zw": 128, "zy": 100}),
            (0, 1, made, {**around, "zx": 200, "zw": 119, "zy": 3}),
            (0, 1, (1, CHANNELS, 4, 3), {"zx": -7, "zw": 119, "zy": 255}),
            (0, 1, made, {**around, "zx": 0, "zw": 119, "zy": 255}),
            (5, 2, made, {"zx": 100, "zw": 0, "zy": 128}),
        ]
        shapes = [given, weights.shape, narrow.shape, scale.shape, bias.shape]
        kinds = ["uint8", "uint8", "int8", "float32", "int32"]
        tensors = [*zip(shapes, kinds, strict=True), *((shape, "uint8") for _, _, shape, _ in rows)]
        planned = tuple(
            PlannedTensor(f"n{at}", shape, None, np.dtype(kind))
            for at, (shape, kind) in enumerate(tensors)
        )
        steps = tuple(
            PlanStep(f"n{5 + at}", "qlinear_conv", tuple(own.items()), (x, w, 3, 4), (5 + at,))
            for at, (x, w, _, own) in enumerate(rows)
        )
        heads = tuple(range(6, 10))
        layout = placed(planned, steps, heads, (0,))
        constants = {1: weights, 2: narrow, 3: scale, 4: bias}
        return Plan(
            planned, (0,), steps, heads, layout, {"data": 0}, constants=constants, opset="onnx"
        )
