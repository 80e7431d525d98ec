"""Checks what stands in brackets: elements of tensors, entries of lists, `let`s with indices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cvmgen.source import SpecError
from cvmgen.spec import nodes as n
from cvmgen.spec.checker import Checked, Checker
from cvmgen.spec.formula import INT, LIST, REAL_LIST, SELECTED, SET
from cvmgen.spec.scope import ScopedName
from cvmgen.spec.words import plural


class BracketChecker:
    """Resolves brackets of a checker."""

    def __init__(self, expressions: Checker) -> None:
        self.expressions = expressions

    def bracket(self, expr: n.Bracket) -> Checked:
        match expr.target:
            case n.Name(text=text, span=span) if text not in self.expressions.where:
                symbol = self.expressions.find(text, span)
                if symbol.role == "output":
                    hint = "repeat its formula, or name it with 'let' or 'where'"
                    message = f"'{symbol.name}' is an output; a formula cannot read it"
                    raise SpecError(span, message, hint)
                if symbol.variadic:
                    hint = f"write {symbol.name}[i][d...]"
                    message = f"'{symbol.name}' are several inputs; this picks one, no element"
                    raise SpecError(expr.span, message, hint)
                if symbol.role == "input":
                    return self.access(symbol, None, expr)
                if symbol.role == "definition" and symbol.parameters:
                    return self.apply(symbol, expr)
            case n.Bracket(target=n.Name(text=text)) as inner:
                several = self.expressions.scope.find(text)
                if several is not None and several.variadic:
                    (which,) = self.scalars(inner, 1)
                    return self.access(several, which, expr)
            case _:
                pass
        return self.entry(expr)

    def entry(self, expr: n.Bracket) -> Checked:
        """An entry or a part of a list."""
        sequence, kind = self.expressions.check(expr.target)
        if kind.name not in ("list", "set", "selected"):
            nested = isinstance(expr.target, n.Bracket)
            hint = "all indices stand in one bracket: X[i, j]"
            where = expr.target.span
            raise SpecError(where, f"this is {kind}; it has no entries", hint if nested else "")
        if len(expr.slots) != 1:
            message = f"a list takes one index, {len(expr.slots)} are given"
            written = [slot.span for slot in expr.slots] or [expr.span]
            raise SpecError(written[0].to(written[-1]), message)
        slot = expr.slots[0]
        if isinstance(slot, n.PartSlot) and kind == SELECTED:
            hint = "select its entries by a test of their place"
            raise SpecError(expr.span, "a selected list has entries, no parts", hint)
        if isinstance(slot, n.PartSlot) and kind == REAL_LIST:
            raise SpecError(expr.span, "a list of real numbers has entries, no parts")
        if isinstance(slot, n.PartSlot):
            low = None if slot.low is None else self.expressions.integer(slot.low)
            high = None if slot.high is None else self.expressions.integer(slot.high)
            return n.Part(sequence, low, high, expr.span), LIST
        (index,) = self.scalars(expr, 1)
        return n.Item(sequence, index, expr.span), kind.element or INT

    def scalars(self, expr: n.Bracket, count: int) -> tuple[n.Expr, ...]:
        """The slots of a bracket as single integers."""
        if len(expr.slots) != count:
            raise SpecError(
                expr.span, f"{count_of_indices(count)} needed here, {len(expr.slots)} given"
            )
        values = []
        for slot in expr.slots:
            if isinstance(slot, n.PartSlot) or slot.pack:
                raise SpecError(slot.span, "a single integer is needed here")
            with self.slot_context():
                values.append(self.expressions.integer(slot.value))
        return tuple(values)

    @contextmanager
    def slot_context(self) -> Iterator[None]:
        before, self.expressions.in_slot = self.expressions.in_slot, True
        try:
            yield
        finally:
            self.expressions.in_slot = before

    def slots(self, slots: tuple[n.Slot | n.PartSlot, ...]) -> tuple[n.Slot, ...]:
        return tuple(self.slot(slot) for slot in slots)

    def slot(self, slot: n.Slot | n.PartSlot) -> n.Slot:
        if isinstance(slot, n.PartSlot):
            hint = "write n[:a]... for the first a entries of a pack n"
            raise SpecError(slot.span, "a part can be taken of a list, not of a tensor", hint)
        with self.slot_context():
            value, kind = self.expressions.check(slot.value)
        text = slot.value.span.text
        if slot.pack and kind not in (LIST, SET):
            message = f"'...' follows a pack, but this is {kind}"
            raise SpecError(slot.value.span, message, "remove the '...'" if kind == INT else "")
        if not slot.pack and kind == LIST:
            hint = f"write '{text}...' to give all its entries"
            raise SpecError(slot.span, "a pack stands where one index is needed", hint)
        if not slot.pack and kind != INT:
            self.expressions.mismatch(slot.value, INT, kind)
        return n.Slot(value, slot.pack, slot.span)

    def access(self, symbol: ScopedName, which: n.Expr | None, expr: n.Bracket) -> Checked:
        slots = self.slots(expr.slots)
        packs = any(slot.pack for slot in slots)
        if symbol.rank is not None and not packs and len(slots) != symbol.rank:
            raise SpecError(expr.span, wrong_rank(symbol.name, symbol.rank, len(slots)))
        return n.Access(symbol.name, which, slots, expr.span), symbol.element

    def apply(self, symbol: ScopedName, expr: n.Bracket) -> Checked:
        """A `let` with indices, applied."""
        assert symbol.kind is not None
        slots = self.slots(expr.slots)
        wanted, given = len(symbol.parameters), len(slots)
        if given != wanted:
            raise SpecError(
                expr.span, f"'{symbol.name}' takes {count_of_indices(wanted)}, {given} given"
            )
        for slot, (_, kind) in zip(slots, symbol.parameters, strict=True):
            if slot.pack != (kind == LIST):
                text = slot.value.span.text
                hint = f"write {text}..." if kind == LIST else "remove the '...'"
                raise SpecError(slot.span, f"{kind} is needed here", hint)
        values = (*self.expressions.around(symbol, expr.span), *(slot.value for slot in slots))
        self.expressions.whole(symbol, expr.span)
        return n.Apply(symbol.name, values, expr.span), symbol.kind


def count_of_indices(count: int) -> str:
    return f"{count} {'index' if count == 1 else 'indices'}"


def wrong_rank(name: str, rank: int, given: int) -> str:
    verb = "is" if given == 1 else "are"
    return f"'{name}' has {plural(rank, 'dimension')}, {count_of_indices(given)} {verb} given"
