"""How tensors lie in memory: ranges of elements, storage types, strides, offsets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cvmgen.graph.limits import Array
from cvmgen.graph.memory import Layout as Placed
from cvmgen.graph.memory import Lifetime, plan_memory
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import rebuild
from cvmgen.known.known_types import ElementStorage, known_types
from cvmgen.known.linear import Linear, as_linear
from cvmgen.model.kernels import Model, ModelKernel, ModelTensor, Shape
from cvmgen.ranges import Range
from cvmgen.typing.machine_types import INT64

BYTES = {"i8": 1, "u8": 1, "i16": 2, "i32": 4, "i64": 8}
NUMPY = {"i8": np.int8, "u8": np.uint8, "i16": np.int16, "i32": np.int32}


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the elements of a tensor lie: `start` + the sum of index * stride, in `size`.

    `order` are the dimensions from the slowest to the fastest; in each, a border of `pads`
    elements lies before and behind what has an index.
    """

    shape: Shape
    order: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    slack: int = 0

    @staticmethod
    def rows(shape: Shape) -> Placement:
        """Row-major, without gaps."""
        return Placement(shape, tuple(range(len(shape))), ((0, 0),) * len(shape))

    @property
    def strides(self) -> tuple[int, ...]:
        found = [0] * len(self.shape)
        below = 1
        for dimension in reversed(self.order):
            found[dimension] = below
            below *= self.shape[dimension] + sum(self.pads[dimension])
        return tuple(found)

    @property
    def start(self) -> int:
        before = (low for low, _ in self.pads)
        return sum(n * stride for n, stride in zip(before, self.strides, strict=True))

    @property
    def size(self) -> int:
        padded = (n + sum(pad) for n, pad in zip(self.shape, self.pads, strict=True))
        return math.prod(padded) + self.slack

    @property
    def bordered(self) -> tuple[int, ...]:
        """The dimensions with a border, in their order."""
        return tuple(dimension for dimension in self.order if any(self.pads[dimension]))

    def linear(self, index: tuple[i.Expr, ...]) -> Linear:
        whole = Linear(self.start)
        for entry, stride in zip(index, self.strides, strict=True):
            whole = whole.plus(as_linear(entry, {}).scaled(stride))
        return whole

    def offset(self, index: tuple[i.Expr, ...]) -> i.Expr:
        return self.linear(index).expr()


@dataclass(frozen=True, slots=True)
class Storage:
    """Elements and placement of each tensor."""

    elements: Mapping[str, ElementStorage]
    placements: Mapping[str, Placement]
    packed: Mapping[str, Array] = field(default_factory=dict)  # parameters in another form

    def bytes_of(self, name: str) -> int:
        return self.placements[name].size * BYTES[self.elements[name].type]


def ranges(model: Model) -> dict[str, ElementStorage]:
    """What the elements of each tensor can be, and the type they are stored in."""
    found: dict[str, ElementStorage] = {}
    for name, tensor in model.tensors.items():
        known = INT64
        if tensor.values is not None:
            known = Range(int(tensor.values.min()), int(tensor.values.max()))
        elif tensor.given and tensor.bits is not None:
            known = Range(-(1 << (tensor.bits - 1)), (1 << (tensor.bits - 1)) - 1)
        found[name] = ElementStorage(known, storage_type(tensor, known))
    unknown = set(found) - {n for n, t in model.tensors.items() if t.given or t.values is not None}
    for kernel in model.kernels:
        typed = known_types(kernel.operator, dict(kernel.loops), kernel.body, found)
        for name, stored in typed.stored.items():
            tensor = model.tensors[name]
            if tensor.given:
                continue
            kept = kept_range(tensor, stored)
            if name not in unknown:
                kept = kept.join(found[name].range)
            unknown.discard(name)
            found[name] = ElementStorage(kept, storage_type(tensor, kept))
    return found


def kept_range(tensor: ModelTensor, stored: Range) -> Range:
    """What can be stored and keeps to the precision."""
    promised = tensor.promised or stored
    return Range(max(stored.low, promised.low), min(stored.high, promised.high))


def storage_type(tensor: ModelTensor, known: Range) -> str:
    if tensor.bits is not None:
        return f"i{tensor.bits}"
    if known.low >= 0 and 127 < known.high < 256:
        return "u8"
    return next((f"i{bits}" for bits in (8, 16) if known.fits(bits)), "i32")


def located(kernel: ModelKernel, storage: Storage) -> ModelKernel:
    """The kernel with offsets for indices."""

    def change(node: Any) -> Any:
        match node:
            case i.Access(tensor=tensor, index=index):
                entries = tuple(entry for entry, _ in index)
                return i.Load(tensor, None, storage.placements[tensor].offset(entries))
            case _:
                return node

    return replace(kernel, body=rebuild(kernel.body, change))


def along_memory(kernel: ModelKernel, placements: Mapping[str, Placement]) -> ModelKernel:
    """The kernel with its loops in the order in which the first of its results lie in memory."""
    for each in kernel.body:
        match each:
            case i.Store(target=i.Access(tensor=tensor, index=index)):
                place = placements[tensor].linear(tuple(entry for entry, _ in index))
                steps = {index: -place.factors.get(i.Var(index), 0) for index, _ in kernel.loops}
                ordered = sorted(kernel.loops, key=lambda loop: steps[loop[0]])
                return replace(kernel, loops=tuple(ordered))
            case _:
                pass
    return kernel


def parameters(model: Model, storage: Storage) -> dict[str, Array]:
    """Every parameter as it lies in memory, flat."""
    found = {
        name: tensor.values.transpose(storage.placements[name].order)
        .astype(NUMPY[storage.elements[name].type])
        .ravel()
        for name, tensor in model.tensors.items()
        if tensor.values is not None
    }
    return {**found, **storage.packed}


def lifetimes(model: Model, storage: Storage) -> dict[str, Lifetime]:
    """From which kernel to which each tensor that kernels write must stay as it is, by name."""
    writers = model.writers()
    names = [name for name, tensor in model.tensors.items() if name in writers and not tensor.given]
    first = {name: min(at) for name, at in writers.items()}
    last = {name: max(at) for name, at in writers.items()}
    for name, at in model.readers().items():
        last[name] = max(last.get(name, 0), *at)
    return {
        name: Lifetime(number, storage.bytes_of(name), first[name], last[name])
        for number, name in enumerate(names)
    }


def workspace_layout(model: Model, storage: Storage) -> tuple[Mapping[str, int], int]:
    """Where each tensor that kernels write starts in one block of memory, and its size."""
    kept = lifetimes(model, storage)
    layout: Placed = plan_memory(kept.values())
    return {name: layout.offsets[each.tensor] for name, each in kept.items()}, layout.peak_bytes
