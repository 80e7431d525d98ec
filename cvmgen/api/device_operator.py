"""An operator on arrays in the memory of a device, as users call it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cvmgen import support, typed
from cvmgen.api.calls import Bound, Inferred, named, shape_of
from cvmgen.api.cuda_backend import CudaBackend, refusing
from cvmgen.api.description import KEYWORDS
from cvmgen.api.device_array import DeviceArray, device_array
from cvmgen.api.frameworks import Framework, framework_of
from cvmgen.api.manifest import InputInfo, OperatorInfo
from cvmgen.api.open_call import is_shape
from cvmgen.api.operator import Operator
from cvmgen.api.streams import stream_handle


class DeviceOperator(Operator):
    """A generated operator on a device. Its arrays are those of any library that shares device
    memory, through DLPack or the CUDA array interface; none is copied but for gaps in it."""

    def __init__(self, info: OperatorInfo, backend: CudaBackend) -> None:
        super().__init__(info, backend)
        self._on_device = backend

    KEYWORDS: Mapping[str, str] = {
        **KEYWORDS,
        "precisions": "of every input that has one: device memory is not measured",
        "out": "device array, or tuple of them, to write the result to",
        "stream": "where the kernels run: an address, or an object with __cuda_stream__",
    }

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        """The result, in the memory of the device; keywords as for `bind`."""
        return self._bind(inputs, **keywords)()

    def bind(self, *inputs: Any, constants: Sequence[str] = (), **keywords: Any) -> Any:
        """The call with its arrays fixed; each call of the result starts the kernels again.

        precisions: of every input that has one, since device memory is not measured
        dtype: of the result, int8 or int32 where it has a precision
        out: device array (or tuple of them) to write to; otherwise one is made: of the library of
            the inputs (PyTorch or CuPy), else a DeviceArray
        stream: where the kernels run: an address, or an object with __cuda_stream__; if None the
            stream that the library of the inputs uses at each call, else the default stream. A
            call returns when they are started. Arrays must live until they are done, and so must
            a stream that is given by its address as long as its results.
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

    def _bind(
        self,
        inputs: tuple[Any, ...],
        precisions: Any = None,
        dtype: Any = None,
        out: Any = None,
        check: str | None = None,
        stream: Any = None,
        **attributes: Any,
    ) -> Bound:
        self._check_word(check)
        operands, values = self._sorted(inputs, attributes)
        call = _Call(self._on_device, operands, stream)
        with refusing(self._info):
            given = [
                self._there(item, each, call)
                for item, each in zip(self._info.inputs, operands, strict=True)
            ]
            types = self._row(given)
            shapes = [
                self._shapes(item, shape_of(each))
                for item, each in zip(self._info.inputs, given, strict=True)
            ]
            known = self._declared(precisions, given)
            inferred = self._backend.infer(self._info, shapes, known, values)
            result, outputs = self._results(inferred, dtype, out, given, types, call)
            run = self._on_device.bind(
                self._info, given, known, values, outputs, check is not None, call.handle
            )
        return Bound(self.name, call.around(run), result, [], [], inferred)

    # -------------------------------------------------------- inputs

    def _arrays(self, item: InputInfo, value: Any) -> Any:
        """As for other targets, where nothing is started yet."""
        return self._there(item, value, _Call(self._on_device, [value], None))

    def _measured(self, name: str, array: Any, declared: int | None) -> Any:
        """Device memory is not measured: whoever needs the precision says so."""
        return declared

    def _there(self, item: InputInfo, value: Any, call: _Call) -> Any:
        """What is given for an input, where it lies."""
        if value is None:
            return None
        if not item.variadic:
            return self._array(item.name, value, call)
        entries = self._several(item, value, "arrays")
        return [self._array(*pair, call) for pair in named(item.name, list(entries))]

    def _array(self, name: str, value: Any, call: _Call) -> DeviceArray:
        found = call.read(self.name, name, value)
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
        call: _Call,
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


class _Call:
    """The arrays of a call where kernels read and write them, in the turn of its stream."""

    def __init__(self, backend: CudaBackend, operands: Sequence[Any], stream: Any) -> None:
        flat = [
            one
            for each in operands
            for one in (each if isinstance(each, (list, tuple)) else [each])
        ]
        self._device = backend.device
        self._framework = framework_of(flat)
        self._stream = stream
        self._given: list[tuple[Framework, Any]] = []
        self._loads: list[tuple[Any, Any]] = []
        self._stores: list[tuple[Any, Any]] = []
        self._elsewhere: list[DeviceArray] = []
        stream_handle(stream)

    def stream(self) -> Any:
        """The stream of the call: what was asked for, else what the library of the arrays uses."""
        if self._stream is None and self._framework is not None:
            return self._framework.current(self._device.ordinal)
        return self._stream

    def handle(self) -> int:
        return stream_handle(self.stream())

    def read(self, operator: str, name: str, value: Any) -> DeviceArray:
        """An input where it lies; one with gaps where it is copied to before each call."""
        own = framework_of([value])
        if own is not None and own.has_gaps(value):
            self._loads.append((self._like(own, value), value))
            value = self._loads[-1][0]
        if own is not None and self._stream is not None:
            self._given.append((own, value))
        return device_array(operator, name, value, self._device, self.stream())

    def written(self, operator: str, name: str, value: Any) -> DeviceArray:
        """A result where it lies; one with gaps where it is copied from after each call."""
        own = framework_of([value])
        if own is not None and own.has_gaps(value):
            self._stores.append((value, self._like(own, value)))
            value = self._stores[-1][1]
        found = device_array(operator, name, value, self._device, self.stream())
        if found is value and found.stream is not self._stream:
            self._elsewhere.append(found)
        return found

    def made(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """A new array for a result: of the library of the inputs, if there is one."""
        if self._framework is None:
            return DeviceArray.empty(self._device, shape, dtype, self.stream())
        with self._framework.using(self._device.ordinal, self.handle()):
            return self._framework.empty(self._device.ordinal, shape, np.dtype(dtype))

    def around(self, run: Callable[[], None]) -> Callable[[], None]:
        """A call of kernels, with what has to be done before and after it."""
        if not (self._loads or self._stores or self._elsewhere or self._given):
            return run

        def whole() -> None:
            handle = self.handle()
            self._copy(self._loads, handle)
            run()
            self._copy(self._stores, handle)
            for array in self._elsewhere:
                self._device.order(stream_handle(array.stream), handle)
            for framework, given in self._given:
                framework.keep(given, handle)

        return whole

    def _like(self, framework: Framework, value: Any) -> Any:
        with framework.using(self._device.ordinal, self.handle()):
            return framework.like(value)

    def _copy(self, pairs: Sequence[tuple[Any, Any]], handle: int) -> None:
        for target, value in pairs:
            framework = framework_of([target])
            assert framework is not None
            with framework.using(self._device.ordinal, handle):
                target[...] = value
