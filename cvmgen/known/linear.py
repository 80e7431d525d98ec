"""Indices as sums of loop indices with known factors, over loops of known extents.

Quotients and remainders by constants are worked out where ranges allow it; the others stay as
terms of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cvmgen import ranges as intervals
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import at_least_zero
from cvmgen.ir.visit import rebuild
from cvmgen.known.partial import arithmetic
from cvmgen.ranges import Range

Ranges = Mapping[str, Range]


@dataclass(frozen=True, slots=True)
class Linear:
    """constant + the sum of factor * term."""

    constant: int
    factors: Mapping[i.Expr, int] = field(default_factory=dict)

    def scaled(self, factor: int) -> Linear:
        if factor == 0:
            return Linear(0)
        return Linear(self.constant * factor, {t: n * factor for t, n in self.factors.items()})

    def plus(self, other: Linear) -> Linear:
        factors = dict(self.factors)
        for term, factor in other.factors.items():
            factors[term] = factors.get(term, 0) + factor
        return with_joined_division(Linear(self.constant + other.constant, nonzero(factors)))

    def expr(self) -> i.Expr:
        """As an expression, the largest factors first and the constant last, signs permitting."""
        terms = sorted(self.factors.items(), key=lambda each: -abs(each[1]))
        first = self.constant if all(factor < 0 for factor in self.factors.values()) else 0
        found: i.Expr = i.Const(first)
        for term, factor in sorted(terms, key=lambda each: each[1] < 0):
            part = arithmetic("*", i.Const(abs(factor)), term)
            found = arithmetic("+" if factor > 0 else "-", found, part)
        if self.constant - first < 0:
            return arithmetic("-", found, i.Const(first - self.constant))
        return arithmetic("+", found, i.Const(self.constant - first))


def nonzero(factors: Mapping[i.Expr, int]) -> dict[i.Expr, int]:
    return {term: factor for term, factor in factors.items() if factor}


def with_joined_division(value: Linear) -> Linear:
    """c * (x div c) + x mod c is x."""
    for term, factor in value.factors.items():
        match term:
            case i.Binary(op="mod", left=whole, right=i.Const(value=divisor) as by):
                quotient = i.Binary("floordiv", whole, by)
                if value.factors.get(quotient) == factor * divisor:
                    gone = (term, quotient)
                    rest = {t: n for t, n in value.factors.items() if t not in gone}
                    inner = as_linear(whole, {})
                    return Linear(value.constant, rest).plus(inner.scaled(factor))
            case _:
                pass
    return value


def as_linear(expr: i.Expr, ranges: Ranges) -> Linear:
    """An index expression taken apart."""
    match expr:
        case i.Const(value=value):
            return Linear(int(value))
        case i.Binary(op="+", left=left, right=right):
            return as_linear(left, ranges).plus(as_linear(right, ranges))
        case i.Binary(op="-", left=left, right=right):
            return as_linear(left, ranges).plus(as_linear(right, ranges).scaled(-1))
        case i.Binary(op="*", left=left, right=right):
            first, second = as_linear(left, ranges), as_linear(right, ranges)
            if not first.factors:
                return second.scaled(first.constant)
            if not second.factors:
                return first.scaled(second.constant)
            return Linear(0, {i.Binary("*", first.expr(), second.expr()): 1})
        case i.Binary(op="floordiv", left=left, right=i.Const(value=by)) if by > 0:
            return linear_quotient(as_linear(left, ranges), int(by), ranges)
        case i.Binary(op="mod", left=left, right=i.Const(value=by)) if by > 0:
            return linear_remainder(as_linear(left, ranges), int(by), ranges)
        case _:
            return Linear(0, {expr: 1})


def linear_quotient(value: Linear, by: int, ranges: Ranges) -> Linear:
    """value div by: what `by` divides comes out; what is left may be too small to count."""
    whole, rest = whole_and_rest(value, by)
    known = linear_range(rest, ranges)
    if known is not None and known.low >= 0 and known.high < by:
        return whole
    return whole.plus(Linear(0, {quotient_term(rest, by): 1}))


def quotient_term(value: Linear, by: int) -> i.Expr:
    """(x div a) div b is x div (a * b)."""
    match list(value.factors.items()), value.constant:
        case [(i.Binary(op="floordiv", left=left, right=i.Const(value=inner)), 1)], 0:
            return i.Binary("floordiv", left, i.Const(int(inner) * by))
        case _:
            return i.Binary("floordiv", value.expr(), i.Const(by))


def linear_remainder(value: Linear, by: int, ranges: Ranges) -> Linear:
    _, rest = whole_and_rest(value, by)
    known = linear_range(rest, ranges)
    if known is not None and known.low >= 0 and known.high < by:
        return rest
    return Linear(0, {i.Binary("mod", rest.expr(), i.Const(by)): 1})


def whole_and_rest(value: Linear, by: int) -> tuple[Linear, Linear]:
    """value as by * whole + rest, with all of rest's factors below `by`."""
    if by == 1:
        return value, Linear(0)
    whole = {t: n // by for t, n in value.factors.items()}
    rest = {t: n % by for t, n in value.factors.items()}
    return (
        Linear(value.constant // by, nonzero(whole)),
        Linear(value.constant % by, nonzero(rest)),
    )


def linear_range(value: Linear, ranges: Ranges) -> Range | None:
    """The range of a sum; None where a term has none that is known."""
    low = high = value.constant
    for term, factor in value.factors.items():
        known = term_bounds(term, ranges)
        if known is None:
            return None
        low += factor * (known.low if factor > 0 else known.high)
        high += factor * (known.high if factor > 0 else known.low)
    return Range(low, high)


def term_bounds(term: i.Expr, ranges: Ranges) -> Range | None:
    match term:
        case i.Var(name=name):
            return ranges.get(name)
        case i.Binary(op="mod", right=i.Const(value=by)):
            return Range(0, int(by) - 1)
        case i.Binary(op="floordiv", left=left, right=i.Const(value=by)):
            known = linear_range(as_linear(left, ranges), ranges)
            return None if known is None else Range(known.low // int(by), known.high // int(by))
        case i.Call(function="min" | "max" as function, arguments=arguments):
            found = [linear_range(as_linear(each, ranges), ranges) for each in arguments]
            return extreme_bounds(function, found)
        case _:
            return None


def extreme_bounds(function: str, found: Iterable[Range | None]) -> Range | None:
    """Of a cut to a range, of which one end may be that of something unknown."""
    unknown = 1 << 62
    known = intervals.extreme(function, [each or Range(-unknown, unknown) for each in found])
    return known if -unknown < known.low and known.high < unknown else None


def linear_at_least_zero(test: i.Expr) -> Linear | None:
    """The sum that is not negative just where a test of order holds; None for other tests."""
    found = at_least_zero(test)
    return None if found is None else as_linear(found, {})


def decided_comparison(test: i.Compare, ranges: Ranges) -> i.Expr:
    """A comparison of indices, decided where the ranges do; indices on the left only."""
    gap = as_linear(test.left, ranges).plus(as_linear(test.right, ranges).scaled(-1))
    known = linear_range(gap, ranges)
    if known is None:
        return test
    match test.op:
        case "<" | "<=":
            limit = -1 if test.op == "<" else 0
            if known.high <= limit or known.low > limit:
                return i.Const(known.high <= limit)
        case ">" | ">=":
            limit = 1 if test.op == ">" else 0
            if known.low >= limit or known.high < limit:
                return i.Const(known.low >= limit)
        case _:
            if known.low > 0 or known.high < 0:
                return i.Const(test.op == "!=")
    return test


def tidy(expr: i.Expr, ranges: Ranges) -> i.Expr:
    """An expression with each index in it as a plain sum."""

    def change(node: object) -> object:
        match node:
            case i.Access(tensor=tensor, which=which, index=index):
                plain = tuple((as_linear(each, ranges).expr(), False) for each, _ in index)
                return i.Access(tensor, which, plain)
            case i.Compare():
                return decided_comparison(node, ranges)
            case _:
                return node

    return rebuild(expr, change)
