"""Arrays in the memory of a device: those of other libraries, seen as they are, and results."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from math import prod
from typing import Any, NoReturn

import numpy as np

from cvmgen import rules
from cvmgen.api import dlpack
from cvmgen.api.calls import unsendable
from cvmgen.api.device import Device
from cvmgen.api.device_memory import DeviceBlock
from cvmgen.api.device_notes import Notes
from cvmgen.api.streams import LEGACY_STREAM, stream_handle
from cvmgen.errors import OperatorError
from cvmgen.typed import OF_FOUR_BITS, type_for

Array = np.ndarray[Any, Any]

ON_HOST = "memory of the device is needed; load('cuda', transfer=True) takes arrays of the host"
GAPS = "the array must be row-major without gaps"


class DeviceArray:
    """A row-major array without gaps in the memory of a device.

    What operators return when they are given no `out`. Other libraries see it without a copy:
    `torch.from_dlpack(Y)`, `cupy.from_dlpack(Y)`, or through `__cuda_array_interface__`. Its
    elements are there once `stream` has come to them; `to_numpy()` waits, and raises OperatorError
    where one of them does not fit its type.
    """

    def __init__(
        self,
        device: Device,
        data: int,
        shape: Sequence[int],
        dtype: Any,
        stream: Any = None,
        owner: Any = None,
        read_only: bool = False,
    ) -> None:
        self.device = device
        self.data = data
        self.shape = tuple(shape)
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.stream = stream
        self.read_only = read_only
        self.notes: Notes | None = None
        """Of the call that computes the elements."""
        self._owner = owner

    @classmethod
    def empty(
        cls, device: Device, shape: Sequence[int], dtype: Any, stream: Any = None
    ) -> DeviceArray:
        """New memory, which goes back to the device with the last user, in the stream's turn."""
        size = prod(shape) * np.dtype(dtype).itemsize
        memory = device.pool.allocate(size, stream)
        made = cls(device, memory.address, shape, dtype, stream, memory)
        finalizer = weakref.finalize(made, device.pool.release, memory)
        finalizer.atexit = False  # the driver takes all memory back by itself
        return made

    @classmethod
    def of(cls, device: Device, array: Array, stream: Any = None) -> DeviceArray:
        """A copy of an array in host memory."""
        made = cls.empty(device, array.shape, array.dtype, stream)
        made.copy_from(array)
        return made

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def copy_from(self, array: Array) -> None:
        """Take the elements of a contiguous array of the same shape and type."""
        if self.size:
            handle = stream_handle(self.stream)
            self.device.upload(self.data, array.ctypes.data, self.nbytes, handle)

    def copy_to(self, array: Array) -> None:
        """Give the elements to a contiguous array of the same shape and type."""
        if self.size:
            handle = stream_handle(self.stream)
            self.device.download(array.ctypes.data, self.data, self.nbytes, handle)
            self.device.refusals.seen(handle, self.notes)

    def to_numpy(self) -> Array:
        """The elements in host memory, once they are computed."""
        found = np.empty(self.shape, self.dtype)
        self.copy_to(found)
        return found

    def used_by(self, stream: Any) -> None:
        """Another stream works on the memory: it does not go back before that is done, and who
        waits for that stream is told what is refused of the elements."""
        if self.notes is not None:
            self.notes.noted.seen_in.add(stream_handle(stream))
        if isinstance(self._owner, DeviceArray):
            self._owner.used_by(stream)
        elif isinstance(self._owner, DeviceBlock):
            known = (self._owner.stream, *self._owner.users)
            handle = stream_handle(stream) or LEGACY_STREAM
            if all((stream_handle(each) or LEGACY_STREAM) != handle for each in known):
                self._owner.users.append(stream)

    # -------------------------------------------------------- for other libraries

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.CUDA, self.device.ordinal

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("the array is given as it is, on its device")
        self.device.refusals.seen(stream_handle(self.stream), self.notes)
        if stream != -1:  # -1: the caller waits by itself
            taken = LEGACY_STREAM if stream is None else int(stream)
            self.device.order(taken, stream_handle(self.stream))
            self.used_by(taken)
        return dlpack.capsule_of(
            self.data, self.shape, self.dtype, self.device.ordinal, self, max_version
        )

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        self.device.refusals.seen(stream_handle(self.stream), self.notes)
        return {
            "version": 3,
            "data": (self.data if self.size else 0, self.read_only),
            "shape": self.shape,
            "typestr": self.dtype.str,
            "strides": None,
            "stream": stream_handle(self.stream) or LEGACY_STREAM,
        }

    def __reduce__(self) -> NoReturn:
        unsendable(repr(self), "send what to_numpy() gives")

    def __repr__(self) -> str:
        shape = rules.shape_text(self.shape)
        return f"<device array {shape} {self.dtype} on cuda:{self.device.ordinal}>"


