"""A call on a device: where its arrays lie, which stream it goes to, what else it needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cvmgen.api.device import Device
from cvmgen.api.device_array import DeviceArray, device_array
from cvmgen.api.frameworks import Framework, framework_of, library_of
from cvmgen.api.streams import stream_handle


class DeviceCall:
    """The arrays of a call where kernels read and write them, in the turn of its stream."""

    def __init__(self, device: Device, operands: Sequence[Any], stream: Any) -> None:
        flat = [
            one
            for each in operands
            for one in (each if isinstance(each, (list, tuple)) else [each])
        ]
        self._device = device
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
        if self._stream is None:
            return self._framework.empty(self._device.ordinal, shape, np.dtype(dtype))
        with self._framework.using(self._device.ordinal, self.handle()):
            return self._framework.empty(self._device.ordinal, shape, np.dtype(dtype))

    def around(self, run: Callable[[], None]) -> Callable[[], None]:
        """A call of kernels, with what has to be done before and after it."""
        if not self.has_more:
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

    @property
    def has_more(self) -> bool:
        """Whether it is more than the start of kernels."""
        return bool(self._loads or self._stores or self._elsewhere or self._given)

    def place(self, value: Any, shape: tuple[int, ...], handle: int) -> int | None:
        """Where an array of a shape begins, in a stream's turn; None for one that is to be looked
        at more closely."""
        if tuple(value.shape) != shape:
            return None
        if type(value) is DeviceArray:
            if value.device is not self._device:
                return None
            if stream_handle(value.stream) != handle:
                self._device.order(handle, stream_handle(value.stream))
                value.used_by(self._stream)
            return value.data
        if self._framework is None or self._framework is not library_of(type(value)):
            return None
        ordinal, address = self._framework.place(value)
        fits = ordinal == self._device.ordinal and not self._framework.has_gaps(value)
        return address if fits else None

    def place_of_result(self, value: Any, shape: tuple[int, ...], handle: int) -> int | None:
        """The same of an array for a result."""
        if type(value) is DeviceArray and (value.read_only or value.stream is not self._stream):
            return None
        return self.place(value, shape, handle)

    def place_of_made(self, value: Any) -> int:
        """Where an array begins that this call made."""
        if self._framework is None:
            return int(value.data)
        return self._framework.place(value)[1]

    def _like(self, framework: Framework, value: Any) -> Any:
        with framework.using(self._device.ordinal, self.handle()):
            return framework.like(value)

    def _copy(self, pairs: Sequence[tuple[Any, Any]], handle: int) -> None:
        for target, value in pairs:
            framework = framework_of([target])
            assert framework is not None
            with framework.using(self._device.ordinal, handle):
                target[...] = value
