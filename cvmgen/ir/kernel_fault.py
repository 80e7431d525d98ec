"""What every typed nest keeps, whatever rewrites it: names, and memory filled before it is read."""

from __future__ import annotations

from collections.abc import Collection, Set
from dataclasses import dataclass, field, replace

from cvmgen.ir import nodes as i
from cvmgen.ir.uses import has, stored_tensors, uses
from cvmgen.ir.visit import replaced


def kernel_fault(body: i.Block, names: Collection[str], tensors: Collection[str]) -> str:
    """What in a typed nest does not hold together, whatever rewrote it; empty where all does.

    `names` and `tensors` are what it has from outside. In a kernel each name is bound before it is
    read and hides no other one, only locals change, and loops count upwards.
    """
    try:
        KernelVerifier(frozenset(tensors)).block(body, {*names}, set(), 0)
    except KernelFaultError as fault:
        return str(fault)
    return ""


class KernelFaultError(Exception):
    """What does not hold together."""


@dataclass(frozen=True, slots=True)
class KernelVerifier:
    """Walks blocks in order with the names that are bound there; arrays are among them, and those
    of which no element has been written yet are `empty`."""

    tensors: frozenset[str]
    empty: set[str] = field(default_factory=set)

    def block(self, body: i.Block, around: set[str], changing: set[str], loops: int) -> None:
        """Check a block inside so many loops; what it binds is gone behind it."""
        scope, changing = set(around), set(changing)
        for statement in body:
            self.statement(statement, scope, changing, loops)

    def statement(self, statement: i.Stmt, scope: set[str], changing: set[str], loops: int) -> None:
        match statement:
            case i.Let(name=name, value=value):
                self.read(scope, value)
                self.bind(name, scope)
                changing.add(name)
            case i.Array(name=name, length=length, space=space):
                if length < 1 and space != "shared":
                    raise KernelFaultError(f"the array {name} has no room")
                self.bind(name, scope)
                self.empty.add(name)
            case i.Assign(name=name, value=value) | i.Accumulate(name=name, value=value):
                if name not in changing:
                    raise KernelFaultError(f"{name} changes, which is no local there")
                self.read(scope, value)
            case i.Loop(index=index, body=body, step=step):
                self.read(scope, statement.low, statement.high, statement.worth, statement.share)
                if step < 1:
                    raise KernelFaultError(f"the loop {index} does not count upwards")
                inner = set(scope)
                self.bind(index, inner)
                # An iteration may read what one before it has left.
                self.empty.difference_update(stored_tensors(body))
                self.block(body, inner, changing, loops + 1)
            case i.If(condition=condition, then=then, otherwise=otherwise):
                self.read(scope, condition)
                self.block(then, scope, changing, loops)
                self.block(otherwise, scope, changing, loops)
            case i.Borrow(name=name, entries=entries, body=body):
                self.read(scope, entries)
                self.block(body, scope | {name}, changing, loops)
            case i.Fork(captures=captures) | i.CallInline(captures=captures):
                self.read(scope, replace(statement, captures=()))
                for each in captures:
                    if each.kind not in ("plan", "tensor") and each.name not in scope:
                        raise KernelFaultError(f"{each.name} is captured where nothing binds it")
            case i.Break():
                if loops == 0:
                    raise KernelFaultError("a loop is left where there is none")
            case i.Store(target=i.Load(tensor=tensor, offset=offset), value=value):
                self.read(scope, offset, value)
                self.fill({tensor}, scope)
            case _:
                self.fill(stored_tensors(statement), scope)
                self.read(scope, statement)

    def bind(self, name: str, scope: set[str]) -> None:
        if name in scope:
            raise KernelFaultError(f"the name {name} stands for two things")
        scope.add(name)

    def fill(self, written: Set[str], scope: set[str]) -> None:
        """Elements are written, by a store or by what goes over many elements."""
        for tensor in sorted(written - scope - self.tensors):
            raise KernelFaultError(f"elements of {tensor}, which is no array there")
        self.empty.difference_update(written)

    def read(self, scope: set[str], *nodes: object) -> None:
        def called(part: object) -> object:
            if not isinstance(part, i.Lambda):
                return part
            inner = set(scope)
            for parameter in part.parameters:
                self.bind(parameter.name, inner)
            self.block(part.body, inner, set(), 0)
            return i.ZERO

        for node in nodes:
            found = uses(replaced(node, called) if has(node, i.Lambda) else node)
            if not found.read <= scope:
                name = min(found.read - scope)
                raise KernelFaultError(f"{name} is read where nothing binds it")
            if not found.loaded:
                continue
            for tensor in sorted(found.loaded - scope - self.tensors):
                raise KernelFaultError(f"elements of {tensor}, which is no array there")
            for tensor in sorted(found.loaded & self.empty):
                raise KernelFaultError(f"elements of {tensor} are read before any is written")
