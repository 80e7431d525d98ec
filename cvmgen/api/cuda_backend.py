"""The CUDA target on a GPU: the host code of its library, and kernels compiled for the device."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cvmgen.api.c_backend import CBackend, ErrorStruct, Refused, refusal
from cvmgen.api.calls import Array, CheckedCall, Described, Given, Inferred, several
from cvmgen.api.cuda_cpu_backend import measuring, notes, of_kernels
from cvmgen.api.device import Device
from cvmgen.api.device_array import DeviceArray
from cvmgen.api.device_library import DeviceLibrary, ModuleStruct
from cvmgen.api.device_notes import NotedResult, Notes, NotingStruct
from cvmgen.api.driver import ASYNCHRONOUS, FORKED, LATE, DriverError
from cvmgen.api.manifest import Manifest, OperatorInfo
from cvmgen.build import DeviceCode, compile_for_device
from cvmgen.errors import OperatorError
from cvmgen.paths import MANIFEST

_DEVICE = 3  # the status CVMGEN_DEVICE


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call on device arrays that was checked. It keeps none of them."""

    args: Any
    start: Callable[[int, Notes | None], None]
    """Starts its kernels in a stream, as often as it is called."""
    notes: Callable[[], Notes | None]
    """New words for what they find; None where they find nothing."""


class NativeStruct(ctypes.Structure):
    """gpu_call of cvmgen_jax.c."""

    _fields_ = tuple(
        (name, ctypes.c_void_p)
        for name in ("driver", "context", "module", "run", "args", "tensors", "noting", "start")
    )


@dataclass(frozen=True, slots=True)
class NativeCall:
    """A call as a program in C starts it, which brings the addresses of its tensors."""

    structure: NativeStruct
    kept: tuple[Any, ...]
    """What the structure points to."""


