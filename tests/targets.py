"""The targets that tests run, and the languages that they are made of."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import cvmgen
from cvmgen.api import Operators
from cvmgen.api.driver import open_device
from cvmgen.errors import CvmgenError
from tests.fake_gpu import fake_operators

TARGETS = tuple(os.environ.get("CVMGEN_TEST_TARGETS", "c,python,cuda-cpu").split(","))
"""`CVMGEN_TEST_TARGETS=c,cuda` runs all tests of conformance on a GPU, `c,cuda-fake` on the way to
one that is not there."""

ORDER = os.environ.get("CVMGEN_TEST_ORDER", "forward")
"""In which cuda-cpu runs threads: forward, reverse, or the seed of a random order."""

LANGUAGES = ("c", "python", "numpy", "cuda")


def load_target(target: str, folder: Path, library: Path | None = None) -> Operators:
    """The operators of a folder on a target, called with arrays of the host."""
    if target == "cuda-fake":
        return fake_operators(folder)
    if target == "cuda-cpu":
        order = int(ORDER) if ORDER.isdecimal() else ORDER
        return cvmgen.load(target, folder=folder, library=library, order=order)  # type: ignore[arg-type]
    return cvmgen.load(target, folder=folder, library=library, transfer=target == "cuda")


@functools.cache
def missing_gpu() -> str:
    """Why nothing runs on a GPU here; empty where there is one."""
    try:
        open_device()
    except CvmgenError as error:
        return str(error)
    return ""
