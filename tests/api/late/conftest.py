"""Operators whose results may not fit their type, on a device that is not there."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cvmgen import driver
from cvmgen.api import Operators
from cvmgen.api.device import Device
from cvmgen.api.library import load_on_device
from cvmgen.api.manifest import read_manifest
from cvmgen.build import write_changed
from cvmgen.source import Source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from tests.api.late.operators import (
    B_STREAM,
    FORMULAS,
)
from tests.fake_gpu import (
    A_STREAM,
    State,
    fake_backend,
    fake_library,
    fake_state,
)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("late")
    operators = check_files([SpecFile(Source("late.cvm", FORMULAS), "late")])
    write_changed(made, driver.generate(operators, ("cuda",)))
    return made


@pytest.fixture(scope="session")
def library(folder: Path) -> Path:
    return fake_library(folder)


@pytest.fixture(scope="session")
def backend(folder: Path) -> Any:
    return fake_backend(folder)


@pytest.fixture(scope="session")
def device(backend: Any) -> Device:
    found: Device = backend.device
    return found


@pytest.fixture
def ops(backend: Any, folder: Path, state: State) -> Operators:
    """They know nothing of another test's calls."""
    return load_on_device(read_manifest(folder), backend)


@pytest.fixture
def state(library: Path, device: Device) -> Iterator[State]:
    """What the driver sees. Behind each test nothing is left to be told, and all words are free but
    for those of calls of `ops` that come again."""
    know = ctypes.CDLL(str(library)).fake_driver_stream
    for stream in (A_STREAM, B_STREAM):
        know(ctypes.c_void_p(stream), 1)
    gc.collect()
    gc.freeze()  # what is there already is not looked through again: that takes long
    found = fake_state(library)
    allocations = found.allocations
    yield found
    found.late = 0
    gc.collect()
    device.synchronize()
    device.trim()
    device.refusals._collect()
    assert all(each.untold and each.is_clear for each in device.refusals._noted.values())
    assert found.allocations == allocations
    for stream in (A_STREAM, B_STREAM):
        know(ctypes.c_void_p(stream), 0)


@pytest.fixture
def run(library: Path) -> Callable[[int, int], None]:
    """Let so much of what waits in a stream be done."""
    function = ctypes.CDLL(str(library)).fake_driver_run

    def some(stream: int, count: int) -> None:
        function(ctypes.c_void_p(stream), count)

    return some
