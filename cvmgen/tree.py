"""Trees of dataclasses as indented text: what `cvmgen show --after parse` prints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

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
