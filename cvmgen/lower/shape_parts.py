"""A shape of open rank cut into the parts that the slots of an index stand against."""

from __future__ import annotations

from collections.abc import Iterable

from cvmgen import algebra
from cvmgen.ir import nodes as i

Slots = tuple[tuple[i.Expr, bool], ...]


def cut(whole: i.Expr, boxes: Iterable[i.Expr | None]) -> Slots | None:
    """The shape `whole` slot by slot; `boxes` are what the multi-indices of the slots run over,
    None for a single index. None unless the boxes are neighbours that together are the shape."""
    slots: list[tuple[i.Expr, bool]] = []
    place: i.Expr | None = i.Const(0)
    for box in boxes:
        if place is None:
            return None
        match box:
            case None:
                slots.append((i.Item(whole, place), False))
                place = algebra.normal(i.Binary("+", place, i.Const(1)))
            case i.Part(sequence=sequence, low=low, high=high) if (
                sequence == whole and algebra.equal(low or i.Const(0), place)
            ):
                slots.append((box, True))
                place = high
            case _:
                return None
    return tuple(slots) if place is None else None
