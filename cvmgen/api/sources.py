"""The generated text of an operator."""

from __future__ import annotations

from pathlib import Path

from cvmgen.api.manifest import SUFFIXES, OperatorInfo
from cvmgen.errors import CvmgenError


def source_text(folder: Path, info: OperatorInfo, target: str) -> str:
    """The file that `cvmgen build` wrote for an operator and a target."""
    if target not in SUFFIXES:
        raise CvmgenError(f"unknown target '{target}'; targets are {', '.join(SUFFIXES)}")
    path = folder / target / info.opset / f"{info.name}.{SUFFIXES[target]}"
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise CvmgenError(f"{path}: {error.strerror}; run 'cvmgen build'") from None
