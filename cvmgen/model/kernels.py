"""What a model is made of before it is text: tensors, and kernels that fill them in order."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from cvmgen.dtypes import DType
from cvmgen.graph.limits import Array
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import nodes_in
from cvmgen.ir.visit import children, walk
from cvmgen.ranges import Range
from cvmgen.spec.formula import Operator
from cvmgen.spec.words import C_WORDS

LONGEST_NAME = 64  # characters of a name that a node gives
Shape = tuple[int, ...]
Loops = tuple[tuple[str, int], ...]  # indices, each from 0 to below its extent


@dataclass(frozen=True, slots=True)
class ModelTensor:
    """A tensor of a model.

    `promised` is what its elements keep to by the precision rules, None where nothing is
    promised; `dtype` is their type where they have one of their own, which holds them. `values`
    are those of a parameter. Its elements are `stored` in this machine type, None where the
    narrowest that holds them is chosen. The caller brings the memory of one that is `given`, in
    rows; `listed` is the memory of a list.
    """

    name: str
    shape: Shape
    promised: Range | None = None
    values: Array | None = None
    given: bool = False
    dtype: DType | None = None
    stored: str | None = None
    listed: bool = False

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def kind(self) -> str:
        """What its elements are: integers, conditions or real numbers."""
        return "int" if self.dtype is None else self.dtype.kind

    @property
    def can_be_local(self) -> bool:
        """Whether a local of a kernel holds what an element does: real numbers of 16 bits are
        rounded in memory alone."""
        return self.dtype is None or self.kind != "real" or self.dtype.bits > 16


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a part of a kernel comes from: a node of the graph, a line of a formula, which is told
    by the formula's block, and by its file."""

    node: str
    operator: str
    place: str
    location: str
    formula: str

    @classmethod
    def of(cls, node: str, operator: Operator, nest: i.Nest) -> Origin:
        place = operator.place(nest.span).removeprefix(f"{operator.name} ")
        return cls(node, operator.full_name, place, nest.span.location, nest.formula)

    def __str__(self) -> str:
        return f"{self.node}: {self.operator}, {self.place}"


@dataclass(frozen=True)
class ModelKernel:
    """Perfectly nested loops, each from 0 on, around statements.

    No two iterations write the same element.
    """

    loops: Loops
    body: tuple[i.Stmt, ...]
    origins: tuple[Origin, ...]
    operator: Operator

    @property
    def iterations(self) -> int:
        return math.prod(extent for _, extent in self.loops)

    @property
    def place(self) -> str:
        """The line of the formula that it begins with."""
        return self.origins[0].location if self.origins else self.operator.span.location

    @property
    def node(self) -> str:
        """The node of the graph that it begins with."""
        return self.origins[0].node if self.origins else self.operator.full_name

    @cached_property
    def read(self) -> frozenset[str]:
        """The tensors whose elements it reads."""
        return frozenset(accessed_tensors(self.body))

    @cached_property
    def written(self) -> frozenset[str]:
        stores = (each.target for each in nodes_in(self.body, i.Store))
        names = {each.tensor for each in stores}
        return frozenset(names | {place.tensor for place in sorted_places(self.body)})


@dataclass(frozen=True, slots=True)
class Model:
    """All tensors by name, the kernels in their order, and what the caller gives and gets.

    `states` are tensors that a run finds as the one before it left them, with what they are at
    first.
    """

    tensors: Mapping[str, ModelTensor]
    kernels: tuple[ModelKernel, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    states: Mapping[str, Array] = field(default_factory=dict)

    def writers(self) -> dict[str, list[int]]:
        """The kernels that write each tensor, by their places."""
        return kernels_by_tensor(kernel.written for kernel in self.kernels)

    @property
    def finite(self) -> frozenset[str]:
        """The parameters that are finite real numbers."""
        reals = {n: t.values for n, t in self.tensors.items() if t.kind == "real"}
        return frozenset(
            name
            for name, values in reals.items()
            if values is not None and bool(np.isfinite(values.astype(np.float64)).all())
        )

    def readers(self) -> dict[str, list[int]]:
        return kernels_by_tensor(kernel.read for kernel in self.kernels)


def identifier(name: str) -> str:
    """A name of a model's file as one of C and C++: the end of a long one."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)[-LONGEST_NAME:]
    return plain if plain[:1].isalpha() and plain not in (*C_WORDS, "NULL") else f"t_{plain}"


def kernels_by_tensor(names: Iterable[Iterable[str]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for at, each in enumerate(names):
        for name in each:
            found.setdefault(name, []).append(at)
    return found


def accessed_tensors(node: Any) -> Iterator[str]:
    """The tensors of all accesses but those that are stored to."""
    match node:
        case i.Store(target=i.Access(index=index), value=value):
            yield from accessed_tensors((index, value))
        case i.Access(tensor=tensor):
            yield tensor
            yield from accessed_tensors(node.index)
        case _:
            for child in children(node):
                yield from accessed_tensors(child)


def sorted_places(body: tuple[i.Stmt, ...]) -> Iterator[i.Access]:
    """Where sorting writes: the entries, and the memory that it needs."""
    for each in walk(body):
        match each:
            case i.Sort(entries=i.Entries(first=i.Access() as first), spare=i.Access() as spare):
                yield from (first, spare)
            case _:
                pass


def weight(body: tuple[i.Stmt, ...]) -> int:
    """About how many statements an iteration takes."""
    total = 0
    for each in body:
        match each:
            case i.Loop(low=i.Const(value=low), high=i.Const(value=high), body=inner):
                total += (int(high) - int(low)) * weight(inner)
            case i.If(then=then, otherwise=otherwise):
                total += max(weight(then), weight(otherwise))
            case _:
                total += 1
    return max(total, 1)


def nest_and_body(body: tuple[i.Stmt, ...]) -> tuple[Loops, tuple[i.Stmt, ...]]:
    """The perfectly nested loops around a body, and the body."""
    loops: list[tuple[str, int]] = []
    while len(body) == 1 and isinstance(body[0], i.Loop):
        match body[0]:
            case i.Loop(index=index, low=i.Const(value=0), high=i.Const(value=high)):
                loops.append((index, int(high)))
                body = body[0].body
            case _:
                break
    return tuple(loops), body
