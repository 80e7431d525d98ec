"""NVIDIA's driver as a library, through ctypes: devices, their memory, modules of kernels.

No toolkit and no Python package is needed: every machine with a driver has this library.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Iterator, Mapping
from typing import Any

from cvmgen.errors import CvmgenError

LIBRARY = "libcuda.so.1"

INSTEAD = "the target 'cuda-cpu' runs the same kernels on the CPU"
PACKAGES = "install NVIDIA's driver (version 580 or later); NVRTC: pip install 'cvmgen[cuda]'"

# CUdevice_attribute, CUmemPool_attribute, CUpointer_attribute and CUevent_flags, from cuda.h.
CAPABILITY_MAJOR, CAPABILITY_MINOR, MEMORY_POOLS = 75, 76, 115
RELEASE_THRESHOLD = 4
DEVICE_ORDINAL = 9
DISABLE_TIMING = 2

LEGACY_STREAM = 1
"""The default stream under a name that is not 0, which DLPack takes for no stream."""

_pointer, _int, _uint, _size = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint, ctypes.c_size_t
_memory = ctypes.c_uint64
_to = ctypes.POINTER

# The symbols of cuda.h's macros: cuCtxPushCurrent there is cuCtxPushCurrent_v2.
_SIGNATURES: Mapping[str, tuple[Any, ...]] = {
    "cuInit": (_uint,),
    "cuDeviceGetCount": (_to(_int),),
    "cuDeviceGet": (_to(_int), _int),
    "cuDeviceGetName": (ctypes.c_char_p, _int, _int),
    "cuDeviceGetAttribute": (_to(_int), _int, _int),
    "cuDeviceGetDefaultMemPool": (_to(_pointer), _int),
    "cuMemPoolGetAttribute": (_pointer, _int, _pointer),
    "cuMemPoolSetAttribute": (_pointer, _int, _pointer),
    "cuDevicePrimaryCtxRetain": (_to(_pointer), _int),
    "cuCtxPushCurrent_v2": (_pointer,),
    "cuCtxPopCurrent_v2": (_to(_pointer),),
    "cuModuleLoadData": (_to(_pointer), ctypes.c_char_p),
    "cuModuleGetFunction": (_to(_pointer), _pointer, ctypes.c_char_p),
    "cuFuncSetAttribute": (_pointer, _int, _int),
    "cuLaunchKernel": (_pointer, *(_uint,) * 7, _pointer, _pointer, _pointer),
    "cuMemAllocAsync": (_to(_memory), _size, _pointer),
    "cuMemFreeAsync": (_memory, _pointer),
    "cuMemsetD8Async": (_memory, ctypes.c_ubyte, _size, _pointer),
    "cuMemcpyHtoDAsync_v2": (_memory, _pointer, _size, _pointer),
    "cuMemcpyDtoHAsync_v2": (_pointer, _memory, _size, _pointer),
    "cuMemcpyDtoDAsync_v2": (_memory, _memory, _size, _pointer),
    "cuPointerGetAttribute": (_pointer, _int, _memory),
    "cuStreamSynchronize": (_pointer,),
    "cuStreamWaitEvent": (_pointer, _pointer, _uint),
    "cuEventCreate": (_to(_pointer), _uint),
    "cuEventRecord": (_pointer, _pointer),
    "cuEventSynchronize": (_pointer,),
    "cuEventElapsedTime": (_to(ctypes.c_float), _pointer, _pointer),
    "cuEventDestroy_v2": (_pointer,),
    "cuGetErrorName": (_int, _to(ctypes.c_char_p)),
    "cuGetErrorString": (_int, _to(ctypes.c_char_p)),
}

# Those that the host code of operators calls, in the order of cvmgen_driver.
_TABLE = (
    "cuCtxPushCurrent_v2",
    "cuCtxPopCurrent_v2",
    "cuModuleGetFunction",
    "cuFuncSetAttribute",
    "cuLaunchKernel",
    "cuMemAllocAsync",
    "cuMemFreeAsync",
    "cuMemsetD8Async",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuStreamSynchronize",
    "cuGetErrorName",
    "cuGetErrorString",
)

Table = ctypes.c_void_p * len(_TABLE)


class DriverError(CvmgenError):
    """What the driver says of a call that fails."""


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
        self.table = Table(
            *(ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value for name in _TABLE)
        )
        status = self._library.cuInit(0)
        if status != 0:
            raise CvmgenError(f"no CUDA device ({self.meaning(status)}); {INSTEAD}")

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function; DriverError when it fails."""
        status = getattr(self._library, name)(*arguments)
        if status != 0:
            raise DriverError(f"CUDA: {self.meaning(status)} ({name})")

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


