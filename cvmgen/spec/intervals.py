"""Interval arithmetic whose ends are expressions of the call.

In every call low <= high: no end speaks of what that call may not have, and each operation keeps
the order, also where the range of an index has no point and where a condition never holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

from cvmgen.source import Span
from cvmgen.spec import folding
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.host_bounds import HostBounds

# Of a power: beyond these ends it has more bits than any precision, unless its base is 0 or 1.
MOST_BASE = 1 << 62
MOST_EXPONENT = 128


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
        self.host = HostBounds(operator)
        self.optional = {item.name for item in operator.inputs if item.optional}
        self.optional |= {item.name for item in operator.attributes if item.optional}
        self.given: set[str] = set()  # of these the ones that are there, by the conditions around

    # -------------------------------------------------------- ends

    def number(self, value: int) -> n.Expr:
        return n.Number(value, self.span)

    def operate(self, sign: str, left: n.Expr, right: n.Expr) -> n.Expr:
        return folding.operate(sign, left, right, self.span)

    def negate(self, expr: n.Expr) -> n.Expr:
        return folding.negate(expr, self.span)

    def function(self, name: str, *arguments: n.Expr) -> n.Expr:
        return folding.function(name, arguments, self.span)

    def when(self, condition: n.Expr, yes: n.Expr, no: n.Expr) -> n.Expr:
        return yes if yes == no else n.Conditional(yes, condition, no, self.span)

    def largest(self, precision: n.Expr) -> n.Expr:
        """2^(p - 1) - 1."""
        one = self.number(1)
        power = n.Arithmetic("^", self.number(2), self.operate("-", precision, one), self.span)
        return self.operate("-", power, one)

    def magnitude(self, interval: Interval) -> n.Expr:
        if interval.symmetric or self.not_negative(interval.low):
            return interval.high
        return self.function("max", self.negate(interval.low), interval.high)

    def not_negative(self, expr: n.Expr) -> bool:
        return self.host.number(expr).low >= 0

    def positive(self, expr: n.Expr) -> bool:
        return self.host.number(expr).low >= 1

    def never_0(self, expr: n.Expr) -> bool:
        return not self.host.number(expr).holds(0)

    def no_less(self, value: n.Expr, least: n.Expr) -> n.Expr:
        """The greater one, as the first where that is plain."""
        ends, other = self.host.number(value), self.host.number(least)
        if ends.low >= other.high or self.not_negative(self.operate("-", value, least)):
            return value
        return least if other.low >= ends.high else self.function("max", value, least)

    def no_more(self, value: n.Expr, most: n.Expr) -> n.Expr:
        """The lesser one."""
        ends, other = self.host.number(value), self.host.number(most)
        if ends.high <= other.low:
            return value
        return most if other.high <= ends.low else self.function("min", value, most)

    # -------------------------------------------------------- values that each call has

    def total(self, expr: n.Expr) -> n.Expr:
        """The expression with a value in every call, the same wherever it has one anyway.

        A precision is computed once a call; what it is made of need not be, as the branch of a
        condition on elements.
        """
        return n.rebuild(expr, self.totalled)

    def totalled(self, node: Any) -> Any:
        match node:
            case n.Arithmetic(sign="+" | "-" as sign, left=n.Number(), right=n.Number()):
                return self.operate(sign, node.left, node.right)
            case n.Arithmetic(sign="div" | "tdiv" | "mod", right=right) if not self.never_0(right):
                return n.Arithmetic(node.sign, node.left, self.not_0(right), node.span)
            case n.Arithmetic(sign="^", left=left, right=right) if not self.not_negative(right):
                exponent = self.no_less(right, self.number(0))
                return n.Arithmetic("^", left, exponent, node.span)
            case n.Function(name="floor_log2" | "ceil_log2" as name, arguments=(argument,)):
                return self.function(name, self.no_less(argument, self.number(1)))
            case n.Function(name="isqrt", arguments=(argument,)):
                return self.function("isqrt", self.no_less(argument, self.number(0)))
            case n.Function(name="ceildiv" as name, arguments=(left, right)) if not self.never_0(
                right
            ):
                return n.Function(name, (left, self.not_0(right)), node.span)
            case n.Precision(tensor=name) if self.absent(name):
                return self.when(n.Present(name, self.span), node, self.number(1))
            case n.Ref(name=name, role="attribute") if self.absent(name):
                return self.when(n.Present(name, self.span), node, self.number(0))
            case _:
                return node

    def absent(self, name: str) -> bool:
        """Whether a call may leave out this input or attribute."""
        return name in self.optional and name not in self.given

    def not_0(self, divisor: n.Expr) -> n.Expr:
        if self.never_0(divisor):
            return divisor
        test = n.Compare(("!=",), (divisor, self.number(0)), self.span)
        return self.when(test, divisor, self.number(1))

    # -------------------------------------------------------- intervals

    def exactly(self, expr: n.Expr) -> Interval:
        value = self.total(expr)
        return Interval(value, value)

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
        return self.no_less(self.operate("-", last.high, first.low), self.number(0))

    def within(self, found: Interval, low: n.Expr | None, high: n.Expr | None) -> Interval:
        """The part of an interval between these ends; some value where there is none."""
        if low is None and high is None:
            return found
        if low is not None and low == high:
            return Interval(low, low)
        least = found.low if low is None else self.no_less(found.low, low)
        most = found.high if high is None else self.no_more(found.high, high)
        return Interval(least, self.no_less(most, least))

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
        if self.not_negative(left.low) and self.not_negative(right.low):
            return Interval(
                self.operate("*", left.low, right.low), self.operate("*", left.high, right.high)
            )
        for one, other in ((left, right), (right, left)):
            if one.low == one.high and self.not_negative(one.low):
                low, high = (self.operate("*", end, one.low) for end in (other.low, other.high))
                return Interval(low, high)
        return self.corners("*", left, right)

    def quotient(self, sign: str, left: Interval, right: Interval) -> Interval:
        """A divisor is never 0 where there is a quotient; its sign may be open."""
        if right.low == right.high:
            divisor = self.exactly(self.not_0(right.low))
            if not self.positive(divisor.low):
                return self.corners(sign, left, divisor)
            # Quotients grow with what is divided.
            low, high = (self.operate(sign, end, divisor.low) for end in (left.low, left.high))
            return Interval(low, high, symmetric=left.symmetric and sign == "tdiv")
        if self.positive(right.low) and right.low != self.number(1):
            return self.corners(sign, left, right)
        if self.positive(right.low) and self.not_negative(left.low):
            return Interval(self.number(0), left.high)
        return self.symmetric(self.magnitude(left))

    def remainder(self, right: Interval) -> Interval:
        """A floor remainder has the sign of its divisor and a lesser magnitude."""
        zero, one = self.number(0), self.number(1)
        low = self.no_more(self.operate("+", right.low, one), zero)
        return Interval(low, self.no_less(self.operate("-", right.high, one), zero))

    def power(self, base: Interval, exponent: Interval) -> Interval:
        """Exponents below 0 give no integer; anything to the power of 0 is 1."""
        zero, one = self.number(0), self.number(1)
        least, most = (
            self.no_more(self.no_less(end, zero), self.number(MOST_EXPONENT))
            for end in (exponent.low, exponent.high)
        )
        if self.positive(base.low):
            return Interval(self.raised(base.low, least), self.raised(base.high, most))
        size = self.raised(self.no_less(self.magnitude(base), one), most)
        even = least == most and isinstance(most, n.Number) and most.value % 2 == 0
        if even or self.not_negative(base.low):
            return Interval(zero, size)
        return self.symmetric(size)

    def inverted(self, value: Interval) -> Interval:
        """Of -1 - x, which has all other bits."""
        one = self.number(1)
        if value.symmetric:
            return self.symmetric(self.operate("+", value.high, one))
        low, high = (self.negate(self.operate("+", end, one)) for end in (value.high, value.low))
        return Interval(low, high)

    def bits(self, function: str, left: Interval, right: Interval) -> Interval:
        """No more bits than the longer one has, and of a mask no more than it lets through."""
        natural = [each for each in (left, right) if self.not_negative(each.low)]
        if function == "bitand" and natural:
            return Interval(self.number(0), reduce(self.no_more, (each.high for each in natural)))
        most = reduce(self.no_less, map(self.magnitude, (left, right)))
        bits = self.function("ceil_log2", self.operate("+", most, self.number(1)))
        beyond = self.operate("^", self.number(2), bits)
        highest = self.operate("-", beyond, self.number(1))
        if len(natural) == 2:
            return Interval(self.number(0), highest)
        # Of bits that are added to negative numbers none are below those.
        return self.symmetric(highest if function == "bitor" else beyond)

    def raised(self, base: n.Expr, exponent: n.Expr) -> n.Expr:
        if exponent == self.number(1):
            return base
        return self.operate("^", self.no_more(base, self.number(MOST_BASE)), exponent)

    def corners(self, sign: str, left: Interval, right: Interval) -> Interval:
        values = [
            self.operate(sign, a, b)
            for a in dict.fromkeys((left.low, left.high))
            for b in dict.fromkeys((right.low, right.high))
        ]
        return Interval(self.function("min", *values), self.function("max", *values))
