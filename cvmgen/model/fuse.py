"""Pointwise kernels join the kernel that makes what they read: an element is not stored first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from cvmgen.dtypes import FLOAT32
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import reassigned
from cvmgen.ir.visit import rebuild, substitute, walk
from cvmgen.model.kernels import Model, ModelKernel
from cvmgen.model.products import find_product
from cvmgen.schedule.schedules import Schedules

IndexList = tuple[tuple[i.Expr, bool], ...]


def fused(model: Model, schedules: Schedules) -> Model:
    """The model with fewer kernels, and without tensors that nothing reads; the schedules say which
    kernels join others."""
    model = without_copies(model)
    alone = {
        name
        for name, writers in model.writers().items()
        if len(writers) == 1 and model.tensors[name].can_be_local
    }
    singles = {name for name, each in model.tensors.items() if each.dtype == FLOAT32}
    done: list[ModelKernel] = []
    for kernel in model.kernels:
        makers = [at for at, each in enumerate(done) if each.written & kernel.read]
        wanted = makers and wants_fusion(kernel, schedules)
        wanted = wanted and not any(each.read & kernel.written for each in done[makers[-1] :])
        together = fused_pair(done[makers[-1]], kernel, alone, singles) if wanted else None
        if together is None:
            done.append(kernel)
        else:
            done[makers[-1]] = together
    return pruned(replace(model, kernels=tuple(done)))


def without_copies(model: Model) -> Model:
    """What a caller brings is read where it lies, if no register tile wants it elsewhere."""
    products = (find_product(each, model) for each in model.kernels)
    staged = {each.data.tensor for each in products if each is not None}
    heads = {*model.outputs, *model.states}
    copied = {
        name: source
        for kernel in model.kernels
        if (source := copied_tensor(kernel)) in model.inputs
        for name in kernel.written - staged - heads
    }

    def change(node: Any) -> Any:
        if isinstance(node, i.Access) and node.tensor in copied:
            return replace(node, tensor=copied[node.tensor])
        return node

    left = (each for each in model.kernels if not each.written <= copied.keys())
    return replace(model, kernels=tuple(replace(k, body=rebuild(k.body, change)) for k in left))


def copied_tensor(kernel: ModelKernel) -> str:
    """The tensor whose elements a kernel copies as they are, if it does nothing else."""
    match kernel.body:
        case (i.Store(target=i.Access(index=index), value=i.Access(tensor=name, index=same)),) if (
            index == same and not kernel.origins
        ):
            return name
        case _:
            return ""


def wants_fusion(reader: ModelKernel, schedules: Schedules) -> bool:
    """Whether a kernel's schedule wants it to join what makes its elements."""
    return pointwise(reader) and schedules.says("model", "elementwise", "fuse") is not None


def fused_pair(
    maker: ModelKernel, reader: ModelKernel, alone: set[str], singles: Collection[str]
) -> ModelKernel | None:
    """The reader inside the maker's loops; None where it does not read what is made there at
    the same place. `singles` are tensors of float32, to which what is read is rounded.

    What the reader does with an element several times, as one that copies it, gets loops inside.
    """
    shared = reader.read & maker.written
    if not pointwise(reader) or not shared <= alone:
        return None
    block = block_of(maker.body, shared)
    if block is None:
        return None
    places = reader_indices(reader, {name: block.stored[name] for name in shared})
    if places is None:
        return None
    inside = [(name, extent) for name, extent in reader.loops if name not in places]
    if reader.iterations != maker.iterations * block.times * prod(extent for _, extent in inside):
        return None
    read: tuple[i.Stmt, ...] = rebuild(substitute(reader.body, dict(places)), local_reads(shared))
    for index, extent in reversed(inside):
        read = (i.Loop(index, i.Const(0), i.Const(extent), read, 0, read[0].span),)
    body = behind(maker.body, block, (*with_locals(block.body, shared, singles), *read))
    origins = tuple(dict.fromkeys((*maker.origins, *reader.origins)))
    operator = reader.operator if reader.operator.has_reals else maker.operator
    return replace(maker, body=body, origins=origins, operator=operator)


@dataclass(frozen=True, slots=True)
class FusedBlock:
    """Statements that run `times` for each iteration of a kernel, and where they store."""

    body: tuple[i.Stmt, ...]
    times: int
    stored: Mapping[str, IndexList]


def block_of(
    body: tuple[i.Stmt, ...], tensors: frozenset[str], times: int = 1
) -> FusedBlock | None:
    """The statements among which elements of all these tensors are stored, whatever the data."""
    found = stores_of(body)
    if tensors <= found.keys():
        return FusedBlock(body, times, found)
    for each in body:
        match each:
            case i.Loop(low=i.Const(value=0), high=i.Const(value=high), body=inner):
                block = block_of(inner, tensors, times * int(high))
                if block is not None:
                    return block
            case _:
                pass
    return None


