"""Clean-ups that passes, schedules and emitters have in common, each of them once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from cvmgen.ir import nodes as i
from cvmgen.ir.uses import changed, names_in
from cvmgen.ir.visit import rebuild

Tree = TypeVar("Tree")


def blocks(statement: i.Stmt) -> tuple[i.Block, ...]:
    """The blocks right in a statement of a nest."""
    match statement:
        case i.Loop(body=body) | i.PackLoop(body=body):
            return (body,)
        case i.If(then=then, otherwise=otherwise):
            return (then, otherwise)
        case _:
            return ()


def with_blocks(statement: i.Stmt, change: Callable[[i.Block], i.Block]) -> i.Stmt:
    """A statement of a nest with what `change` makes of the blocks right in it."""
    match statement:
        case i.Loop(body=body) | i.PackLoop(body=body):
            return replace(statement, body=change(body))
        case i.If(then=then, otherwise=otherwise):
            return replace(statement, then=change(then), otherwise=change(otherwise))
        case _:
            return statement


def rewritten(body: i.Block, change: Callable[[i.Stmt], i.Block | None]) -> i.Block:
    """A block with what `change` makes of each statement, those around others first; where that is
    None, of those in it."""

    def inside(block: i.Block) -> i.Block:
        return rewritten(block, change)

    done: list[i.Stmt] = []
    for each in body:
        made = change(each)
        done += (with_blocks(each, inside),) if made is None else made
    return tuple(done)


def with_offsets(tree: Tree, change: Callable[[i.Expr], i.Expr]) -> Tree:
    """The tree with what `change` makes of the offsets of elements that it reads, writes or names,
    those inside others first."""

    def placed(each: Any) -> Any:
        if isinstance(each, (i.Load, i.Overflow)):
            return replace(each, offset=change(each.offset))
        return each

    result: Tree = rebuild(tree, placed)
    return result


def without_dead(body: i.Block, others: object = ()) -> i.Block:
    """Without dead locals: what stands behind them in their block neither reads nor changes them,
    nor do others."""
    used = names_in(others)
    kept: list[i.Stmt] = []
    for each in reversed(body):
        if isinstance(each, i.Let) and each.name not in used:
            continue
        each = with_blocks(each, without_dead)
        used |= names_in(each) | changed(each)
        kept.append(each)
    return tuple(reversed(kept))


def reached(node: object, locals_: Mapping[str, i.Let]) -> set[str]:
    """The locals that a node reads, and those that these are made of."""
    found: set[str] = set()
    new = names_in(node) & locals_.keys()
    while new:
        found |= new
        new = names_in(tuple(locals_[name] for name in new)) & locals_.keys() - found
    return found
