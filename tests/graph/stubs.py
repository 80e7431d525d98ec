"""A few operators in plain numpy, so that graphs are tested without a built library."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from cvmgen.errors import OperatorError
from cvmgen.graph.symbol import NodeOutput, OutputReference, SymbolGraph, SymbolNode

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Inferred:
    shapes: tuple[Shape, ...]
    precisions: tuple[int, ...]


@dataclass(frozen=True)
class Stub:
    """An operator from a rule for its outputs and a function of arrays."""

    name: str
    inputs: tuple[str, ...]
    rule: Callable[..., list[tuple[Sequence[int], int]]]
    function: Callable[..., Any]
    variadic: str | None = None

    def infer(self, *, shapes: Any, precisions: Any, **attributes: Any) -> Inferred:
        outputs = self.rule(shapes, precisions, **attributes)
        worst = max(precision for _, precision in outputs)
        if worst > 32:
            raise OperatorError(self.name, "output precision", str(worst), "must be at most 32")
        return Inferred(*zip(*((tuple(shape), p) for shape, p in outputs), strict=True))

    def bind(
        self,
        *arrays: Any,
        out: Any,
        precisions: Sequence[Any],
        constants: Sequence[str],
        **attributes: Any,
    ) -> Any:
        assert len(arrays) == len(precisions) == len(self.inputs)
        assert set(constants) <= set(self.inputs)
        given = [array for array in arrays if array is not None]
        outputs = out if isinstance(out, tuple) else (out,)
        for one in outputs:
            assert not any(np.shares_memory(one, array) for array in flat(given))

        def call() -> None:
            results = self.function(*given, **attributes)
            for target, result in zip(
                outputs, results if isinstance(out, tuple) else (results,), strict=True
            ):
                target[...] = result

        return call


def flat(given: Sequence[Any]) -> list[Any]:
    """Arrays, and those of lists of arrays."""
    return [one for each in given for one in (each if isinstance(each, list) else [each])]


def same(shapes: Any, precisions: Any) -> list[tuple[Shape, int]]:
    return [(shapes[0], precisions[0])]


def clipped(shapes: Any, precisions: Any, precision: int) -> list[tuple[Shape, int]]:
    return [(shapes[0], precision)]


def added(shapes: Any, precisions: Any) -> list[tuple[Shape, int]]:
    if shapes[0] != shapes[1]:
        raise OperatorError("elemwise_add", "B", str(shapes[1]), f"must be {shapes[0]}")
    return [(shapes[0], max(precisions) + 1)]


def multiplied(shapes: Any, precisions: Any) -> list[tuple[Shape, int]]:
    return [(np.broadcast_shapes(*shapes), sum(precisions))]


def flattened(shapes: Any, precisions: Any) -> list[tuple[Shape, int]]:
    return [((shapes[0][0], math.prod(shapes[0][1:])), precisions[0])]


def counted(shapes: Any, precisions: Any, score_threshold: int) -> list[tuple[Shape, int]]:
    return [(shapes[0][:1], 16), (shapes[0], precisions[0])]


def densely(shapes: Any, precisions: Any) -> list[tuple[Shape, int]]:
    bits = precisions[0] + precisions[1] + int(shapes[0][1]).bit_length()
    with_bias = bits if shapes[2] is None else max(bits, precisions[2]) + 1
    return [((shapes[0][0], shapes[1][0]), with_bias)]


def joined(shapes: Any, precisions: Any, axis: int) -> list[tuple[Shape, int]]:
    (parts,), (bits,) = shapes, precisions
    return [(np.concatenate([np.empty(shape) for shape in parts], axis).shape, max(bits))]


def clip(x: Any, precision: int) -> Any:
    limit = 2 ** (precision - 1) - 1
    return np.clip(x, -limit, limit)


def count_valid(x: Any, score_threshold: int) -> Any:
    kept = x[:, :, 1] > score_threshold
    return kept.sum(1), np.where(kept[..., None], x, -1)


def fail(x: Any) -> Any:
    raise OperatorError("abs", "X", "1", "fails when it runs")


STUBS = (
    Stub("relu", ("X",), same, lambda x: np.maximum(x, 0)),
    Stub("negative", ("X",), same, np.negative),
    Stub("abs", ("X",), same, fail),
    Stub("cvm_clip", ("X",), clipped, clip),
    Stub("elemwise_add", ("A", "B"), added, np.add),
    Stub("broadcast_mul", ("A", "B"), multiplied, np.multiply),
    Stub("batch_flatten", ("X",), flattened, lambda x: x.reshape(len(x), -1)),
    Stub("get_valid_count", ("X",), counted, count_valid),
    Stub("concatenate", ("I",), joined, np.concatenate, variadic="I"),
    Stub("dense", ("X", "W", "B"), densely, lambda x, w, b=0: x @ w.T + b),
)
LIBRARY = SimpleNamespace(cvm=SimpleNamespace(**{stub.name: stub for stub in STUBS}))


def variable(name: str, shape: Shape, precision: int = 8) -> SymbolNode:
    return SymbolNode(name, (NodeOutput(shape, precision),))


def use(
    name: str,
    operator: str,
    inputs: Sequence[int | tuple[int, int]],
    *outputs: NodeOutput | Shape,
    **attributes: Any,
) -> SymbolNode:
    """A node; an input is a node index, or that and an output; an output its shape or entry."""
    pairs = [source if isinstance(source, tuple) else (source, 0) for source in inputs]
    return SymbolNode(
        name,
        tuple(one if isinstance(one, NodeOutput) else NodeOutput(one) for one in outputs),
        operator,
        tuple(OutputReference(*pair) for pair in pairs),
        tuple(attributes.items()),
    )


def graph(*nodes: SymbolNode, heads: Sequence[tuple[int, int]] | None = None) -> SymbolGraph:
    """The graph of `nodes`; the head is the last one unless `heads` are given."""
    chosen = [(len(nodes) - 1, 0)] if heads is None else heads
    return SymbolGraph(nodes, tuple(OutputReference(*head) for head in chosen), file="model.json")


def small_json() -> dict[str, Any]:
    """A graph of three variables and two operators as the JSON of a file."""
    return {
        "nodes": [
            {"op": "null", "name": "data", "inputs": []},
            {"op": "null", "name": "w", "inputs": []},
            {"op": "null", "name": "b", "inputs": []},
            {
                "op": "cvm_op",
                "name": "fc",
                "attrs": {"func_name": "dense_7", "num_inputs": "3"},
                "inputs": [[0, 0, 0], [1, 0, 0], [2, 0, 0]],
            },
            {
                "op": "cvm_op",
                "name": "cut",
                "attrs": {"func_name": "cvm_clip"},
                "inputs": [[3, 0, 0]],
            },
        ],
        "arg_nodes": [0, 1, 2],
        "node_row_ptr": [0, 1, 2, 3, 4, 5],
        "heads": [[4, 0, 0]],
        "attrs": {
            "shape": ["list_shape", [[1, 3], [2, 3], [2], [1, 2], [1, 2]]],
            "storage_id": ["list_int", [0, 1, 2, 3, 4]],
            "dltype": ["list_str", ["int32"] * 5],
            "precision": ["list_int", [8, 8, 16, -1, 8]],
            "op_attrs": [
                "list_str",
                [
                    "",
                    "",
                    "",
                    '{"units": "2", "use_bias": "True"}',
                    '{"precision": "8"}',
                ],
            ],
        },
    }


def encoded(table: Any) -> bytes:
    return json.dumps(table).encode()
