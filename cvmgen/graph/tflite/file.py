"""A .tflite file as frozen data."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Any, Final, TypeVar

import numpy as np

from cvmgen.dtypes import PLAIN
from cvmgen.errors import ModelError
from cvmgen.graph.limits import Array, shape_fault

IDENTIFIER: Final = b"TFL3"

DAMAGE: Final = (
    struct.error,
    ValueError,
    TypeError,
    IndexError,
    OverflowError,
    AttributeError,
)
"""What the classes of the schema raise beyond the bytes of a file."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class FileTensor:
    """A tensor: `data` are its values where the file has them; `scales`, of one entry or of one
    for each index of dimension `axis`, and `zeros` say which real numbers its elements mean."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    data: Array | None
    scales: tuple[float, ...]
    zeros: tuple[int, ...]
    axis: int
    variable: bool


@dataclass(frozen=True, slots=True)
class FileOperator:
    """An operator by its name in the schema; -1 stands for an input that is not given.

    `options` opens the table of its attributes as an object of a class of the schema.
    """

    number: int
    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Callable[[str], Any] = field(compare=False)


@dataclass(frozen=True, slots=True)
class FileGraph:
    """A subgraph: its tensors, operators in order, and which tensors go in and out."""

    tensors: tuple[FileTensor, ...]
    operators: tuple[FileOperator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def _schema() -> ModuleType:
    """The classes of the format; ModelError where the package is missing."""
    try:
        return import_module("tflite")
    except ImportError as error:
        rule = "reading .tflite files needs the package tflite: pip install 'cvmgen[tflite]'"
        raise ModelError(rule) from error


@contextmanager
def damage(file: str | None, where: str) -> Iterator[None]:
    """What reading beyond the bytes of a file raises, as a ModelError with the place."""
    try:
        yield
    except ModelError:
        raise
    except struct.error as error:
        rule = "is damaged: a table reaches beyond its bytes"
        raise ModelError(rule, file=file, where=where) from error
    except DAMAGE as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelError(f"is damaged: {reason}", file=file, where=where) from error


def parse_file(data: bytes, file: str | None = None) -> tuple[FileGraph, ...]:
    """All subgraphs of a file, the main one first; ModelError names the table that is damaged."""
    if len(data) < 8 or data[4:8] != IDENTIFIER:
        rule = f"the identifier is {data[4:8]!r}, not {IDENTIFIER!r}"
        raise ModelError(rule, file=file, where="byte 4")
    return _Reader(data, file, _schema()).graphs()


class _Reader:
    """Reads tables; every count is compared with the bytes that are there."""

    def __init__(self, data: bytes, file: str | None, classes: ModuleType) -> None:
        self.data, self.file, self.classes = data, file, classes
        self.budget = 4 * len(data)  # entries that are read at most: tables may be shared
        names = vars(classes.BuiltinOperator)
        self.operators = {code: name for name, code in names.items() if type(code) is int}
        types = vars(classes.TensorType)
        self.types = {code: name.lower() for name, code in types.items() if type(code) is int}

    def graphs(self) -> tuple[FileGraph, ...]:
        with damage(self.file, "the model"):
            model = self.classes.Model.GetRootAs(self.data, 0)
            codes = self.each(model.OperatorCodesLength(), model.OperatorCodes, "operator code")
            names = [self.operator_name(code) for code in codes]
            count = self.counted(model.SubgraphsLength())
        if count == 0:
            raise ModelError("there is no graph", file=self.file)
        return tuple(self.graph(model, at, names) for at in range(count))

    def operator_name(self, code: Any) -> str:
        number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
        name: str = self.operators.get(number, f"operator {number}")
        if name != "CUSTOM":
            return name
        custom = code.CustomCode()
        return f"CUSTOM {(custom or b'').decode(errors='replace')}".strip()

    def counted(self, count: int) -> int:
        """A count of entries, of which each takes a byte of the file at least."""
        self.budget -= count
        if count < 0 or count > len(self.data) or self.budget < 0:
            raise ValueError(f"{count} entries do not fit in the file's {len(self.data)} bytes")
        return count

    def each(self, count: int, get: Callable[[int], Item], what: str) -> list[Item]:
        found = [get(at) for at in range(self.counted(count))]
        if None in found:
            raise ValueError(f"{what} {found.index(None)} is missing")  # type: ignore[arg-type]
        return found

    def numbers(self, found: Any) -> tuple[int, ...]:
        """A vector of integers: an array, or 0 where there is none."""
        if isinstance(found, int):
            return ()
        self.counted(found.size)
        return tuple(found.tolist())

    def graph(self, model: Any, at: int, names: list[str]) -> FileGraph:
        place = f"subgraph {at}"
        with damage(self.file, place):
            found = model.Subgraphs(at)
            if found is None:
                raise ValueError("it is missing")
            tensors = [
                self.tensor(model, found.Tensors(number), f"{place}, tensor {number}")
                for number in range(self.counted(found.TensorsLength()))
            ]
            operators = [
                self.operator(found.Operators(number), number, names, len(tensors), place)
                for number in range(self.counted(found.OperatorsLength()))
            ]
            inputs = self.indices(found.InputsAsNumpy(), len(tensors))
            outputs = self.indices(found.OutputsAsNumpy(), len(tensors))
        return FileGraph(tuple(tensors), tuple(operators), inputs, outputs)

    def indices(self, found: Any, count: int, least: int = 0) -> tuple[int, ...]:
        numbers = self.numbers(found)
        for number in numbers:
            if not least <= number < count:
                raise ValueError(f"there is no tensor {number}: they are 0 to {count - 1}")
        return numbers

    def operator(
        self, found: Any, number: int, names: list[str], tensors: int, place: str
    ) -> FileOperator:
        with damage(self.file, f"{place}, operator {number}"):
            code = found.OpcodeIndex()
            if not 0 <= code < len(names):
                raise ValueError(f"there is no operator code {code}")
            inputs = self.indices(found.InputsAsNumpy(), tensors, -1)
            outputs = self.indices(found.OutputsAsNumpy(), tensors)

        def options(name: str) -> Any:
            table = found.BuiltinOptions()
            made = getattr(self.classes, name)()
            if table is None:
                raise ValueError(f"it has no {name}")
            made.Init(table.Bytes, table.Pos)
            return made

        return FileOperator(number, names[code], inputs, outputs, options)

    # -------------------------------------------------------- tensors

    def tensor(self, model: Any, found: Any, where: str) -> FileTensor:
        with damage(self.file, where):
            name = (found.Name() or b"").decode(errors="replace")
            code = found.Type()
            dtype = self.types.get(code, f"type {code}")
            shape = self.numbers(found.ShapeAsNumpy())
            fault = shape_fault(shape) if shape else None
            if fault is not None and dtype in PLAIN:
                raise ValueError(fault)
            scales, zeros, axis = self.quantisation(found.Quantization())
            data = self.values(model, found.Buffer(), shape, dtype)
            variable = bool(found.IsVariable())
        return FileTensor(name or where, shape, dtype, data, scales, zeros, axis, variable)

    def quantisation(self, found: Any) -> tuple[tuple[float, ...], tuple[int, ...], int]:
        if found is None:
            return (), (), 0
        scales = tuple(map(float, self.numbers(found.ScaleAsNumpy())))
        zeros = self.numbers(found.ZeroPointAsNumpy())
        if any(not math.isfinite(scale) or scale <= 0 for scale in scales):
            raise ValueError("a scale is not a number above 0")
        if len(zeros) not in (0, 1, len(scales)):
            raise ValueError(f"there are {len(scales)} scales and {len(zeros)} zero points")
        return scales, zeros or (0,) * min(len(scales), 1), found.QuantizedDimension()

    def values(self, model: Any, number: int, shape: tuple[int, ...], dtype: str) -> Array | None:
        """The array in a buffer, if there is one; buffer 0 is empty by convention."""
        if not 0 <= number < model.BuffersLength():
            raise ValueError(f"there is no buffer {number}")
        buffer = model.Buffers(number)
        if buffer is None or buffer.DataIsNone() or buffer.DataLength() == 0:
            if buffer is not None and hasattr(buffer, "Offset") and buffer.Offset() > 1:
                raise ValueError("its values lie outside of the tables of the file")
            return None
        if dtype not in PLAIN:
            return None
        raw, stated = buffer.DataAsNumpy(), dtype
        wanted = math.prod(shape) * np.dtype(dtype).itemsize
        if raw.size != wanted:
            raise ValueError(f"its {raw.size} bytes are not the {wanted} of shape {shape}")
        if dtype == "bool":
            dtype = "uint8"  # of which any that is not 0 is true
        little = np.frombuffer(raw.tobytes(), np.dtype(dtype).newbyteorder("<"))
        found: Array = little.reshape(shape).astype(stated)
        return found
