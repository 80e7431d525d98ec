"""Devices of this machine: their memory, what their kernels refuse, modules of kernels."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from cvmgen.api.device_memory import Pool
from cvmgen.api.device_notes import DeviceRefusals
from cvmgen.api.driver import (
    CAPABILITY_MAJOR,
    CAPABILITY_MINOR,
    DEVICE_ORDINAL,
    Driver,
    DriverError,
    PrimaryContext,
    open_driver,
)
from cvmgen.api.streams import stream_handle
from cvmgen.errors import CvmgenError

# CUresult of code that a driver cannot run: a malformed image, none for this device, PTX of a
# newer compiler.
_FOREIGN_CODE = (200, 209, 218, 222)


class Device(PrimaryContext):
    """A device, with what is kept of its memory and of refusals. It stays for the process."""

    def __init__(self, driver: Driver, ordinal: int) -> None:
        super().__init__(driver, ordinal)
        self.pool = Pool(self)
        self.refusals = DeviceRefusals(self)
        self.table = driver.table(self.pool.handle)

    @property
    def architecture(self) -> str:
        """What kernels are compiled for, as `sm_90`."""
        return f"sm_{self.attribute(CAPABILITY_MAJOR)}{self.attribute(CAPABILITY_MINOR)}"

    def trim(self) -> None:
        """Give memory that no array has any more back to other programs."""
        self.pool.trim()

    # -------------------------------------------------------- memory

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

    # -------------------------------------------------------- streams

    def synchronize(self, stream: Any = None) -> None:
        """Wait for all that was started in a stream, or on the device if none is given.

        OperatorError where a result there does not fit its type and nobody was told yet.
        """
        if stream is None:
            with self.current():
                self.driver.call("cuCtxSynchronize")
            self.refusals.tell(lambda each: True)
            return
        handle = stream_handle(stream)
        with self.current():
            self.driver.call("cuStreamSynchronize", handle)
        self.refusals.seen(handle)

    # -------------------------------------------------------- modules

    def load(self, code: bytes, origin: str) -> tuple[int, list[str]]:
        """A module of machine code or PTX, and the names of its kernels; it stays for the process.

        All is loaded here: at a kernel's first launch a graph may be captured.
        """
        driver = self.driver
        try:
            with self.relaxed():
                module = driver.handle("cuModuleLoadData", code)
                count = ctypes.c_uint()
                driver.call("cuModuleGetFunctionCount", ctypes.byref(count), module)
                functions = (ctypes.c_void_p * count.value)()
                driver.call("cuModuleEnumerateFunctions", functions, count, module)
                return module, [self._loaded(each) for each in functions if each]
        except DriverError as error:
            if error.status not in _FOREIGN_CODE:
                raise
            version = ".".join(map(str, driver.version))
            message = f"{error}: this driver, of CUDA {version}, cannot run what {origin} compiles"
            hint = "for {}; an NVRTC of the driver's version does, or a newer driver"
            raise DriverError(f"{message} {hint.format(self.name)}", error.status) from None

    def _loaded(self, function: int) -> str:
        """The name of a kernel, whose code is on the device now."""
        name = ctypes.c_char_p()
        self.driver.call("cuFuncLoad", function)
        self.driver.call("cuFuncGetName", ctypes.byref(name), function)
        return (name.value or b"").decode()

    def __repr__(self) -> str:
        return f"<cuda:{self.ordinal}, {self.name}, {self.architecture}>"


def open_device(ordinal: int = 0) -> Device:
    """A device of this machine; CvmgenError says what is missing."""
    driver = open_driver()
    count = driver.number("cuDeviceGetCount")
    if isinstance(ordinal, bool) or ordinal not in range(count):
        raise CvmgenError(f"device={ordinal!r}: this machine has {count}, counted from 0")
    return _device(driver, int(ordinal))


@functools.cache
def _device(driver: Driver, ordinal: int) -> Device:
    """One for all libraries of operators: they share its memory."""
    return Device(driver, ordinal)
