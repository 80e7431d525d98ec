"""Operators of the C target: a call like one before it is not checked again."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cvmgen.api.c_backend import CBackend, ErrorStruct, input_tensors, refusal
from cvmgen.api.c_bound import COpenCall, KeptCall, ReadyCall, address, keep
from cvmgen.api.call_kinds import CallKinds
from cvmgen.api.calls import Array, Bound, CheckedCall, contiguous
from cvmgen.api.manifest import OperatorInfo
from cvmgen.api.open_call import OpenCall, is_shape
from cvmgen.api.operator import Operator
from cvmgen.memory import new_array

MOST_PRECISIONS = 1024
"""Combinations of measured precisions that an operator remembers of each kind of call."""


class Structures(NamedTuple):
    """What functions of the library are called with, for one call at a time.

    `tensors` are those of the given inputs, in their order; `measured` are those of them whose
    precision is not declared, with pointers to them.
    """

    tensors: list[Any]
    measured: list[tuple[Any, Any]]
    outputs: list[Any]
    error: Any
    args_pointer: Any
    error_pointer: Any


class CallKind:
    """Calls with the same shapes, element types, attributes and declared precisions."""

    def __init__(self, call: CheckedCall) -> None:
        self.results = [(target.shape, target.dtype) for target in call.targets]
        arrays = [array for array, _, _ in given_arrays(call)]
        self.sizes = [array.nbytes for array in (*arrays, *call.targets)]
        self.free: list[Structures] = []  # as many as calls have run at the same time
        self.admitted: set[tuple[int, ...]] = set()  # precisions that were measured


class COperator(Operator):
    """An operator whose first call of a kind is checked in full. A later one passes addresses to
    the library, which checks them, and as much as any C program's call, once more."""

    def __init__(self, info: OperatorInfo, backend: CBackend) -> None:
        super().__init__(info, backend)
        self._library = backend
        self._kinds: CallKinds[CallKind] = CallKinds(info, mark_array, mark_output)
        self._places = {item.name: at for at, item in enumerate(info.inputs)}
        self._run: Any = None
        self._measure: Any = None

    def __call__(
        self,
        *inputs: Any,
        precisions: Any = None,
        dtype: Any = None,
        out: Any = None,
        check: str | None = None,
        **attributes: Any,
    ) -> Any:
        """As `Operator.__call__`."""
        arrays: list[Array] = []
        outs: list[Array] = []
        others = (check, dtype)
        key, kind = self._kinds.find(arrays, outs, inputs, precisions, out, others, attributes)
        if kind is not None and (targets := self._repeated(kind, arrays, outs)) is not None:
            return self._whole(targets)
        call = self._checked(inputs, precisions, dtype, out, check, attributes)
        there, loads, stores = call.contiguous()
        run = self._library.bind(self._info, there)
        result = Bound(self.name, run, self._whole(call.targets), loads, stores, call.inferred)()
        if key is not None:
            self._learn(key, call)
        return result

    def keep(self, call: CheckedCall) -> KeptCall:
        """A call as the library keeps it, for memory that comes with each run."""
        return keep(self._library, self._info, call, constants=0)

    def _started(self, call: CheckedCall, constants: Sequence[str]) -> Callable[[], None]:
        marked = sum(1 << self._places[name] for name in constants)
        return keep(self._library, self._info, call, marked).run

    def _opened(self, given: dict[str, Any], keywords: dict[str, Any]) -> OpenCall:
        names = {name for name, value in given.items() if is_shape(value)}
        marked = sum(
            1 << self._places[name]
            for name, value in given.items()
            if name not in names and value is not None
        )

        def make(filled: Mapping[str, Any]) -> ReadyCall:
            return self._ready(names, filled, keywords, marked)

        return COpenCall(self, given, keywords, make, self._whole)

    def _ready(
        self,
        names: set[str],
        filled: Mapping[str, Any],
        keywords: Mapping[str, Any],
        constants: int,
    ) -> ReadyCall:
        """The library's call for arrays like these; those of `names` come with each call."""
        rest = dict(keywords)
        precisions, dtype, check = (rest.pop(each) for each in ("precisions", "dtype", "check"))
        call = self._checked((), precisions, dtype, None, check, {**filled, **rest})
        arrays, _ = contiguous(call.given)
        kept = keep(self._library, self._info, call._replace(given=arrays), constants)
        there = [name for name, each in zip(self.inputs, arrays, strict=True) if each is not None]
        tensors = [*there, *self.outputs]
        at = tuple(at for at, name in enumerate(tensors) if at >= len(there) or name in names)
        shapes = tuple(target.shape for target in call.targets)
        dtypes = tuple(target.dtype for target in call.targets)
        return ReadyCall(kept, (ctypes.c_void_p * len(tensors))(), at, shapes, dtypes)

    def _repeated(
        self, kind: CallKind, arrays: list[Array], outs: list[Array]
    ) -> list[Array] | None:
        """The results of a call of a kind; None where it has to be checked after all."""
        try:
            structures = kind.free.pop()
        except IndexError:
            return None
        try:
            places = [address(array) for array in arrays]
            for tensor, place in zip(structures.tensors, places, strict=True):
                tensor.data = place
            for _, pointer in structures.measured:
                if self._measure(pointer, structures.error_pointer):
                    return None
            if tuple([tensor.precision for tensor, _ in structures.measured]) not in kind.admitted:
                return None
            targets = outs or [new_array(shape, dtype) for shape, dtype in kind.results]
            for tensor, target in zip(structures.outputs, targets, strict=True):
                tensor.data = place = address(target)
                places.append(place)
            if outs and touching(places, kind.sizes, len(outs)):
                return None
            if self._run(structures.args_pointer, structures.error_pointer):
                raise refusal(self._info, structures.error)
            return targets
        finally:
            kind.free.append(structures)

    def _learn(self, key: Any, call: CheckedCall) -> None:
        """Let calls like this one be repeated."""
        arrays = list(given_arrays(call))
        if not all(array.size for array in (*(each for each, _, _ in arrays), *call.targets)):
            return  # empty arrays have no addresses
        kind = self._kinds.remember(key, lambda: CallKind(call))
        if len(kind.admitted) >= MOST_PRECISIONS:
            kind.admitted.clear()
        kind.admitted.add(tuple(known for _, declared, known in arrays if known and not declared))
        kind.free.append(self._structures(call))

    def _structures(self, call: CheckedCall) -> Structures:
        info = self._info
        self._run = self._library.function(info.function)
        self._measure = self._library.function("cvmgen_measure")
        args, _ = self._library.call_arguments(info, call)
        tensors = input_tensors(info, args, call.given)
        measured = [
            (tensor, ctypes.byref(tensor))
            for tensor, (_, declared, known) in zip(tensors, given_arrays(call), strict=True)
            if known and not declared
        ]
        outputs = [getattr(args, name).contents for name in info.outputs]
        error = ErrorStruct()
        return Structures(
            tensors, measured, outputs, error, ctypes.byref(args), ctypes.byref(error)
        )


