"""Open calls on a device: what was checked for arrays of one kind is not checked for the next."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cvmgen.api.cuda_backend import PreparedCall
from cvmgen.api.device_array import DeviceArray
from cvmgen.api.device_call import DeviceCall
from cvmgen.api.open_call import OpenCall
from cvmgen.api.operator import Operator


class ReadyDeviceCall:
    """An open call for arrays of certain libraries and element types."""

    def __init__(
        self,
        call: DeviceCall,
        tensors: Mapping[str, Any],
        prepared: PreparedCall,
        shapes: Sequence[tuple[int, ...]],
        dtypes: Sequence[Any],
    ) -> None:
        self._call, self._tensors, self._prepared = call, tensors, prepared
        self._shapes, self._dtypes = shapes, dtypes
        self._lock = threading.Lock()
        self._results = list(tensors.values())[-len(shapes) :]

    def run(
        self, names: Sequence[str], shapes: Sequence[tuple[int, ...]], arrays: Sequence[Any]
    ) -> list[Any] | None:
        """New results for these arrays; None where they have to be looked at more closely."""
        call = self._call
        handle = call.handle()
        places = [call.place(*pair, handle) for pair in zip(arrays, shapes, strict=True)]
        if not all(places):
            return None
        made = [call.made(*pair) for pair in zip(self._shapes, self._dtypes, strict=True)]
        there = [call.place(*pair, handle) for pair in zip(made, self._shapes, strict=True)]
        if not all(there):
            return None
        notes = self._prepared.notes()  # of these results alone
        for each in made:
            if type(each) is DeviceArray:
                each.notes = notes
        with self._lock:  # the driver has copied the addresses when the kernels are started
            for name, place in zip(names, places, strict=True):
                self._tensors[name].data = place
            for tensor, place in zip(self._results, there, strict=True):
                tensor.data = place
            self._prepared.start(handle, notes)
        return made


class DeviceOpenCall(OpenCall):
    """An open call that learns the kinds of arrays it meets."""

    def __init__(
        self,
        operator: Operator,
        operands: Mapping[str, Any],
        keywords: Mapping[str, Any],
        ready: Callable[[Mapping[str, Any], Mapping[str, Any]], ReadyDeviceCall | None],
        whole: Callable[[Sequence[Any]], Any],
    ) -> None:
        super().__init__(operator, operands, keywords)
        self._make, self._whole = ready, whole
        self._ready: dict[Any, ReadyDeviceCall | None] = {}

    def __call__(self, *arrays: Any, out: Any = None, **others: Any) -> Any:
        """As `OpenCall.__call__`."""
        key = tuple((type(each), getattr(each, "dtype", None)) for each in arrays)
        ready = self._ready.get(key)
        if ready is not None and out is None and not others:
            made = ready.run(self.inputs, self.shapes, arrays)
            if made is not None:
                return self._whole(made)
        result = super().__call__(*arrays, out=out, **others)
        if key not in self._ready and out is None:
            self._ready[key] = self._make(self._filled(arrays), self._keywords)
        return result