class CudaBackend(CBackend):
    """Calls operators on arrays in the memory of a device.

    Checks, inference and launches are the library's, which the target cuda-cpu has in common;
    its launches go to the driver, which finds each kernel by its name in the operator's cubin.
    """

    def __init__(
        self,
        path: Path,
        manifest: Manifest,
        folder: Path,
        device: Device,
        refused: Refused | None = None,
        wait: bool = False,
    ) -> None:
        super().__init__(path, manifest, folder, refused)
        self.device = device
        self.wait = wait or os.environ.get("CVMGEN_CUDA_SYNC", "0") not in ("", "0")
        self._host = DeviceLibrary(self.library, device)
        self._noting = super().function("cvmgen_driver_call_noting")
        self._noting.argtypes = (ctypes.c_void_p,) * 8
        self._modules: dict[str, ModuleStruct] = {}

    def function(self, name: str) -> Any:
        if name.endswith("_infer"):
            return super().function(f"{name.removesuffix('_infer')}_cuda_infer")
        return super().function(f"{name}_cuda")

    @staticmethod
    def address(array: Any) -> int:
        return int(array.data)

    @functools.cached_property
    def headers(self) -> Mapping[str, str]:
        """The files that kernels of all operators include."""
        found = sorted((self.folder / "cuda").glob("cvmgen*.h"))
        return {path.name: path.read_text(encoding="utf-8") for path in found}

    def code(self, info: OperatorInfo) -> DeviceCode:
        """What the device runs of an operator; BuildError where it cannot be made."""
        interface = f"{info.opset}/{info.name}.h"  # NVRTC goes without it, nvcc does not
        own = (self.folder / "cuda" / interface).read_text(encoding="utf-8")
        return compile_for_device(
            self.source(info, "cuda"),
            architecture=self.device.architecture,
            driver=self.device.driver.version,
            includes={**self.headers, interface: own},
            name=f"{info.opset}/{info.name}.cu",
            manifest=self.folder / MANIFEST,
        )

    def module(self, info: OperatorInfo) -> ModuleStruct:
        """The operator's kernels on the device, loaded once and all at once."""
        if info.function not in self._modules:
            self._modules.setdefault(info.function, self._host.loaded(self.code(info)))
        return self._modules[info.function]

    def prepared(self, info: OperatorInfo, checked: CheckedCall) -> PreparedCall:
        """A call on device arrays: DeviceArray where other targets take numpy's."""
        args, _ = self.call_arguments(info, checked)
        device, error = self.device, ErrorStruct()
        function = self.function(info.function)
        pointers = self._host.pointers(self.module(info), function, args)
        error_pointer = ctypes.byref(error)
        noting = notes(self.library, info.function)
        call = self._noting if noting else self._host.call
        noted = [
            NotedResult(name, tuple(each.shape), str(each.dtype))
            for name, each in zip(info.outputs, checked.targets, strict=True)
        ]

        def launch(handle: int, *words: Any) -> None:
            if call(*pointers, handle, *words, error_pointer):
                raise self._failed(info, error)

        def start(handle: int, own: Notes | None) -> None:
            if own is not None:
                device.refusals.start(own, handle, launch)
            elif noting:
                launch(handle, ctypes.byref(NotingStruct()))
            else:
                launch(handle)
            if self.wait:
                self._waited(info, handle)

        def words() -> Notes | None:
            if noting and any(np.dtype(each.dtype).kind == "i" for each in noted):
                return device.refusals.notes(info.full_name, noted)
            return None

        return PreparedCall(args, start, words)

    def native(
        self, info: OperatorInfo, prepared: PreparedCall, tensors: Sequence[Any]
    ) -> NativeCall:
        """A prepared call for programs in C. What its kernels find is told where the whole device
        is awaited."""
        noting, notes_there = None, prepared.notes()
        call = self._host.call
        if notes(self.library, info.function):
            call, noting = self._noting, NotingStruct()
            if notes_there is not None:
                notes_there.noted.untold = True
                noting = notes_there.noted.noting
        addresses = (ctypes.c_void_p * len(tensors))(*map(ctypes.addressof, tensors))
        module, function = self.module(info), self.function(info.function)
        structure = NativeStruct(
            ctypes.addressof(self.device.table),
            self.device.context,
            ctypes.addressof(module),
            ctypes.cast(function, ctypes.c_void_p),
            ctypes.addressof(prepared.args),
            ctypes.addressof(addresses),
            None if noting is None else ctypes.addressof(noting),
            ctypes.cast(call, ctypes.c_void_p),
        )
        return NativeCall(structure, (prepared, addresses, noting, notes_there))

    def _failed(self, info: OperatorInfo, error: ErrorStruct) -> OperatorError:
        """The refusal of a call; of a device that fails, what may be behind it."""
        found = refusal(info, error)
        if error.status != _DEVICE:
            return found
        rule = f"CUDA: {FORKED}" if self.device.driver.forked else found.rule
        if not self.wait and rule.partition(": ")[2].startswith(self._late_names):
            rule += LATE
        return OperatorError(found.operator, found.argument, found.value, rule)

    @functools.cached_property
    def _late_names(self) -> tuple[str, ...]:
        """How errors begin that kernels of earlier calls may have caused."""
        meanings = map(self.device.driver.meaning, ASYNCHRONOUS)
        return tuple(f"{each.partition(':')[0]}:" for each in meanings)

    def _waited(self, info: OperatorInfo, handle: int) -> None:
        """The kernels of a call are done, and failures are its own."""
        if self.device.capture(handle) is not None:
            return
        try:
            self.device.synchronize(handle)
        except DriverError as error:
            rule = f"{error.message.removesuffix(LATE)}: a kernel of this call failed"
            raise OperatorError(info.full_name, "", "", rule) from None

    def bind(
        self, info: OperatorInfo, call: CheckedCall, handle: Callable[[], int] = lambda: 0
    ) -> Callable[[], None]:
        """A call as it is `prepared`; `handle` gives the stream of each."""
        return self.started(self.prepared(info, call), call, handle)

    @staticmethod
    def started(
        prepared: PreparedCall, call: CheckedCall, handle: Callable[[], int]
    ) -> Callable[[], None]:
        start, own = prepared.start, prepared.notes()
        for each in call.targets:
            each.notes = own  # type: ignore[attr-defined]

        def run(kept: CheckedCall = call) -> None:
            start(handle(), own)

        return run


class TransferBackend:
    """Calls operators on arrays of the host: copied to the device, computed, copied back."""

    def __init__(self, inner: CudaBackend) -> None:
        self.inner = inner
        self.source = inner.source

    def infer(self, info: OperatorInfo, described: Described) -> Inferred:
        with measuring(info):
            return self.inner.infer(info, described)

    def bind(self, info: OperatorInfo, call: CheckedCall) -> Callable[[], None]:
        here, prepare = of_kernels(info, call)
        device, outputs = self.inner.device, call.targets
        with refusing(info):
            there = [device_input(device, each) for each in here.given]
            results: list[Any] = [device_input(device, each) for each in outputs]
            start = self.inner.bind(info, here._replace(given=there, targets=results))
        loads: list[tuple[Array, Any]] = [
            pair
            for arrays, copied in zip(here.given, there, strict=True)
            for pair in zip(several(arrays), several(copied), strict=True)
        ]

        def run() -> None:
            prepare()
            with refusing(info):
                for array, copied in loads:
                    copied.copy_from(array)
                start()
                for result, output in zip(results, outputs, strict=True):
                    result.copy_to(output)

        return run


@contextlib.contextmanager
def refusing(info: OperatorInfo) -> Iterator[None]:
    """A device that fails in a call of an operator is told as the operator's error."""
    try:
        yield
    except DriverError as error:
        raise OperatorError(info.full_name, "", "", str(error)) from None


def device_input(device: Device, given: Given) -> Any:
    """Memory of the device for an input."""
    if given is None:
        return None
    if isinstance(given, list):
        return [DeviceArray.empty(device, each.shape, each.dtype) for each in given]
    return DeviceArray.empty(device, given.shape, given.dtype)
