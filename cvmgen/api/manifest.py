"""What loading knows of an operator: the entries of generated/manifest.json."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from cvmgen.errors import CvmgenError
from cvmgen.paths import MANIFEST


@dataclass(frozen=True, slots=True)
class InputInfo:
    """An input; one that may be `empty` takes extents of 0, and arrays of rank 0. Of `int32`
    inputs kernels for devices read int32, whatever the other inputs are."""

    name: str
    empty: bool
    optional: bool
    variadic: bool
    int32: bool


@dataclass(frozen=True, slots=True)
class AttributeInfo:
    """An attribute; `length` of a fixed-length one, None otherwise. Of kind word, `words` alone
    are what it can be given, otherwise they may stand in the place of numbers."""

    name: str
    kind: str
    length: int | None
    is_list: bool
    optional: bool
    required: bool
    default: Any
    range: str
    words: tuple[str, ...]

    @property
    def is_listed(self) -> bool:
        return self.is_list or self.length is not None

    @property
    def word_member(self) -> str:
        """The member of the C structure that tells which word was given."""
        return self.name if self.kind == "word" else f"{self.name}_word"


@dataclass(frozen=True, slots=True)
class OperatorInfo:
    """A generated operator: its interface, its formula, where it is declared."""

    name: str
    opset: str
    doc: str
    aliases: tuple[str, ...]
    formula: str
    place: str
    function: str
    moves: tuple[str, ...]  # inputs whose elements the operator only moves
    inputs: tuple[InputInfo, ...]
    outputs: tuple[str, ...]
    types: tuple[dict[str, str], ...]  # for each choice the types of operands but those of `cvm`
    attributes: tuple[AttributeInfo, ...]

    def has_precision(self, operand: str) -> bool:
        """Whether the elements of an operand are of type `cvm`."""
        return operand not in self.types[0]

    @property
    def full_name(self) -> str:
        return f"{self.opset}.{self.name}"


Info = TypeVar("Info", InputInfo, AttributeInfo, OperatorInfo)


@dataclass(frozen=True, slots=True)
class Manifest:
    operators: tuple[OperatorInfo, ...]
    dtypes: dict[str, int]


SUFFIXES = {"python": "py", "numpy": "py", "c": "c", "cuda": "cu"}
"""Of the files of operators, by the folder of their target."""


def operator_of(name: str) -> str | None:
    """The full name of the operator to which a file alone belongs, named as below the generated
    folder; None of a file that operators share."""
    match PurePosixPath(name).parts:
        case target, opset, file if target in SUFFIXES:
            stem, _, suffix = file.rpartition(".")
            shared = stem.startswith(("_", "cvmgen_")) or suffix not in (SUFFIXES[target], "h")
            return None if shared else f"{opset}.{stem}"
        case _:
            return None


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a generated folder; CvmgenError when there is none."""
    path = folder / MANIFEST
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        message = f"{path}: no generated operators here; run 'cvmgen build'"
        raise CvmgenError(message) from None
    except (OSError, ValueError) as error:
        raise CvmgenError(f"{path}: {error}") from None
    try:
        operators = tuple(operator_info(entry) for entry in data["operators"])
        return Manifest(operators, dict(data["limits"]["dtypes"]))
    except (KeyError, TypeError, ValueError):
        message = f"{path}: not a manifest that this version reads; run 'cvmgen build'"
        raise CvmgenError(message) from None


def operator_info(entry: dict[str, Any]) -> OperatorInfo:
    attributes = (
        read_entry(AttributeInfo, each, is_list=each["list"]) for each in entry["attributes"]
    )
    inputs = (read_entry(InputInfo, each) for each in entry["inputs"])
    return read_entry(OperatorInfo, entry, inputs=tuple(inputs), attributes=tuple(attributes))


def read_entry(kind: type[Info], entry: dict[str, Any], **others: Any) -> Info:
    """What an entry says, by the names of fields; lists are tuples."""
    names = [each.name for each in fields(kind) if each.name not in others]
    values = (entry[name] for name in names)
    read = (tuple(each) if isinstance(each, list) else each for each in values)
    known: dict[str, Any] = dict(zip(names, read, strict=True))
    return kind(**known, **others)


def source_text(folder: Path, info: OperatorInfo, target: str) -> str:
    """The file that `cvmgen build` wrote for an operator and a target."""
    if target not in SUFFIXES:
        raise CvmgenError(f"unknown target '{target}'; targets are {', '.join(SUFFIXES)}")
    path = folder / target / info.opset / f"{info.name}.{SUFFIXES[target]}"
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise CvmgenError(f"{path}: {error.strerror}; run 'cvmgen build'") from None
