"""Walking and rebuilding IR, for every node class at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from operator import attrgetter, is_
from typing import Any, TypeVar, cast

from cvmgen.ir import nodes as i
from cvmgen.source import Span
from cvmgen.spec.formula import Attribute, Input, Operator

Tree = TypeVar("Tree")  # a node, or a tuple of them; what it becomes is of a kind with it
LEAVES = (Input, Attribute, Operator, Span, type)
# Fields of these types hold no nodes.
PLAIN = (
    *("Span", "Span | None", "bool", "int", "int | bool", "int | None", "str"),
    "tuple[int | str, ...]",
)


@cache
def _parts(kind: type) -> tuple[str, ...] | None:
    """The fields of a class of nodes that may hold nodes; None for what is no node."""
    if not is_dataclass(kind) or issubclass(kind, LEAVES):
        return None
    return tuple(each.name for each in fields(kind) if each.type not in PLAIN)


@cache
def _below(kind: type) -> Callable[[Any], tuple[Any, ...]] | None:
    """What gives the parts of a node, the last one first; None for what is no node."""
    match _parts(kind):
        case None:
            return None
        case ():
            return lambda node: ()
        case (one,):
            return lambda node: (getattr(node, one),)
        case parts:
            return attrgetter(*reversed(parts))


def rebuild(tree: Tree, change: Callable[[Any], Any]) -> Tree:
    """The tree with `change` applied to every node, children before parents."""

    def rebuilt(node: Any) -> Any:
        made = with_children(node, rebuilt)
        return made if _parts(node.__class__) is None else change(made)

    return cast(Tree, rebuilt(tree))


def replaced(tree: Tree, change: Callable[[Any], Any]) -> Tree:
    """The tree with others for the topmost nodes that `change` gives others for."""

    def below(node: Any) -> Any:
        other = node if _parts(node.__class__) is None else change(node)
        return with_children(node, below) if other is node else other

    return cast(Tree, below(tree))


def with_children(tree: Tree, change: Callable[[Any], Any]) -> Tree:
    """The node with `change` applied to each node right below it; itself where all stay."""
    node: Any = tree
    if isinstance(node, tuple):
        after = [change(part) for part in node]
        return cast(Tree, node if all(map(is_, node, after)) else tuple(after))
    names = _parts(node.__class__)
    if not names:
        return tree
    before = [getattr(node, name) for name in names]
    after = [change(part) for part in before]
    if all(map(is_, before, after)):
        return tree
    return cast(Tree, replace(node, **dict(zip(names, after, strict=True))))


def walk(node: Any) -> Iterator[Any]:
    """Every node of a tree, parents first."""
    # With a stack of its own: generators inside generators would pass each node up through all.
    left = [node]
    while left:
        node = left.pop()
        if node.__class__ is tuple:
            left += node[::-1]
            continue
        below = _below(node.__class__)
        if below is not None:
            yield node
            left += below(node)


def children(node: Any) -> Iterator[Any]:
    """The nodes right below one, in order."""
    if isinstance(node, tuple):
        yield from node
    else:
        yield from (getattr(node, name) for name in _parts(node.__class__) or ())


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
