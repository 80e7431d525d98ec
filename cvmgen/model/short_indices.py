"""Indices in 32 bits: a GPU divides and multiplies those several times as fast.

For nests whose tensors and iterations are few enough that 32 bits hold all places. Only what
nothing but places and tests of places are computed of becomes short: what is made of an index as a
value has the type that it was given.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Any

from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import with_offsets
from cvmgen.ir.uses import names_in, nodes_in
from cvmgen.ir.visit import rebuild, walk

ARITHMETIC = ("+", "-", "*", "rem", "truncdiv")


def with_short_indices(body: i.Block) -> i.Block:
    """The statements with indices, and the locals that are made of them, in 32 bits."""
    short = short_names(body)

    def change(node: Any) -> Any:
        match node:
            case i.Let(name=name) if name in short:
                return replace(node, type="i32")
            case i.Loop(index=name) if name in short:
                return replace(node, type="i32")
            case _:
                return node

    done: i.Block = rebuild(body, change)
    return done


def short_names(body: i.Block) -> Set[str]:
    """The indices and locals that are read for places alone, all of them made of each other."""
    loops = nodes_in(body, i.Loop)
    found = {each.index for each in loops if each.low is not None and each.type == "i64"}
    found |= {each.name for each in nodes_in(body, i.Let) if each.type == "i64"}
    while True:
        kept = found - names_in(of_values(body, found))
        kept -= {each.name for each in changes(body) if not of_indices(each.value, kept)}
        if kept == found:
            return kept
        found = kept


def changes(body: i.Block) -> list[i.Let | i.Assign | i.Accumulate]:
    """What sets locals."""
    return [each for each in walk(body) if isinstance(each, (i.Let, i.Assign, i.Accumulate))]


def of_indices(value: i.Expr, names: Set[str]) -> bool:
    """Whether a value is made of these names and numbers alone."""
    match value:
        case i.Const(value=int(number)):
            return abs(number) < 1 << 30
        case i.Var(name=name):
            return name in names
        case i.Binary(op=op, left=left, right=right) if op in ARITHMETIC:
            return of_indices(left, names) and of_indices(right, names)
        case _:
            return False


def of_values(body: i.Block, names: Set[str]) -> i.Block:
    """The statements without what is computed of places: offsets, tests of indices, the ends of
    loops, and the values of these names."""

    def change(node: Any) -> Any:
        match node:
            case i.Compare(left=left, right=right):
                tests = of_indices(left, names) and of_indices(right, names)
                return i.Const(True) if tests else node
            case i.Let(name=name) | i.Assign(name=name) | i.Accumulate(name=name) if name in names:
                return i.Let(name, "i64", i.ZERO, node.span)
            case i.Loop():
                return replace(node, low=i.ZERO, high=i.ZERO, share=None)
            case _:
                return node

    done: i.Block = rebuild(with_offsets(body, lambda _: i.ZERO), change)
    return done
