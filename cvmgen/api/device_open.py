"""Calls on a device that come again: what was checked for arrays of one kind is not checked for the
next."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cvmgen.api.calls import CheckedCall, several
from cvmgen.api.cuda_backend import PreparedCall
from cvmgen.api.device_array import DeviceArray
from cvmgen.api.device_call import DeviceCall
from cvmgen.api.device_notes import Notes
from cvmgen.api.open_call import OpenCall
from cvmgen.api.operator import Operator


class ReadyDeviceCall:
    """A call that was checked, for other arrays of the same libraries, shapes and element types."""

    def __init__(
        self, call: DeviceCall, prepared: PreparedCall, tensors: Sequence[Any], checked: CheckedCall
    ) -> None:
        self._call, self._prepared = call, prepared
        self._tensors = tensors  # of all inputs, then of the results
        self._inputs = [tuple(one.shape) for each in checked.given for one in several(each)]
        self._results = [(tuple(each.shape), np.dtype(each.dtype)) for each in checked.targets]
        self._lock = threading.Lock()
        self._of_thread = threading.local()

    def run(
        self, arrays: Sequence[Any], at: Sequence[int], outs: Sequence[Any] = ()
    ) -> Sequence[Any] | None:
        """The results for these arrays, which are the inputs at these places, in `outs` or in new
        arrays; None where they have to be looked at more closely."""
        call = self._call
        handle = call.handle()
        places = [
            call.place(array, self._inputs[number], handle)
            for number, array in zip(at, arrays, strict=True)
        ]
        if not all(places):
            return None
        if outs:
            there = [
                call.place_of_result(out, shape, handle)
                for out, (shape, _) in zip(outs, self._results, strict=True)
            ]
        else:
            outs = [call.made(shape, dtype) for shape, dtype in self._results]
            there = [call.place_of_made(each) for each in outs]
        if not all(there):
            return None
        notes = self._notes_of(outs, handle)
        with self._lock:  # the driver has copied the addresses when the kernels are started
            for number, place in zip(at, places, strict=True):
                self._tensors[number].data = place
            for tensor, place in zip(self._tensors[len(self._inputs) :], there, strict=True):
                tensor.data = place
            self._prepared.start(handle, notes)
        return outs

    def _notes_of(self, results: Sequence[Any], handle: int) -> Notes | None:
        """Words for these results: their own where they tell what is refused, else those of all
        calls of this kind that a thread makes in a stream."""
        ours = [each for each in results if type(each) is DeviceArray]
        if not ours:
            return self._untold(handle)
        notes = self._prepared.notes()
        for each in ours:
            each.notes = notes
        return notes

    def _untold(self, handle: int) -> Notes | None:
        known: tuple[int, Notes | None] | None = getattr(self._of_thread, "known", None)
        if known is not None and known[0] == handle:
            return known[1]
        notes = self._prepared.notes()
        if notes is not None:
            notes.noted.untold = True
        self._of_thread.known = (handle, notes)
        return notes


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
        there = [name for name, value in operands.items() if value is not None]
        self._at = [there.index(name) for name in self.inputs]

    def __call__(self, *arrays: Any, out: Any = None, **others: Any) -> Any:
        """As `OpenCall.__call__`."""
        key = tuple((type(each), getattr(each, "dtype", None)) for each in arrays)
        ready = self._ready.get(key)
        if ready is not None and out is None and not others and len(arrays) == len(self._at):
            made = ready.run(arrays, self._at)
            if made is not None:
                return self._whole(made)
        result = super().__call__(*arrays, out=out, **others)
        if key not in self._ready and out is None:
            self._ready[key] = self._make(self._filled(arrays), self._keywords)
        return result
