"""NVIDIA's driver as a library, through ctypes: devices, their memory, modules of kernels.

No toolkit and no Python package is needed: every machine with a driver has this library.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
from collections.abc import Iterator, Mapping
from typing import Any

from cvmgen.api.streams import LEGACY_STREAM
from cvmgen.errors import CvmgenError

LIBRARY = os.environ.get("CVMGEN_CUDA_DRIVER", "libcuda.so.1")

INSTEAD = "the target 'cuda-cpu' runs the same kernels on the CPU"
PACKAGES = "install NVIDIA's driver (version 550 or later); NVRTC: pip install 'cvmgen[cuda]'"
FORKED = (
    "this process was forked from one that used CUDA, which does not survive that: start "
    "processes by 'spawn' (multiprocessing.set_start_method), or fork before the first use"
)
LATE = (
    "; kernels run after their call has returned, so an earlier one may be to blame: "
    "CVMGEN_CUDA_SYNC=1, or load('cuda', wait=True), waits for each and tells which"
)

# From cuda.h: CUdevice_attribute, CUpointer_attribute, CUevent_flags, CUstream_flags,
# CUstreamCaptureMode, CUstreamCaptureStatus.
CAPABILITY_MAJOR, CAPABILITY_MINOR, MEMORY_POOLS = 75, 76, 115
DEVICE_ORDINAL = 9
DISABLE_TIMING = 2
RELAXED = 2
CAPTURING = 1

# CUresult: of an event that has not come to pass; of the default stream while another is captured.
_NOT_READY, _CAPTURE_IMPLICIT = 600, 906

ASYNCHRONOUS = (700, 702, 710, 714, 715, 716, 717, 718, 719)
"""What a kernel does wrong is told by whichever call comes next, and by all after it."""

_pointer, _int, _uint, _size = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint, ctypes.c_size_t
_memory = ctypes.c_uint64
_to = ctypes.POINTER

# The symbols of cuda.h's macros: cuCtxPushCurrent there is cuCtxPushCurrent_v2.
_SIGNATURES: Mapping[str, tuple[Any, ...]] = {
    "cuInit": (_uint,),
    "cuDriverGetVersion": (_to(_int),),
    "cuDeviceGetCount": (_to(_int),),
    "cuDeviceGet": (_to(_int), _int),
    "cuDeviceGetName": (ctypes.c_char_p, _int, _int),
    "cuDeviceGetAttribute": (_to(_int), _int, _int),
    "cuMemPoolCreate": (_to(_pointer), _pointer),
    "cuMemPoolSetAttribute": (_pointer, _int, _pointer),
    "cuMemPoolTrimTo": (_pointer, _size),
    "cuDevicePrimaryCtxRetain": (_to(_pointer), _int),
    "cuCtxPushCurrent_v2": (_pointer,),
    "cuCtxPopCurrent_v2": (_to(_pointer),),
    "cuCtxSynchronize": (),
    "cuModuleLoadData": (_to(_pointer), ctypes.c_char_p),
    "cuModuleGetFunction": (_to(_pointer), _pointer, ctypes.c_char_p),
    "cuModuleGetFunctionCount": (_to(_uint), _pointer),
    "cuModuleEnumerateFunctions": (_to(_pointer), _uint, _pointer),
    "cuFuncGetName": (_to(ctypes.c_char_p), _pointer),
    "cuFuncLoad": (_pointer,),
    "cuFuncSetAttribute": (_pointer, _int, _int),
    "cuLaunchKernel": (_pointer, *(_uint,) * 7, _pointer, _pointer, _pointer),
    "cuMemAllocFromPoolAsync": (_to(_memory), _size, _pointer, _pointer),
    "cuMemFreeAsync": (_memory, _pointer),
    "cuMemHostAlloc": (_to(_pointer), _size, _uint),
    "cuMemHostGetDevicePointer_v2": (_to(_memory), _pointer, _uint),
    "cuMemsetD8Async": (_memory, ctypes.c_ubyte, _size, _pointer),
    "cuMemcpyHtoDAsync_v2": (_memory, _pointer, _size, _pointer),
    "cuMemcpyDtoHAsync_v2": (_pointer, _memory, _size, _pointer),
    "cuMemcpyDtoDAsync_v2": (_memory, _memory, _size, _pointer),
    "cuPointerGetAttribute": (_pointer, _int, _memory),
    "cuStreamCreate": (_to(_pointer), _uint),
    "cuStreamSynchronize": (_pointer,),
    "cuStreamWaitEvent": (_pointer, _pointer, _uint),
    "cuStreamBeginCapture_v2": (_pointer, _int),
    "cuStreamEndCapture": (_pointer, _to(_pointer)),
    "cuGraphInstantiateWithFlags": (_to(_pointer), _pointer, ctypes.c_ulonglong),
    "cuGraphLaunch": (_pointer, _pointer),
    "cuGraphDestroy": (_pointer,),
    "cuGraphExecDestroy": (_pointer,),
    "cuStreamDestroy_v2": (_pointer,),
    "cuStreamGetCaptureInfo_v2": (
        _pointer,
        _to(_int),
        _to(_memory),
        _to(_pointer),
        _pointer,
        _pointer,
    ),
    "cuThreadExchangeStreamCaptureMode": (_to(_int),),
    "cuUserObjectCreate": (_to(_pointer), _pointer, _pointer, _uint, _uint),
    "cuGraphRetainUserObject": (_pointer, _pointer, _uint, _uint),
    "cuEventCreate": (_to(_pointer), _uint),
    "cuEventRecord": (_pointer, _pointer),
    "cuEventQuery": (_pointer,),
    "cuEventSynchronize": (_pointer,),
    "cuEventElapsedTime": (_to(ctypes.c_float), _pointer, _pointer),
    "cuEventDestroy_v2": (_pointer,),
    "cuGetErrorName": (_int, _to(ctypes.c_char_p)),
    "cuGetErrorString": (_int, _to(ctypes.c_char_p)),
}

# Those that the host code of operators calls, in the order of cvmgen_driver; the pool follows.
_TABLE = (
    "cuCtxPushCurrent_v2",
    "cuCtxPopCurrent_v2",
    "cuModuleGetFunction",
    "cuFuncSetAttribute",
    "cuLaunchKernel",
    "cuMemAllocFromPoolAsync",
    "cuMemFreeAsync",
    "cuMemsetD8Async",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuStreamSynchronize",
    "cuStreamGetCaptureInfo_v2",
    "cuGetErrorName",
    "cuGetErrorString",
)

Table = ctypes.c_void_p * (len(_TABLE) + 1)


class DriverError(CvmgenError):
    """What the driver says of a call that fails; `status` is its number."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message, status)
        self.message, self.status = message, status

    def __str__(self) -> str:
        return self.message


