"""Interval arithmetic whose ends are expressions of the call."""

from __future__ import annotations

from dataclasses import dataclass

from cvmgen.source import Span
from cvmgen.spec import folding
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n


@dataclass(frozen=True, slots=True)
class Interval:
    """low <= value <= high; a symmetric one has low == -high by construction."""

    low: n.Expr
    high: n.Expr
    symmetric: bool = False


class IntervalArithmetic:
    """Operations on intervals, simplified by what the operator says of its extents."""

    def __init__(self, operator: f.Operator, span: Span) -> None:
        self.span = span
        self.down_to_0 = names_down_to_0(operator)
        self.counts = not_negative_names(operator)

    # -------------------------------------------------------- ends

    def number(self, value: int) -> n.Expr:
        return n.Number(value, self.span)

    def operate(self, sign: str, left: n.Expr, right: n.Expr) -> n.Expr:
        return folding.operate(sign, left, right, self.span)

    def negate(self, expr: n.Expr) -> n.Expr:
        return folding.negate(expr, self.span)

    def function(self, name: str, *arguments: n.Expr) -> n.Expr:
        return folding.function(name, arguments, self.span)

    def largest(self, precision: n.Expr) -> n.Expr:
        """2^(p - 1) - 1."""
        one = self.number(1)
        power = n.Arithmetic("^", self.number(2), self.operate("-", precision, one), self.span)
        return self.operate("-", power, one)

    def magnitude(self, interval: Interval) -> n.Expr:
        if interval.symmetric:
            return interval.high
        if self.not_negative(interval.low):
            return interval.high
        return self.function("max", self.negate(interval.low), interval.high)

    def not_negative(self, expr: n.Expr) -> bool:
        """Whether a value is plainly at least 0."""
        match expr:
            case n.Number(value=value):
                return value >= 0
            case n.Ref(name=name):
                return name in self.counts
            case n.Arithmetic(sign="+" | "*", left=left, right=right):
                return self.not_negative(left) and self.not_negative(right)
            case _:
                return False

    def may_be_0(self, expr: n.Expr) -> bool:
        """Whether an expression speaks of extents that may be 0."""
        names = {each.name for each in n.walk(expr) if isinstance(each, n.Ref)}
        return not names.isdisjoint(self.down_to_0)

    def no_less(self, most: n.Expr, least: n.Expr) -> n.Expr:
        """The most that an index can be; of one that may have no value at all, the least."""
        return self.function("max", most, least) if self.may_be_0(most) else most

    # -------------------------------------------------------- intervals

    def exactly(self, expr: n.Expr) -> Interval:
        return Interval(expr, expr)

    def symmetric(self, magnitude: n.Expr) -> Interval:
        return Interval(self.negate(magnitude), magnitude, symmetric=True)

    def join(self, one: Interval, other: Interval) -> Interval:
        if one == other:
            return one
        if one.symmetric and other.symmetric:
            return self.symmetric(self.function("max", one.high, other.high))
        zero = self.exactly(self.number(0))
        if zero in (one, other):
            wide = other if one == zero else one
            if wide.symmetric:
                return wide
        low = self.function("min", one.low, other.low)
        return Interval(low, self.function("max", one.high, other.high))

    def precision(self, interval: Interval) -> n.Expr:
        one_more = self.operate("+", self.magnitude(interval), self.number(1))
        return self.operate("+", self.function("ceil_log2", one_more), self.number(1))

    def points(self, first: Interval, last: Interval) -> n.Expr:
        """The most values from `first` to just before `last`, which may be none."""
        most = self.operate("-", last.high, first.low)
        return most if first.low == self.number(0) else self.function("max", most, self.number(0))

    # -------------------------------------------------------- arithmetic

    def sum(self, sign: str, left: Interval, right: Interval) -> Interval:
        if left.symmetric and right.symmetric:
            return self.symmetric(self.operate("+", left.high, right.high))
        if sign == "+":
            return Interval(
                self.operate("+", left.low, right.low), self.operate("+", left.high, right.high)
            )
        return Interval(
            self.operate("-", left.low, right.high), self.operate("-", left.high, right.low)
        )

    def product(self, left: Interval, right: Interval) -> Interval:
        if left.symmetric or right.symmetric:
            parts = (self.magnitude(left), self.magnitude(right))
            return self.symmetric(self.operate("*", *parts))
        return self.corners("*", left, right)

    def quotient(self, sign: str, left: Interval, right: Interval) -> Interval:
        """A divisor is never 0 where there is a quotient; its sign may be open."""
        if right.low != right.high or self.may_be_0(right.low):
            return self.symmetric(self.magnitude(left))
        match right.low:
            case n.Number(value=value) if value > 0:  # quotients grow with what is divided
                low, high = (self.operate(sign, end, right.low) for end in (left.low, left.high))
                return Interval(low, high, symmetric=left.symmetric and sign == "tdiv")
            case _:
                return self.corners(sign, left, right)

    def corners(self, sign: str, left: Interval, right: Interval) -> Interval:
        values = [
            self.operate(sign, a, b)
            for a in dict.fromkeys((left.low, left.high))
            for b in dict.fromkeys((right.low, right.high))
        ]
        return Interval(self.function("min", *values), self.function("max", *values))


def names_down_to_0(operator: f.Operator) -> set[str]:
    """The extents that may be 0, and the names of what is made of them."""
    found = set(operator.extents_down_to_0)
    for item in f.all_items(operator.items):
        if isinstance(item, f.Let):
            used = {each.name for each in n.walk(item.value) if isinstance(each, n.Ref)}
            found |= {item.name} if used & found else set()
    return found


def not_negative_names(operator: f.Operator) -> set[str]:
    """Extents, and numbers of attributes whose range begins at 0 or above."""
    found = {each.new for item in operator.inputs for each in item.extents if each.new}
    for attribute in operator.attributes:
        low = attribute.low
        if isinstance(low, n.Number) and low.value >= 0 and not attribute.optional:
            found |= {*attribute.components, attribute.name}
    return found
