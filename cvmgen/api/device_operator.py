"""An operator on arrays in the memory of a device, as users call it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cvmgen import support, typed
from cvmgen.api.calls import Bound, Inferred, named, shape_of
from cvmgen.api.cuda_backend import CudaBackend, refusing
from cvmgen.api.device_array import DeviceArray, device_array
from cvmgen.api.driver import stream_handle
from cvmgen.api.manifest import InputInfo, OperatorInfo
from cvmgen.api.operator import Operator


class DeviceOperator(Operator):
    """A generated operator on a device. Its arrays are those of any library that shares device
    memory, through DLPack or the CUDA array interface; none is copied."""

    def __init__(self, info: OperatorInfo, backend: CudaBackend) -> None:
        super().__init__(info, backend)
        self._on_device = backend

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        """The result, in the memory of the device; keywords as for `bind`."""
        return self.bind(*inputs, **keywords)()

    def bind(
        self,
        *inputs: Any,
        precisions: Any = None,
        dtype: Any = None,
        out: Any = None,
        check: str | None = None,
        constants: Sequence[str] = (),
        stream: Any = None,
        **attributes: Any,
    ) -> Bound:
        """The call with its arrays fixed; each call of the result starts the kernels again.

        constants: as for other targets; kernels read them anew all the same

        precisions: of every input that has one, since device memory is not measured
        out: device array (or tuple of them) to write to; otherwise a DeviceArray is made
        stream: where the kernels run, the default stream if None: an address, or an object with
            __cuda_stream__. A call returns when they are started. Arrays must live until they
            are done, and so must a stream that is given by its address as long as its results.
        """
        stream_handle(stream)
        self._constants(constants)
        with refusing(self._info):
            return self._bind(inputs, precisions, dtype, out, check, stream, attributes)

    def _bind(
        self,
        inputs: tuple[Any, ...],
        precisions: Any,
        dtype: Any,
        out: Any,
        check: str | None,
        stream: Any,
        attributes: dict[str, Any],
    ) -> Bound:
        self._check_word(check)
        operands, values = self._sorted(inputs, attributes)
        given = [
            self._there(item, each, stream)
            for item, each in zip(self._info.inputs, operands, strict=True)
        ]
        types = self._row(given)
        shapes = [
            self._shapes(item, shape_of(each))
            for item, each in zip(self._info.inputs, given, strict=True)
        ]
        known = self._declared(precisions, given)
        inferred = self._backend.infer(self._info, shapes, known, values)
        result, outputs = self._results(inferred, dtype, out, given, types, stream)
        run = self._on_device.bind(
            self._info, given, known, values, outputs, check is not None, stream
        )
        return Bound(self.name, run, result, [], [], inferred)

    # -------------------------------------------------------- inputs

    def _there(self, item: InputInfo, value: Any, stream: Any) -> Any:
        """What is given for an input, where it lies."""
        if value is None:
            return None
        if not item.variadic:
            return self._array(item.name, value, stream)
        entries = self._several(item, value, "arrays")
        return [self._array(*pair, stream) for pair in named(item.name, list(entries))]

    def _array(self, name: str, value: Any, stream: Any) -> DeviceArray:
        found = device_array(self.name, name, value, self._on_device.device, stream)
        precise = self._info.has_precision(typed.column(name))
        if precise and found.dtype not in (np.int8, np.int32):
            self._refuse(name, f"dtype {found.dtype}", support.ELEMENT_TYPES)
        return found

    def _row(self, given: Sequence[Any]) -> typed.Row:
        """The element types of this call."""
        if not self._info.types[0]:
            return {}
        pairs = [
            pair
            for item, each in zip(self._info.inputs, given, strict=True)
            if not self._info.has_precision(item.name)
            for pair in named(item.name, each)
        ]
        names, arrays = [name for name, _ in pairs], [array for _, array in pairs]
        return typed.chosen_row(self.name, self._info.types, names, arrays)

    # -------------------------------------------------------- results

    def _results(
        self,
        inferred: Inferred,
        dtype: Any,
        out: Any,
        inputs: Sequence[Any],
        types: typed.Row,
        stream: Any,
    ) -> tuple[Any, list[Any]]:
        """What a call returns, and its arrays on the device."""
        dtypes = self._result_dtypes(inferred, dtype, out, inputs, types)
        if out is None:
            device = self._on_device.device
            pairs = zip(inferred.shapes, dtypes, strict=True)
            made = [DeviceArray.empty(device, *pair, stream) for pair in pairs]
            return self._result(*made) if self._result else made[0], made
        targets = [out] if self._result is None else self._several_out(out)
        found = []
        for name, target, shape, wanted in zip(
            self.outputs, targets, inferred.shapes, dtypes, strict=True
        ):
            array = device_array(self.name, name, target, self._on_device.device, stream)
            support.check_same_shape(self.name, name, array.shape, shape)
            if array.read_only:
                self._refuse(name, "", "it is read-only")
            if wanted is not None and array.dtype != wanted:
                self._refuse(name, f"dtype {array.dtype}", f"must be {wanted}")
            if wanted is None and array.dtype not in (np.int8, np.int32):
                self._refuse(name, f"dtype {array.dtype}", support.ELEMENT_TYPES)
            found.append(array)
        return self._result(*targets) if self._result else out, found

    def _result_dtypes(
        self, inferred: Inferred, dtype: Any, out: Any, inputs: Sequence[Any], types: typed.Row
    ) -> list[Any]:
        """The element type of each output; None for what `out` may choose, int8 or int32."""
        asked = None if any(map(self._info.has_precision, self.outputs)) else dtype
        default = self._default_dtype(inputs)
        found: list[Any] = []
        for name, precision in zip(self.outputs, inferred.precisions, strict=True):
            if name in types:
                found.append(typed.typed_result(self.name, name, asked, types[name]))
            elif out is not None and dtype is None:
                found.append(None)
            else:
                assert precision is not None
                found.append(support.result_dtype(self.name, name, dtype, precision, default))
        return found
