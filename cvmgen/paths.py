"""Where specs, templates, generated kernels and the cache lie, in a checkout and in a wheel."""

from __future__ import annotations

import os
from pathlib import Path

from cvmgen.errors import CacheError

MANIFEST = "manifest.json"
"""In a generated folder: what callers need to know of its operators."""
# Models that are one file, and whose kernels may be meant where kernels round otherwise: the first
# of them if nobody says.
ROUNDINGS = {".onnx": ("ort",), ".tflite": ("tflm", "litert", "xnnpack")}
"""What names of model files end in that hold the model's parameters too."""

_PACKAGE = Path(__file__).resolve().parent


def checkout() -> Path | None:
    """The root of the checkout that this package runs from; None when it runs from a wheel."""
    root = _PACKAGE.parent
    if (root / "pyproject.toml").is_file() and (root / "spec").is_dir():
        return root
    return None


def spec_folder() -> Path:
    """The folder of the `.cvm` files, one folder per opset."""
    return _data("spec")


def schedules_folder(spec: Path) -> Path:
    """The folder of the `.sched` files that go with a spec folder: its own, else cvmgen's."""
    own = spec / "schedules"
    return own if any(own.glob("*.sched")) else spec_folder() / "schedules"


def formulas_folder(spec: Path) -> Path:
    """The folder of the `.cvm` files that go with a spec folder: its own, or cvmgen's with one that
    has nothing but schedules."""
    only_schedules = not any(spec.rglob("*.cvm")) and any((spec / "schedules").glob("*.sched"))
    return spec_folder() if only_schedules else spec


def templates_folder() -> Path:
    """The folder of the templates that `cvmgen.emit` fills in."""
    return _data("templates")


def runtime_folder() -> Path:
    """The folder of the files that generated code and pages need as they are."""
    return _PACKAGE / "runtime"


def generated_folder() -> Path:
    """The folder of the committed kernels; one that can be written only in a checkout."""
    return _data("generated")


def library_folder() -> Path:
    """The folder of the compiled library that some wheels bring."""
    return _PACKAGE / "_data" / "library"


def cache_folder() -> Path:
    """$CVMGEN_CACHE, else cvmgen in $XDG_CACHE_HOME, else ~/.cache/cvmgen. It may not exist yet.

    An $XDG_CACHE_HOME that is not absolute is ignored, as the XDG specification asks. CacheError
    for a user without a home folder, as there are in containers.
    """
    chosen = os.environ.get("CVMGEN_CACHE")
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        if chosen:
            return Path(chosen).expanduser().absolute()
        return (base if base.is_absolute() else Path.home() / ".cache") / "cvmgen"
    except RuntimeError:
        hint = "set CVMGEN_CACHE to a folder that can be written"
        raise CacheError(f"there is no home folder for the cache; {hint}") from None


def _data(name: str) -> Path:
    root = checkout()
    return (_PACKAGE / "_data" if root is None else root) / name


def stands_alone(model: str | os.PathLike[str]) -> bool:
    """Whether a model's file needs no other one, with its parameters."""
    return Path(model).suffix in ROUNDINGS
