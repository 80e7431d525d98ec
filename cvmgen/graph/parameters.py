"""The parameter file `params.bin`: names and integer arrays, read and written."""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import numpy as np

from cvmgen.errors import ModelError
from cvmgen.graph.files import FilePath, read_bytes, write_bytes
from cvmgen.graph.limits import MAX_RANK, Array, shape_fault

Parameters = dict[str, Array]

LIST_MAGIC: Final = 0xF7E58D4F05049CB7
ARRAY_MAGIC: Final = 0xDD5E40F096B4A13F
CPU: Final = 1
SIGNED: Final = 0
DTYPES: Final[dict[tuple[int, ...], np.dtype[Any]]] = {
    (SIGNED, 8, 1): np.dtype("<i1"),
    (SIGNED, 32, 1): np.dtype("<i4"),
}
TYPES: Final = {dtype.newbyteorder("="): key for key, dtype in DTYPES.items()}

_COUNT: Final = struct.Struct("<Q")
_DEVICE: Final = struct.Struct("<ii")
_RANK: Final = struct.Struct("<i")
_TYPE: Final = struct.Struct("<BBH")
_EXTENT: Final = struct.Struct("<q")
_NAME_BYTES: Final = _COUNT.size
_ARRAY_BYTES: Final = 2 * _COUNT.size + _DEVICE.size + _RANK.size + _TYPE.size + 2 * _EXTENT.size


def read_parameters(path: FilePath) -> Parameters:
    """Arrays by name, in the order of the file: int8 or int32, of rank 1 to 6.

    Anything that the format does not allow is a ModelError that names the byte offset of the
    field at fault.
    """
    return parse_parameters(read_bytes(path), os.fspath(path))


def parse_parameters(data: bytes, file: str | None = None) -> Parameters:
    """`read_parameters` of bytes in memory; `file` is the name that errors quote."""
    cursor = _Cursor(data, file)
    cursor.expect(LIST_MAGIC, "magic number of a parameter file")
    cursor.expect(0, "reserved field")
    names = [_name(cursor) for _ in range(cursor.count("names", _NAME_BYTES))]
    start = cursor.at
    count = cursor.count("arrays", _ARRAY_BYTES)
    if count != len(names):
        cursor.fail(f"there are {len(names)} names and {count} arrays", at=start)
    result: Parameters = {}
    for offset, name in names:
        if name in result:
            cursor.fail(f"the name '{name}' is there twice", at=offset)
        result[name] = _array(cursor, name)
    if cursor.left:
        cursor.fail(f"{cursor.left} bytes are left over after the last array")
    return result


def write_parameters(path: FilePath, parameters: Mapping[str, Array]) -> None:
    """Write `parameters` in their order; ModelError for an array that the format cannot hold."""
    write_bytes(path, format_parameters(parameters, os.fspath(path)))


def format_parameters(parameters: Mapping[str, Array], file: str | None = None) -> bytes:
    """The bytes that `parse_parameters` turns back into `parameters`."""
    parts = [_COUNT.pack(LIST_MAGIC), _COUNT.pack(0), _COUNT.pack(len(parameters))]
    for name in parameters:
        text = name.encode()
        parts += [_COUNT.pack(len(text)), text]
    parts.append(_COUNT.pack(len(parameters)))
    for name, array in parameters.items():
        parts.append(_array_bytes(name, array, file))
    return b"".join(parts)


@dataclass(slots=True)
class _Cursor:
    """A place in the bytes of a file; nothing is read beyond their end."""

    data: bytes
    file: str | None
    at: int = 0

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def fail(self, rule: str, at: int | None = None) -> NoReturn:
        raise ModelError(rule, file=self.file, where=f"byte {self.at if at is None else at}")

    def take(self, count: int, what: str) -> bytes:
        if count > self.left:
            self.fail(f"the file ends early: {what} needs {count} bytes and {self.left} are left")
        self.at += count
        return self.data[self.at - count : self.at]

    def numbers(self, layout: struct.Struct, what: str) -> tuple[int, ...]:
        return layout.unpack(self.take(layout.size, what))

    def expect(self, value: int, what: str) -> None:
        start = self.at
        (found,) = self.numbers(_COUNT, f"the {what}")
        if found != value:
            self.fail(f"the {what} is {found:#x} instead of {value:#x}", at=start)

    def count(self, what: str, least: int) -> int:
        """A count of things of at least `least` bytes each, possible in what is left."""
        start = self.at
        (count,) = self.numbers(_COUNT, f"the number of {what}")
        if count * least > self.left:
            self.fail(f"{count} {what} do not fit in the {self.left} bytes left", at=start)
        return count


