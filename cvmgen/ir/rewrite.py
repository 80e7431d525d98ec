"""Clean-ups that passes, schedules and emitters have in common, each of them once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cvmgen.ir import nodes as i
from cvmgen.ir.uses import changed, names_in


def without_dead(body: i.Block, others: object = ()) -> i.Block:
    """Without dead locals: what stands behind them in their block neither reads nor changes them,
    nor do others."""
    used = names_in(others)
    kept: list[i.Stmt] = []
    for each in reversed(body):
        match each:
            case i.Let(name=name) if name not in used:
                continue
            case i.Loop(body=inner) | i.PackLoop(body=inner):
                each = replace(each, body=without_dead(inner))
            case i.If(then=then, otherwise=otherwise):
                each = replace(each, then=without_dead(then), otherwise=without_dead(otherwise))
            case _:
                pass
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
