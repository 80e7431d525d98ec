"""A library of arrays that behaves as PyTorch does, as far as operators on a device ask it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from cvmgen.api.device import Device
from cvmgen.api.device_array import DeviceArray


class Tensor:
    """Rows and columns of memory of the device; `t()` turns them without moving any."""

    def __init__(self, array: DeviceArray, turned: bool = False) -> None:
        self.array = array
        self.turned = turned
        self.shape = array.shape[::-1] if turned else array.shape
        self.dtype = f"torch.{array.dtype}"
        self.device = SimpleNamespace(index=0)
        self.streams: list[int] = []
        self.refused = ""

    def t(self) -> Tensor:
        return Tensor(self.array, not self.turned)

    def is_contiguous(self) -> bool:
        return not self.turned

    def data_ptr(self) -> int:
        return self.array.data

    def record_stream(self, stream: Stream) -> None:
        self.streams.append(stream.cuda_stream)

    def numpy(self) -> Any:
        found = self.array.to_numpy()
        return found.T if self.turned else found

    def __setitem__(self, everything: Any, other: Tensor) -> None:
        """A copy in the current stream."""
        assert everything is ...
        values = np.ascontiguousarray(other.numpy().T if self.turned else other.numpy())
        cuda.copies.append(cuda.now.cuda_stream)
        self.array.copy_from(values)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None) -> Any:
        if self.refused:
            raise BufferError(self.refused)
        assert not self.turned
        return self.array.__dlpack__(stream=stream, max_version=max_version)


Tensor.__module__ = "torch"


class Stream:
    def __init__(self, address: int) -> None:
        self.cuda_stream = address


class Cuda:
    """torch.cuda."""

    def __init__(self) -> None:
        self.now = Stream(0)
        self.copies: list[int] = []

    def current_stream(self, device: int) -> Stream:
        assert device == 0
        return self.now

    def default_stream(self, device: int) -> Stream:
        return Stream(0)

    def ExternalStream(self, address: int, device: Any) -> Stream:
        assert address > 1, "0 is a stream of PyTorch's own choice there"
        return Stream(address)

    @contextlib.contextmanager
    def stream(self, stream: Stream) -> Iterator[None]:
        before, self.now = self.now, stream
        yield
        self.now = before


cuda = Cuda()


class Torch:
    """The module."""

    int8, int32, float32 = np.int8, np.int32, np.float32
    contiguous_format = "contiguous"

    def __init__(self, device: Device) -> None:
        self.there = device
        self.cuda = cuda
        cuda.copies.clear()
        self.made: list[int] = []

    def tensor(self, values: Any) -> Tensor:
        return Tensor(DeviceArray.of(self.there, np.ascontiguousarray(values), cuda.now))

    def empty(self, shape: Any, dtype: Any, device: str) -> Tensor:
        assert device == "cuda:0"
        self.made.append(cuda.now.cuda_stream)
        return Tensor(DeviceArray.empty(self.there, tuple(shape), dtype, cuda.now))

    def empty_like(self, tensor: Tensor, memory_format: str) -> Tensor:
        assert memory_format == "contiguous"
        return self.empty(tensor.shape, tensor.array.dtype, "cuda:0")
