"""Walking and rebuilding IR, for every node class at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any

from cvmgen.ir import nodes as i
from cvmgen.source import Span
from cvmgen.spec.formula import Attribute, Input, Operator

LEAVES = (Input, Attribute, Operator, Span, type)


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))


def rebuild(node: Any, change: Callable[[Any], Any]) -> Any:
    """The tree with `change` applied to every node, children before parents."""
    if isinstance(node, tuple):
        return tuple(rebuild(child, change) for child in node)
    if not is_dataclass(node) or isinstance(node, LEAVES):
        return node
    values = {name: getattr(node, name) for name in _names(type(node))}
    rebuilt = {name: rebuild(value, change) for name, value in values.items()}
    if any(rebuilt[name] is not values[name] for name in values):
        node = replace(node, **rebuilt)
    return change(node)


def replaced(node: Any, change: Callable[[Any], Any]) -> Any:
    """The tree with others for the topmost nodes that `change` gives others for."""
    if isinstance(node, tuple):
        return tuple(replaced(child, change) for child in node)
    if not is_dataclass(node) or isinstance(node, LEAVES):
        return node
    other = change(node)
    if other is not node:
        return other
    values: dict[str, Any] = {name: getattr(node, name) for name in _names(node.__class__)}
    inner = {name: replaced(value, change) for name, value in values.items()}
    if all(inner[name] is values[name] for name in values):
        return node
    return replace(node, **inner)


def walk(node: Any) -> Iterator[Any]:
    """Every node of a tree, parents first."""
    if isinstance(node, tuple):
        for child in node:
            yield from walk(child)
    elif is_dataclass(node) and not isinstance(node, LEAVES):
        yield node
        for name in _names(type(node)):
            yield from walk(getattr(node, name))


def children(node: Any) -> Iterator[Any]:
    """The nodes right below one, in order."""
    if isinstance(node, tuple):
        yield from node
    elif is_dataclass(node) and not isinstance(node, LEAVES):
        yield from (getattr(node, name) for name in _names(type(node)))


def names_in(node: Any) -> frozenset[str]:
    """The names that expressions and statements read (bound inside or not)."""
    found = set()
    for each in walk(node):
        match each:
            case i.Var(name=name):
                found.add(name)
            case i.Dot(pack=pack):
                found.add(pack)
            case i.Accumulate(name=name) | i.AddAt(name=name):
                found.add(name)
            case _:
                pass
    return frozenset(found)


def substitute(node: Any, values: dict[str, i.Expr]) -> Any:
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
