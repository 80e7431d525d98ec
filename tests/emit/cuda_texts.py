"""The CUDA text of the operators of spec/ and tests/data/extra."""

from __future__ import annotations

import functools
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from cvmgen.driver import C_LIKE, lower
from cvmgen.emit import cuda
from cvmgen.ir import nodes as i
from cvmgen.paths import spec_folder
from cvmgen.source import Source
from cvmgen.spec import formula as f
from cvmgen.spec.check import SpecFile, check_files, read_folder

EXTRA = Path(__file__).parents[1] / "data" / "extra"
# In C++ `= {0}` leaves members out; it means what it says all the same.
WARNINGS = ("-Wall", "-Wextra", "-Wno-missing-field-initializers")


@functools.cache
def operators() -> dict[str, f.Operator]:
    """The operators of spec/ and those of tests/data/extra, by their full names."""
    extra = [
        SpecFile(Source(f"tests/data/extra/{path.name}", path.read_text(encoding="utf-8")), "extra")
        for path in sorted(EXTRA.glob("*.cvm"))
    ]
    return {each.full_name: each for each in check_files((*read_folder(spec_folder()), *extra))}


@functools.cache
def program(name: str) -> i.Program:
    return lower(operators()[name], C_LIKE)


@functools.cache
def text(name: str) -> str:
    return cuda.emit_operator(program(name))


@functools.cache
def headers() -> dict[str, str]:
    opsets: dict[str, list[f.Operator]] = {}
    for each in operators().values():
        opsets.setdefault(each.opset, []).append(each)
    own = {f"{opset}.h": cuda.emit_header(opset, each) for opset, each in opsets.items()}
    return cuda.emit_support() | own


NAMES = tuple(operators())


def cplusplus() -> str:
    found = shutil.which("g++")
    if found is None:
        pytest.skip("no g++ here")
    return found


def write(files: dict[str, str], folder: Path) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


def compile_with(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def write_all(folder: Path) -> None:
    """All emitted files, as they lie in generated/cuda."""
    write(headers() | {f"{name.replace('.', '/')}.cu": text(name) for name in NAMES}, folder)
