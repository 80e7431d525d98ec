"""What generated code quotes of formulas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from cvmgen.ir.remember import remembered_of_all
from cvmgen.source import Span
from cvmgen.spec.formula import Operator


@remembered_of_all
def quoted_places(operator: Operator) -> str:
    """Every piece of the spec that the operator comes from, with its file and its place there.

    Generated code quotes them; spans take no part in a node's repr.
    """
    pieces = {(each.source.name, operator.place(each), each.text) for each in spans_in(operator)}
    return "\n".join(": ".join(piece) for piece in sorted(pieces))


def spans_in(tree: Any) -> Iterator[Span]:
    """All spans of a tree."""
    left = [tree]
    while left:
        node = left.pop()
        if isinstance(node, Span):
            yield node
        elif isinstance(node, tuple):
            left += node
        else:
            kind: Any = type(node)
            left += [getattr(node, name) for name in field_names(kind)]


@cache
def field_names(kind: type) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind)) if is_dataclass(kind) else ()
