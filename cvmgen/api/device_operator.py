"""An operator on arrays in the memory of a device, as users call it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from cvmgen import rules, support, typed
from cvmgen.api.c_backend import input_tensors
from cvmgen.api.call_kinds import CallKinds
from cvmgen.api.calls import Bound, CheckedCall, Described, Inferred, given_shape, named_inputs
from cvmgen.api.cuda_backend import CudaBackend, NativeCall, PreparedCall, refusing
from cvmgen.api.description import KEYWORDS
from cvmgen.api.device import Device
from cvmgen.api.device_array import DeviceArray
from cvmgen.api.device_call import DeviceCall
from cvmgen.api.device_open import DeviceOpenCall, ReadyDeviceCall
from cvmgen.api.frameworks import library_of
from cvmgen.api.manifest import OperatorInfo
from cvmgen.api.open_call import OpenCall, is_shape
from cvmgen.api.operator import Operator
from cvmgen.api.streams import stream_handle


class DeviceOperator(Operator):
    """A generated operator on a device. Its arrays are those of any library that shares device
    memory, through DLPack or the CUDA array interface; none is copied but for gaps in it."""

    def __init__(self, info: OperatorInfo, backend: CudaBackend) -> None:
        super().__init__(info, backend)
        self._on_device = backend
        self._kinds: CallKinds[ReadyDeviceCall] = CallKinds(info, mark_array, mark_array)

    @property
    def device(self) -> Device:
        return self._on_device.device

    KEYWORDS: Mapping[str, str] = {
        **KEYWORDS,
        "precisions": "of every input that has one: device memory is not measured",
        "out": "device array, or tuple of them, to write the result to",
        "stream": "where the kernels run: an address, or an object with __cuda_stream__",
    }

    def __call__(
        self,
        *inputs: Any,
        precisions: Any = None,
        dtype: Any = None,
        out: Any = None,
        check: str | None = None,
        stream: Any = None,
        **attributes: Any,
    ) -> Any:
        """The result, in the memory of the device; keywords as for `bind`."""
        arrays: list[Any] = []
        outs: list[Any] = []
        others = (check, dtype, type(stream), stream)
        key, kind = self._kinds.find(arrays, outs, inputs, precisions, out, others, attributes)
        if kind is not None:
            with refusing(self._info):
                found = kind.run(arrays, range(len(arrays)), outs)
            if found is not None:
                return self._whole(found)
        given = (precisions, dtype, out, check, stream)
        call, checked, result = self._checked_there(inputs, *given, **attributes)
        with refusing(self._info):
            prepared = self._on_device.prepared(self._info, checked)
            run = self._on_device.started(prepared, checked, call.handle)
        call.around(run)()
        if key is not None and not call.has_more and type(stream) in (int, type(None)):
            self._kinds.remember(key, lambda: self._ready_call(call, prepared, checked))
        return result

    def bind(self, *inputs: Any, constants: Sequence[str] = (), **keywords: Any) -> Any:
        """The call with its arrays fixed; each call of the result starts the kernels again.

        precisions: of every input that has one, since device memory is not measured
        dtype: of the result, int8 or int32 where it has a precision
        out: device array (or tuple of them) to write to; otherwise one is made: of the library of
            the inputs (PyTorch or CuPy), else a DeviceArray
        stream: where the kernels run: an address, or an object with __cuda_stream__; if None the
            stream that the library of the inputs uses at each call, else the default stream. A
            call returns when they are started. Arrays must live until they are done, and so must
            a stream that is given by its address as long as its results. An integer that does not
            fit its type is refused when a DeviceArray is read or shown to others, by the next such
            call, or by `device.synchronize()`.
        constants: as for other targets; kernels read them anew all the same
        A shape in place of an array gives an OpenCall, as for other targets.
        """
        self._constants(constants)
        given = self._by_name(inputs, keywords)
        if any(map(is_shape, given.values())):
            return self._waiting(given, **keywords)
        return self._bind(inputs, **keywords)

    def _waiting(
        self,
        given: dict[str, Any],
        precisions: Any = None,
        dtype: Any = None,
        out: Any = None,
        check: str | None = None,
        stream: Any = None,
        **attributes: Any,
    ) -> Any:
        stream_handle(stream)
        opened = self._open(given, precisions, dtype, out, check, attributes)
        opened.always(stream=stream)
        return opened

    def _opened(self, given: dict[str, Any], keywords: dict[str, Any]) -> OpenCall:
        return DeviceOpenCall(self, given, keywords, self.ready, self._whole)

    def ready(
        self, filled: Mapping[str, Any], keywords: Mapping[str, Any]
    ) -> ReadyDeviceCall | None:
        """The call with these operands, to be repeated with others like them; None for one that
        consists of more than its kernels."""
        call, checked, _ = self._checked_there((), **filled, **keywords)
        if call.has_more:
            return None
        prepared = self._on_device.prepared(self._info, checked)
        return self._ready_call(call, prepared, checked)

    def native(self, call: CheckedCall) -> NativeCall:
        """A call that was checked without data, for programs in C that bring addresses."""
        there = [
            [self._nowhere(one) for one in each] if isinstance(each, list) else self._nowhere(each)
            for each in call.given
        ]
        targets: list[Any] = [self._nowhere(each) for each in call.targets]
        checked = call._replace(given=there, targets=targets)
        prepared = self._on_device.prepared(self._info, checked)
        return self._on_device.native(self._info, prepared, self._tensors(prepared, checked))

    def _nowhere(self, array: Any) -> Any:
        if array is None:
            return None
        return DeviceArray(self._on_device.device, 0, array.shape, array.dtype)

    def _tensors(self, prepared: PreparedCall, checked: CheckedCall) -> list[Any]:
        """The structures of all tensors of a call: of inputs, then of results."""
        tensors = input_tensors(self._info, prepared.args, checked.given)
        return tensors + [getattr(prepared.args, name).contents for name in self.outputs]

    def _ready_call(
        self, call: DeviceCall, prepared: PreparedCall, checked: CheckedCall
    ) -> ReadyDeviceCall:
        return ReadyDeviceCall(call, prepared, self._tensors(prepared, checked), checked)

    def _bind(self, inputs: tuple[Any, ...], **keywords: Any) -> Bound:
        call, checked, result = self._checked_there(inputs, **keywords)
        with refusing(self._info):
            run = self._on_device.bind(self._info, checked, call.handle)
        return Bound(self.name, call.around(run), result, [], [], checked.inferred)

    def _checked_there(
        self,
        inputs: tuple[Any, ...],
        precisions: Any = None,
        dtype: Any = None,
        out: Any = None,
        check: str | None = None,
        stream: Any = None,
        **attributes: Any,
    ) -> tuple[DeviceCall, CheckedCall, Any]:
        """The call, what it was checked for, and what it returns."""
        self._check_word(check)
        operands, values = self._sorted(inputs, attributes)
        call = DeviceCall(self._on_device.device, operands, stream)
        with refusing(self._info):
            given = self._each(partial(self._arrays, one=partial(self._there, call)), operands)
            types = self._row(given, values)
            shapes = self._each(self._shapes, map(given_shape, given))
            known = self._declared(precisions, given)
            inferred = self._backend.infer(self._info, Described(shapes, known, values))
            result, outputs = self._results(inferred, dtype, out, given, types, call)
        checked = CheckedCall(given, known, known, values, inferred, outputs, check is not None)
        return call, checked, result

    # -------------------------------------------------------- inputs

    def _array(self, name: str, value: Any) -> DeviceArray:
        """As for other targets, where nothing is started yet."""
        return self._there(DeviceCall(self._on_device.device, [value], None), name, value)

    def _measured(self, name: str, array: Any, declared: int | None) -> Any:
        """Device memory is not measured: whoever needs the precision says so."""
        return declared

    def _there(self, call: DeviceCall, name: str, value: Any) -> DeviceArray:
        """An array of a call, where it lies."""
        found = call.read(self.name, name, value)
        precise = self._info.has_precision(typed.column(name))
        if precise and found.dtype not in (np.int8, np.int32):
            self._refuse(name, f"dtype {found.dtype}", rules.ELEMENT_TYPES)
        return found

    def _row(self, given: Sequence[Any], values: Mapping[str, Any]) -> typed.Row:
        """The element types of this call."""
        if not self._info.types[0]:
            return {}
        pairs = [
            pair
            for item, each in zip(self._info.inputs, given, strict=True)
            if not self._info.has_precision(item.name)
            for pair in named_inputs(item.name, each)
        ]
        names, arrays = [name for name, _ in pairs], [array for _, array in pairs]
        words = self._deciding(values)
        return typed.chosen_row(self.name, self._info.types, names, arrays, words)

    # -------------------------------------------------------- results

    def _results(
        self,
        inferred: Inferred,
        dtype: Any,
        out: Any,
        inputs: Sequence[Any],
        types: typed.Row,
        call: DeviceCall,
    ) -> tuple[Any, list[Any]]:
        """What a call returns, and its arrays on the device."""
        dtypes = self._result_dtypes(inferred, dtype, out, inputs, types)
        if out is None:
            pairs = zip(inferred.shapes, dtypes, strict=True)
            made = [call.made(*pair) for pair in pairs]
            seen = [call.written(self.name, *pair) for pair in zip(self.outputs, made, strict=True)]
            return self._result(*made) if self._result else made[0], seen
        targets = [out] if self._result is None else self._several_out(out)
        found = []
        for name, target, shape, wanted in zip(
            self.outputs, targets, inferred.shapes, dtypes, strict=True
        ):
            array = call.written(self.name, name, target)
            support.check_same_shape(self.name, name, array.shape, shape)
            if array.read_only:
                self._refuse(name, "", "it is read-only")
            if wanted is not None and array.dtype != wanted:
                self._refuse(name, f"dtype {array.dtype}", f"must be {wanted}")
            if wanted is None and array.dtype not in (np.int8, np.int32):
                self._refuse(name, f"dtype {array.dtype}", rules.ELEMENT_TYPES)
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


def mark_array(marks: list[Any], arrays: list[Any], value: Any) -> bool:
    """Note an array of a library whose arrays tell where they lie."""
    kind = type(value)
    if kind is not DeviceArray and library_of(kind) is None:
        return False
    arrays.append(value)
    marks += (kind, value.dtype, value.shape)
    return True