# ---------------------------------------------------------------- arrays of other libraries


def device_array(operator: str, name: str, value: Any, device: Device, stream: Any) -> DeviceArray:
    """An operand where it lies; its elements are ready in the stream's turn.

    OperatorError for memory of the host or of another device, and for strides with gaps.
    """
    if isinstance(value, DeviceArray) and value.device is device:
        device.order(stream_handle(stream), stream_handle(value.stream))
        value.used_by(stream)
        return value
    if hasattr(value, "__dlpack_device__"):
        return _of_dlpack(operator, name, value, device, stream)
    if hasattr(value, "__cuda_array_interface__"):
        return _of_interface(operator, name, value, device, stream)
    raise OperatorError(operator, name, type(value).__name__, ON_HOST)


def _of_dlpack(operator: str, name: str, value: Any, device: Device, stream: Any) -> DeviceArray:
    kind, ordinal = value.__dlpack_device__()
    if kind not in (dlpack.CUDA, dlpack.CUDA_MANAGED):
        raise OperatorError(operator, name, type(value).__name__, ON_HOST)
    if kind == dlpack.CUDA:
        _check_device(operator, name, ordinal, device)
    taken = stream_handle(stream) or LEGACY_STREAM
    try:
        # -1: nothing outside can be awaited in a graph that is captured.
        capsule = dlpack.request(value, taken if device.capture(taken) is None else -1)
    except OperatorError:  # what was refused of its elements
        raise
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        rule = f"it does not share its memory: {error}"
        raise OperatorError(operator, name, type(value).__name__, rule) from None
    view = dlpack.view_of(capsule)
    dtype = _dtype(operator, name, view.dtype)
    _check_strides(operator, name, view.shape, view.strides)
    owner = (value, capsule)
    return DeviceArray(device, view.data, view.shape, dtype, stream, owner, view.read_only)


def _of_interface(operator: str, name: str, value: Any, device: Device, stream: Any) -> DeviceArray:
    given = value.__cuda_array_interface__
    data, read_only = given["data"]
    shape = tuple(given["shape"])
    dtype = _dtype(operator, name, given["typestr"])
    strides = given.get("strides")
    if strides is not None:
        # A step that is no multiple of an element's bytes is none that a row has.
        strides = tuple(-1 if each % dtype.itemsize else each // dtype.itemsize for each in strides)
    _check_strides(operator, name, shape, strides)
    if prod(shape) and not device.owns(data):
        raise OperatorError(operator, name, "", f"memory of cuda:{device.ordinal} is needed")
    after = given.get("stream")
    if after is not None:
        device.order(stream_handle(stream), int(after))
    return DeviceArray(device, data, shape, dtype, stream, value, bool(read_only))


def _check_device(operator: str, name: str, ordinal: int, device: Device) -> None:
    if ordinal != device.ordinal:
        rule = f"memory of cuda:{device.ordinal} is needed"
        raise OperatorError(operator, name, f"cuda:{ordinal}", rule)


def _dtype(operator: str, name: str, text: str) -> np.dtype[Any]:
    if text in OF_FOUR_BITS:
        raise OperatorError(operator, name, f"dtype {text}", dlpack.PACKED)
    try:
        return type_for(operator, name, text)
    except TypeError:  # those that numpy does not have
        raise OperatorError(operator, name, f"dtype {text}", rules.ELEMENT_TYPES) from None


def _check_strides(
    operator: str, name: str, shape: Sequence[int], strides: Sequence[int] | None
) -> None:
    if strides is None or prod(shape) <= 1:
        return
    step = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1 and stride != step:
            shown = f"strides {rules.shape_text(strides)}"
            raise OperatorError(operator, name, shown, GAPS)
        step *= extent
