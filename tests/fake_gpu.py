"""Operators on a device that is not there: the whole path to a GPU, up to its driver."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from cvmgen.api import Operators
from cvmgen.api.cuda_backend import CudaBackend
from cvmgen.api.cuda_cpu_backend import PRELUDE
from cvmgen.api.device import Device
from cvmgen.api.driver import Driver
from cvmgen.api.library import library_sources, load_on_device
from cvmgen.api.manifest import read_manifest
from cvmgen.build import compile_library, cuda_compiler
from cvmgen.errors import BuildError
from tests.emit.units import joined

A_STREAM = 0x51
"""The address of a stream that a test can let the driver know."""

SOURCE = Path(__file__).parent / "api" / "fake_driver.cc"


class State(ctypes.Structure):
    """fake_driver."""

    _fields_ = (
        *(
            (name, ctypes.c_int64)
            for name in (
                "devices",
                "memory",
                "fail_launches",
                "launches",
                "modules",
                "allocations",
                "depth",
                "waits",
                "threshold",
                "version",
                "architecture",
                "fail_images",
                "fail_late",
                "found",
                "trims",
                "graphs",
                "late",
                "syncs",
            )
        ),
        ("stream", ctypes.c_void_p),
        ("kernel", ctypes.c_char * 128),
    )


class Capture:
    """A graph of what is started in a stream meanwhile."""

    def __init__(self, device: Device, library: Path, stream: int) -> None:
        self.driver = ctypes.CDLL(str(library))
        self.device, self.stream = device, ctypes.c_void_p(stream)
        self.graph, self.made = ctypes.c_void_p(), ctypes.c_void_p()

    def __enter__(self) -> Capture:
        with self.device.current():
            assert self.driver.cuStreamBeginCapture_v2(self.stream, 0) == 0
        return self

    def __exit__(self, *_: Any) -> None:
        assert self.driver.cuStreamEndCapture(self.stream, ctypes.byref(self.graph)) == 0
        made = ctypes.byref(self.made)
        assert self.driver.cuGraphInstantiateWithFlags(made, self.graph, ctypes.c_uint64(0)) == 0
        assert self.driver.cuGraphDestroy(self.graph) == 0

    def replay(self) -> None:
        with self.device.current():
            assert self.driver.cuGraphLaunch(self.made, self.stream) == 0

    def drop(self) -> None:
        assert self.driver.cuGraphExecDestroy(self.made) == 0


def fake_library(folder: Path) -> Path:
    """The library of a generated folder, with a driver in it."""
    sources = {**joined(library_sources(folder, "cuda")), "fake_driver.cc": SOURCE.read_text()}
    return compile_library(sources, name="cvmgen-cuda-fake", threads=False, prelude=PRELUDE)


def fake_state(library: Path) -> State:
    """What its driver was asked for."""
    function = ctypes.CDLL(str(library)).fake_driver_state
    function.restype = ctypes.POINTER(State)
    found: State = function().contents
    return found


def fake_backend(folder: Path) -> CudaBackend:
    library = fake_library(folder)
    device = Device(Driver(str(library)), 0)
    return CudaBackend(library, read_manifest(folder), folder, device)


def fake_operators(folder: Path, transfer: bool = True) -> Operators:
    """The operators of a generated folder on the fake device."""
    backend: Any = fake_backend(folder)
    return load_on_device(read_manifest(folder), backend, transfer)


def has_nvrtc() -> bool:
    try:
        cuda_compiler()
    except BuildError:
        return False
    return True
