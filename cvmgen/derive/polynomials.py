"""Expressions multiplied out, so that equal ones compare equal.

A polynomial has as its atoms what is neither a sum nor a product.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from cvmgen.derive.substitution import entry_of, equals_number, formula_names, fresh
from cvmgen.polynomials import plus, times, without
from cvmgen.spec import nodes as n

Monomial: TypeAlias = tuple[n.Expr, ...]  # factors in the order of their text
Polynomial: TypeAlias = dict[Monomial, int]


def polynomial(expr: n.Expr) -> Polynomial:
    """An expression multiplied out; what is no sum and no product is an atom."""
    match expr:
        case n.Number(value=value):
            return {(): value} if value else {}
        case n.Negate(operand=operand):
            return scaled(polynomial(operand), -1)
        case n.Arithmetic(sign="+", left=left, right=right):
            return plus(polynomial(left), polynomial(right))
        case n.Arithmetic(sign="-", left=left, right=right):
            return plus(polynomial(left), polynomial(right), -1)
        case n.Arithmetic(sign="*", left=left, right=right):
            return multiplied(polynomial(left), polynomial(right))
        case _:
            return {(normal_atom(expr),): 1}


def normal_atom(expr: n.Expr) -> n.Expr:
    """An atom with its own parts in one form, so that equal ones compare equal."""
    match expr:
        case n.Item(index=index):
            return replace(expr, index=expression(polynomial(index), index))
        case n.Arithmetic(left=left, right=right):
            first, second = (expression(polynomial(each), each) for each in (left, right))
            return replace(expr, left=first, right=second)
        case _:
            return expr


def expression(terms: Polynomial, like: n.Expr) -> n.Expr:
    """A polynomial as an expression, its monomials in the order of their text."""
    whole: n.Expr | None = None
    for factors, coefficient in sorted(terms.items(), key=repr):
        part: n.Expr | None = None
        for factor in (n.Number(coefficient, like.span), *factors):
            if part is None or equals_number(part, 1):
                part = factor
            else:
                part = n.Arithmetic("*", part, factor, like.span)
        assert part is not None
        whole = part if whole is None else n.Arithmetic("+", whole, part, like.span)
    return n.Number(0, like.span) if whole is None else whole


def scaled(terms: Polynomial, by: int) -> Polynomial:
    return plus({}, terms, by)


def multiplied(left: Polynomial, right: Polynomial) -> Polynomial:
    return times(left, right, repr)


def put(terms: Polynomial, values: Mapping[n.Expr, n.Expr]) -> Polynomial:
    """A polynomial with the values of some of its atoms in their places."""
    total: Polynomial = {}
    for factors, coefficient in terms.items():
        product: Polynomial = {(): coefficient}
        for factor in factors:
            product = multiplied(product, polynomial(values.get(factor, factor)))
        total = plus(total, product)
    return total


def over_atom(terms: Polynomial, divisor: n.Expr) -> Polynomial | None:
    """`terms` over an atom that is in every monomial."""
    if not all(divisor in factors for factors in terms):
        return None
    return {without(factors, divisor): value for factors, value in terms.items()}


def over_product(terms: Polynomial, by: n.Expr) -> Polynomial | None:
    """`terms` over a product that is in every monomial."""
    match list(polynomial(by).items()):
        case [(factors, coefficient)]:
            pass
        case _:
            return None
    rest: Polynomial | None = terms
    for factor in factors:
        rest = None if rest is None else over_atom(rest, factor)
    if rest is None or any(each % coefficient for each in rest.values()):
        return None
    return {monomial: each // coefficient for monomial, each in rest.items()}


# ---------------------------------------------------------------- sums and equations


def equation(left: n.Expr, right: n.Expr) -> n.Expr:
    return n.Compare(("==",), (left, right), left.span)


def all_equal(expr: n.Expr, target: n.Ref, taken: Collection[str]) -> n.Expr:
    """That two lists of one length have the same entries."""
    span = target.span
    index = fresh("j", {*taken, *formula_names(expr)})
    at = n.Ref(index, "index", span)
    match expr:
        case n.Listing(
            binders=n.Binders(items=(n.IndexRange(low=low, high=high),), condition=None)
        ) if equals_number(low, 0):
            pass
        case _:
            high = n.Function("len", (target,), span)
    ranges = n.IndexRange(index, n.Number(0, span), high, span)
    pair = equation(entry_of(expr, at, span), entry_of(target, at, span))
    return n.Reduction("all", n.Binders((ranges,), None, None, span), pair, span)


def addends_of(expr: n.Expr, negative: bool = False) -> Iterator[tuple[bool, n.Expr]]:
    """The addends of a sum, each with whether it is taken away."""
    match expr:
        case n.Arithmetic(sign="+" | "-" as sign, left=left, right=right):
            yield from addends_of(left, negative)
            yield from addends_of(right, negative != (sign == "-"))
        case _:
            yield negative, expr


def solved_for(target: n.Expr, others: Sequence[tuple[bool, n.Expr]], negative: bool) -> n.Expr:
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
