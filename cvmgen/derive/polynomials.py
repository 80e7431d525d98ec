"""Expressions multiplied out, so that equal ones compare equal.

A polynomial has as its atoms what is neither a sum nor a product.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from cvmgen.derive.substitution import is_number
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
            return added(polynomial(left), polynomial(right))
        case n.Arithmetic(sign="-", left=left, right=right):
            return added(polynomial(left), scaled(polynomial(right), -1))
        case n.Arithmetic(sign="*", left=left, right=right):
            return multiplied(polynomial(left), polynomial(right))
        case _:
            return {(atom(expr),): 1}


def atom(expr: n.Expr) -> n.Expr:
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
            if part is None or is_number(part, 1):
                part = factor
            else:
                part = n.Arithmetic("*", part, factor, like.span)
        assert part is not None
        whole = part if whole is None else n.Arithmetic("+", whole, part, like.span)
    return n.Number(0, like.span) if whole is None else whole


def added(left: Polynomial, right: Polynomial) -> Polynomial:
    total = dict(left)
    for factors, coefficient in right.items():
        total[factors] = total.get(factors, 0) + coefficient
    return {factors: coefficient for factors, coefficient in total.items() if coefficient}


def scaled(terms: Polynomial, by: int) -> Polynomial:
    return {factors: coefficient * by for factors, coefficient in terms.items() if by}


def multiplied(left: Polynomial, right: Polynomial) -> Polynomial:
    total: Polynomial = {}
    for first, one in left.items():
        for second, other in right.items():
            factors = tuple(sorted((*first, *second), key=repr))
            total = added(total, {factors: one * other})
    return total


def quotient(terms: Polynomial, divisor: n.Expr) -> Polynomial | None:
    """`terms` over an atom that is in every monomial."""
    result: Polynomial = {}
    for factors, coefficient in terms.items():
        if divisor not in factors:
            return None
        rest = list(factors)
        rest.remove(divisor)
        result[tuple(rest)] = coefficient
    return result


def divided(terms: Polynomial, by: n.Expr) -> Polynomial | None:
    """`terms` over a product that is in every monomial."""
    match list(polynomial(by).items()):
        case [(factors, coefficient)]:
            pass
        case _:
            return None
    rest: Polynomial | None = terms
    for factor in factors:
        rest = None if rest is None else quotient(rest, factor)
    if rest is None or any(each % coefficient for each in rest.values()):
        return None
    return {monomial: each // coefficient for monomial, each in rest.items()}