def behind(
    body: tuple[i.Stmt, ...], block: FusedBlock, instead: tuple[i.Stmt, ...]
) -> tuple[i.Stmt, ...]:
    """The body with other statements for those of a block."""
    if body is block.body:
        return instead
    return tuple(
        replace(each, body=behind(each.body, block, instead)) if isinstance(each, i.Loop) else each
        for each in body
    )


def pointwise(kernel: ModelKernel) -> bool:
    """Whether each iteration gives elements without loops or choices between statements."""
    return all(isinstance(each, (i.Let, i.Store)) for each in kernel.body)


def stores_of(body: tuple[i.Stmt, ...]) -> dict[str, IndexList]:
    """Where statements of a block store themselves; tensors stored to once."""
    stores = [each for each in body if isinstance(each, i.Store)]
    names = [each.target.tensor for each in stores]
    return {
        each.target.tensor: each.target.index
        for each in stores
        if isinstance(each.target, i.Access) and names.count(each.target.tensor) == 1
    }


def reader_indices(reader: ModelKernel, made: Mapping[str, IndexList]) -> dict[str, i.Expr] | None:
    """What the reader's indices are in the maker's loops, if all its reads are of one place."""
    free = {name for name, _ in reader.loops}
    found: dict[str, i.Expr] = {}
    for node in walk(tuple(each.value for each in reader.body if hasattr(each, "value"))):
        if not isinstance(node, i.Access) or node.tensor not in made:
            continue
        for (entry, _), (place, _) in zip(node.index, made[node.tensor], strict=True):
            match entry:
                case i.Var(name=name) if name in free:
                    if found.setdefault(name, place) != place:
                        return None
                case _ if entry != place:
                    return None
                case _:
                    pass
    return found


def local_name(tensor: str) -> str:
    """The local that holds the element of the tensor."""
    return f"{tensor}.0"


def with_locals(
    body: tuple[i.Stmt, ...], tensors: frozenset[str], singles: Collection[str]
) -> tuple[i.Stmt, ...]:
    """Statements that keep in a local what they store to some tensors: the number that `singles`,
    those of float32, hold then."""
    done: list[i.Stmt] = []
    for each in body:
        match each:
            case i.Store(target=target, value=value) if target.tensor in tensors:
                local = i.Var(local_name(target.tensor))
                if value == local:
                    done.append(each)
                else:
                    if target.tensor in singles and not is_single(value, singles):
                        value = i.Call("float32", (value,))
                    done.append(i.Let(local.name, "int", value, each.span))
                    done.append(replace(each, value=local))
            case _:
                done.append(each)
    return tuple(done)


def is_single(value: i.Expr, singles: Collection[str]) -> bool:
    """Whether a real number is one of float32 as it is written."""
    match value:
        case i.Access(tensor=tensor):
            return tensor in singles
        case i.Call(function=function):
            return function == "float32"
        case _:
            return False


def local_reads(tensors: frozenset[str]) -> Callable[[Any], Any]:
    def change(node: Any) -> Any:
        if isinstance(node, i.Access) and node.tensor in tensors:
            return i.Var(local_name(node.tensor))
        return node

    return change


def pruned(model: Model) -> Model:
    """Without stores to tensors that no kernel reads and the caller does not get."""
    kernels = model.kernels
    while True:
        wanted = {*model.outputs, *model.states}.union(*(kernel.read for kernel in kernels))
        left = [without_stores(each, each.written - wanted) for each in kernels]
        done = tuple(each for each in left if each.written)
        if done == kernels:
            return replace(model, kernels=tuple(map(direct, done)))
        kernels = done


def without_stores(kernel: ModelKernel, tensors: frozenset[str]) -> ModelKernel:
    if not tensors:
        return kernel
    return replace(kernel, body=left_of(kernel.body, tensors))


def left_of(body: tuple[i.Stmt, ...], tensors: frozenset[str]) -> tuple[i.Stmt, ...]:
    """A block without what it stores to some tensors."""
    done: list[i.Stmt] = []
    for each in body:
        match each:
            case i.Store(target=target) if target.tensor in tensors:
                pass
            case i.Loop(body=inner):
                if left := left_of(inner, tensors):
                    done.append(replace(each, body=left))
            case _:
                done.append(each)
    return tuple(done)


def direct(kernel: ModelKernel) -> ModelKernel:
    """Without locals that are another name of a local, where neither changes later: totals have
    their value by then."""
    body = list(kernel.body)
    at = 0
    while at < len(body):
        each = body[at]
        match each:
            case i.Let(name=name, value=i.Var() as value) if reassigned(
                tuple(body[at + 1 :])
            ).isdisjoint({name, value.name}):
                body[at:] = substitute(tuple(body[at + 1 :]), {name: value})
            case _:
                at += 1
    return replace(kernel, body=tuple(body))
