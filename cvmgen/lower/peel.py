"""Leading dimensions that a formula indexes one by one become loops of their own.

`Y[d...] = A[d...] if C[d[0]] != 0 else B[d...]` needs d[0] alone besides the position: a loop
over the first dimension around one over the others gives both without finding each entry of
the multi-index anew.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cvmgen.ir import nodes as i
from cvmgen.ir.host import with_bodies
from cvmgen.ir.uses import names_in
from cvmgen.ir.visit import fresh, rebuild, walk


def peel_dimensions(program: i.Program) -> i.Program:
    """Leading dimensions that are indexed one by one become loops of their own.

    For targets that walk boxes by strides.
    """
    taken = set(names_in((program.prepare, tuple(nest.body for nest in program.nests))))

    def change(node: Any) -> Any:
        return peeled_loops(node, taken) if isinstance(node, i.PackLoop) else node

    return with_bodies(program, lambda body: rebuild(body, change))


def peeled_loops(loop: i.PackLoop, taken: set[str]) -> i.Stmt:
    """The loops over the dimensions up to the last that is indexed, around the rest."""
    count = indexed_dimensions(loop)
    if count == 0 or not isinstance(loop.extents, i.Var):
        return loop
    indices = [fresh(f"{loop.pack}_{at}", taken) for at in range(count)]
    rest = fresh(f"{loop.pack}_rest", taken)
    whole = (*((i.Var(index), False) for index in indices), (i.Var(rest), True))

    def change(node: Any) -> Any:
        match node:
            case i.Item(sequence=i.Var(name=name), index=i.Const(value=at)) if name == loop.pack:
                return i.Var(indices[at])
            case i.Access(index=index):
                return replace(node, index=with_pack_parts(index, loop.pack, whole))
            case _:
                return node

    body: i.Block = rebuild(loop.body, change)
    box = i.Part(loop.extents, i.Const(count), None)
    statement: i.Stmt = i.PackLoop(rest, box, None, body, loop.span)
    for at, index in reversed(tuple(enumerate(indices))):
        extent = i.Item(loop.extents, i.Const(at))
        statement = i.Loop(index, i.ZERO, extent, (statement,), 0, loop.span)
    return statement


def indexed_dimensions(loop: i.PackLoop) -> int:
    """How many dimensions are indexed one by one; 0 where anything else asks for entries.

    Every point asks for the last of them, else there might be fewer dimensions.
    """
    if loop.slots is not None:
        return 0
    found = 0
    understood = 0
    for node in walk(loop.body):
        match node:
            case i.Item(sequence=i.Var(name=name), index=i.Const(value=at)) if name == loop.pack:
                found = max(found, int(at) + 1)
                understood += 1
            case i.Access(index=index):
                understood += sum(value == i.Var(loop.pack) and pack for value, pack in index)
            case _:
                pass
    uses = sum(node == i.Var(loop.pack) for node in walk(loop.body))
    last = i.Item(i.Var(loop.pack), i.Const(found - 1))
    sure = last in walk(rebuild(loop.body, surely_evaluated))
    return found if sure and uses == understood else 0


def surely_evaluated(node: Any) -> Any:
    """What is evaluated of a node whatever its conditions and its ranges come to."""
    match node:
        case i.Select(condition=condition):
            return condition
        case i.Logic(operands=(first, *_)):
            return first
        case i.If():
            return replace(node, then=(), otherwise=())
        case i.Loop() | i.PackLoop():
            return replace(node, body=())
        case i.Gather(over=over) | i.Fold(over=over):
            return over
        case _:
            return node


def with_pack_parts(
    index: tuple[tuple[i.Expr, bool], ...], pack: str, whole: tuple[tuple[i.Expr, bool], ...]
) -> tuple[tuple[i.Expr, bool], ...]:
    """An index list with a pack's parts in its place."""
    parts: list[tuple[i.Expr, bool]] = []
    for value, is_pack in index:
        parts.extend(whole if value == i.Var(pack) and is_pack else ((value, is_pack),))
    return tuple(parts)
