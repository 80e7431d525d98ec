"""What one iteration of a loop leaves for the next, which decides what actions are legal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import names_in, walk
from cvmgen.lower.guards import changed
from cvmgen.lower.reductions import ANY_ORDER


def carried(loop: i.Loop) -> set[str]:
    """The locals that a loop changes and that were there before it."""
    return changed((loop,)) - {each.name for each in walk(loop) if isinstance(each, i.Let)}


@dataclass(frozen=True, slots=True)
class Locals:
    """The machine types of a nest's locals: those of scalars, and those of arrays' elements."""

    types: Mapping[str, str]
    arrays: Mapping[str, str]

    @classmethod
    def of(cls, body: tuple[i.Stmt, ...]) -> Locals:
        types = {each.name: each.type for each in walk(body) if isinstance(each, i.Let)}
        arrays = {each.name: each.type for each in walk(body) if isinstance(each, i.Array)}
        return cls(types, arrays)


def combined(loop: i.Loop, types: Mapping[str, str]) -> dict[str, str] | None:
    """The operation by which a loop changes each local that it carries, where threads can join
    shares of it and every order gives the same bits; None where the order counts."""
    found: dict[str, str] = {}
    lost = carried(loop)
    uses = [each for each in walk(loop) if getattr(each, "name", None) in lost]
    for each in uses:
        if not isinstance(each, i.Accumulate):
            return None
        if types.get(each.name) not in ANY_ORDER[each.op] - {"f64"}:
            return None
        if found.setdefault(each.name, each.op) != each.op:
            return None
    return found


def conflict(loop: i.Loop, locals_: Locals) -> str:
    """Why iterations may not run at once, as what the loop does; empty where they may.

    They may share accumulators that come out the same in every order; of the arrays around the
    loop each must have elements of its own.
    """
    inner = {each.name for each in walk(loop) if isinstance(each, i.Array)}
    for each in walk(loop):
        match each:
            case i.Store(target=i.Load(tensor=tensor, offset=offset)):
                if tensor in locals_.arrays.keys() - inner and loop.index not in names_in(offset):
                    return f"changes the same elements of {tensor} in every iteration"
            case _:
                pass
    if combined(loop, locals_.types) is None:
        names = " and ".join(sorted(carried(loop)))
        return f"carries {names}, which depends on the order of iterations"
    return ""


def stored_tensors(node: object) -> set[str]:
    """The tensors and arrays that are written."""
    kinds = (i.Store, i.Copy, i.Turn, i.Slide, i.Fill)
    return {each.target.tensor for each in walk(node) if isinstance(each, kinds)}


def read_tensors(node: object) -> set[str]:
    """The tensors and arrays that are read or written."""
    return {each.tensor for each in walk(node) if isinstance(each, i.Load)}
