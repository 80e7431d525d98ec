"""The files of a spec folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cvmgen.source import Source, read_source


@dataclass(frozen=True, slots=True)
class SpecFile:
    """A spec file: its text, and the opset it belongs to ('' = shared by all opsets)."""

    source: Source
    opset: str


def read_folder(folder: Path, shown: str = "spec") -> tuple[SpecFile, ...]:
    """The spec files below `folder`, by name; a sub-folder is an opset."""
    found = []
    for path in sorted(folder.rglob("*.cvm")):
        relative = path.relative_to(folder)
        opset = relative.parts[0] if len(relative.parts) > 1 else ""
        source = read_source(f"{shown}/{relative.as_posix()}", path)
        found.append(SpecFile(source, opset))
    return tuple(found)
