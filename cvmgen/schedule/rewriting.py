"""Parts of nests found and replaced: what the actions have in common."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from cvmgen.ir import nodes as i
from cvmgen.ir.uses import has, nodes_in
from cvmgen.ir.visit import substitute


def loops(body: i.Block, names: Collection[str]) -> Iterator[i.Loop]:
    """The loops of these indices, those around others first."""
    return (each for each in nodes_in(body, i.Loop) if each.index in names)


def innermost_loops(body: i.Block) -> list[i.Loop]:
    """The loops without loops in them."""
    return [each for each in nodes_in(body, i.Loop) if not has(each.body, i.Loop)]


def with_index_name(body: i.Block, old: str, new: str) -> i.Block:
    """The block with another name for an index."""
    return substitute(body, {old: i.Var(new)})
