"""The targets that tests run, and the languages that they are made of."""

from __future__ import annotations

import functools
import os
import shlex
from collections.abc import Sequence
from pathlib import Path

import cvmgen
from cvmgen import driver
from cvmgen.api import Operators
from cvmgen.api.device import open_device
from cvmgen.api.library import TARGETS as KNOWN
from cvmgen.api.library import compiled_operators, library_sources
from cvmgen.build import compile_library, has_library, write_changed
from cvmgen.cli.texts import remembered_texts
from cvmgen.errors import CvmgenError
from cvmgen.paths import MANIFEST
from cvmgen.spec.formula import Operator
from tests.emit import on_cpu
from tests.emit.units import hurried, joined
from tests.fake_gpu import fake_operators
from tests.operators import OWN

TARGETS = tuple(os.environ.get("CVMGEN_TEST_TARGETS", "c,python,numpy,cuda-cpu").split(","))
"""`CVMGEN_TEST_TARGETS=c,cuda` runs all tests of conformance on a GPU, `c,cuda-fake` on the way to
one that is not there."""

ORDER = os.environ.get("CVMGEN_TEST_ORDER", "forward")
"""In which cuda-cpu runs threads: forward, reverse, or the seed of a random order."""

LANGUAGES = ("c", "python", "numpy", "cuda")
NEEDED = LANGUAGES if {"c", "cuda-cpu", "cuda", "cuda-fake"} & {*TARGETS} else TARGETS
"""Without a target that is compiled, the others need no text of those."""


def load_target(target: str, folder: Path, library: Path | None = None) -> Operators:
    """The operators of a folder on a target, called with arrays of the host."""
    if target == "cuda-fake":
        return fake_operators(folder)
    if target == "cuda-cpu":
        order = int(ORDER) if ORDER.isdecimal() else ORDER
        return cvmgen.load(target, folder=folder, library=library, order=order)  # type: ignore[arg-type]
    return cvmgen.load(target, folder=folder, library=library, transfer=target == "cuda")


def write_together(folder: Path, operators: Sequence[Operator], targets: Sequence[str]) -> None:
    """Write generated files for which each process may ask: of two that begin at once one goes
    backwards, so that each finds what the other has made, and none waits for it."""
    backwards = os.environ.get("PYTEST_XDIST_WORKER", "gw0")[-1] in "13579"
    for each in reversed(operators) if backwards else operators:
        remembered_texts(each, targets)
    write_changed(folder, driver.generate(operators, targets, remembered_texts))


def load_own(
    operators: Sequence[Operator], folder: Path, targets: Sequence[str] = TARGETS
) -> dict[str, Operators]:
    """Operators of a test's own, on each target."""
    write_together(folder, operators, sorted({KNOWN.get(each, "cuda") for each in targets}))
    return {target: load_target(target, folder, quickly(folder, target)) for target in targets}


def quickly(folder: Path, target: str) -> Path | None:
    """A library that is not optimised, which would take longer than calls of it do; None where
    the product makes it."""
    if target == "c":
        return compile_library(joined(library_sources(folder)), name="tried", flags=("-O0",))
    return on_cpu.library(folder) if target == "cuda-cpu" else None


def whole(folder: Path) -> Path:
    """The C library of all operators of spec/, which many tests call: as users have it where a
    build has made it; else kernels of forms of their own alone, and the others quickly."""
    sources = library_sources(folder)
    if has_library(sources, name="cvmgen"):
        return compiled_operators(folder)
    return compile_library(hurried(sources, OWN), name="whole", manifest=folder / MANIFEST)


@functools.cache
def quick_compiler(command: tuple[str, ...], folder: Path) -> Path:
    """A compiler that optimises nothing, for this process and those that it starts: what is
    compiled is called a few times."""
    quick = folder / f"quick-{Path(command[0]).name}"
    written = quick.with_name(f"{quick.name}-{os.getpid()}")
    written.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@" -O0\n')
    written.chmod(0o700)
    return written.replace(quick)  # another process may use it already


@functools.cache
def missing_gpu() -> str:
    """Why nothing runs on a GPU here; empty where there is one."""
    try:
        open_device()
    except CvmgenError as error:
        return str(error)
    return ""
