"""Compare models with what other runtimes made of them, as samples of theirs say.

    .venv/bin/python tools/peers_conformance.py FOLDER

FOLDER has `tflite.npz` and `onnx.npz`, which `tools/tflite_samples` and `tools/onnx_samples.py`
write. Each model runs on the C target: its results are equal, or close where they are real
numbers of ONNX's own tests, which allow for that; a model that is refused is counted, with why.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import cvmgen
from cvmgen.errors import CvmgenError, ModelError
from cvmgen.graph.network import Network
from cvmgen.graph.onnx import OnnxModel
from cvmgen.graph.tflite import TfliteModel

Array = np.ndarray[Any, Any]
Reader = Callable[[bytes, str], TfliteModel | OnnxModel]
READERS: dict[str, Reader] = {"tflite": TfliteModel, "onnx": OnnxModel}
NODE_TEST = "node "
CLOSE = 1e-3
"""ONNX's own bound for a real number of a test of a node."""


def main(folder: str) -> int:
    operators, faults = cvmgen.load("c"), 0
    for kind, reader in READERS.items():
        stored = np.load(Path(folder) / f"{kind}.npz")
        counts, reasons = Counter[str](), Counter[str]()
        for sample in sorted({each.rpartition("/")[0] for each in stored.files}):
            verdict, why = judged(stored, sample, reader, operators)
            counts[verdict] += 1
            if verdict == "refused":
                reasons[why] += 1
            elif verdict not in ("equal", "close"):
                faults += 1
                print(f"{kind} {sample}: {verdict}{why}", flush=True)
        for why, times in reasons.most_common():
            print(f"{kind}: refused {times}: {why}")
        print(f"{kind}: {dict(counts)}", flush=True)
    return min(faults, 1)


def judged(stored: Any, sample: str, reader: Reader, operators: Any) -> tuple[str, str]:
    """A verdict, and why."""
    try:
        network = Network(reader(stored[f"{sample}/model"].tobytes(), sample), operators)
    except ModelError as error:
        return "refused", first_rule(error)
    given, wanted = arrays(stored, sample, "in"), arrays(stored, sample, "out")
    calls = [given] if reader is OnnxModel else list(zip(*given, strict=True))
    expected = [wanted] if reader is OnnxModel else list(zip(*wanted, strict=True))
    verdicts = []
    for inputs, results in zip(calls, expected, strict=True):
        try:
            made = network(*map(np.atleast_1d, inputs))
        except CvmgenError as error:
            return "call refused", f": {error}"
        found = made if isinstance(made, tuple) else (made,)
        verdicts += [compared(*pair, sample) for pair in zip(found, results, strict=True)]
    return max(verdicts, key=("equal", "close", "differs", "other type or shape").index), ""


def first_rule(error: ModelError) -> str:
    """What a refused model, or its first refused operator, is told, without their names."""
    rule = error.rule.rpartition(" cannot be used: ")[2].partition("; ")[0]
    return re.sub(r"^node \d+ (\w+) .*?: ", r"\1: ", rule)


def compared(found: Array, wanted: Array, sample: str) -> str:
    if found.dtype != wanted.dtype or found.shape != np.atleast_1d(wanted).shape:
        return "other type or shape"
    if found.tobytes() == wanted.tobytes():
        return "equal"
    real = sample.startswith(NODE_TEST) and found.dtype.kind == "f"
    same = real and np.allclose(found, wanted, CLOSE, 1e-7, equal_nan=True)
    return "close" if same else "differs"


def arrays(stored: Any, sample: str, kind: str) -> list[Array]:
    names = (f"{sample}/{kind}{at}" for at in range(99))
    return [stored[name] for name in names if name in stored.files]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