def _name(cursor: _Cursor) -> tuple[int, str]:
    """The offset of a name and the name."""
    start = cursor.at
    (length,) = cursor.numbers(_COUNT, "the length of a name")
    if length > cursor.left:
        cursor.fail(
            f"the file ends early: a name of {length} bytes does not fit in the "
            f"{cursor.left} bytes left",
            at=start,
        )
    text = cursor.take(length, "a name")
    try:
        return start, text.decode()
    except UnicodeDecodeError as error:
        cursor.fail("a name is not UTF-8", at=start + _COUNT.size + error.start)


def _array(cursor: _Cursor, name: str) -> Array:
    of = f"of '{name}'"
    cursor.expect(ARRAY_MAGIC, f"magic number of the array {of}")
    cursor.expect(0, f"reserved field {of}")
    start = cursor.at
    device, _ = cursor.numbers(_DEVICE, f"the device {of}")
    if device != CPU:
        cursor.fail(f"the device type {of} is {device} instead of {CPU} (CPU)", at=start)
    start = cursor.at
    (rank,) = cursor.numbers(_RANK, f"the rank {of}")
    if not 1 <= rank <= MAX_RANK:
        cursor.fail(f"the rank {of} is {rank}, not in 1..{MAX_RANK}", at=start)
    dtype = _dtype(cursor, of)
    shape = _shape(cursor, rank, of)
    values = cursor.take(_byte_count(cursor, shape, dtype, of), f"the data {of}")
    return np.frombuffer(values, dtype).reshape(shape).astype(dtype.newbyteorder("="))


def _dtype(cursor: _Cursor, of: str) -> np.dtype[Any]:
    start = cursor.at
    code, bits, lanes = cursor.numbers(_TYPE, f"the element type {of}")
    if (code, bits, lanes) not in DTYPES:
        cursor.fail(
            f"the element type {of} (code {code}, {bits} bits, {lanes} lanes) "
            "is neither int8 nor int32",
            at=start,
        )
    return DTYPES[code, bits, lanes]


def _shape(cursor: _Cursor, rank: int, of: str) -> tuple[int, ...]:
    start = cursor.at
    shape = tuple(cursor.numbers(_EXTENT, f"the shape {of}")[0] for _ in range(rank))
    fault = shape_fault(shape)
    if fault is not None:
        cursor.fail(f"the shape {of} is {shape}: {fault}", at=start)
    return shape


def _byte_count(cursor: _Cursor, shape: tuple[int, ...], dtype: np.dtype[Any], of: str) -> int:
    start = cursor.at
    (count,) = cursor.numbers(_EXTENT, f"the byte count {of}")
    expected = math.prod(shape) * dtype.itemsize
    if count != expected:
        cursor.fail(f"the byte count {of} is {count}, and shape {shape} takes {expected}", at=start)
    return count


def _array_bytes(name: str, array: Array, file: str | None) -> bytes:
    native = array.dtype.newbyteorder("=")
    if native not in TYPES:
        rule = f"element type {array.dtype} is neither int8 nor int32"
        raise ModelError(rule, file=file, where=f"parameter {name}")
    fault = shape_fault(array.shape)
    if fault is not None:
        raise ModelError(fault, file=file, where=f"parameter {name}")
    values = np.ascontiguousarray(array, DTYPES[TYPES[native]]).tobytes()
    return b"".join(
        (
            _COUNT.pack(ARRAY_MAGIC),
            _COUNT.pack(0),
            _DEVICE.pack(CPU, 0),
            _RANK.pack(array.ndim),
            _TYPE.pack(*TYPES[native]),
            *(_EXTENT.pack(extent) for extent in array.shape),
            _EXTENT.pack(len(values)),
            values,
        )
    )
