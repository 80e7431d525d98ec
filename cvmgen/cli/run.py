"""`cvmgen run`: a network on an input, its output printed or stored."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cvmgen.build.progress import Progress
from cvmgen.cli.exits import Exit, UsageError
from cvmgen.cli.given import GivenModel
from cvmgen.cli.many import run_many
from cvmgen.errors import CvmgenError
from cvmgen.graph import CompiledModel, Network, load, load_model
from cvmgen.paths import stands_alone

Array = np.ndarray[Any, Any]


def run_model(
    model: GivenModel,
    *,
    input_files: Sequence[Path],
    output_file: Path | None,
    target: str | None,
    as_json: bool,
) -> Exit:
    """Run a model, or the folder of one in C, on the arrays of .npy files."""
    with Progress() as progress:
        data = [read_array(each) for each in input_files]
        progress.step(f"loading {model.file}")
        network = loaded(model, target)
        progress.step(f"running {model.file}")
        result = network(*data)
    outputs = result if isinstance(result, tuple) else (result,)
    if output_file is not None:
        write_arrays(output_file, outputs)
    if as_json:
        described = [
            {"shape": list(each.shape), "dtype": str(each.dtype), "values": each.tolist()}
            for each in outputs
        ]
        print(json.dumps({"outputs": described}))
    elif output_file is None:
        for each in outputs:
            print(np.array2string(each, threshold=sys.maxsize))
    return Exit.OK


def run_rows(
    model: GivenModel,
    *,
    input_files: Sequence[Path],
    output_file: Path,
    target: str | None,
    scheduler: str | None,
    as_json: bool,
) -> Exit:
    """Run a model on each row of arrays, with a scheduler by the workers of a cluster."""
    with Progress(aloud=True) as progress:
        progress.step(f"loading {model.file}")
        network = loaded(model, target)
        count, files = run_many(network, input_files, output_file, scheduler, progress)
    if as_json:
        print(json.dumps({"rows": count, "files": [str(each) for each in files]}))
    else:
        print(f"{count} rows: {', '.join(map(str, files))}")
    return Exit.OK


def loaded(model: GivenModel, target: str | None) -> Network | CompiledModel:
    """What the arguments name, ready to be called."""
    file, params = model.file, model.params
    if file.is_dir():
        if (params, model.rounding) != (None, None):
            raise UsageError(f"{file} is a folder: --params and --rounding go with a graph")
        match target or "c":
            case "c" | "cuda-cpu" as known:
                return load_model(file, target=known)
            case other:
                raise UsageError(f"{file} is a folder: it runs on c or cuda-cpu, not on {other}")
    if params is None and not stands_alone(file):
        raise UsageError("a graph needs its parameters: --params P")
    return load(file, params, target=target or "c", rounding=model.rounding)


def read_array(path: Path) -> Array:
    """The array of a .npy file; CvmgenError for anything else."""
    try:
        with path.open("rb") as file:
            found = np.lib.format.read_array(file, allow_pickle=False)
    except ValueError as error:
        raise CvmgenError(f"{path}: not an array that numpy.save wrote: {error}") from None
    return found


def write_arrays(path: Path, arrays: tuple[Array, ...]) -> None:
    """One array as .npy; several as .npz, named by their place."""
    with path.open("wb") as file:
        if len(arrays) == 1:
            np.save(file, arrays[0])
        else:
            np.savez(file, *arrays)
