"""Sums and equations of expressions, taken apart and put together."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from cvmgen.derive.substitution import entry, fresh, is_number, names_in
from cvmgen.spec import nodes as n


def equal(left: n.Expr, right: n.Expr) -> n.Expr:
    return n.Compare(("==",), (left, right), left.span)


def all_equal(expr: n.Expr, target: n.Ref, taken: Collection[str]) -> n.Expr:
    """That two lists of one length have the same entries."""
    span = target.span
    index = fresh("j", {*taken, *names_in(expr)})
    at = n.Ref(index, "index", span)
    match expr:
        case n.Listing(
            binders=n.Binders(items=(n.IndexRange(low=low, high=high),), condition=None)
        ) if is_number(low, 0):
            pass
        case _:
            high = n.Function("len", (target,), span)
    ranges = n.IndexRange(index, n.Number(0, span), high, span)
    pair = equal(entry(expr, at, span), entry(target, at, span))
    return n.Reduction("all", n.Binders((ranges,), None, None, span), pair, span)


def parts(expr: n.Expr, negative: bool = False) -> Iterator[tuple[bool, n.Expr]]:
    """The addends of a sum, each with whether it is taken away."""
    match expr:
        case n.Arithmetic(sign="+" | "-" as sign, left=left, right=right):
            yield from parts(left, negative)
            yield from parts(right, negative != (sign == "-"))
        case _:
            yield negative, expr


def moved(target: n.Expr, others: Sequence[tuple[bool, n.Expr]], negative: bool) -> n.Expr:
    """The target without the other addends; with the other sign where the part has a minus."""
    if not negative:
        for minus, other in others:
            target = n.Arithmetic("+" if minus else "-", target, other, target.span)
        return target
    added = [other for minus, other in others if not minus]
    taken = [other for minus, other in others if minus]
    if not added:
        whole: n.Expr = n.Negate(target, target.span)
    else:
        whole, *added = added
        taken = [target, *taken]
    for other in added:
        whole = n.Arithmetic("+", whole, other, target.span)
    for other in taken:
        whole = n.Arithmetic("-", whole, other, target.span)
    return whole
