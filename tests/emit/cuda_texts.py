"""The CUDA text of the operators of spec/ and tests/data/extra."""

from __future__ import annotations

import functools
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from cvmgen.cli.texts import remembered_texts
from cvmgen.driver import CUDA, lower, mapped_kernels
from cvmgen.emit import cuda, cuda_support
from cvmgen.ir import nodes as i
from cvmgen.schedule.kernels import Kernels
from cvmgen.spec import formula as f
from tests.operators import extra, product
from tests.targets import LANGUAGES

# In C++ `= {0}` leaves members out; it means what it says all the same.
WARNINGS = ("-Wall", "-Wextra", "-Wno-missing-field-initializers")


@functools.cache
def operators() -> dict[str, f.Operator]:
    """The operators of spec/ and those of tests/data/extra, by their full names."""
    return {each.full_name: each for each in (*product(), *extra())}


@functools.cache
def program(name: str) -> i.Program:
    return lower(operators()[name], CUDA)


@functools.cache
def kernels_of(name: str) -> Kernels:
    return mapped_kernels(operators()[name])


@functools.cache
def text(name: str) -> str:
    path = f"cuda/{name.replace('.', '/')}.cu"
    return remembered_texts(operators()[name], LANGUAGES).files[path]


@functools.cache
def classes(name: str) -> Mapping[str, str]:
    """The class of each kernel of an operator."""
    return cuda.kernel_classes(kernels_of(name))


@functools.cache
def headers() -> dict[str, str]:
    """What kernels include."""
    return cuda_support.emit_support()


@functools.cache
def interfaces() -> dict[str, str]:
    """What callers and the host code include."""
    return {
        f"{each.opset}/{each.name}.h": cuda.emit_interface(kernels_of(each.full_name))
        for each in operators().values()
    }


NAMES = tuple(operators())
# Those with a kernel that is a contraction.
TILED = (
    "cvm.conv2d",
    "cvm.dense",
    "extra.batched_product",
    "extra.scaled_product",
    "extra.scores",
)


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
    write(
        headers() | interfaces() | {f"{name.replace('.', '/')}.cu": text(name) for name in NAMES},
        folder,
    )
