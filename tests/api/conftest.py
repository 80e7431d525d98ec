"""The operators on a device that is not there, and what its driver sees."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cvmgen.api import Operators
from cvmgen.api.device import Device
from cvmgen.api.library import load_on_device
from cvmgen.api.manifest import read_manifest
from tests.fake_gpu import A_STREAM, State, fake_backend, fake_library, fake_state


@pytest.fixture(scope="session")
def library(generated: Path) -> Path:
    return fake_library(generated)


@pytest.fixture(scope="session")
def backend(generated: Path) -> Any:
    return fake_backend(generated)


@pytest.fixture(scope="session")
def device(backend: Any) -> Device:
    found: Device = backend.device
    return found


@pytest.fixture(scope="session")
def ops(backend: Any, generated: Path) -> Operators:
    """Operators that take arrays of the device."""
    return load_on_device(read_manifest(generated), backend)


@pytest.fixture(scope="session")
def copying(backend: Any, generated: Path) -> Operators:
    """Operators that take arrays of the host."""
    return load_on_device(read_manifest(generated), backend, transfer=True)


@pytest.fixture
def state(library: Path) -> Iterator[State]:
    """What the driver sees; nothing that a test asks of it stays."""
    gc.collect()
    gc.freeze()  # what is there already is not looked through again: that takes long
    found = fake_state(library)
    allocations = found.allocations
    yield found
    found.fail_launches = found.memory = found.fail_images = found.fail_late = found.late = 0
    found.devices, found.version, found.architecture = 1, 13000, 80
    gc.collect()
    assert found.allocations == allocations, "memory of the device was not given back"
    assert found.depth == 0, "a context stayed current"


@pytest.fixture
def stream(library: Path) -> Iterator[int]:
    """A stream that the driver knows for the time of a test."""
    known = ctypes.CDLL(str(library)).fake_driver_stream
    known(ctypes.c_void_p(A_STREAM), 1)
    yield A_STREAM
    gc.collect()
    known(ctypes.c_void_p(A_STREAM), 0)
