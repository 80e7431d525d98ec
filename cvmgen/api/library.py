"""`cvmgen.load`: generated operators on a target, compiled when needed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cvmgen.api.c_backend import CBackend
from cvmgen.api.manifest import Manifest, OperatorInfo, read_manifest
from cvmgen.api.operator import Backend, Operator
from cvmgen.api.opsets import Operators, Opset
from cvmgen.api.python_backend import PythonBackend
from cvmgen.build import compile_library
from cvmgen.errors import CvmgenError
from cvmgen.paths import generated_folder

TARGETS = ("c", "python", "cuda")
RUNNABLE = ("c", "python")
"""The targets that `load` gives; the other ones are generated and compiled only."""


def load(
    target: str = "c", *, folder: str | Path | None = None, library: str | Path | None = None
) -> Operators:
    """The generated operators on a target.

    target: "c" (compiled by the C compiler found, cached), "python" (no compiler needed)
    folder: the generated folder; by default the one of this checkout or installation
    library: a shared library built before, for the target "c"
    Raises CvmgenError for an unknown target or folder, BuildError when compiling fails.
    """
    if target not in TARGETS:
        raise CvmgenError(f"unknown target '{target}'; targets are {', '.join(TARGETS)}")
    if target not in RUNNABLE:
        raise CvmgenError(
            f"the target '{target}' is generated and compiled, but not yet run from Python"
        )
    place = Path(folder) if folder is not None else generated_folder()
    manifest = read_manifest(place)
    backend = make_backend(target, manifest, place, library)
    opsets: dict[str, dict[str, Operator]] = {}
    aliases: dict[str, dict[str, str]] = {}
    for info in manifest.operators:
        opsets.setdefault(info.opset, {})[info.name] = Operator(info, backend)
        aliases.setdefault(info.opset, {}).update(dict.fromkeys(info.aliases, info.name))
    named = {name: Opset(name, found, aliases[name]) for name, found in opsets.items()}
    return Operators(target, named)


def make_backend(
    target: str, manifest: Manifest, folder: Path, library: str | Path | None
) -> Backend:
    if target == "python":
        return PythonBackend(manifest, folder)
    path = Path(library) if library is not None else compiled(folder)
    return CBackend(path, manifest, folder)


def compiled(folder: Path) -> Path:
    """The shared library of all C operators in a generated folder."""
    return compile_library(c_sources(folder), name="cvmgen")


def c_sources(folder: Path) -> Mapping[str, str]:
    root = folder / "c"
    found = sorted(path for path in root.rglob("*") if path.suffix in (".c", ".h"))
    if not found:
        raise CvmgenError(f"{root}: no C files here; run 'cvmgen build'")
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in found}


__all__ = ["OperatorInfo", "load"]
