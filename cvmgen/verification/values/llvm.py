"""LLVM modules as data: types, globals, functions of blocks of instructions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

# ---------------------------------------------------------------- types


@dataclass(frozen=True, slots=True)
class Int:
    bits: int


@dataclass(frozen=True, slots=True)
class RealType:
    bits: int


@dataclass(frozen=True, slots=True)
class Pointer:
    pass


@dataclass(frozen=True, slots=True)
class Void:
    pass


@dataclass(frozen=True, slots=True)
class ArrayType:
    count: int
    element: Type


@dataclass(frozen=True, slots=True)
class Vector:
    count: int
    element: Type


@dataclass(frozen=True, slots=True)
class Struct:
    fields: tuple[Type, ...]
    packed: bool


Type = Int | RealType | Pointer | Void | ArrayType | Vector | Struct

# ---------------------------------------------------------------- values


@dataclass(frozen=True, slots=True)
class Local:
    name: str


@dataclass(frozen=True, slots=True)
class Global:
    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, or a tuple of constants; None is a value that is not fixed."""

    value: Any


@dataclass(frozen=True, slots=True)
class Expression:
    """A constant that speaks of addresses."""

    opcode: str
    about: Type
    operands: tuple[tuple[Type, Value], ...]


Value = Local | Global | Constant | Expression


@dataclass(slots=True)
class Instruction:
    """`types` and `operands` in the order of the text; what else an opcode has lies in `more`."""

    opcode: str
    result: str | None
    type: Type
    operands: list[Value]
    more: Any = None
    flags: frozenset[str] = frozenset()
    types: list[Type] = field(default_factory=list)
    line: int = 0


@dataclass(slots=True)
class BasicBlock:
    label: str
    instructions: list[Instruction] = field(default_factory=list)


@dataclass(slots=True)
class LlvmFunction:
    name: str
    result: Type
    parameters: list[tuple[Type, str]]
    by_value: list[Type | None]
    variadic: bool
    body: Callable[[], list[BasicBlock]] | None = None  # reads it, where there is one
    known: list[BasicBlock] = field(default_factory=list)

    @property
    def blocks(self) -> list[BasicBlock]:
        """Its blocks, which are read when somebody asks: most functions are never called."""
        if self.body is not None and not self.known:
            self.known = self.body()
        return self.known


@dataclass(slots=True)
class Variable:
    name: str
    type: Type
    value: Value | None


@dataclass(slots=True)
class Module:
    functions: dict[str, LlvmFunction] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)


def targets(block: BasicBlock) -> list[str]:
    """The labels of the blocks that may come next."""
    last = block.instructions[-1]
    match last.opcode:
        case "br":
            return list(last.more)
        case "switch":
            return [last.more[0], *(label for _, label in last.more[1])]
        case _:
            return []


def size_of(about: Type) -> int:
    """Bytes that a value takes in memory."""
    match about:
        case Int(bits=bits):
            whole = (bits + 7) // 8
            return whole if whole in (1, 2, 4, 8, 16) else 1 << (whole - 1).bit_length()
        case RealType(bits=bits):
            return bits // 8
        case Pointer():
            return 8
        case ArrayType(count=count, element=element):
            return count * size_of(element)
        case Vector(count=count, element=Int(bits=1)):
            return (count + 7) // 8
        case Vector(count=count, element=element):
            return count * size_of(element)
        case Struct():
            return offsets_of(about)[-1]
        case Void():
            return 0


def alignment_of(about: Type) -> int:
    match about:
        case ArrayType(element=element):
            return alignment_of(element)
        case Struct(packed=True):
            return 1
        case Struct(fields=fields):
            return max(map(alignment_of, fields), default=1)
        case _:
            return max(size_of(about), 1)


def offsets_of(about: Struct) -> list[int]:
    """Where the fields begin, and where the structure ends."""
    offsets, at = [], 0
    for each in about.fields:
        step = 1 if about.packed else alignment_of(each)
        at = -(-at // step) * step
        offsets.append(at)
        at += size_of(each)
    step = alignment_of(about)
    return [*offsets, -(-at // step) * step]


def zero_of(about: Type) -> Any:
    match about:
        case ArrayType(count=count, element=element) | Vector(count=count, element=element):
            return (zero_of(element),) * count
        case Struct(fields=fields):
            return tuple(map(zero_of, fields))
        case RealType():
            return 0.0
        case _:
            return 0
