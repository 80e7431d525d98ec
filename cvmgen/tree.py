"""Trees of frozen dataclasses, of formulas and of IR: walked, rebuilt, and as indented text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from operator import attrgetter, is_
from typing import Any, NamedTuple, TypeVar, cast

from cvmgen.source import Span

Tree = TypeVar("Tree")  # a node, or a tuple of them; what it becomes is of a kind with it
# Fields of these types hold no nodes of the tree that they are in.
PLAIN = (
    *("Span", "Span | None", "bool", "int", "int | bool", "int | None", "str"),
    *("tuple[int | str, ...]", "Input", "Attribute", "Operator"),
)


class _Shape(NamedTuple):
    """What a class of nodes is made of."""

    parts: tuple[str, ...]  # the fields that may hold nodes
    places: tuple[int, ...]  # where these are among all
    held: Callable[[Any], Any] | None  # gives what they hold: one alone, or a tuple, the last first
    names: tuple[str, ...]  # all fields, in the order in which the class takes them
    named: int  # so many, the last ones, are given by their names


class _Shapes(dict[type, _Shape | None]):
    """Shapes by class, None of what is no node: found when they are asked for first."""

    def __missing__(self, kind: type) -> _Shape | None:
        shape = None
        if is_dataclass(kind) and kind is not Span:
            own = sorted(fields(kind), key=lambda each: bool(each.kw_only))
            parts = tuple(each.name for each in own if each.type not in PLAIN)
            names = tuple(each.name for each in own)
            held = attrgetter(*reversed(parts)) if parts else None
            named = sum(bool(each.kw_only) for each in own)
            shape = _Shape(parts, tuple(map(names.index, parts)), held, names, named)
        self[kind] = shape
        return shape


_SHAPES = _Shapes()


def rebuild(tree: Tree, change: Callable[[Any], Any]) -> Tree:
    """The tree with `change` applied to every node, children before parents."""
    # Without a function inside: one that calls itself lives on, with all it holds, until cycles
    # are looked for.
    node: Any = tree
    if node.__class__ is tuple:
        after = [rebuild(part, change) for part in node]
        return cast(Tree, node if all(map(is_, node, after)) else tuple(after))
    shape = _SHAPES[node.__class__]
    if shape is None:
        return tree
    if shape.parts:
        before = [getattr(node, name) for name in shape.parts]
        after = [rebuild(part, change) for part in before]
        if not all(map(is_, before, after)):
            node = _with_parts(node, shape, after)
    return cast(Tree, change(node))


def replaced(tree: Tree, change: Callable[[Any], Any]) -> Tree:
    """The tree with others for the topmost nodes that `change` gives others for."""

    def below(node: Any) -> Any:
        other = node if _SHAPES[node.__class__] is None else change(node)
        return with_children(node, below) if other is node else other

    return cast(Tree, below(tree))


def with_children(tree: Tree, change: Callable[[Any], Any]) -> Tree:
    """The node with `change` applied to each node right below it; itself where all stay."""
    node: Any = tree
    if isinstance(node, tuple):
        after = [change(part) for part in node]
        return cast(Tree, node if all(map(is_, node, after)) else tuple(after))
    shape = _SHAPES[node.__class__]
    if shape is None or not shape.parts:
        return tree
    before = [getattr(node, name) for name in shape.parts]
    after = [change(part) for part in before]
    return tree if all(map(is_, before, after)) else cast(Tree, _with_parts(node, shape, after))


def _with_parts(node: Any, shape: _Shape, parts: Iterable[Any]) -> Any:
    """The node with other parts, as `replace` makes it, which asks of each field what is the same
    for all nodes of a class."""
    values = [getattr(node, name) for name in shape.names]
    for at, part in zip(shape.places, parts, strict=True):
        values[at] = part
    if not shape.named:
        return node.__class__(*values)
    named = dict(zip(shape.names[-shape.named :], values[-shape.named :], strict=True))
    return node.__class__(*values[: -shape.named], **named)


def walk(node: Any) -> Iterator[Any]:
    """Every node of a tree, parents first."""
    # With a stack of its own: generators inside generators would pass each node up through all.
    left = [node]
    while left:
        node = left.pop()
        if node.__class__ is tuple:
            left += node[::-1]
            continue
        shape = _SHAPES[node.__class__]
        if shape is None:
            continue
        yield node
        if shape.held is not None:
            below = shape.held(node)
            if len(shape.parts) == 1:
                left.append(below)
            else:
                left += below


def children(node: Any) -> Iterator[Any]:
    """The nodes right below one, in order."""
    if isinstance(node, tuple):
        yield from node
    else:
        shape = _SHAPES[node.__class__]
        yield from (getattr(node, name) for name in shape.parts) if shape else ()


# ---------------------------------------------------------------- as text

WIDTH = 100


def lines_of(node: Any) -> str:
    """The tree below `node`, a subtree on one line where it fits; spans are left out."""
    return "\n".join(_lines(node, "")) + "\n"


def _lines(node: Any, margin: str, label: str = "") -> Iterator[str]:
    head = f"{margin}{label}"
    flat = _flat(node)
    if len(head) + len(flat) <= WIDTH or not _children(node):
        yield head + flat
        return
    yield head + _name(node)
    for name, child in _children(node):
        yield from _lines(child, f"{margin}  ", f"{name} = " if name else "")


def _flat(node: Any) -> str:
    if isinstance(node, tuple):
        return f"[{', '.join(map(_flat, node))}]"
    if is_dataclass(node):
        parts = (f"{name}={_flat(child)}" for name, child in _children(node))
        return f"{_name(node)}({', '.join(parts)})"
    return repr(node)


def _name(node: Any) -> str:
    return "" if isinstance(node, tuple) else type(node).__name__


def _children(node: Any) -> list[tuple[str, Any]]:
    if isinstance(node, tuple):
        return [("", child) for child in node]
    if not is_dataclass(node):
        return []
    # Spans are the fields that take no part in a node's repr.
    return [(each.name, getattr(node, each.name)) for each in fields(node) if each.repr]
