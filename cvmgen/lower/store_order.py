"""Walks in the order of the store: a box that is read in order and stored in another one.

A transposed tensor is walked as it is read, and what is read next is stored far away. Where
neighboring iterations are neighboring threads it is better to store side by side and to read far
apart: caches keep what is read, not what is stored in part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cvmgen.ir import nodes as i
from cvmgen.ir.uses import names_in, nodes_in
from cvmgen.ir.visit import fresh, rebuild, walk


@dataclass(frozen=True, slots=True)
class StoreWalk:
    """A walk of a box that stores by steps: its loops, what it is made of, names for another."""

    rows: i.Loop
    run: i.Loop
    box: str
    steps: str  # by which it stores
    start: str  # new names, of the same walk by positions
    step: str
    strides: str

    @property
    def position(self) -> i.Expr:
        row = i.Binary("*", i.Var(self.rows.index), self.run.high)
        return i.Binary("+", row, i.Var(self.run.index))


def order_walks(program: i.Program) -> i.Program:
    """The host sorts dimensions by how far apart they are stored."""
    statements = (program.prepare, tuple((nest.prologue, nest.body) for nest in program.nests))
    taken = set(names_in(statements))
    taken |= {each.name for each in nodes_in(statements, i.Let)}
    walks: dict[str, StoreWalk] = {}

    def change(node: Any) -> Any:
        found = scattered(node, taken) if isinstance(node, i.Loop) else None
        if found is None:
            return node
        walks[found.box] = found
        return by_steps(found)

    nests = tuple(replace(nest, body=rebuild(nest.body, change)) for nest in program.nests)
    if not walks:
        return program
    return replace(
        program,
        prepare=sorted_boxes(program.prepare, walks),
        nests=tuple(replace(nest, prologue=sorted_boxes(nest.prologue, walks)) for nest in nests),
    )


def scattered(loop: i.Loop, taken: set[str]) -> StoreWalk | None:
    """The walk that a loop over rows is, if all it does is to store by steps what it reads."""
    match loop.body:
        case (
            i.Let(
                value=i.Call(function="walk_offset", arguments=(_, i.Var(box), i.Var(steps)))
            ) as let,
            i.Loop(body=(i.Store(target=i.Load(offset=offset), value=value),)) as run,
        ):
            pass
        case _:
            return None
    start, step = f"{run.index}_start", f"{run.index}_step"
    found = StoreWalk(loop, run, box, steps, start, step, f"{run.index}_strides")
    if let.name not in names_in(offset) or let.name in names_in(value):
        return None
    if any(each == found.position for each in walk(offset)):
        return None
    rest = rebuild(value, lambda node: i.Const(0) if node == found.position else node)
    if rest == value or names_in(rest) & {loop.index, run.index}:
        return None
    return replace(
        found,
        start=fresh(start, taken),
        step=fresh(step, taken),
        strides=fresh(found.strides, taken),
    )


def by_steps(found: StoreWalk) -> i.Loop:
    """The loops, with positions as a walk by strides."""
    (first, _), run = found.rows.body, found.run
    arguments = (i.Var(found.rows.index), i.Var(found.box), i.Var(found.strides))
    start = i.Let(found.start, "int", i.Call("walk_offset", arguments), run.span)
    moved = i.Binary("*", i.Var(run.index), i.Var(found.step))
    place = i.Binary("+", i.Var(found.start), moved)
    body = rebuild(run.body, lambda node: place if node == found.position else node)
    return replace(found.rows, body=(first, start, replace(run, body=body)))


def sorted_boxes(statements: i.Block, walks: dict[str, StoreWalk]) -> i.Block:
    """Host statements that sort the dimensions of boxes and give the strides of positions."""
    done: list[i.Stmt] = []
    for statement in statements:
        match statement:
            case i.Merge(extents=box, steps=steps, span=span) if box in walks:
                found = walks[box]
                strides = i.Call("strides", (i.Var(box),))
                others = tuple(each for each in steps if each != found.steps)
                done += [
                    i.Let(found.strides, "list", strides, span),
                    i.Merge(box, (found.steps, *others, found.strides), True, span),
                    i.Let(found.step, "int", i.Call("last", (i.Var(found.strides),)), span),
                ]
            case i.Cases(branches=branches):
                inner = tuple((test, sorted_boxes(body, walks)) for test, body in branches)
                done.append(replace(statement, branches=inner))
            case _:
                done.append(statement)
    return tuple(done)
