"""What is plain about a value of the call, whatever the call is: ends that it never leaves.

Known from the declarations: extents, precisions, attributes with a range of numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Any

from cvmgen.dtypes import MAX_INPUTS, MAX_PRECISION
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n


@dataclass(frozen=True, slots=True)
class Ends:
    """low <= value <= high; without an end, inf."""

    low: float = -inf
    high: float = inf

    def join(self, other: Ends) -> Ends:
        return Ends(min(self.low, other.low), max(self.high, other.high))


OPEN = Ends()
# Powers of these are worth knowing.
MOST_BASE = 1 << 8
MOST_EXPONENT = 64
COUNT = Ends(0)


class Plain:
    """The ends of expressions that read no element."""

    def __init__(self, operator: f.Operator) -> None:
        self.names: dict[str, Ends] = {}
        self.lets: dict[str, list[n.Expr]] = {}
        for item in operator.inputs:
            for extent in item.extents:
                if extent.new:
                    self.names[extent.new] = Ends(0 if item.empty else 1)
            if item.count:
                self.names[item.count] = Ends(1, MAX_INPUTS)
        for attribute in operator.attributes:
            self.attribute(attribute)
        for let in f.all_items(operator.items):
            if isinstance(let, f.Let):
                self.lets.setdefault(let.name, []).append(let.value)

    def attribute(self, attribute: f.Attribute) -> None:
        low, high = (
            end.value if isinstance(end, n.Number) else None
            for end in (attribute.low, attribute.high)
        )
        found = Ends(-inf if low is None else low, inf if high is None else high - 1)
        if attribute.words:
            found = found.join(Ends(0, 0))  # beside a word
        for name in (attribute.name, *attribute.components):
            self.names[name] = found

    def never_0(self, expr: n.Expr) -> bool:
        found = self.ends(expr)
        return found.low >= 1 or found.high <= -1

    def ends(self, expr: n.Expr) -> Ends:
        match expr:
            case n.Number(value=value):
                return Ends(value, value)
            case n.Ref(name=name, role="let"):
                return self.let(name)
            case (
                n.Ref(name=name, role="extent" | "count" | "attribute")
                | n.Item(sequence=n.Ref(name=name, role="extent" | "attribute"))
            ):
                return self.names.get(name, OPEN)
            case n.Precision():
                return Ends(1, MAX_PRECISION)
            case n.Negate(operand=operand):
                found = self.ends(operand)
                return Ends(-found.high, -found.low)
            case n.Arithmetic(sign=sign, left=left, right=right):
                return self.arithmetic(sign, self.ends(left), self.ends(right))
            case n.Conditional(then=then, otherwise=otherwise):
                return self.ends(then).join(self.ends(otherwise))
            case n.Function(name=name, arguments=arguments):
                return self.function(name, arguments)
            case n.Reduction(function=function, body=body):
                return self.reduction(function, body)
            case _:
                return OPEN

    def let(self, name: str) -> Ends:
        """Of a let; cases may have one each of the same name."""
        values = self.lets.get(name, [])
        if name not in self.names:
            self.names[name] = OPEN  # while it is looked for
            found = [self.ends(value) for value in values]
            self.names[name] = joined(found) if found else OPEN
        return self.names[name]

    def arithmetic(self, sign: str, left: Ends, right: Ends) -> Ends:
        natural = left.low >= 0 and right.low >= 0
        match sign:
            case "+":
                return Ends(left.low + right.low, left.high + right.high)
            case "-":
                return Ends(left.low - right.high, left.high - right.low)
            case "*" if natural:
                return Ends(times(left.low, right.low), times(left.high, right.high))
            case "div" | "tdiv" if natural:
                return Ends(0, left.high)
            case "mod" if right.low >= 1:
                return Ends(0, right.high - 1)
            case "^" if natural:
                return Ends(min(left.low, 1), power(left.high, right.high))
            case _:
                return OPEN

    def function(self, name: str, arguments: tuple[n.Expr, ...]) -> Ends:
        match name:
            case "max" | "min":
                found = [self.ends(each) for each in arguments]
                choose: Any = max if name == "max" else min
                return Ends(choose(each.low for each in found), choose(each.high for each in found))
            case "size":
                return replace(self.entries(arguments[0]), high=inf)
            case "len" | "count" | "abs" | "floor_log2" | "ceil_log2":
                return COUNT
            case "ceildiv":
                return self.arithmetic("div", *map(self.ends, arguments))
            case _:
                return OPEN

    def entries(self, extents: n.Expr) -> Ends:
        """Of the product of a list: as the entries, where these are not negative."""
        match extents:
            case n.Ref(name=name, role="extent"):
                return self.names.get(name, OPEN)
            case n.Listing(element=element) if self.ends(element).low >= 0:
                return Ends(min(self.ends(element).low, 1))
            case n.Part(sequence=sequence):
                return self.entries(sequence)
            case _:
                return OPEN

    def reduction(self, function: str, body: n.Expr) -> Ends:
        found = self.ends(body)
        match function:
            case "count":
                return COUNT
            case "max" | "min":
                return found
            case "sum" if found.low >= 0:
                return COUNT
            case "prod" if found.low >= 0:
                return Ends(min(found.low, 1))
            case _:
                return OPEN


def joined(found: list[Ends]) -> Ends:
    result = found[0]
    for each in found[1:]:
        result = result.join(each)
    return result


def power(base: float, exponent: float) -> float:
    return base**exponent if base <= MOST_BASE and exponent <= MOST_EXPONENT else inf


def times(left: float, right: float) -> float:
    return 0 if 0 in (left, right) else left * right
