"""Which expressions have the same value: the same text with the same bindings of its names.

A name of an index or a parameter stands for another value each time that it is bound, and a
parameter for that of its argument, so each expression gets a number by what its names stand for.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from cvmgen.spec import nodes as n

LOCAL = ("index", "pack", "parameter")  # roles of names that are bound inside a formula


class ValueNumbers:
    """Numbers of expressions; `bound` are those of the names that are bound around."""

    def __init__(self) -> None:
        self.bound: dict[str, int] = {}
        self.numbers: dict[Hashable, int] = {}
        self.fresh = 0

    def bind(self, name: str, number: int | None = None) -> None:
        """Bind a name to a value of its own, or to one that is numbered."""
        self.fresh -= 1
        self.bound[name] = self.fresh if number is None else number

    def of(self, node: Any) -> int:
        """The number of an expression; equal numbers have equal values."""
        match node:
            case n.Ref(name=name, role=role) if role in LOCAL and name in self.bound:
                return self.bound[name]
            case _:
                return self.numbers.setdefault(self.key(node), len(self.numbers))

    def key(self, node: Any) -> Hashable:
        if isinstance(node, tuple):
            return tuple(self.of(each) for each in node)
        if n.parts_of(node.__class__) is None:
            leaf: Hashable = node
            return leaf
        return (type(node).__name__, *map(self.of, n.children(node)))
