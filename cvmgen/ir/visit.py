"""Walking and rebuilding IR, for every node class at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cvmgen.ir import nodes as i
from cvmgen.tree import Tree, children, rebuild, replaced, walk, with_children

__all__ = [
    "children",
    "fresh",
    "rebuild",
    "replaced",
    "substitute",
    "walk",
    "with_children",
    "with_operands",
]


def with_operands(tree: Tree, change: Callable[[i.Expr], i.Expr]) -> Tree:
    """The node with `change` applied to each expression right below it."""

    def below(part: Any) -> Any:
        if isinstance(part, tuple):
            return with_children(part, below)
        return change(part) if isinstance(part, i.Expr) else part

    return with_children(tree, below)


def substitute(tree: Tree, values: Mapping[str, i.Expr]) -> Tree:
    """The tree with variables replaced."""
    if not values:
        return tree

    def change(each: Any) -> Any:
        if isinstance(each, i.Var) and each.name in values:
            return values[each.name]
        return each

    return rebuild(tree, change)


def fresh(name: str, taken: set[str]) -> str:
    """A name like `name` that is not taken; it is from now on."""
    local, number = name, 2
    while local in taken:
        local, number = f"{name}_{number}", number + 1
    taken.add(local)
    return local
