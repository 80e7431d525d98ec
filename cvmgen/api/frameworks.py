"""Libraries whose arrays callers give: their memory, their streams. None is imported here."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from cvmgen.api import dlpack
from cvmgen.api.streams import LEGACY_STREAM, stream_handle

Module = Any


@dataclass(frozen=True, slots=True)
class Framework:
    """What operators need of a library beside its arrays: results are arrays of its own, made and
    released by it, and what is started goes where the library's own work goes."""

    current: Callable[[int], Any]
    """The stream of a device that its operations use now."""
    other: Callable[[int, int], AbstractContextManager[Any]]
    """Within it, they use the stream of that address."""
    empty: Callable[[int, tuple[int, ...], np.dtype[Any]], Any]
    """A new array on a device."""
    like: Callable[[Any], Any]
    """A new array without gaps, for the elements of another one."""
    place: Callable[[Any], tuple[int, int]]
    """The device of an array, and where it begins there."""
    has_gaps: Callable[[Any], bool]
    """Whether an array is another than row-major without gaps."""
    keep: Callable[[Any, int], None]
    """A stream works on an array, whose memory must not be given to others before it is done."""

    def using(self, ordinal: int, handle: int) -> AbstractContextManager[Any]:
        """Within it, the library's operations use a stream."""
        if _same(stream_handle(self.current(ordinal)), handle):
            return contextlib.nullcontext()
        return self.other(ordinal, handle)


def framework_of(values: Iterable[Any]) -> Framework | None:
    """The library of the first of these arrays that is of one; None where all are of others."""
    for value in values:
        found = library_of(type(value))
        if found is not None and _on_device(value):
            return found
    return None


def library_of(kind: type[Any]) -> Framework | None:
    """The library that a type of arrays is of; None for one that is not known here."""
    name = _name_of(kind)  # type: ignore[arg-type]
    return None if name is None else _KNOWN[name](sys.modules[name])


@functools.cache
def _name_of(kind: type[Any]) -> str | None:
    names = (each.__module__.partition(".")[0] for each in kind.__mro__)
    return next((name for name in names if name in _KNOWN and name in sys.modules), None)


def _on_device(value: Any) -> bool:
    # Of a library that was built without CUDA there are no streams to ask for.
    return value.__dlpack_device__()[0] in (dlpack.CUDA, dlpack.CUDA_MANAGED)


def _same(stream: int, other: int) -> bool:
    return (stream or LEGACY_STREAM) == (other or LEGACY_STREAM)


@functools.cache
def _torch(torch: Module) -> Framework:
    def named(ordinal: int, handle: int) -> Any:
        if _same(handle, LEGACY_STREAM):
            return torch.cuda.default_stream(ordinal)
        return torch.cuda.ExternalStream(handle, device=ordinal)

    @functools.cache
    def keywords(ordinal: int, dtype: np.dtype[Any]) -> dict[str, Any]:
        return {"dtype": getattr(torch, dtype.name), "device": f"cuda:{ordinal}"}

    def empty(ordinal: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        return torch.empty(shape, **keywords(ordinal, dtype))

    # The stream's address without an object around it, where the release of PyTorch tells that.
    raw = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    return Framework(
        current=raw or torch.cuda.current_stream,
        other=lambda ordinal, handle: torch.cuda.stream(named(ordinal, handle)),
        empty=empty,
        like=lambda array: torch.empty_like(array, memory_format=torch.contiguous_format),
        place=lambda array: (array.device.index, array.data_ptr()),
        has_gaps=lambda array: not array.is_contiguous(),
        keep=lambda array, handle: array.record_stream(named(array.device.index, handle)),
    )


@functools.cache
def _cupy(cupy: Module) -> Framework:
    @contextlib.contextmanager
    def other(ordinal: int, handle: int) -> Iterator[None]:
        # A stream is only used where its device is the current one.
        address = 0 if handle == LEGACY_STREAM else handle
        with cupy.cuda.Device(ordinal), cupy.cuda.ExternalStream(address, ordinal):
            yield

    def empty(ordinal: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        with cupy.cuda.Device(ordinal):
            return cupy.empty(shape, dtype)

    def keep(array: Any, handle: int) -> None:
        """Its memory is given to what comes next in the stream that it was made in: callers see to
        others, as with its own operations."""

    return Framework(
        current=cupy.cuda.get_current_stream,
        other=other,
        empty=empty,
        like=lambda array: empty(array.device.id, array.shape, array.dtype),
        place=lambda array: (array.device.id, array.data.ptr),
        has_gaps=lambda array: not array.flags.c_contiguous,
        keep=keep,
    )


_KNOWN: dict[str, Callable[[Module], Framework]] = {"torch": _torch, "cupy": _cupy}
