"""A .onnx file as frozen data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np

from cvmgen.dtypes import PLAIN
from cvmgen.errors import ModelError
from cvmgen.graph.limits import MAX_RANK, MAX_SIZE, Array

OWN: Final = ("", "ai.onnx")
DAMAGE: Final = (ValueError, TypeError, KeyError, IndexError, OverflowError, OSError)


@dataclass(frozen=True, slots=True)
class FileValue:
    """What goes in or out; a text in the shape is an extent that the file leaves open."""

    name: str
    dtype: str
    shape: tuple[int | str, ...] | None


@dataclass(frozen=True, slots=True)
class FileNode:
    """A node: "" stands for an input that is not given; `proto` is what the package made of it."""

    number: int
    name: str
    operator: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(compare=False)
    proto: Any = field(compare=False, repr=False)

    @property
    def shown(self) -> str:
        """What people find it by: its number, its operator, its name or that of what it makes."""
        named = self.name or next(iter(self.outputs), "")
        return " ".join(each for each in (str(self.number), self.operator, named) if each)


@dataclass(frozen=True, slots=True)
class FileGraph:
    """The main graph: nodes in order, and constants by their names."""

    nodes: tuple[FileNode, ...]
    inputs: tuple[FileValue, ...]
    outputs: tuple[FileValue, ...]
    constants: Mapping[str, Array]
    version: int


def package() -> ModuleType:
    """The format's own package; ModelError where it is missing."""
    try:
        return import_module("onnx")
    except ImportError as error:
        rule = "reading .onnx files needs the package onnx: pip install 'cvmgen[onnx]'"
        raise ModelError(rule) from error


@contextmanager
def damage(file: str | None, where: str) -> Iterator[None]:
    """What bad data raises, as a ModelError with the place."""
    try:
        yield
    except ModelError:
        raise
    except DAMAGE as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelError(f"is damaged: {reason}", file=file, where=where) from error


def parse_file(data: bytes, file: str | None, folder: Path | None) -> FileGraph:
    """The main graph of a file; `folder` is where data beside it may lie."""
    onnx = package()
    try:
        model = onnx.ModelProto.FromString(data)
    except import_module("google.protobuf.message").DecodeError as error:
        raise ModelError("is no ONNX model", file=file) from error
    if not model.HasField("graph"):
        raise ModelError("is no ONNX model: there is no graph", file=file)
    return _Reader(onnx, file, folder).graph(model)


class _Reader:
    def __init__(self, onnx: ModuleType, file: str | None, folder: Path | None) -> None:
        self.onnx, self.file, self.folder = onnx, file, folder
        types = onnx.TensorProto.DataType.items()
        named = {"float": "float32", "double": "float64"}
        self.types = {code: named.get(name.lower(), name.lower()) for name, code in types}

    def graph(self, model: Any) -> FileGraph:
        graph = model.graph
        versions = [each.version for each in model.opset_import if each.domain in OWN]
        if len(graph.sparse_initializer):
            raise ModelError("has sparse constants", file=self.file)
        constants = {_text(each.name): self.tensor(each) for each in graph.initializer}
        given = [self.value(each) for each in graph.input if _text(each.name) not in constants]
        return FileGraph(
            tuple(self.node(number, each) for number, each in enumerate(graph.node)),
            tuple(given),
            tuple(self.value(each) for each in graph.output),
            constants,
            max(versions, default=1),
        )

    def value(self, proto: Any) -> FileValue:
        kind = proto.type.tensor_type
        dims = kind.shape.dim if kind.HasField("shape") else None
        shape = None if dims is None else tuple(map(_extent_of, dims))
        return FileValue(_text(proto.name), self.types.get(kind.elem_type, "undefined"), shape)

    def node(self, number: int, proto: Any) -> FileNode:
        domain = "" if proto.domain in OWN else _text(proto.domain)
        name, operator = _text(proto.name), _text(proto.op_type)
        inputs, outputs = (tuple(map(_text, each)) for each in (proto.input, proto.output))
        with damage(self.file, f"node {number} {operator}"):
            attributes = {_text(each.name): self.attribute(each) for each in proto.attribute}
        return FileNode(number, name, operator, domain, inputs, outputs, attributes, proto)

    def attribute(self, proto: Any) -> Any:
        found = self.onnx.helper.get_attribute_value(proto)
        if isinstance(found, self.onnx.TensorProto):
            return self.tensor(found)
        return _text(found) if isinstance(found, bytes) else found

    def tensor(self, proto: Any) -> Array:
        """A constant, of which no more is made than there are bytes."""
        with damage(self.file, f"constant {_text(proto.name)}"):
            dtype = self.types.get(proto.data_type, "undefined")
            shape = tuple(proto.dims)
            if len(shape) > MAX_RANK or any(each < 0 for each in shape):
                raise ValueError(f"its shape is {shape}")
            if math.prod(shape) > MAX_SIZE:
                raise ValueError(f"{math.prod(shape)} elements are more than {MAX_SIZE}")
            if dtype not in PLAIN:
                raise ValueError(f"its elements are {dtype}")
            if proto.data_location == self.onnx.TensorProto.EXTERNAL:
                return _numbers(self.beside(proto), shape, dtype)
            if proto.HasField("raw_data"):
                return _numbers(proto.raw_data, shape, dtype)
            found: Array = self.onnx.numpy_helper.to_array(proto)
            return found

    def beside(self, proto: Any) -> bytes:
        """The bytes of a constant in a file of its own, which lies in the model's folder."""
        entries = {_text(each.key): _text(each.value) for each in proto.external_data}
        location = entries["location"]
        if self.folder is None:
            raise ValueError("its data lies in another file")
        folder = self.folder.resolve()
        path = (folder / location).resolve()
        if not path.is_relative_to(folder) or not path.is_file():
            raise ValueError(f"its data would lie in {location!r}, which is no file of the folder")
        start, size = int(entries.get("offset", 0)), path.stat().st_size
        length = int(entries.get("length", size - start))
        if not (0 <= start <= size and 0 <= length <= size - start):
            raise ValueError(f"bytes {start} to {start + length} of {location!r} are not there")
        with path.open("rb") as opened:
            opened.seek(start)
            return opened.read(length)


def _text(found: str | bytes) -> str:
    """A name; one that is no text comes as bytes."""
    return found.decode(errors="replace") if isinstance(found, bytes) else found


def _extent_of(dim: Any) -> int | str:
    return int(dim.dim_value) if dim.HasField("dim_value") else _text(dim.dim_param or "?")


def _numbers(raw: bytes, shape: tuple[int, ...], dtype: str) -> Array:
    wanted = math.prod(shape) * np.dtype(dtype).itemsize
    if len(raw) != wanted:
        raise ValueError(f"its {len(raw)} bytes are not the {wanted} of shape {shape}")
    stored = "uint8" if dtype == "bool" else dtype  # of which any that is not 0 is true
    found: Array = np.frombuffer(raw, np.dtype(stored).newbyteorder("<")).reshape(shape)
    return found.astype(dtype)