def given_arrays(call: CheckedCall) -> Iterator[tuple[Array, int | None, int | None]]:
    """The arrays of all inputs, each with its declared and its known precision."""
    for given, declared, known in zip(call.given, call.declared, call.precisions, strict=True):
        if isinstance(given, list):
            nothing = [None] * len(given)
            told = declared if isinstance(declared, list) else nothing
            found = known if isinstance(known, list) else nothing
            yield from zip(given, told, found, strict=True)
        elif given is not None:
            assert not isinstance(declared, list)
            assert not isinstance(known, list)
            yield given, declared, known


def mark_array(marks: list[Any], arrays: list[Array], value: Any) -> bool:
    """Note an input; only arrays that are read where they lie can be repeated."""
    if type(value) is not np.ndarray:
        return False
    flags = value.flags
    if not (flags.c_contiguous and flags.aligned):
        return False
    arrays.append(value)
    marks.append(value.dtype)
    marks.append(value.shape)
    return True


def mark_output(marks: list[Any], outs: list[Array], value: Any) -> bool:
    """Note an array for a result; only those that are written where they lie."""
    return mark_array(marks, outs, value) and value.flags.writeable


def touching(places: Sequence[int], sizes: Sequence[int], outputs: int) -> bool:
    """Whether one of the last blocks of memory has bytes in common with one before it."""
    for at in range(len(places) - outputs, len(places)):
        start = places[at]
        end = start + sizes[at]
        for other in range(at):
            if start < places[other] + sizes[other] and places[other] < end:
                return True
    return False
