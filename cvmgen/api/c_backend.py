"""The C target from Python: ctypes over the shared library, structures bound once."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import numpy as np

from cvmgen.api.calls import Array, CheckedCall, Described, Given, Inferred, several
from cvmgen.api.manifest import Manifest, OperatorInfo, source_text
from cvmgen.dtypes import LIST_CAPACITY
from cvmgen.errors import BuildError, CvmgenError, OperatorError
from cvmgen.rules import MAX_RANK


class TensorStruct(ctypes.Structure):
    """cvmgen_tensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("extents", ctypes.c_int64 * MAX_RANK),
        ("rank", ctypes.c_int32),
        ("dtype", ctypes.c_int32),
        ("precision", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    )


class ListStruct(ctypes.Structure):
    """cvmgen_list."""

    _fields_ = (("length", ctypes.c_int64), ("at", ctypes.c_int64 * LIST_CAPACITY))


class RealsStruct(ctypes.Structure):
    """cvmgen_reals."""

    _fields_ = (("length", ctypes.c_int64), ("at", ctypes.c_double * MAX_RANK))


class ErrorStruct(ctypes.Structure):
    """cvmgen_error."""

    _fields_ = (
        ("status", ctypes.c_int32),
        ("operator_name", ctypes.c_char * 64),
        ("argument", ctypes.c_char * 64),
        ("value", ctypes.c_char * 512),
        ("rule", ctypes.c_char * 512),
    )


TensorPointer = ctypes.POINTER(TensorStruct)

NO_OVERFLOW = 0x7F7F7F7F7F7F7F7F
"""CVMGEN_NO_OVERFLOW."""


Refused = Mapping[str, BuildError]


class TypeCodes(dict[Any, int]):
    """The codes of element types; each is found once by its name."""

    def __init__(self, named: Mapping[str, int]) -> None:
        super().__init__()
        self.named = named

    def __missing__(self, dtype: np.dtype[Any]) -> int:
        return self.setdefault(dtype, self.named[dtype.name])


