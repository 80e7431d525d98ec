"""A library of arrays that behaves as CuPy does, as far as operators on a device ask it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from cvmgen.api.device import Device
from cvmgen.api.device_array import DeviceArray


class ndarray:
    def __init__(self, array: DeviceArray, turned: bool = False) -> None:
        self.array, self.turned = array, turned
        self.shape = array.shape[::-1] if turned else array.shape
        self.dtype = array.dtype
        self.device = SimpleNamespace(id=0)
        self.data = SimpleNamespace(ptr=array.data)
        self.flags = SimpleNamespace(c_contiguous=not turned)

    @property
    def T(self) -> ndarray:
        return ndarray(self.array, not self.turned)

    def get(self) -> Any:
        found = self.array.to_numpy()
        return found.T if self.turned else found

    def __setitem__(self, everything: Any, other: ndarray) -> None:
        assert everything is ...
        self.array.copy_from(np.ascontiguousarray(other.get().T if self.turned else other.get()))

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None) -> Any:
        assert not self.turned
        return self.array.__dlpack__(stream=stream, max_version=max_version)


ndarray.__module__ = "cupy"


class Cupy:
    """The module; its streams are used only where their device is the current one."""

    def __init__(self, device: Device) -> None:
        self.there, self.current, self.made = device, False, list[int]()
        self.now = SimpleNamespace(ptr=0)
        self.cuda = SimpleNamespace(
            Device=lambda ordinal: CurrentDevice(self, ordinal),
            ExternalStream=lambda address, ordinal: CurrentStream(self, address),
            get_current_stream=lambda ordinal: self.now,
        )

    def array(self, values: Any) -> ndarray:
        return ndarray(DeviceArray.of(self.there, np.ascontiguousarray(values), self.now.ptr))

    def empty(self, shape: Any, dtype: Any) -> ndarray:
        assert self.current
        self.made.append(self.now.ptr)
        return ndarray(DeviceArray.empty(self.there, shape, dtype, self.now.ptr))


class CurrentDevice:
    def __init__(self, cupy: Cupy, ordinal: int) -> None:
        assert ordinal == 0
        self.cupy = cupy

    def __enter__(self) -> None:
        self.cupy.current = True

    def __exit__(self, *_: Any) -> None:
        self.cupy.current = False


class CurrentStream:
    def __init__(self, cupy: Cupy, address: int) -> None:
        assert address != 1
        self.cupy, self.ptr, self.before = cupy, address, cupy.now

    def __enter__(self) -> None:
        assert self.cupy.current, "the stream is not of the current device"
        self.cupy.now = SimpleNamespace(ptr=self.ptr)

    def __exit__(self, *_: Any) -> None:
        self.cupy.now = self.before
