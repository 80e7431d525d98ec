"""Where interpreters of TensorFlow Lite give other results than that for microcontrollers.

    make tflite-differences

calls the models of the samples a thousand times, and prints the table of docs/python.md: of how
many elements each kind of kernels of `ai-edge-litert` gives another result, and by how much. Where
a kind has none for an operator, the interpreter takes those of another kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from ai_edge_litert import interpreter as lite
from ai_edge_litert import schema_py_generated as schema
from tflite_micro.python.tflite_micro import runtime

KINDS = {
    "reference": lite.OpResolverType.BUILTIN_REF,
    "optimized": lite.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    "XNNPACK": lite.OpResolverType.BUILTIN,
}
CALLS = 1000
ARENA = 1 << 20
STREAMS = ("stream",)  # what they leave behind is not compared


@dataclass(slots=True)
class Tally:
    """Of a kind of kernels: elements that differ, and by how much at most."""

    other: int = 0
    most: float = 0.0

    def add(self, found: Any, wanted: Any) -> None:
        apart = np.abs(found.astype(np.float64) - wanted.astype(np.float64))
        self.other += int((apart > 0).sum())
        self.most = max(self.most, float(apart.max(initial=0)))


@dataclass(slots=True)
class Row:
    elements: int = 0
    kinds: dict[str, Tally] = field(default_factory=lambda: {each: Tally() for each in KINDS})


def tell(models: Iterable[tuple[str, bytes, int]], drawn: Callable[[Any, Any], Any]) -> None:
    rows: dict[str, Row] = {}
    for name, data, _ in models:
        operator = name.rstrip("0123456789").strip()
        if name not in STREAMS:
            try:
                compare(data, drawn, rows.setdefault(operator, Row()))
            except RuntimeError:
                del rows[operator]  # the other interpreter has no such kernel
    print("| operator | elements |", " | ".join(KINDS), "|")
    print("|---|---:|" + "---:|" * len(KINDS))
    for name, row in rows.items():
        if any(each.other for each in row.kinds.values()):
            cells = (share(each, row.elements) for each in row.kinds.values())
            print(f"| {name} | {row.elements:,} |", " | ".join(cells), "|")
    same = [each for each, row in rows.items() if not any(k.other for k in row.kinds.values())]
    print(f"\nThe same everywhere: {', '.join(same)}.")


def share(tally: Tally, elements: int) -> str:
    if not tally.other:
        return "0"
    return f"{100 * tally.other / elements:.2g} %, by {tally.most:g}"


def compare(data: bytes, drawn: Callable[[Any, Any], Any], row: Row) -> None:
    """Call a model by all interpreters."""
    micro = runtime.Interpreter.from_bytes(data, arena_size=ARENA)
    graph = schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(data, 0)).subgraphs[0]
    others = {
        kind: lite.Interpreter(model_content=data, experimental_op_resolver_type=each)
        for kind, each in KINDS.items()
    }
    for each in others.values():
        each.allocate_tensors()
    dice = np.random.default_rng(7)
    for _ in range(CALLS):
        given = [drawn(dice, graph.tensors[each]) for each in graph.inputs]
        for at, values in enumerate(given):
            micro.set_input(values, at)
        micro.invoke()
        wanted = [np.array(micro.get_output(at)) for at in range(len(graph.outputs))]
        row.elements += sum(each.size for each in wanted)
        for kind, each in others.items():
            for place, values in zip(each.get_input_details(), given, strict=True):
                each.set_tensor(place["index"], values)
            each.invoke()
            for place, one in zip(each.get_output_details(), wanted, strict=True):
                row.kinds[kind].add(each.get_tensor(place["index"]), one)
