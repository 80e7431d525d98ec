"""Runs all models of a folder on a library of their CUDA text: for those built with sanitizers.

python -m tests.model.run_cuda_models FOLDER LIBRARY
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from cvmgen.graph.device_model import CudaCpuModel


def main() -> None:
    folder, library = map(Path, sys.argv[1:])
    for path in sorted(folder.glob("*.json")):
        print(path.stem, flush=True)  # what a report belongs to
        model = CudaCpuModel(folder, json.loads(path.read_text()), 5, library)
        for value in (0, 100):
            given = zip(model.input_shapes, model.input_dtypes, strict=True)
            model(*(np.full(shape, value, dtype) for shape, dtype in given))


if __name__ == "__main__":
    main()
