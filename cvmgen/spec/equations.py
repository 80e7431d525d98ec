"""Checks equations: what the left side binds, and which elements it writes."""

from __future__ import annotations

from collections.abc import Mapping

from cvmgen.functions import FUNCTIONS, SPECIAL
from cvmgen.source import Span, SpecError, did_you_mean
from cvmgen.spec import declarations as d
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.binders import check_binder, check_binders
from cvmgen.spec.brackets import wrong_rank
from cvmgen.spec.expressions import ExpressionChecker
from cvmgen.spec.formula import INT, LIST, Kind
from cvmgen.spec.scope import PoisonedError, ScopedName

Within = tuple[n.IndexRange, ...]


def check_equation(
    checker: ExpressionChecker,
    item: d.EquationDecl,
    outputs: Mapping[str, f.Output],
    within: Within,
) -> f.Equation:
    """The checked equation; `within` are the ranges of the blocks around it, outermost first."""
    output = written_output(checker, item, outputs)
    slots = left_slots(item)
    packs = any(slot.pack for slot in (*slots, *output.slots))
    if not packs and len(slots) != len(output.slots):
        message = wrong_rank(output.name, len(output.slots), len(slots))
        raise SpecError(item.target.span, message)
    with checker.nested():
        condition = None
        if item.binders is not None:
            domain = check_binders(checker, item.binders)
            loops: tuple[n.Binder, ...] = (*within, *domain.items)
            condition, gather = domain.condition, False
        else:
            left = LeftSide(checker, output, slots, within)
            loops, gather = left.loops, left.gather
        checked = checker.brackets.slots(slots)
        element = checker.element_kind(output.dtype)
        assert element is not None
        value, where = right_side(checker, item, element)
    binders = n.Binders(loops, None, condition, item.target.span)
    return f.Equation(output.name, checked, binders, gather, value, where, item.span)


def written_output(
    checker: ExpressionChecker, item: d.EquationDecl, outputs: Mapping[str, f.Output]
) -> f.Output:
    target = item.target
    if not isinstance(target, n.Bracket) or not isinstance(target.target, n.Name):
        hint = "a name of your own is defined with 'let' or 'where'"
        raise SpecError(target.span, "the left side is an element of an output: Y[d...]", hint)
    name = target.target
    if name.text in outputs:
        return outputs[name.text]
    symbol = checker.scope.find(name.text)
    if symbol is not None and symbol.role == "error":
        raise PoisonedError
    place = item.target.span.text
    own = f"declare it first: output {name.text} : cvm[...], or name a value: let {place} = ..."
    hint = did_you_mean(name.text, outputs) or own
    raise SpecError(name.span, f"'{name.text}' is not an output", hint)


def left_slots(item: d.EquationDecl) -> tuple[n.Slot, ...]:
    assert isinstance(item.target, n.Bracket)
    slots = []
    for slot in item.target.slots:
        if isinstance(slot, n.PartSlot):
            raise SpecError(slot.span, "the left side takes single indices and packs")
        slots.append(slot)
    return tuple(slots)


def right_side(
    checker: ExpressionChecker, item: d.EquationDecl, element: Kind
) -> tuple[n.Expr, tuple[f.Definition, ...]]:
    """The value of an equation and the `where` definitions that it uses."""
    where: dict[str, d.Definition] = {}
    for macro in item.where:
        if macro.name in where or checker.scope.find(macro.name) is not None:
            message = f"'{macro.name}' is already defined"
            raise SpecError(macro.name_span, message, "choose another name")
        free_name(checker, macro.name, macro.name_span)
        where[macro.name] = macro
    with checker.calls.with_where(where) as used:
        value = checker.wanted(item.value, element)
    for name, macro in where.items():
        if name not in used:
            raise SpecError(macro.name_span, f"the formula does not use '{name}'", "remove it")
    return value, tuple(used.values())


def free_name(checker: ExpressionChecker, name: str, span: Span) -> None:
    """Refuse a definition with the name of a function or a `def`: calls would mean either."""
    if name in FUNCTIONS or name in SPECIAL:
        message = f"'{name}' is a function of the language"
        raise SpecError(span, message, "choose another name")
    macro = checker.calls.shared.macros.get(name)
    if macro is not None:
        message = f"'{name}' is a 'def' already, in {macro.span.location}"
        raise SpecError(span, message, "choose another name")