class CBackend:
    """Calls the functions of one shared library, or those that are attributes of `functions`;
    `refused` are operators that it does not have, and why."""

    def __init__(
        self,
        path: Path,
        manifest: Manifest,
        folder: Path,
        refused: Refused | None = None,
        functions: Any = None,
    ) -> None:
        self.library = load_library(path) if functions is None else functions
        self.path = path
        self.folder = folder
        self.dtypes = TypeCodes(manifest.dtypes)
        self.structures = {info.function: structure(info) for info in manifest.operators}
        self.functions: dict[str, Any] = {}
        infos = {info.full_name: info.function for info in manifest.operators}
        self.refused = {infos[name]: error for name, error in (refused or {}).items()}

    def function(self, name: str) -> Any:
        if name not in self.functions:
            try:
                found = getattr(self.library, name)
            except AttributeError:
                owner = name.removesuffix("_infer").removesuffix("_bind").removesuffix("_cuda")
                if owner in self.refused:
                    raise self.refused[owner] from None
                message = f"{self.path}: the function {name} is missing; run 'cvmgen build'"
                raise CvmgenError(message) from None
            found.restype = ctypes.c_int
            self.functions[name] = found
        return self.functions[name]

    def source(self, info: OperatorInfo, target: str) -> str:
        return source_text(self.folder, info, target)

    def set_threads(self, count: int) -> None:
        """How many threads calls use from now on; 0: as many as is usual."""
        self.function("cvmgen_set_threads")(ctypes.c_int(count))

    def variants(self) -> tuple[str, ...]:
        """The variants of the intrinsics that this processor has, the best first."""
        name_of = self.function("cvmgen_variant_name")
        name_of.restype = ctypes.c_char_p
        names = takewhile(bool, (name_of(ctypes.c_int(number)) for number in count()))
        return tuple(name.decode() for name in names)

    def variant(self) -> str:
        """The one that calls use."""
        current = self.function("cvmgen_variant")
        current.restype = ctypes.c_char_p
        return str(current().decode())

    def use_variant(self, name: str | None) -> None:
        given = None if name is None else name.encode()
        if self.function("cvmgen_use_variant")(ctypes.c_char_p(given)):
            known = ", ".join(self.variants())
            raise CvmgenError(f"variant={name!r}: this processor has {known}")

    # -------------------------------------------------------- structures

    def tensor(
        self, shape: Sequence[int], precision: int | None, array: Array | None, default: int = 0
    ) -> Any:
        """A tensor structure; `default` is the code of the type where there is no array."""
        made = TensorStruct()
        self.describe(made, shape)
        made.precision = 0 if precision is None else min(max(precision, -1), 1 << 30)
        made.dtype = default
        if array is not None:
            made.data = self.address(array) if array.size else None
            made.dtype = self.dtypes[array.dtype]
        return made

    @staticmethod
    def address(array: Any) -> int:
        """Where the elements of an array begin."""
        return int(array.ctypes.data)

    @staticmethod
    def describe(tensor: TensorStruct, shape: Sequence[int]) -> None:
        tensor.rank = len(shape)
        for at, extent in enumerate(shape[:MAX_RANK]):
            tensor.extents[at] = int(extent)

    def arguments(
        self, info: OperatorInfo, described: Described, inputs: Sequence[Given]
    ) -> tuple[Any, list[Any]]:
        """The argument structure, and what it points to (kept alive by the caller)."""
        args = self.structures[info.function]()
        kept: list[Any] = [inputs]
        for item, shape, precision, array in zip(
            info.inputs, described.shapes, described.precisions, inputs, strict=True
        ):
            if shape is None:
                continue
            default = self.dtypes[np.dtype(np.int32)] if info.has_precision(item.name) else 0
            if not item.variadic:
                tensor = self.tensor(shape, precision, array, default)  # type: ignore[arg-type]
                setattr(args, item.name, ctypes.pointer(tensor))
                kept.append(tensor)
                continue
            ranks = precision if precision is not None else [None] * len(shape)
            arrays = array if array is not None else [None] * len(shape)
            tensors = [
                self.tensor(one, rank, data, default)
                for one, rank, data in zip(shape, ranks, arrays, strict=True)
            ]
            pointers = (TensorPointer * max(len(tensors), 1))(*map(ctypes.pointer, tensors))
            setattr(args, item.name, pointers)
            setattr(args, f"{item.name}_count", len(tensors))
            kept += [tensors, pointers]
        self.fill(args, info, described.attributes, kept)
        return args, kept

    @staticmethod
    def fill(args: Any, info: OperatorInfo, attributes: Mapping[str, Any], kept: list[Any]) -> None:
        for attribute in info.attributes:
            value = attributes[attribute.name]
            if isinstance(value, str):
                setattr(args, attribute.word_member, attribute.words.index(value) + 1)
            elif attribute.kind == "word":
                pass  # 0: not given
            elif attribute.is_list:
                entries = getattr(args, attribute.name)
                entries.length = -1 if value is None else len(value)
                for at, entry in enumerate(value or ()):
                    entries.at[at] = entry
            elif attribute.length is not None:
                for at, entry in enumerate(value):
                    getattr(args, attribute.name)[at] = entry
            elif attribute.optional:
                if value is not None:
                    kind = ctypes.c_double if attribute.kind == "real" else ctypes.c_int64
                    number = kind(value)
                    setattr(args, attribute.name, ctypes.pointer(number))
                    kept.append(number)
            else:
                setattr(args, attribute.name, value)

    # -------------------------------------------------------- calls

    def infer(self, info: OperatorInfo, described: Described) -> Inferred:
        args, kept = self.arguments(info, described, [None] * len(described.shapes))
        outputs = {name: TensorStruct() for name in info.outputs}
        for name, tensor in outputs.items():
            setattr(args, name, ctypes.pointer(tensor))
        error = ErrorStruct()
        infer = self.function(f"{info.function}_infer")
        if infer(ctypes.byref(args), ctypes.byref(error)):
            raise refusal(info, error)
        del kept
        found = outputs.values()
        return Inferred(
            tuple(tuple(tensor.extents[: tensor.rank]) for tensor in found),
            tuple(int(tensor.precision) or None for tensor in found),
        )

    def bind(self, info: OperatorInfo, call: CheckedCall) -> Callable[[], None]:
        args, kept = self.call_arguments(info, call)
        error = ErrorStruct()
        function = self.function(info.function)
        args_pointer, error_pointer = ctypes.byref(args), ctypes.byref(error)

        def run(kept: list[Any] = kept) -> None:
            if function(args_pointer, error_pointer):
                raise refusal(info, error)

        return run

    def call_arguments(self, info: OperatorInfo, call: CheckedCall) -> tuple[Any, list[Any]]:
        """The argument structure of a call, and what it points to (kept alive by the caller)."""
        args, kept = self.arguments(info, call.described, call.given)
        for name, array in zip(info.outputs, call.targets, strict=True):
            tensor = self.tensor(array.shape, None, array)
            setattr(args, name, ctypes.pointer(tensor))
            kept.append(tensor)
        args.check_values = int(call.check_values)
        kept.append(call.targets)
        return args, kept


def load_library(path: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise CvmgenError(f"{path}: not a library that can be loaded: {error}") from None


def structure(info: OperatorInfo) -> type[ctypes.Structure]:
    """The ctypes twin of `<operator>_args`."""
    members: list[tuple[str, Any]] = []
    for item in info.inputs:
        if item.variadic:
            members.append((item.name, ctypes.POINTER(TensorPointer)))
            members.append((f"{item.name}_count", ctypes.c_int64))
        else:
            members.append((item.name, TensorPointer))
    members += [(name, TensorPointer) for name in info.outputs]
    for attribute in info.attributes:
        kind: Any = ctypes.c_double if attribute.kind == "real" else ctypes.c_int64
        if attribute.is_list:
            kind = RealsStruct if attribute.kind == "real" else ListStruct
        elif attribute.length is not None:
            kind *= attribute.length
        elif attribute.optional:
            kind = ctypes.POINTER(kind)
        if attribute.kind != "word":
            members.append((attribute.name, kind))
        if attribute.words:
            members.append((attribute.word_member, ctypes.c_int32))
    members.append(("check_values", ctypes.c_int32))
    return type(f"{info.function}_args", (ctypes.Structure,), {"_fields_": tuple(members)})


def input_tensors(info: OperatorInfo, args: Any, given: Sequence[Given]) -> list[Any]:
    """The tensor structures of the inputs that are given, in their order."""
    tensors: list[Any] = []
    for item, each in zip(info.inputs, given, strict=True):
        if each is not None:
            pointers = getattr(args, item.name)
            first = pointers if item.variadic else [pointers]
            tensors += [first[at].contents for at in range(len(several(each)))]
    return tensors


def refusal(info: OperatorInfo, error: ErrorStruct) -> OperatorError:
    fields = (error.argument, error.value, error.rule)
    argument, value, rule = (field.decode("utf-8", "replace") for field in fields)
    return OperatorError(info.full_name, argument, value, rule)
