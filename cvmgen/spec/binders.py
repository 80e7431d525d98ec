"""Checks binders: what a reduction, a listing, an equation or `within` runs over."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.source import SpecError
from cvmgen.spec import nodes as n
from cvmgen.spec.checker import Checker, not_whole
from cvmgen.spec.formula import INT, LIST
from cvmgen.spec.logic import conjuncts
from cvmgen.spec.scope import ScopedName


def check_binders(checker: Checker, binders: n.Binders) -> n.Binders:
    """The resolved binders; their indices are bound in the checker's scope."""
    if binders.over is not None:
        items: tuple[n.Binder, ...] = (partial_pack(checker, binders, binders.over),)
    else:
        items = tuple(check_binder(checker, item) for item in binders.items)
    condition = None if binders.condition is None else checker.condition(binders.condition)
    for item in items:
        if isinstance(item, n.IndexMember):
            check_own(checker, item, condition)
    return n.Binders(items, None, condition, binders.span)


def check_binder(checker: Checker, binder: n.Binder) -> n.Binder:
    match binder:
        case n.Below(target=target, low=low, high=high, span=span):
            name = checked_new_name(checker, target)
            lowest = n.Number(0, span) if low is None else checker.integer(low)
            highest = checker.integer(high)
            checker.scope.add(ScopedName(name, "index", INT, target.span))
            return n.IndexRange(name, lowest, highest, span)
        case n.Member(target=target, collection=collection, span=span):
            name = checked_new_name(checker, target)
            elements = checker.members(collection, own=True)
            checker.scope.add(ScopedName(name, "index", INT, target.span))
            return n.IndexMember(name, elements, span)
        case n.PackBelow(target=target, high=high, span=span):
            name = checked_new_name(checker, target)
            extents = checker.sequence(high)
            checker.scope.add(ScopedName(name, "pack", LIST, target.span))
            return n.PackRange(name, extents, None, span)
        case _:
            raise AssertionError("binder is checked already")


def checked_new_name(checker: Checker, target: n.Expr) -> str:
    if not isinstance(target, n.Name):
        hint = "an entry of a pack is bound as: d[j] < n[j] for j in R"
        raise SpecError(target.span, "a range binds a name", hint)
    if target.text in checker.where:
        message = f"'{target.text}' is already defined after 'where'"
        raise SpecError(target.span, message, "choose another name")
    return target.text


def partial_pack(checker: Checker, binders: n.Binders, over: n.Binder) -> n.PackRange:
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
        checker.scope.add(ScopedName(name, "pack", LIST, target.span))
    return n.PackRange(name, extents, slots, span)


def check_own(checker: Checker, binder: n.IndexMember, condition: n.Expr | None) -> None:
    """A range over the list that is being selected needs a test for its smaller elements."""
    own = checker.growing
    match binder.collection:
        case n.Apply(name=name, arguments=arguments, span=span) if own and name == own.name:
            if own.index in ("", binder.index):
                not_whole(replace(own, index=""), span)
        case _:
            return
    same = tuple(each.name for each in arguments if isinstance(each, n.Ref)) == own.parameters
    smaller = any(is_below(each, binder.index, own.index) for each in conjuncts(condition))
    if not same or not smaller:
        message = f"'{name}' is not whole yet: it can speak of its elements below '{own.index}'"
        shown = f"{name}[{', '.join(own.parameters)}]" if own.parameters else name
        hint = f"write: {binder.index} in {shown} if {binder.index} < {own.index}"
        raise SpecError(span, message, hint)


def is_below(condition: n.Expr, small: str, large: str) -> bool:
    match condition:
        case n.Compare(relations=("<",), operands=(n.Ref(name=left), n.Ref(name=right))):
            return (left, right) == (small, large)
        case n.Compare(relations=(">",), operands=(n.Ref(name=left), n.Ref(name=right))):
            return (right, left) == (small, large)
        case _:
            return False
