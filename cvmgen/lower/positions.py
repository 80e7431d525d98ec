"""Positions of multi-indices that are written out: arithmetic, with ranges like any other."""

from __future__ import annotations

from cvmgen.ir import nodes as i
from cvmgen.source import Span


def called(function: str, arguments: tuple[i.Expr, ...], span: Span) -> i.Expr:
    """A call; `flatten_index` of entries and extents that are all written out is their sum."""
    match function, arguments:
        case "flatten_index", (i.ListOf(entries=entries), i.ListOf(entries=sides)) if len(
            entries
        ) == len(sides) > 0 and not any(pack for _, pack in (*entries, *sides)):
            position = entries[0][0]
            for (entry, _), (side, _) in zip(entries[1:], sides[1:], strict=True):
                position = i.Binary("+", i.Binary("*", position, side), entry)
            return position
        case _:
            return i.Call(function, arguments, span)
