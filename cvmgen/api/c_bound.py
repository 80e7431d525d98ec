"""Bound calls of the C target: the library keeps what follows from shapes and constants."""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cvmgen.api.c_backend import CBackend, ErrorStruct, refusal
from cvmgen.api.calls import Array, CheckedCall
from cvmgen.api.manifest import OperatorInfo
from cvmgen.api.open_call import OpenCall
from cvmgen.api.operator import Operator
from cvmgen.memory import new_array

_from_buffer, _address_of = ctypes.c_char.from_buffer, ctypes.addressof


class KeptCall:
    """A call that the library keeps; `kept` are what its structures point to."""

    # Slots are found faster than the members of a dictionary: 2 % of a small call.
    __slots__ = (
        "__weakref__",
        "_bound",
        "_error",
        "_error_pointer",
        "_function",
        "_info",
        "_kept",
        "_lock",
        "_there",
    )

    def __init__(
        self, backend: CBackend, info: OperatorInfo, args: Any, kept: list[Any], constants: int
    ) -> None:
        self._info = info
        self._kept = kept
        self._lock = threading.Lock()  # a bound call runs in one thread at a time
        self._there: Sequence[Array] | None = None  # what the library has the addresses of
        self._function = backend.function("cvmgen_run")
        bound, self._error = ctypes.c_void_p(), ErrorStruct()
        self._error_pointer = ctypes.byref(self._error)
        bind = backend.function(f"{info.function}_bind")
        if bind(
            ctypes.byref(args),
            ctypes.c_uint64(constants),
            ctypes.byref(bound),
            self._error_pointer,
        ):
            raise refusal(info, self._error)
        self._bound = bound
        weakref.finalize(self, backend.function("cvmgen_release"), bound)

    @property
    def addresses(self) -> tuple[ctypes.c_void_p, ctypes.c_void_p]:
        """The call in the library, and the function that runs it; both live as long as this."""
        return self._bound, ctypes.cast(self._function, ctypes.c_void_p)

    def run(self) -> None:
        """Compute the results from what now is in memory."""
        with self._lock:
            if self._function(self._bound, None, self._error_pointer):
                raise refusal(self._info, self._error)

    def run_with(self, data: Any, arrays: Sequence[Array], at: Sequence[int]) -> None:
        """Compute with tensors that lie elsewhere; `data` has room for an address of each."""
        with self._lock:
            self._there = None
            for number, array in zip(at, arrays):  # noqa: B905 (strict costs as much as the loop)
                data[number] = address(array)
            if self._function(self._bound, data, self._error_pointer):
                raise refusal(self._info, self._error)
            self._there = arrays

    def run_again(self, array: Any, out: Any) -> bool:
        """Compute once more with the array and the result of the last call; False if these were
        others."""
        with self._lock:
            there = self._there
            if there is None or there[0] is not array or there[-1] is not out or len(there) != 2:
                return False
            if self._function(self._bound, None, self._error_pointer):
                raise refusal(self._info, self._error)
        return True


def keep(backend: CBackend, info: OperatorInfo, call: CheckedCall, constants: int) -> KeptCall:
    """A call, its arrays contiguous, as the library keeps it."""
    args, kept = backend.call_arguments(info, call)
    return KeptCall(backend, info, args, kept, constants)


class ReadyCall(NamedTuple):
    """An open call for certain element types."""

    call: KeptCall
    data: Any  # the addresses of all tensors
    at: tuple[int, ...]  # those of the arrays of a call, then of its results
    shapes: tuple[tuple[int, ...], ...]  # of the results
    dtypes: tuple[Any, ...]  # theirs


class COpenCall(OpenCall):
    """An open call whose constants the library packs when it first meets element types."""

    def __init__(
        self,
        operator: Operator,
        operands: Mapping[str, Any],
        keywords: Mapping[str, Any],
        make: Callable[[Mapping[str, Any]], ReadyCall],
        whole: Callable[[Sequence[Array]], Any],
    ) -> None:
        super().__init__(operator, operands, keywords)
        self._make = make
        self._whole = whole
        self._ready: dict[Any, ReadyCall] = {}

    def __call__(self, *arrays: Any, out: Any = None, **others: Any) -> Any:
        """As `OpenCall.__call__`."""
        if others:
            self._refuse_keyword(*others)
        try:
            # A call of 1 us: what it looks at is as little as tells that it is like those before.
            key = arrays[0].dtype if len(arrays) == 1 else tuple([each.dtype for each in arrays])
            ready = self._ready.get(key)
            if ready and out is not None and ready.call.run_again(arrays[0], out):
                return out
        except (AttributeError, IndexError, TypeError):
            ready = None
        if ready is None or not fit(arrays, self.shapes, READABLE):
            found, ready = self._learned(arrays)
            arrays = tuple(found)
        if out is None:
            targets: Sequence[Any] = [*map(new_array, ready.shapes, ready.dtypes)]
        else:
            targets = (out,) if len(ready.shapes) == 1 else out
            if not (fit(targets, ready.shapes, WRITABLE) and same_types(targets, ready.dtypes)):
                return super().__call__(*arrays, out=out)
        ready.call.run_with(ready.data, (*arrays, *targets), ready.at)
        return self._whole(targets)

    def _learned(self, arrays: Sequence[Any]) -> tuple[list[Array], ReadyCall]:
        """Arrays as the library reads them, and the call for their types; OperatorError where they
        do not fit."""
        found = [np.require(array, requirements=["C", "A"]) for array in arrays]
        filled = self._filled(found)
        key: Any = tuple(array.dtype for array in found)
        key = key[0] if len(key) == 1 else key
        if key not in self._ready:
            self._ready[key] = self._make(filled)
        return found, self._ready[key]


def address(array: Array) -> int:
    """Where the elements of an array begin."""
    try:
        # A fifth of the time of `ctypes.data`.
        return _address_of(_from_buffer(array))  # type: ignore[arg-type]
    except (TypeError, ValueError):  # of read-only and empty ones
        return array.ctypes.data


READABLE = 0x101  # row-major without gaps, aligned: the bits of numpy's flags
WRITABLE = 0x501


def fit(arrays: Sequence[Any], shapes: Sequence[tuple[int, ...]], flags: int) -> bool:
    """Whether arrays have these shapes, and may be read or written where they lie."""
    if len(arrays) != len(shapes):
        return False
    for array, shape in zip(arrays, shapes):  # noqa: B905 (strict costs as much as the loop)
        if type(array) is not np.ndarray or array.shape != shape:
            return False
        if array.flags.num & flags != flags:
            return False
    return True


def same_types(arrays: Sequence[Any], dtypes: Sequence[Any]) -> bool:
    if len(dtypes) == 1:
        return bool(arrays[0].dtype == dtypes[0])
    return all(array.dtype == dtype for array, dtype in zip(arrays, dtypes, strict=True))