class Driver:
    """The loaded library; CvmgenError when there is none, or no device."""

    def __init__(self, library: str) -> None:
        try:
            self._library = ctypes.CDLL(library)
            functions = [getattr(self._library, name) for name in _SIGNATURES]
        except OSError as error:
            message = f"no CUDA driver ({error}): {PACKAGES}; {INSTEAD}"
            raise CvmgenError(message) from None
        except AttributeError as error:
            message = f"the CUDA driver is too old ({error}): {PACKAGES}"
            raise CvmgenError(message) from None
        for function, arguments in zip(functions, _SIGNATURES.values(), strict=True):
            function.argtypes = arguments
        status = self._library.cuInit(0)
        if status != 0:
            raise CvmgenError(f"no CUDA device ({self.meaning(status)}); {INSTEAD}")
        self._process = os.getpid()
        number = self.number("cuDriverGetVersion")
        self.version = (number // 1000, number % 1000 // 10)

    def table(self, pool: int) -> Any:
        """cvmgen_driver: what the host code of operators calls."""
        found = (getattr(self._library, name) for name in _TABLE)
        return Table(*(ctypes.cast(each, ctypes.c_void_p).value for each in found), pool)

    @property
    def forked(self) -> bool:
        """Whether this process is a fork of the one that opened the driver: nothing works then."""
        return os.getpid() != self._process

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function; DriverError when it fails."""
        status = getattr(self._library, name)(*arguments)
        if status == 0:
            return
        if self.forked:
            raise DriverError(f"CUDA: {FORKED}", status)
        late = LATE if status in ASYNCHRONOUS else ""
        raise DriverError(f"CUDA: {self.meaning(status)} ({name}){late}", status)

    def meaning(self, status: int) -> str:
        """The name of an error and its meaning."""
        name, text = ctypes.c_char_p(), ctypes.c_char_p()
        self._library.cuGetErrorName(status, ctypes.byref(name))
        self._library.cuGetErrorString(status, ctypes.byref(text))
        if name.value is None or text.value is None:
            return f"error {status}"
        return f"{name.value.decode()}: {text.value.decode()}"

    def number(self, name: str, *arguments: Any) -> int:
        """The integer that a function gives by its first parameter."""
        found = ctypes.c_int()
        self.call(name, ctypes.byref(found), *arguments)
        return found.value

    def handle(self, name: str, *arguments: Any) -> int:
        """The handle that a function gives by its first parameter."""
        found = ctypes.c_void_p()
        self.call(name, ctypes.byref(found), *arguments)
        return found.value or 0


@functools.cache
def _opened(library: str) -> Driver:
    return Driver(library)


def open_driver() -> Driver:
    """The driver's library, opened once."""
    return _opened(LIBRARY)


class Current:
    """Within it, a context is the calling thread's. It has no state of its own: all calls enter the
    same one, in any thread."""

    __slots__ = ("_context", "_driver")

    def __init__(self, driver: Driver, context: int) -> None:
        self._driver, self._context = driver, context

    def __enter__(self) -> None:
        self._driver.call("cuCtxPushCurrent_v2", self._context)

    def __exit__(self, *_: object) -> None:
        self._driver.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))


