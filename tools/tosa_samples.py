"""Draw calls of our operators of TOSA, and store what Arm's reference model gives.

    python -m venv ENV && ENV/bin/pip install tosa-tools
    .venv/bin/python tools/tosa_samples.py ENV [CALLS] [FILE]

writes CALLS calls of each operator with its results, or tells without FILE where ours differ.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from tosa_graphs import Array, Tools, graph_of  # noqa: E402

import cvmgen  # noqa: E402
from cvmgen.errors import OperatorError  # noqa: E402
from tests.conformance.tosa_calls import DRAW  # noqa: E402


def main(environment: str, calls: str = "40", file: str = "") -> int:
    tools, ops = Tools.of(Path(environment)), cvmgen.load("c")
    stored: dict[str, Array] = {}
    counts = {"equal": 0, "different": 0, "refused by the model": 0, "refused by us": 0}
    with tempfile.TemporaryDirectory() as folder:
        for name, draw in DRAW.items():
            random = Random(f"{name} of TOSA")
            kept = 0
            for _ in range(int(calls)):
                inputs, attributes = draw(random)
                verdict, result = compared(tools, ops, name, inputs, attributes, Path(folder))
                counts[verdict] += 1
                if verdict != "equal" and verdict != "refused by us":
                    print(verdict, name, attributes, inputs, result, sep="\n  ")
                if verdict == "equal":
                    store(stored, f"{name} {kept}", inputs, attributes, result)
                    kept += 1
    print(counts)
    if file:
        np.savez_compressed(file, **stored)
    return counts["different"]


def compared(
    tools: Tools, ops: Any, name: str, inputs: list[Any], attributes: dict[str, Any], folder: Path
) -> tuple[str, Any]:
    try:
        ours = np.asarray(ops[name](*inputs, **attributes))
    except OperatorError as refusal:
        return "refused by us", refusal
    graph = folder / "test.json"
    graph.write_text(json.dumps(graph_of(name, inputs, attributes, ours)))
    theirs = tools.run(graph)
    if theirs is None:
        return "refused by the model", ours
    theirs = theirs.reshape(ours.shape).astype(ours.dtype)  # int8 stands for uint8
    return ("equal" if np.array_equal(theirs, ours) else "different"), theirs


def store(
    stored: dict[str, Array], key: str, inputs: list[Any], attributes: dict[str, Any], result: Any
) -> None:
    """Inputs, attributes as JSON, and the result; of several tensors under one name, each."""
    for place, given in enumerate(inputs):
        for part, array in enumerate(given) if isinstance(given, list) else (("", given),):
            stored[f"{key}/in{place}/{part}".rstrip("/")] = array
    stored[f"{key}/attributes"] = np.frombuffer(json.dumps(attributes).encode(), np.uint8)
    stored[f"{key}/out"] = result


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
