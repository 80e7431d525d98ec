"""The CUDA target on a GPU: the host code of its library, and kernels compiled for the device."""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cvmgen.api.c_backend import CBackend, ErrorStruct, Refused, refusal
from cvmgen.api.calls import Array, Given, Inferred, Precisions
from cvmgen.api.cuda_cpu_backend import measuring, of_kernels, operands, several
from cvmgen.api.device_array import DeviceArray
from cvmgen.api.driver import Device, DriverError, stream_handle
from cvmgen.api.manifest import Manifest, OperatorInfo
from cvmgen.build import compile_cuda
from cvmgen.errors import OperatorError
from cvmgen.paths import MANIFEST


class ModuleStruct(ctypes.Structure):
    """cvmgen_module."""

    _fields_ = (("handle", ctypes.c_void_p), ("found", ctypes.c_void_p))


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
    ) -> None:
        super().__init__(path, manifest, folder, refused)
        self.device = device
        self._call = super().function("cvmgen_driver_call")
        self._call.argtypes = (ctypes.c_void_p,) * 7
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
        """The files that kernels include."""
        found = sorted((self.folder / "cuda").glob("cvmgen*.h"))
        return {path.name: path.read_text(encoding="utf-8") for path in found}

    def cubin(self, info: OperatorInfo) -> bytes:
        """The machine code of an operator's kernels; BuildError where it cannot be made."""
        return compile_cuda(
            self.source(info, "cuda"),
            architecture=self.device.architecture,
            includes=self.headers,
            name=f"{info.opset}/{info.name}.cu",
            manifest=self.folder / MANIFEST,
        )

    def module(self, info: OperatorInfo) -> ModuleStruct:
        """The operator's kernels on the device, loaded once."""
        if info.function not in self._modules:
            loaded = ModuleStruct(self.device.load(self.cubin(info)), None)
            self._modules.setdefault(info.function, loaded)
        return self._modules[info.function]

    def bind(
        self,
        info: OperatorInfo,
        inputs: Sequence[Given],
        precisions: Precisions,
        attributes: Mapping[str, Any],
        outputs: Sequence[Array],
        check_values: bool,
        stream: Any = None,
    ) -> Callable[[], None]:
        """A call on device arrays: they are DeviceArray where other targets take numpy's."""
        args, kept = self.call_arguments(
            info, inputs, precisions, attributes, outputs, check_values
        )
        error, module = ErrorStruct(), self.module(info)
        call, context, handle = self._call, self.device.context, stream_handle(stream)
        function = ctypes.cast(self.function(info.function), ctypes.c_void_p)
        table, module_pointer = ctypes.byref(self.device.driver.table), ctypes.byref(module)
        args_pointer, error_pointer = ctypes.byref(args), ctypes.byref(error)
        kept.append(stream)

        def run(kept: list[Any] = kept) -> None:
            if call(table, context, module_pointer, function, args_pointer, handle, error_pointer):
                raise refusal(info, error)

        return run


class TransferBackend:
    """Calls operators on arrays of the host: copied to the device, computed, copied back."""

    def __init__(self, inner: CudaBackend) -> None:
        self.inner = inner
        self.source = inner.source

    def infer(
        self,
        info: OperatorInfo,
        shapes: Sequence[Any],
        precisions: Sequence[Any],
        attributes: Mapping[str, Any],
    ) -> Inferred:
        with measuring(info):
            return self.inner.infer(info, shapes, precisions, attributes)

    def bind(
        self,
        info: OperatorInfo,
        inputs: Sequence[Given],
        precisions: Precisions,
        attributes: Mapping[str, Any],
        outputs: Sequence[Array],
        check_values: bool,
    ) -> Callable[[], None]:
        given, copies = of_kernels(info, inputs)
        checked = operands(info, inputs, precisions) if check_values else []
        device = self.inner.device
        with refusing(info):
            there = [on_device(device, each) for each in given]
            results: list[Any] = [
                DeviceArray.empty(device, each.shape, each.dtype) for each in outputs
            ]
            call = self.inner.bind(info, there, precisions, attributes, results, False)
        loads: list[tuple[Array, Any]] = [
            pair
            for arrays, copied in zip(given, there, strict=True)
            for pair in zip(several(arrays), several(copied), strict=True)
        ]

        def run() -> None:
            for operand in checked:
                operand.check_values()
            for copy, array in copies:
                copy[...] = array
            with refusing(info):
                for array, copied in loads:
                    copied.copy_from(array)
                call()
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


def on_device(device: Device, given: Given) -> Any:
    """Memory of the device for an input."""
    if given is None:
        return None
    if isinstance(given, list):
        return [DeviceArray.empty(device, each.shape, each.dtype) for each in given]
    return DeviceArray.empty(device, given.shape, given.dtype)