class PrimaryContext:
    """The primary context of a device, which frameworks use too: its streams and their order."""

    def __init__(self, driver: Driver, ordinal: int) -> None:
        self.driver = driver
        self.ordinal = ordinal
        self.id = driver.number("cuDeviceGet", ordinal)
        if not self.attribute(MEMORY_POOLS):
            raise CvmgenError(f"device={ordinal}: {self.name} has no memory pools")
        self.context = driver.handle("cuDevicePrimaryCtxRetain", self.id)
        self._current = Current(driver, self.context)

    @property
    def name(self) -> str:
        text = ctypes.create_string_buffer(256)
        self.driver.call("cuDeviceGetName", text, len(text), self.id)
        return text.value.decode("utf-8", "replace")

    def attribute(self, attribute: int) -> int:
        """What the driver tells of the device, by a CUdevice_attribute."""
        return self.driver.number("cuDeviceGetAttribute", attribute, self.id)

    def current(self) -> Current:
        """The context is current in the calling thread, and the one before it afterwards."""
        return self._current

    @contextlib.contextmanager
    def relaxed(self) -> Iterator[None]:
        """While graphs are captured, this thread may do what concerns none of them."""
        mode = ctypes.c_int(RELAXED)
        with self.current():
            self.driver.call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))
            try:
                yield
            finally:
                self.driver.call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))

    def order(self, stream: int, after: int) -> None:
        """What comes in `stream` waits for what is in `after` now.

        What is captured runs when its graph is started: nothing outside can wait for it, and for
        what is outside whoever starts the graph has waited.
        """
        if (stream or LEGACY_STREAM) == (after or LEGACY_STREAM):
            return
        if self.capture(stream) != self.capture(after):
            return
        with self.current():
            event = self.driver.handle("cuEventCreate", DISABLE_TIMING)
            try:
                self.driver.call("cuEventRecord", event, after)
                self.driver.call("cuStreamWaitEvent", stream, event, 0)
            finally:
                self.driver.call("cuEventDestroy_v2", event)

    def capture(self, stream: int) -> tuple[int, int] | None:
        """The number and the graph of the capture that a stream is in; None where it is in none."""
        # The default stream is in none: no capture admits it.
        return None if stream in (0, LEGACY_STREAM) else self._captured(stream)

    def admits(self, stream: int) -> bool:
        """Whether what is put into a stream now is done now: while others are captured the default
        stream takes nothing."""
        try:
            return self._captured(stream) is None
        except DriverError as error:
            if error.status != _CAPTURE_IMPLICIT:
                raise
            return False

    def _captured(self, stream: int) -> tuple[int, int] | None:
        status, number, graph = ctypes.c_int(), ctypes.c_uint64(), ctypes.c_void_p()
        told = map(ctypes.byref, (status, number, graph))
        with self.current():
            self.driver.call("cuStreamGetCaptureInfo_v2", stream, *told, None, None)
        return (number.value, graph.value or 0) if status.value == CAPTURING else None

    def recorded(self, stream: int) -> int:
        """An event that comes to pass when all is done that was started in a stream."""
        with self.relaxed():
            event = self.driver.handle("cuEventCreate", DISABLE_TIMING)
            self.driver.call("cuEventRecord", event, stream)
        return event

    def is_over(self, event: int) -> bool:
        """Whether an event has come to pass, which is the end of it."""
        try:
            with self.relaxed():
                self.driver.call("cuEventQuery", event)
                self.driver.call("cuEventDestroy_v2", event)
        except DriverError as error:
            if error.status != _NOT_READY:
                raise
            return False
        return True
