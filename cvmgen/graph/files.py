"""Reading and writing whole files, with failures as model errors."""

from __future__ import annotations

import os
from pathlib import Path

from cvmgen.errors import ModelError

FilePath = str | os.PathLike[str]


def read_bytes(path: FilePath) -> bytes:
    """The bytes of the file; ModelError when it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ModelError(f"cannot be read: {error.strerror}", file=os.fspath(path)) from error


def write_bytes(path: FilePath, data: bytes) -> None:
    """Replace the file by `data`; ModelError when it cannot be written."""
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise ModelError(f"cannot be written: {error.strerror}", file=os.fspath(path)) from error
