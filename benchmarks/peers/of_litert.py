"""LiteRT, whose interpreter calls XNNPACK: a model of one quantized operator for each workload."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from typing import Any

from ai_edge_litert.interpreter import Interpreter

from benchmarks.cases import Call, Problem
from benchmarks.peers import Peer, Ways
from benchmarks.workloads import SCALES
from tools.tflite_samples.graphs import Graph

NAME = "LiteRT"
SAME, VALID = 0, 1
Options = dict[str, Any]


def peer(threads: int) -> Peer:
    found = {
        f"tflite.xnnpack_{name.lower()}": ways(name, table, axis, options, threads)
        for name, table, axis, options in (
            ("CONV_2D", "Conv2DOptions", 0, window),
            ("DEPTHWISE_CONV_2D", "DepthwiseConv2DOptions", 3, separate),
            ("FULLY_CONNECTED", "FullyConnectedOptions", 0, plain),
        )
    }
    return Peer(NAME, version("ai-edge-litert"), found)


def ways(
    name: str, table: str, axis: int, options: Callable[[Problem], Options], threads: int
) -> Ways:
    """Weights and bias are constants of the model, as they are ones of ours."""

    def calls(problem: Problem) -> Iterator[Call]:
        model = layer(problem, name, axis, table, options(problem))
        made = Interpreter(model_content=model, num_threads=threads)
        made.allocate_tensors()
        (place,), (out,) = made.get_input_details(), made.get_output_details()
        made.set_tensor(place["index"], problem.arrays[0])
        yield Call(NAME, made.invoke, partial(made.get_tensor, out["index"]), "XNNPACK")

    return calls


def layer(problem: Problem, name: str, axis: int, table: str, options: Options) -> bytes:
    """The model of a sum of products with a bias."""
    x, w, _, bias = problem.arrays
    given, made = problem.attributes, Graph()
    sx, sw, sy = SCALES
    ends = [
        made.tensor(x.shape, scale=sx, zero=given["zx"]),
        made.tensor(w.shape, scale=[sw] * len(bias), data=w, axis=axis),
        made.tensor(bias.shape, "int32", scale=[sx * sw] * len(bias), data=bias),
    ]
    y = made.tensor(problem.expected[0].shape, scale=sy, zero=given["zy"])
    made.operator(name, ends, [y], table, 5, fusedActivationFunction=0, **options)
    return made.file(ends[:1], [y])


def window(problem: Problem) -> Options:
    height, width = problem.attributes.get("stride", (1, 1))
    padding = SAME if any(problem.attributes.get("padding", ())) else VALID
    one = {"dilationHFactor": 1, "dilationWFactor": 1}
    return {"padding": padding, "strideH": height, "strideW": width, **one}


def separate(problem: Problem) -> Options:
    return {**window(problem), "depthMultiplier": 1}


def plain(problem: Problem) -> Options:
    return {}
