"""Samples of what TensorFlow Lite's interpreter for microcontrollers gives, for tests.

    make tflite-samples

writes tests/graph/tflite_samples.npz: models of one operator each and two of several, inputs of
calls one after the other, and what the interpreter of the package `tflite-micro` made of them. It
runs in an environment of its own, which these packages need. SPACE_TO_BATCH_ND and EXP are asked of
the reference kernels of `ai-edge-litert`: the other interpreter fills with 0, not with the zero
point, and has no EXP of int8.
With a path, a seed and a number, samples of other models are written there, that many of each
operator: `make peers-conformance`.
`differences.py` tells where the others do not give the same, `roundings.py` writes samples of that.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import differences
import layers
import moves
import networks
import numpy as np
import roundings
from ai_edge_litert import interpreter as reference
from ai_edge_litert import schema_py_generated as schema
from layers import Maker, pair, pooling, single
from moves import converted, fixed, padding
from tflite_micro.python.tflite_micro import runtime

FILE = Path(__file__).resolve().parents[2] / "tests" / "graph" / "tflite_samples.npz"
ARENA = 1 << 20
ENDS = np.array([-128, 127, 0, -1], np.int8)
SEED, CALLS, LONGER = 100, 2, 6

ONE: dict[str, Maker] = {
    "CONV_2D": layers.convolution,
    "DEPTHWISE_CONV_2D": layers.depthwise,
    "FULLY_CONNECTED": layers.layer,
    "SVDF": layers.svdf,
    "TRANSPOSE_CONV": layers.transposed,
    "BATCH_MATMUL": layers.product,
    "MAX_POOL_2D": pooling("MAX_POOL_2D"),
    "AVERAGE_POOL_2D": pooling("AVERAGE_POOL_2D"),
    "ADD": pair("ADD", "AddOptions", fused=True),
    "SUB": pair("SUB", "SubOptions", fused=True),
    "MUL": pair("MUL", "MulOptions", fused=True),
    "SQUARED_DIFFERENCE": pair("SQUARED_DIFFERENCE", None),
    "MAXIMUM": pair("MAXIMUM", "MaximumMinimumOptions", same=True),
    "MINIMUM": pair("MINIMUM", "MaximumMinimumOptions", same=True),
    "EQUAL": pair("EQUAL", "EqualOptions", result="bool"),
    "LESS": pair("LESS", "LessOptions", result="bool"),
    "GREATER": pair("GREATER", "GreaterOptions", result="bool"),
    "LESS_EQUAL": pair("LESS_EQUAL", "LessEqualOptions", result="bool"),
    "GREATER_EQUAL": pair("GREATER_EQUAL", "GreaterEqualOptions", result="bool"),
    "RELU": single("RELU", version=2),
    "RELU6": single("RELU6", version=2, same=True, high=0.5),
    "LEAKY_RELU": single(
        "LEAKY_RELU",
        "LeakyReluOptions",
        version=2,
        attributes=lambda dice: {"alpha": float(dice.uniform(-1, 1))},
    ),
    "ELU": single("ELU"),
    "EXP": single("EXP", high=0.05),
    "HARD_SWISH": single("HARD_SWISH"),
    "LOGISTIC": single("LOGISTIC", end=(1 / 256, -128), high=0.5),
    "TANH": single("TANH", end=(1 / 128, 0), high=0.5),
    "ABS": single("ABS"),
    "SOFTMAX": single(
        "SOFTMAX",
        "SoftmaxOptions",
        version=2,
        end=(1 / 256, -128),
        high=0.5,
        attributes=lambda dice: {"beta": float(dice.choice([1.0, 0.5, 2.0]))},
    ),
    "QUANTIZE": single("QUANTIZE"),
    "QUANTIZE u8": single("QUANTIZE", result="uint8"),
    "PRELU": layers.prelu,
    "MEAN": layers.reduction("MEAN", same=False),
    "REDUCE_MAX": layers.reduction("REDUCE_MAX", same=True),
    "REDUCE_MIN": layers.reduction("REDUCE_MIN", same=True),
    "ARG_MAX": layers.place_of("ARG_MAX", "ArgMaxOptions"),
    "ARG_MIN": layers.place_of("ARG_MIN", "ArgMinOptions"),
    "PAD": padding("PAD"),
    "PADV2": padding("PADV2"),
    "MIRROR_PAD": moves.mirror,
    "TRANSPOSE": moves.transpose,
    "CONCATENATION": moves.concatenation,
    "PACK": moves.pack,
    "UNPACK": moves.unpack,
    "SPLIT": moves.split,
    "SPLIT_V": moves.split_by_sizes,
    "STRIDED_SLICE": moves.strided_slice,
    "SLICE": moves.cut,
    "GATHER": moves.gather,
    "SPACE_TO_DEPTH": fixed(
        "SPACE_TO_DEPTH", (2, 4, 6, 3), (2, 2, 3, 12), table="SpaceToDepthOptions", blockSize=2
    ),
    "DEPTH_TO_SPACE": fixed(
        "DEPTH_TO_SPACE", (2, 2, 3, 12), (2, 4, 6, 3), table="DepthToSpaceOptions", blockSize=2
    ),
    "SPACE_TO_BATCH_ND": fixed(
        "SPACE_TO_BATCH_ND",
        (2, 3, 4, 2),
        (8, 2, 3, 2),
        [(2, 2), ([[1, 0], [1, 1]],)],
        "SpaceToBatchNDOptions",
        2,
        (0.1, 9),
    ),
    "BATCH_TO_SPACE_ND": fixed(
        "BATCH_TO_SPACE_ND",
        (8, 2, 3, 2),
        (2, 3, 4, 2),
        [(2, 2), ([[1, 0], [1, 1]],)],
        "BatchToSpaceNDOptions",
        2,
    ),
    "BROADCAST_TO": fixed("BROADCAST_TO", (3, 1), (2, 3, 4), [(2, 3, 4)], "BroadcastToOptions", 2),
    "RESIZE_BILINEAR": moves.bilinear,
    "CUMSUM": moves.running_sum,
    "RESHAPE": fixed("RESHAPE", (2, 3, 4), (4, 6), [(4, -1)], "ReshapeOptions"),
    "EXPAND_DIMS": fixed("EXPAND_DIMS", (2, 3), (2, 1, 3), [(1,)], "ExpandDimsOptions"),
    "SQUEEZE": fixed("SQUEEZE", (2, 1, 3), (2, 3), table="SqueezeOptions", squeezeDims=[1]),
    "QUANTIZE f32": converted("QUANTIZE", 1, moves.from_reals),
    "DEQUANTIZE": converted("DEQUANTIZE", 2, moves.to_reals),
}
MORE = {
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D", "STRIDED_SLICE", "RESIZE_BILINEAR"), 3),
    **dict.fromkeys(("TRANSPOSE_CONV", "CUMSUM", "FULLY_CONNECTED", "AVERAGE_POOL_2D"), 2),
    **dict.fromkeys(("SVDF",), 4),
    **dict.fromkeys(("MEAN", "ADD", "MUL", "BATCH_MATMUL"), 2),
}
OTHER_SEEDS = {"RELU6": 7}
OF_REFERENCE = ("SPACE_TO_BATCH_ND", "EXP")


def models(first: int = SEED, several: int | None = None) -> Iterator[tuple[str, bytes, int]]:
    """Each model with its name, and how often it is called; `several` of each operator."""
    for name, make in ONE.items():
        for number in range(several or MORE.get(name, 1)):
            seed = first + number + OTHER_SEEDS.get(name, 0)
            calls = LONGER if name == "SVDF" else CALLS
            yield f"{name} {number}", make(np.random.default_rng(seed)), calls
    yield "small network", networks.small_network(), LONGER
    yield "stream", networks.stream(), LONGER


def drawn(dice: layers.Dice, tensor: Any) -> Any:
    """An input: real numbers of several sizes, or bytes, of which a third are ends."""
    shape = tuple(tensor.shape)
    if tensor.type == schema.TensorType.FLOAT32:
        return (dice.normal(0, 10, shape) * dice.choice([0.1, 1, 10], shape)).astype(np.float32)
    ends = dice.random(shape) < 0.3
    return np.where(ends, dice.choice(ENDS, shape), dice.integers(-128, 128, shape)).astype(np.int8)


def by_micro(interpreter: Any, results: int, given: list[Any]) -> list[Any]:
    for at, values in enumerate(given):
        interpreter.set_input(values, at)
    interpreter.invoke()
    return [np.array(interpreter.get_output(at)) for at in range(results)]


def by_reference(data: bytes, given: list[Any]) -> list[Any]:
    kind = reference.OpResolverType.BUILTIN_REF
    made = reference.Interpreter(model_content=data, experimental_op_resolver_type=kind)
    made.allocate_tensors()
    for place, values in zip(made.get_input_details(), given, strict=True):
        made.set_tensor(place["index"], values)
    made.invoke()
    return [made.get_tensor(each["index"]) for each in made.get_output_details()]


def recorded(name: str, data: bytes, calls: int) -> dict[str, Any]:
    """The model, its inputs and what it gives; the first index is that of the call."""
    graph = schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(data, 0)).subgraphs[0]
    dice, given, got = np.random.default_rng(1), [], []
    if name.startswith(OF_REFERENCE):
        called = partial(by_reference, data)
    else:
        interpreter = runtime.Interpreter.from_bytes(data, arena_size=ARENA)
        called = partial(by_micro, interpreter, len(graph.outputs))
    for _ in range(calls):
        given.append([drawn(dice, graph.tensors[each]) for each in graph.inputs])
        got.append(called(given[-1]))
    found = {f"{name}/model": np.frombuffer(data, np.uint8)}
    for kind, several in (("in", given), ("out", got)):
        for at in range(len(several[0])):
            found[f"{name}/{kind}{at}"] = np.stack([each[at] for each in several])
    return found


def main() -> None:
    if sys.argv[1:] == ["differences"]:
        differences.tell(models(), drawn)
        return
    if sys.argv[1:] == ["roundings"]:
        roundings.write(ONE, networks.small_network(), drawn)
        return
    found: dict[str, Any] = {}
    for name, data, calls in models(*map(int, sys.argv[2:])):
        try:
            found |= recorded(name, data, calls)
        except RuntimeError as error:
            print(f"{name}: {error}")
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    np.savez_compressed(target, **found)
    print(f"{len(found)} arrays in {target}, {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