class Device:
    """A device with its primary context, which frameworks use too. It stays for the process."""

    def __init__(self, driver: Driver, ordinal: int) -> None:
        count = driver.number("cuDeviceGetCount")
        if isinstance(ordinal, bool) or ordinal not in range(count):
            raise CvmgenError(f"device={ordinal!r}: this machine has {count}, counted from 0")
        self.driver = driver
        self.ordinal = int(ordinal)
        self._id = driver.number("cuDeviceGet", self.ordinal)
        if not self._attribute(MEMORY_POOLS):
            raise CvmgenError(f"device={ordinal}: {self.name} has no memory pools")
        self.context = driver.handle("cuDevicePrimaryCtxRetain", self._id)
        self._keep_memory()

    @property
    def name(self) -> str:
        text = ctypes.create_string_buffer(256)
        self.driver.call("cuDeviceGetName", text, len(text), self._id)
        return text.value.decode("utf-8", "replace")

    @property
    def architecture(self) -> str:
        """What kernels are compiled for, as `sm_90`."""
        return f"sm_{self._attribute(CAPABILITY_MAJOR)}{self._attribute(CAPABILITY_MINOR)}"

    def _attribute(self, attribute: int) -> int:
        return self.driver.number("cuDeviceGetAttribute", attribute, self._id)

    def _keep_memory(self) -> None:
        """Without a threshold the pool gives all free memory back whenever the host waits."""
        pool = self.driver.handle("cuDeviceGetDefaultMemPool", self._id)
        threshold = ctypes.c_uint64()
        pointer = ctypes.byref(threshold)
        self.driver.call("cuMemPoolGetAttribute", pool, RELEASE_THRESHOLD, pointer)
        if threshold.value == 0:
            threshold.value = (1 << 64) - 1
            self.driver.call("cuMemPoolSetAttribute", pool, RELEASE_THRESHOLD, pointer)

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        """The context is current in the calling thread, and the one before it afterwards."""
        self.driver.call("cuCtxPushCurrent_v2", self.context)
        try:
            yield
        finally:
            self.driver.handle("cuCtxPopCurrent_v2")

    # -------------------------------------------------------- memory

    def allocate(self, size: int, stream: int = 0) -> int:
        """Memory from the stream's turn on."""
        found = ctypes.c_uint64()
        with self.current():
            self.driver.call("cuMemAllocAsync", ctypes.byref(found), max(size, 1), stream)
        return found.value

    def release(self, memory: int, stream: int = 0) -> None:
        """Give memory back once the stream has come this far."""
        with self.current():
            self.driver.call("cuMemFreeAsync", memory, stream)

    def upload(self, memory: int, data: int, size: int, stream: int = 0) -> None:
        """Copy from the host, whose memory may change afterwards."""
        with self.current():
            self.driver.call("cuMemcpyHtoDAsync_v2", memory, data, size, stream)

    def download(self, data: int, memory: int, size: int, stream: int = 0) -> None:
        """Copy to the host, and wait for it."""
        with self.current():
            self.driver.call("cuMemcpyDtoHAsync_v2", data, memory, size, stream)
            self.driver.call("cuStreamSynchronize", stream)

    def owns(self, memory: int) -> bool:
        """Whether an address is in this device's memory."""
        try:
            with self.current():
                found = ctypes.c_int(-1)
                name = "cuPointerGetAttribute"
                self.driver.call(name, ctypes.byref(found), DEVICE_ORDINAL, memory)
        except DriverError:  # an address that CUDA does not know
            return False
        return found.value == self.ordinal

    # -------------------------------------------------------- streams and modules

    def synchronize(self, stream: int = 0) -> None:
        with self.current():
            self.driver.call("cuStreamSynchronize", stream)

    def order(self, stream: int, after: int) -> None:
        """What comes in `stream` waits for what is in `after` now."""
        if (stream or LEGACY_STREAM) == (after or LEGACY_STREAM):
            return
        with self.current():
            event = self.driver.handle("cuEventCreate", DISABLE_TIMING)
            try:
                self.driver.call("cuEventRecord", event, after)
                self.driver.call("cuStreamWaitEvent", stream, event, 0)
            finally:
                self.driver.call("cuEventDestroy_v2", event)

    def load(self, cubin: bytes) -> int:
        """A module of machine code; it stays for the process."""
        with self.current():
            return self.driver.handle("cuModuleLoadData", cubin)

    def __repr__(self) -> str:
        return f"<cuda:{self.ordinal}, {self.name}, {self.architecture}>"


@functools.cache
def open_driver(library: str) -> Driver:
    """The driver's library, opened once."""
    return Driver(library)


def open_device(ordinal: int = 0) -> Device:
    """A device of this machine; CvmgenError says what is missing."""
    return Device(open_driver(LIBRARY), ordinal)


def stream_handle(stream: Any) -> int:
    """A stream as the driver takes it: None, its address, or an object of another library."""
    if stream is None:
        return 0
    if isinstance(stream, int) and not isinstance(stream, bool) and stream >= 0:
        return stream
    if hasattr(stream, "__cuda_stream__"):
        found = stream.__cuda_stream__
        return int((found() if callable(found) else found)[1])
    for name in ("cuda_stream", "ptr"):  # PyTorch's and CuPy's older releases
        found = getattr(stream, name, None)
        if isinstance(found, int):
            return found
    raise CvmgenError(
        f"stream={stream!r}: the address of a CUDA stream, or an object with __cuda_stream__, "
        "is needed"
    )
