"""Walking and rebuilding IR, for every node class at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from operator import attrgetter, is_
from typing import Any

from cvmgen.ir import nodes as i
from cvmgen.source import Span
from cvmgen.spec.formula import Attribute, Input, Operator

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


def rebuild(node: Any, change: Callable[[Any], Any]) -> Any:
    """The tree with `change` applied to every node, children before parents."""
    if isinstance(node, tuple):
        return _tuple(node, [rebuild(child, change) for child in node])
    parts = _parts(node.__class__)
    if parts is None:
        return node
    return change(_with_parts(node, {name: rebuild(getattr(node, name), change) for name in parts}))


def replaced(node: Any, change: Callable[[Any], Any]) -> Any:
    """The tree with others for the topmost nodes that `change` gives others for."""
    if isinstance(node, tuple):
        return _tuple(node, [replaced(child, change) for child in node])
    parts = _parts(node.__class__)
    if parts is None:
        return node
    other = change(node)
    if other is not node:
        return other
    return _with_parts(node, {name: replaced(getattr(node, name), change) for name in parts})


def with_children(node: Any, change: Callable[[Any], Any]) -> Any:
    """The node with `change` applied to each node right below it."""
    if isinstance(node, tuple):
        return _tuple(node, [change(child) for child in node])
    parts = _parts(node.__class__)
    if parts is None:
        return node
    return _with_parts(node, {name: change(getattr(node, name)) for name in parts})


def _tuple(before: tuple[Any, ...], after: list[Any]) -> tuple[Any, ...]:
    return before if all(map(is_, before, after)) else tuple(after)


def _with_parts(node: Any, parts: dict[str, Any]) -> Any:
    others = {name: part for name, part in parts.items() if part is not getattr(node, name)}
    return replace(node, **others) if others else node


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


def substitute(node: Any, values: Mapping[str, i.Expr]) -> Any:
    """The tree with variables replaced."""
    if not values:
        return node

    def change(each: Any) -> Any:
        if isinstance(each, i.Var) and each.name in values:
            return values[each.name]
        return each

    return rebuild(node, change)


def fresh(name: str, taken: set[str]) -> str:
    """A name like `name` that is not taken; it is from now on."""
    local, number = name, 2
    while local in taken:
        local, number = f"{name}_{number}", number + 1
    taken.add(local)
    return local
