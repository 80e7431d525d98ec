"""A box that every access walks whole is one flat loop."""

from __future__ import annotations

from cvmgen.ir import nodes as i
from cvmgen.ir.host import with_bodies
from cvmgen.ir.uses import names_in, nodes_in
from cvmgen.ir.visit import rebuild, walk


def flatten_packs(program: i.Program) -> i.Program:
    """A box that every access walks whole is one flat loop."""

    def change(node: i.Stmt) -> i.Stmt:
        return position_loop(node) if isinstance(node, i.PackLoop) else node

    return with_bodies(program, lambda body: rebuild(body, change))


def position_loop(loop: i.PackLoop) -> i.Stmt:
    """The loop over positions, if nothing but the position is used."""
    dots = [each for each in nodes_in(loop.body, i.Dot) if each.pack == loop.pack]
    if any(dot.steps is not None for dot in dots):
        return loop

    def change(node: i.Expr) -> i.Expr:
        return i.Var(loop.pack) if node == i.Dot(loop.pack, None) else node

    others = rebuild(loop.body, lambda node: i.Const(0) if node in dots else node)
    if loop.pack in names_in(others) or (loop.slots is not None and uses_slots(loop)):
        return loop
    size = i.Call("size", (loop.extents,))
    return i.Loop(loop.pack, i.Const(0), size, rebuild(loop.body, change), 0, loop.span)


def uses_slots(loop: i.PackLoop) -> bool:
    """Whether entries of a partly bound pack are read one by one."""
    whole = i.Var(loop.whole)
    return any(isinstance(each, i.Item) and each.sequence == whole for each in walk(loop.body))
