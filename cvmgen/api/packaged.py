"""The library that a wheel brings with its files, so that no compiler is needed."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from pathlib import Path

from cvmgen.paths import checkout, generated_folder, library_folder
from cvmgen.version import __version__

INTERFACE = ".".join(__version__.split(".")[:2])
"""Before 1.0, versions of another minor number are not called alike."""
SONAME = f"libcvmgen.so.{INTERFACE}"
NAME = "libcvmgen.so"
ABOUT = "libcvmgen.json"
"""Beside the library: what it was made of, and for which machine."""


def packaged_library(folder: Path, sources: Mapping[str, str]) -> Path | None:
    """The library that this installation brought for a generated folder; None where it brought
    none, or one of other texts."""
    if checkout() is not None or folder.resolve() != generated_folder().resolve():
        return None
    place = library_folder()
    try:
        said = json.loads((place / ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    fits = said == package_notes(sources, platform.machine()) and (place / NAME).is_file()
    return place / NAME if fits else None


def package_notes(sources: Mapping[str, str], machine: str) -> dict[str, str]:
    """What is said of a library of these sources for a machine."""
    text = json.dumps(sorted(sources.items()))
    return {"sources": hashlib.sha256(text.encode()).hexdigest(), "machine": machine}
