"""Checks binders: what a reduction, a listing, an equation or `within` runs over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cvmgen.source import SpecError
from cvmgen.spec import nodes as n
from cvmgen.spec.formula import INT, LIST
from cvmgen.spec.scope import Symbol

if TYPE_CHECKING:
    from cvmgen.spec.expressions import ExpressionChecker


def check_binders(checker: ExpressionChecker, binders: n.Binders) -> n.Binders:
    """The resolved binders; their indices are bound in the checker's scope."""
    if binders.over is not None:
        items: tuple[n.Binder, ...] = (partial_pack(checker, binders, binders.over),)
    else:
        items = tuple(check_binder(checker, item) for item in binders.items)
    condition = None if binders.condition is None else checker.condition(binders.condition)
    for item in items:
        if isinstance(item, n.IndexMember):
            checker.members_known(item, condition)
    return n.Binders(items, None, condition, binders.span)


def check_binder(checker: ExpressionChecker, binder: n.Binder) -> n.Binder:
    match binder:
        case n.Below(target=target, low=low, high=high, span=span):
            name = new_name(checker, target)
            lowest = n.Number(0, span) if low is None else checker.integer(low)
            highest = checker.integer(high)
            checker.scope.add(Symbol(name, "index", INT, target.span))
            return n.IndexRange(name, lowest, highest, span)
        case n.Member(target=target, collection=collection, span=span):
            name = new_name(checker, target)
            elements = checker.members(collection, own=True)
            checker.scope.add(Symbol(name, "index", INT, target.span))
            return n.IndexMember(name, elements, span)
        case n.PackBelow(target=target, high=high, span=span):
            name = new_name(checker, target)
            extents = checker.sequence(high)
            checker.scope.add(Symbol(name, "pack", LIST, target.span))
            return n.PackRange(name, extents, None, span)
        case _:
            raise AssertionError("binder is checked already")


def new_name(checker: ExpressionChecker, target: n.Expr) -> str:
    if not isinstance(target, n.Name):
        hint = "an entry of a pack is bound as: d[j] < n[j] for j in R"
        raise SpecError(target.span, "a range binds a name", hint)
    if target.text in checker.calls.where:
        message = f"'{target.text}' is already defined after 'where'"
        raise SpecError(target.span, message, "choose another name")
    return target.text


def partial_pack(checker: ExpressionChecker, binders: n.Binders, over: n.Binder) -> n.PackRange:
    """`d[j] < n[j] for j in R`: some entries of a pack."""
    below = binders.items[0]
    if len(binders.items) != 1 or not isinstance(below, n.Below):
        raise SpecError(binders.span, "'for' follows one range such as d[j] < n[j]")
    if not isinstance(over, (n.Below, n.Member)) or not isinstance(over.target, n.Name):
        raise SpecError(over.span, "'for' takes a range such as j < N or j in R")
    index, target = over.target.text, below.target
    match target:
        case n.Bracket(target=n.Name(text=name), slots=(n.Slot(value=n.Name(text=used)),)) if (
            used == index
        ):
            pass
        case _:
            message = f"this must be an entry of a pack at '{index}'"
            raise SpecError(target.span, message, f"write d[{index}] < ...")
    if below.low is not None:
        raise SpecError(below.span, "entries of a pack start at 0")
    with checker.nested():
        each = check_binder(checker, over)
        extent = checker.integer(below.high)
    span = below.span
    chosen = n.Binders((each,), None, None, span)
    extents = n.Listing(extent, chosen, span)
    slots = n.Listing(n.Ref(index, "index", span), chosen, span)
    known = checker.scope.find(name)
    if known is None or known.role != "pack":
        checker.scope.add(Symbol(name, "pack", LIST, target.span))
    return n.PackRange(name, extents, slots, span)
