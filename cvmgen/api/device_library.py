"""Host code that starts kernels of a device: a library whose launches go to the driver."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from cvmgen.api.device import Device
from cvmgen.api.driver import DriverError
from cvmgen.build import DeviceCode


class ModuleStruct(ctypes.Structure):
    """cvmgen_module."""

    _fields_ = (("handle", ctypes.c_void_p), ("found", ctypes.c_void_p))


class DeviceLibrary:
    """The host code of a shared library, and what it needs of a device."""

    def __init__(self, library: ctypes.CDLL, device: Device) -> None:
        self.library, self.device = library, device
        self.call = library.cvmgen_driver_call
        self.call.argtypes = (ctypes.c_void_p,) * 7
        self._find = library.cvmgen_driver_find
        self._find.argtypes = (*(ctypes.c_void_p,) * 4, ctypes.c_int)

    def loaded(self, made: DeviceCode) -> ModuleStruct:
        """Kernels on the device, loaded all at once; the host code knows them before it launches
        them."""
        handle, names = self.device.load(made.code, made.origin)
        module = ModuleStruct(handle, None)
        self._find_all(module, names)
        return module

    def _find_all(self, module: ModuleStruct, names: Sequence[str]) -> None:
        there = [getattr(self.library, name) for name in names if hasattr(self.library, name)]
        kernels = (ctypes.c_void_p * len(there))(
            *(ctypes.cast(each, ctypes.c_void_p).value for each in there)
        )
        pointer, context = ctypes.byref(module), self.device.context
        status = self._find(self.device.table, context, pointer, kernels, len(there))
        if status:
            raise DriverError(f"CUDA: {self.device.driver.meaning(status)}", status)

    def pointers(self, module: ModuleStruct, function: Any, args: Any) -> tuple[Any, ...]:
        """What a call is given in front of its stream."""
        return (
            self.device.table,
            self.device.context,
            ctypes.byref(module),
            ctypes.cast(function, ctypes.c_void_p),
            ctypes.byref(args),
        )
