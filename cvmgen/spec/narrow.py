"""Elements that take more bits in memory than their type has: what a byte holds is tested."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from cvmgen.dtypes import DTYPES
from cvmgen.source import Span
from cvmgen.spec import declarations as d
from cvmgen.spec import nodes as n
from cvmgen.spec.formula import TypeTable
from cvmgen.spec.scope import Scope


def range_requirements(
    item: d.OperandDecl, table: TypeTable, scope: Scope
) -> Iterator[d.RequireDecl]:
    """The requirements that each element of an input lies within its type, for each type that it
    can have and that has fewer bits than its memory."""
    names = (name for at in count() if not scope.find(name := f"i{at}"))
    element, binders = _every(item, names)
    dtypes = (table.dtype(item.type_name, row) for row in range(len(table.rows)))
    for dtype in dict.fromkeys(dtypes):
        if dtype is None or not dtype.digits:
            continue
        low, high = (_number(each, item.span) for each in (dtype.low, dtype.high))
        holds: n.Expr = n.Compare(("<=", "<="), (low, element, high), item.span)
        if item.type_name not in DTYPES:
            sides = n.Name(item.type_name, item.type_span), n.Name(dtype.name, item.type_span)
            holds = n.Logic("or", (holds, n.Compare(("!=",), sides, item.span)), item.span)
        if item.optional and isinstance(item.place, n.Name):
            of = n.Argument(item.place, False, item.span)
            given = n.Call("present", (of,), item.span, item.span)
            absent = n.Not(given, item.span)
            holds = n.Logic("or", (absent, holds), item.span)
        message = f"{dtype.name} holds [{dtype.low}, {dtype.high}]"
        yield d.RequireDecl(holds, binders, message, item.span)


def _every(item: d.OperandDecl, names: Iterator[str]) -> tuple[n.Expr, n.Binders]:
    """An element of an input at indices that run over all of it."""
    ranges: list[n.Binder] = [] if item.each is None else [item.each]
    slots: list[n.Slot | n.PartSlot] = []
    for slot in item.slots:
        assert isinstance(slot, n.Slot)
        index = n.Name(next(names), slot.span)
        if slot.pack:
            ranges.append(n.PackBelow(index, slot.value, slot.span))
        else:
            ranges.append(n.Below(index, None, slot.value, slot.span))
        slots.append(n.Slot(index, slot.pack, slot.span))
    element = n.Bracket(item.place, tuple(slots), item.span)
    return element, n.Binders(tuple(ranges), None, None, item.span)


def _number(value: int, span: Span) -> n.Expr:
    return n.Negate(n.Number(-value, span), span) if value < 0 else n.Number(value, span)
