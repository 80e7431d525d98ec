"""Samples of what LiteRT's reference kernels and XNNPACK make of models, for tests.

    make tflite-samples

writes tests/graph/tflite_roundings.npz beside the other samples: for each of these kernels and each
operator of theirs that has a formula of its own, models, inputs of calls and what comes of them.
Calls are kept whose results are not those of the interpreter for microcontrollers, where some are
found. This is what x86-64 gives: XNNPACK has other kernels for other processors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert import interpreter as lite
from ai_edge_litert import schema_py_generated as schema
from layers import Maker
from tflite_micro.python.tflite_micro import runtime

FILE = Path(__file__).resolve().parents[2] / "tests" / "graph" / "tflite_roundings.npz"
XNNPACK = """ADD CONV_2D DEPTHWISE_CONV_2D FULLY_CONNECTED LEAKY_RELU MEAN MUL QUANTIZE
    RESIZE_BILINEAR SUB TRANSPOSE_CONV"""
ASKED = {
    "litert": (lite.OpResolverType.BUILTIN_REF, ("FULLY_CONNECTED",)),
    "xnnpack": (lite.OpResolverType.BUILTIN, XNNPACK.split()),
}
ARENA = 1 << 20
SEEDS = range(1000, 1040)
CALLS, KEPT, MODELS = 100, 2, 3


@dataclass(frozen=True, slots=True)
class Call:
    differs: bool
    given: list[Any]
    got: Any


def write(
    makers: dict[str, Maker], network: bytes, drawn: Callable[[np.random.Generator, Any], Any]
) -> None:
    """Write the file; `network` is a model of several operators."""
    found: dict[str, Any] = {}
    for rounding, (kernels, operators) in ASKED.items():
        for operator in operators:
            models = (makers[operator](np.random.default_rng(seed)) for seed in SEEDS)
            kept = list(chosen((each, calls(each, kernels, drawn)) for each in models))
            print(rounding, operator, *(sum(call.differs for call in each[1]) for each in kept))
            for number, (data, called) in enumerate(kept):
                found |= arrays(f"{rounding} {operator} {number}", data, called)
        found |= arrays(f"{rounding} small network", network, calls(network, kernels, drawn))
    np.savez_compressed(FILE, **found)
    print(f"{len(found)} arrays in {FILE}, {FILE.stat().st_size:,} bytes")


def chosen(models: Iterator[tuple[bytes, list[Call]]]) -> list[tuple[bytes, list[Call]]]:
    """Those with a call that differs, or the first one."""
    known = [each for each in models if each[1]]
    differing = (each for each in known if each[1][0].differs)
    return list(islice(differing, MODELS)) or known[:1]


def calls(data: bytes, kernels: Any, drawn: Callable[[Any, Any], Any]) -> list[Call]:
    """Calls of a model, those that differ first; none where an interpreter refuses it."""
    try:
        micro = runtime.Interpreter.from_bytes(data, arena_size=ARENA)
        other = lite.Interpreter(model_content=data, experimental_op_resolver_type=kernels)
        other.allocate_tensors()
    except RuntimeError:
        return []
    graph = schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(data, 0)).subgraphs[0]
    dice, found = np.random.default_rng(1), []
    for _ in range(CALLS):
        given = [drawn(dice, graph.tensors[each]) for each in graph.inputs]
        for at, (place, values) in enumerate(zip(other.get_input_details(), given, strict=True)):
            micro.set_input(values, at)
            other.set_tensor(place["index"], values)
        micro.invoke()
        other.invoke()
        got = other.get_tensor(other.get_output_details()[0]["index"])
        found.append(Call(bool((got != micro.get_output(0)).any()), given, got))
    return sorted(found, key=lambda call: not call.differs)[:KEPT]


def arrays(name: str, data: bytes, kept: list[Call]) -> dict[str, Any]:
    found = {f"{name}/model": np.frombuffer(data, np.uint8)}
    for at in range(len(kept[0].given)):
        found[f"{name}/in{at}"] = np.stack([call.given[at] for call in kept])
    return {**found, f"{name}/out0": np.stack([call.got for call in kept])}
