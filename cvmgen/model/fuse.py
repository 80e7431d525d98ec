"""Pointwise kernels join the kernel that makes what they read: an element is not stored first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import rebuild, substitute, walk
from cvmgen.model.kernels import Kernel, Model

Index = tuple[tuple[i.Expr, bool], ...]


def fused(model: Model) -> Model:
    """The model with fewer kernels, and without tensors that nothing reads."""
    alone = {name for name, writers in model.writers().items() if len(writers) == 1}
    done: list[Kernel] = []
    for kernel in model.kernels:
        makers = [at for at, each in enumerate(done) if each.written & kernel.read]
        together = joined(done[makers[-1]], kernel, alone) if makers else None
        if together is None:
            done.append(kernel)
        else:
            done[makers[-1]] = together
    return pruned(replace(model, kernels=tuple(done)))


def joined(maker: Kernel, reader: Kernel, alone: set[str]) -> Kernel | None:
    """The reader inside the maker's loops; None where it does not read what is made there at
    the same place."""
    if not pointwise(reader):
        return None
    made = {name: index for name, index in stored(maker).items() if name in alone}
    shared = reader.read & maker.written
    if not shared <= made.keys():
        return None
    places = match(reader, made)
    if places is None or places.keys() != {name for name, _ in reader.loops}:
        return None
    if reader.iterations != maker.iterations:
        return None
    body = with_locals(maker.body, shared)
    read: tuple[i.Stmt, ...] = rebuild(substitute(reader.body, dict(places)), local_reads(shared))
    origins = tuple(dict.fromkeys((*maker.origins, *reader.origins)))
    return replace(maker, body=(*body, *read), origins=origins)


def pointwise(kernel: Kernel) -> bool:
    """Whether each iteration gives elements without loops or choices between statements."""
    return all(isinstance(each, (i.Let, i.Store)) for each in kernel.body)


def stored(kernel: Kernel) -> dict[str, Index]:
    """Where each iteration stores, whatever the values; tensors stored to once."""
    stores = [each for each in walk(kernel.body) if isinstance(each, i.Store)]
    names = [each.target.tensor for each in stores]
    return {
        each.target.tensor: each.target.index
        for each in kernel.body
        if isinstance(each, i.Store)
        and isinstance(each.target, i.Access)
        and names.count(each.target.tensor) == 1
    }


def match(reader: Kernel, made: Mapping[str, Index]) -> dict[str, i.Expr] | None:
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


def with_locals(body: tuple[i.Stmt, ...], tensors: frozenset[str]) -> tuple[i.Stmt, ...]:
    """Statements that keep in a local what they store to some tensors."""
    done: list[i.Stmt] = []
    for each in body:
        match each:
            case i.Store(target=target, value=value) if target.tensor in tensors:
                local = i.Var(local_name(target.tensor))
                if value == local:
                    done.append(each)
                else:
                    done.append(i.Let(local.name, "int", value, each.span))
                    done.append(replace(each, value=local))
            case _:
                done.append(each)
    return tuple(done)


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
        wanted = set(model.outputs).union(*(kernel.read for kernel in kernels))
        left = [without_stores(each, each.written - wanted) for each in kernels]
        done = tuple(each for each in left if each.written)
        if done == kernels:
            return replace(model, kernels=tuple(map(direct, done)))
        kernels = done


def without_stores(kernel: Kernel, tensors: frozenset[str]) -> Kernel:
    if not tensors:
        return kernel
    body = tuple(
        each
        for each in kernel.body
        if not (isinstance(each, i.Store) and each.target.tensor in tensors)
    )
    return replace(kernel, body=body)


def direct(kernel: Kernel) -> Kernel:
    """Without locals that are another name of a local."""
    body = list(kernel.body)
    at = 0
    while at < len(body):
        each = body[at]
        match each:
            case i.Let(name=name, value=i.Var() as value) if not reassigned(body, name, value.name):
                body[at:] = substitute(tuple(body[at + 1 :]), {name: value})
            case _:
                at += 1
    return replace(kernel, body=tuple(body))


def reassigned(body: list[i.Stmt], *names: str) -> bool:
    """Whether one of the locals gets another value after it is read here: totals do not."""
    tail = [each for each in body if isinstance(each, (i.Assign, i.Accumulate))]
    return any(each.name in names for each in tail)
