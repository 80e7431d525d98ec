"""`cvmgen.load`: generated operators on a target, compiled when needed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cvmgen.api.c_backend import CBackend
from cvmgen.api.cuda_cpu_backend import PRELUDE, CudaCpuBackend, Order
from cvmgen.api.manifest import Manifest, OperatorInfo, read_manifest
from cvmgen.api.operator import Backend, Operator
from cvmgen.api.opsets import Operators, Opset
from cvmgen.api.python_backend import PythonBackend
from cvmgen.build import compile_library
from cvmgen.errors import CvmgenError
from cvmgen.paths import generated_folder

TARGETS = ("c", "python", "cuda", "cuda-cpu")
RUNNABLE = ("c", "python", "cuda-cpu")
"""The targets that `load` gives; the other ones are generated and compiled only."""

COMPILED = {"c": ("c", ".c", ".h"), "cuda-cpu": ("cuda", ".cu", ".cc", ".h")}
"""The folder of generated files, and the suffixes of those that a library is made of."""


def load(
    target: str = "c",
    *,
    folder: str | Path | None = None,
    library: str | Path | None = None,
    order: Order = "forward",
) -> Operators:
    """The generated operators on a target.

    target: "c" (compiled by the C compiler found, cached), "python" (no compiler needed),
        "cuda-cpu" (the CUDA text, compiled by the C++ compiler found, on the CPU)
    folder: the generated folder; by default the one of this checkout or installation
    library: a shared library built before, for the targets "c" and "cuda-cpu"
    order: in which "cuda-cpu" runs blocks and the threads of each: "forward", "reverse", or the
        seed of a random one
    Raises CvmgenError for an unknown target or folder, BuildError when compiling fails.
    """
    if target not in TARGETS:
        raise CvmgenError(f"unknown target '{target}'; targets are {', '.join(TARGETS)}")
    if target not in RUNNABLE:
        raise CvmgenError(
            f"the target '{target}' is generated and compiled, but not yet run from Python; "
            "'cuda-cpu' runs its text on the CPU"
        )
    if order != "forward" and target != "cuda-cpu":
        raise CvmgenError(f"order={order!r}: the target '{target}' has no order of threads")
    place = Path(folder) if folder is not None else generated_folder()
    manifest = read_manifest(place)
    backend = make_backend(target, manifest, place, library, order)
    opsets: dict[str, dict[str, Operator]] = {}
    aliases: dict[str, dict[str, str]] = {}
    for info in manifest.operators:
        opsets.setdefault(info.opset, {})[info.name] = Operator(info, backend)
        aliases.setdefault(info.opset, {}).update(dict.fromkeys(info.aliases, info.name))
    named = {name: Opset(name, found, aliases[name]) for name, found in opsets.items()}
    return Operators(target, named)


def make_backend(
    target: str,
    manifest: Manifest,
    folder: Path,
    library: str | Path | None,
    order: Order = "forward",
) -> Backend:
    if target == "python":
        return PythonBackend(manifest, folder)
    path = Path(library) if library is not None else compiled(folder, target)
    if target == "c":
        return CBackend(path, manifest, folder)
    return CudaCpuBackend(path, manifest, folder, order)


def compiled(folder: Path, target: str = "c") -> Path:
    """The shared library of all operators in a generated folder."""
    sources = library_sources(folder, target)
    if target == "c":
        return compile_library(sources, name="cvmgen")
    return compile_library(sources, name="cvmgen-cuda", openmp=False, prelude=PRELUDE)


def library_sources(folder: Path, target: str = "c") -> Mapping[str, str]:
    """The files that a target's library is made of, by their names below its folder."""
    language, *suffixes = COMPILED[target]
    root = folder / language
    found = sorted(path for path in root.rglob("*") if path.suffix in suffixes)
    if not found:
        raise CvmgenError(f"{root}: no files of the target '{language}' here; run 'cvmgen build'")
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in found}


__all__ = ["OperatorInfo", "load"]
