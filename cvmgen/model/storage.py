"""How tensors lie in memory: ranges of elements, storage types, strides, offsets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cvmgen.errors import ModelError
from cvmgen.graph.limits import Array
from cvmgen.graph.memory import Lifetime, plan_memory
from cvmgen.graph.memory import MemoryPlan as Placed
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import rebuild
from cvmgen.known.known_types import ElementStorage, known_types
from cvmgen.known.linear import Linear, as_linear
from cvmgen.model.kernels import Model, ModelKernel, ModelTensor, Shape
from cvmgen.ranges import Range
from cvmgen.typing.machine_types import INT64

NUMPY = {
    **{f"i{bits}": np.dtype(f"i{bits // 8}") for bits in (8, 16, 32, 64)},
    **{f"u{bits}": np.dtype(f"u{bits // 8}") for bits in (8, 16)},
    **{f"f{bits}": np.dtype(f"f{bits // 8}") for bits in (32, 64)},
}
OF_16_BITS = ("float16", "bfloat16")
BYTES = {name: dtype.itemsize for name, dtype in NUMPY.items()}


LIMITS = {
    name: Range(int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    for name, dtype in NUMPY.items()
    if dtype.kind in "iu"
}


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the elements of a tensor lie: `start` + the sum of index * stride, in `size`.

    `order` are the dimensions from the slowest to the fastest; in each, a border of `pads`
    elements lies before and behind what has an index, all of which are what is `beyond`.
    """

    shape: Shape
    order: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    slack: int = 0
    beyond: int = 0

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
    """What the elements of each tensor can be, and the type they are stored in; ModelError where
    a kernel may make an element that its tensor's type does not hold."""
    found = {name: first_range(tensor) for name, tensor in model.tensors.items()}
    unknown = {name for kernel in model.kernels for name in kernel.written}
    for kernel in model.kernels:
        typed = known_types(kernel.operator, dict(kernel.loops), kernel.body, found)
        for name, stored in typed.stored.items():
            tensor = model.tensors[name]
            _check_range(kernel, tensor, stored)
            if tensor.given or tensor.kind != "int":
                continue
            kept = kept_range(tensor, stored)
            if name not in unknown:
                kept = kept.join(found[name].range)
            unknown.discard(name)
            found[name] = ElementStorage(kept, storage_type(tensor, kept))
    return found


def first_range(tensor: ModelTensor) -> ElementStorage:
    """What is known of a tensor before any kernel: of a parameter by its values, of what the caller
    brings by its type."""
    dtype = tensor.dtype
    if dtype is not None and dtype.kind != "int":
        return ElementStorage(Range(0, 1), dtype.machine, dtype=dtype)
    known = INT64
    if tensor.values is not None:
        known = Range(int(tensor.values.min()), int(tensor.values.max()))
    elif tensor.given and tensor.stored is not None:
        known = LIMITS[tensor.stored]
    return ElementStorage(known, storage_type(tensor, known))


def _check_range(kernel: ModelKernel, tensor: ModelTensor, stored: Range) -> None:
    """ModelError for results that a type of their own may not hold: no run can be refused."""
    if tensor.kind != "int" or tensor.dtype is None:
        return
    if not (tensor.dtype.low <= stored.low and stored.high <= tensor.dtype.high):
        rule = f"a model cannot have this operator: it may give {stored.low}..{stored.high}"
        raise ModelError(
            f"{rule}, which {tensor.dtype.name} does not hold", where=f"node {kernel.node}"
        )


def kept_range(tensor: ModelTensor, stored: Range) -> Range:
    """What can be stored and keeps to the precision."""
    promised = tensor.promised or stored
    return Range(max(stored.low, promised.low), min(stored.high, promised.high))


def storage_type(tensor: ModelTensor, known: Range) -> str:
    """The machine type of a tensor's integers: the narrowest, if it is not stated."""
    if tensor.stored is not None:
        return tensor.stored
    if known.low >= 0 and 127 < known.high < 256:
        return "u8"
    return next((f"i{bits}" for bits in (8, 16, 32) if known.fits(bits)), "i64")


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
        name: in_memory(tensor.values, NUMPY[storage.elements[name].type])
        .transpose(storage.placements[name].order)
        .ravel()
        for name, tensor in model.tensors.items()
        if tensor.values is not None
    }
    return {**found, **storage.packed}


def in_memory(values: Array, kind: np.dtype[Any]) -> Array:
    """Elements in their machine type; real numbers of 16 bits are their bits."""
    return values.view(kind) if values.dtype.name in OF_16_BITS else values.astype(kind)


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