class LeftSide:
    """Binds the new indices of a left side without `forall`; each runs over an extent.

    `gather` says whether the slots are all indices of their own, each with the range of the
    output's extent there, so that the whole output is written.
    """

    def __init__(
        self,
        checker: ExpressionChecker,
        output: f.Output,
        slots: tuple[n.Slot, ...],
        within: Within,
    ) -> None:
        self.checker = checker
        self.within = {binder.index: binder for binder in within}
        self.bound: list[n.Binder] = []
        self.names: set[str] = set()
        extents = _extents_by_slot(output, slots)
        ranges = [self.range(slot, extent) for slot, extent in zip(slots, extents, strict=True)]
        self.loops: tuple[n.Binder, ...] = (*within, *self.bound)
        self.gather = ranges == list(self.loops)

    def range(self, slot: n.Slot, extent: n.Expr | None) -> n.Binder | None:
        """What a slot runs over, if it is an index by itself."""
        match slot.value:
            case n.Name(text=text) if text in self.names:
                message = f"index '{text}' is bound twice"
                raise SpecError(slot.span, message, "each index stands once on the left side")
            case n.Name(text=text) if text in self.within:
                binder = self.within[text]
                whole = binder.low == n.Number(0, slot.span) and binder.high == extent
                return binder if whole and not slot.pack else None
            case n.Name(text=text) if self.checker.scope.find(text) is None:
                return self.bind(slot, text, extent)
            case n.Listing() as listing if slot.pack:
                return self.entries(slot, listing, extent)
            case value:
                self.known(slot, value)
                return None

    def known(self, slot: n.Slot, value: n.Expr) -> None:
        """Refuse an index inside an expression: its range cannot be told from the left side."""
        for node in n.walk(value):
            if isinstance(node, n.Name) and self.checker.scope.find(node.text) is None:
                self.no_range(node.span, node.text, slot.pack)

    def no_range(self, span: Span, text: str, pack: bool) -> None:
        dots = "..." if pack else ""
        limit = "n..." if pack else "N"
        hint = f"add it after the formula: forall {text}{dots} < {limit}"
        raise SpecError(span, f"the range of '{text}' is not known", hint)

    def bind(self, slot: n.Slot, text: str, extent: n.Expr | None) -> n.Binder | None:
        if extent is None:
            self.no_range(slot.span, text, slot.pack)
            return None
        role, kind = ("pack", LIST) if slot.pack else ("index", INT)
        self.checker.scope.add(ScopedName(text, role, kind, slot.span))
        binder: n.Binder = n.IndexRange(text, n.Number(0, slot.span), extent, slot.span)
        if slot.pack:
            binder = n.PackRange(text, extent, None, slot.span)
        self.names.add(text)
        self.bound.append(binder)
        return binder

    def entries(self, slot: n.Slot, listing: n.Listing, extent: n.Expr | None) -> n.Binder | None:
        """`(d[i] for i in K)...` on the left binds the entries K of the pack d."""
        match listing:
            case n.Listing(
                element=n.Bracket(
                    target=n.Name(text=pack), slots=(n.Slot(value=n.Name(text=used)),)
                ),
                binders=n.Binders(items=(n.Below() | n.Member() as over,), condition=None),
            ) if self.checker.scope.find(pack) is None:
                pass
            case _:
                return None
        if extent is None:
            self.no_range(slot.span, pack, True)
            return None
        with self.checker.nested():
            each = check_binder(self.checker, over)
        if not isinstance(each, (n.IndexRange, n.IndexMember)) or each.index != used:
            message = f"the entries of '{pack}' are taken at '{used}'"
            raise SpecError(listing.element.span, message)
        span = slot.span
        chosen = n.Binders((each,), None, None, span)
        positions = n.Listing(n.Ref(used, "index", span), chosen, span)
        self.checker.scope.add(ScopedName(pack, "pack", LIST, listing.element.span))
        binder = n.PackRange(pack, extent, positions, span)
        self.bound.append(binder)
        return binder


def _extents_by_slot(output: f.Output, slots: tuple[n.Slot, ...]) -> tuple[n.Expr | None, ...]:
    """The output's extents that stand against each slot of the left side."""
    shape = output.slots
    if [slot.pack for slot in slots] == [extent.pack for extent in shape]:
        return tuple(extent.value for extent in shape)
    if len(slots) == 1 and slots[0].pack:
        return (n.ShapeOf(output.name, None, slots[0].span),)
    return tuple(None for _ in slots)
