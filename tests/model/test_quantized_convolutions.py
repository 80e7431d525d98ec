"""Quantized convolutions as ONNX has them, as C: bytes with and without a sign, any zero point."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from cvmgen.build import write_changed
from cvmgen.graph import load_model
from cvmgen.graph.network import Network
from cvmgen.graph.plan import Plan, PlannedTensor, PlanStep, placed
from cvmgen.model.build import make_files
from tests.model.test_typed_models import Made

SIDE = 6


@dataclass(frozen=True)
class Layer:
    """A 3x3 convolution of what another one gives: zero points of both sides, the scale of the
    weights for each channel."""

    source: int
    zx: int
    zy: int
    scale: float = 0.01
    group: int = 1


ROWS: list[tuple[str, list[Layer], int, str]] = [
    ("uint8", [Layer(0, 114, 0), Layer(1, 0, 128), Layer(2, 128, 3)], 3, "zero points everywhere"),
    ("uint8", [Layer(0, 255, 255), Layer(1, 255, 0)], 2, "the greatest zero point"),
    ("int8", [Layer(0, -128, 127), Layer(1, 127, 0)], 2, "with a sign"),
    ("uint8", [Layer(0, 3, 0), Layer(0, 4, 0)], 1, "one tensor has one border"),
    ("uint8", [Layer(0, 0, 0, group=8), Layer(1, 7, 9)], 1, "of each channel by itself"),
    ("uint8", [Layer(0, 0, 128, 1e38)], 1, "NaN, which is 0, of a scale that is none"),
]


def network(kind: str, layers: list[Layer]) -> Plan:
    random = np.random.default_rng(len(layers))
    shape, channels = (1, 8, SIDE, SIDE), 8
    tensors = [PlannedTensor("data", shape, None, np.dtype(kind))]
    constants: dict[int, Any] = {}
    steps, made = [], [0]

    def constant(values: Any) -> int:
        tensors.append(PlannedTensor(f"c{len(tensors)}", values.shape, None, values.dtype))
        constants[len(tensors) - 1] = values
        return len(tensors) - 1

    for at, each in enumerate(layers):
        w = random.integers(-128, 128, (channels, channels // each.group, 3, 3)).astype("int8")
        scales = np.linspace(each.scale, 2 * each.scale, channels).astype("float32")
        bias = random.integers(-500, 500, channels).astype("int32")
        given = (constant(w), constant(scales), constant(bias * (each.scale < 1)))
        tensors.append(PlannedTensor(f"conv{at}", shape, None, np.dtype(kind)))
        attributes = {"pads": (1, 1, 1, 1), "group": each.group, "zx": each.zx, "zy": each.zy}
        attributes |= {"sx": each.scale, "sy": 0.01}
        inputs = (made[each.source], *given)
        made.append(len(tensors) - 1)
        steps.append(
            PlanStep(f"conv{at}", "qlinear_conv", tuple(attributes.items()), inputs, (made[-1],))
        )
    read = {each.source for each in layers}
    heads = tuple(index for at, index in enumerate(made) if at not in read)
    found, order = tuple(tensors), tuple(steps)
    layout = placed(found, order, heads, (0,))
    return Plan(found, (0,), order, heads, layout, {"data": 0}, constants, opset="onnx")


@pytest.mark.parametrize(("kind", "layers", "tiles", "why"), ROWS, ids=[row[-1] for row in ROWS])
def test_convolutions(
    libraries: dict[str, Operators],
    tmp_path: Path,
    kind: str,
    layers: list[Layer],
    tiles: int,
    why: str,
) -> None:
    made = Made(network(kind, layers))
    files = make_files(made, None, "made", libraries["python"])
    assert len(files.tiles) == tiles
    write_changed(tmp_path, files.all())
    model, expected = load_model(tmp_path), Network(made, libraries["numpy"])
    limits = np.iinfo(kind)
    data = np.random.default_rng(7).integers(limits.min, limits.max + 1, (1, 8, SIDE, SIDE))
    data[0, :, :3] = layers[0].zx
    for given in (data.astype(kind), np.full_like(data, limits.min).astype(kind)):
        for one, other in zip(as_tuple(model(given)), as_tuple(expected(given)), strict=True):
            assert (one.dtype, one.tobytes()) == (other.dtype, other.tobytes())


def one_column() -> Plan:
    """An image with one column, which a tile and convolutions of each channel read, and a sum that
    is made where the tile's bytes are."""
    random, shape = np.random.default_rng(1), (1, 8, 4, 1)
    constants: dict[int, Any] = {
        1: random.integers(-128, 128, (8, 8, 1, 1)).astype("int8"),
        2: random.integers(-128, 128, (8, 1, 3, 3)).astype("int8"),
        3: np.linspace(0.01, 0.02, 8).astype("float32"),
        4: random.integers(-500, 500, 8).astype("int32"),
    }
    given = [(each.shape, each.dtype) for each in constants.values()]
    kinds = [(shape, np.dtype("uint8")), *given, *[(shape, np.dtype("uint8"))] * 3]
    tensors = tuple(
        PlannedTensor(f"n{at}", size, None, kind) for at, (size, kind) in enumerate(kinds)
    )
    scales = (("zx", 7), ("zy", 100), ("sx", 0.01), ("sy", 0.02))
    alone = (*scales, ("pads", (1, 1, 1, 1)), ("group", 8))
    steps = (
        PlanStep("n5", "qlinear_conv", scales, (0, 1, 3, 4), (5,)),
        PlanStep("n6", "qlinear_conv", alone, (0, 2, 3, 4), (6,)),
        PlanStep("n7", "qlinear_add", (("sa", 0.5), ("zb", 3), ("zy", 9)), (0, 0), (7,)),
    )
    heads = (5, 6, 7)
    layout = placed(tensors, steps, heads, (0,))
    return Plan(tensors, (0,), steps, heads, layout, {"data": 0}, constants, opset="onnx")


def test_one_column(libraries: dict[str, Operators], tmp_path: Path) -> None:
    made = Made(one_column())
    files = make_files(made, None, "made", libraries["python"])
    assert len(files.tiles) == 1
    write_changed(tmp_path, files.all())
    model, expected = load_model(tmp_path), Network(made, libraries["numpy"])
    given = np.random.default_rng(2).integers(0, 256, (1, 8, 4, 1)).astype("uint8")
    for one, other in zip(model(given), expected(given), strict=True):
        assert one.tobytes() == other.tobytes()
        assert len(np.unique(one)) > 1


def as_tuple(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)
