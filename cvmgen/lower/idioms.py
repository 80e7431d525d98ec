"""Choices and quotients of integers as operations that libraries of arrays have.

A choice by a comparison of its own branches is a maximum, a minimum or a magnitude, a quotient by a
power of two a shift. Integers only: -0 and NaN make other choices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cvmgen.ir import nodes as i
from cvmgen.ir.logic import conjuncts
from cvmgen.ir.uses import assigned, has, names_in, nodes_in
from cvmgen.ir.visit import fresh, rebuild, substitute, walk
from cvmgen.lower.widths import Widths
from cvmgen.ranges import Range

# A choice of the left side by this comparison is this function of both sides.
EXTREMES = {">=": "max", ">": "max", "<=": "min", "<": "min"}
OPPOSITE = {"max": "min", "min": "max"}


def with_idioms(program: i.Program, nest: i.Nest, host: Mapping[str, Range | None]) -> i.Nest:
    """The nest with the same values in fewer operations, and none that needs more bits.

    `host` are the ranges of what the host code computes.
    """
    if program.operator.has_reals:
        return nest
    idioms = Idioms(program, nest, Widths(program, nest, host))
    return replace(nest, body=rebuild(nest.body, idioms.change))


class Idioms:
    """Rewrites the expressions of one nest, operands before what is made of them."""

    def __init__(self, program: i.Program, nest: i.Nest, widths: Widths) -> None:
        self.widths = widths
        self.inner = assigned(nest.body) | {each.name for each in nodes_in(nest.body, i.Bind)}
        self.elements: set[str] = set()  # names of values that elements are part of
        for each in walk(nest.body):
            if isinstance(each, (i.Bind, i.Let)) and self.reads(each.value):
                self.elements.add(each.name)
        self.taken = {*self.inner} | names_in(nest.body) | names_in(program.prepare)
        self.ordered = {
            pair
            for statement in program.prepare
            if isinstance(statement, i.Require)
            for pair in orders(statement.condition)
        }

    def change(self, node: i.Expr) -> i.Expr:
        match node:
            case i.Select(condition=i.Compare() as test, then=then, otherwise=otherwise):
                return self.choice(test, then, otherwise) or node
            case i.Call(function="max" | "min" as function, arguments=(one, other)):
                return self.clip(function, one, other) or self.clip(function, other, one) or node
            case i.Binary(op="floordiv", left=left, right=right) if self.reads(left):
                exponent = self.exponent(right)
                return node if exponent is None else self.halved(left, exponent)
            case i.Binary(
                op="*", left=left, right=i.Binary(op="shl", left=i.Const(value=1)) as by
            ) if self.reads(left):
                exponent = self.exponent(by)
                return node if exponent is None else i.Binary("shl", left, exponent)
            case i.Call(function="ceil_log2", arguments=(i.Binary("+", value, i.Const(value=1)),)):
                match value:
                    case i.Call(function="abs", arguments=(signed,)):
                        return i.Call("bit_length", (signed,))
                    case _:
                        return i.Call("bit_length", (value,))
            case i.Bind(name=name, value=value, body=body) if read_once(body, name):
                return substitute(body, {name: value})
            case _:
                return node

    def reads(self, expr: i.Expr) -> bool:
        """Whether elements are part of a value, which is no place then."""
        return has(expr, i.Access, i.Entries) or bool(names_in(expr) & self.elements)

    def of_host(self, expr: i.Expr) -> bool:
        """Whether a value is the same for all iterations."""
        return not self.reads(expr) and not names_in(expr) & self.inner

    # -------------------------------------------------------- quotients

    def exponent(self, divisor: i.Expr) -> i.Expr | None:
        """e where a divisor is 2^e, the same for all elements."""
        match divisor:
            case i.Const(value=value) if value > 0 and value & (value - 1) == 0:
                return i.Const(value.bit_length() - 1)
            case i.Binary(op="shl", left=i.Const(value=1), right=exponent):
                return exponent if self.of_host(exponent) else None
            case _:
                return None

    def halved(self, value: i.Expr, exponent: i.Expr) -> i.Expr:
        """A quotient by 2^e; half of a successor without the successor, which may not fit."""
        match value:
            case i.Binary(op="+", left=before, right=i.Const(value=1)) if exponent == i.ONE:
                name = fresh("value", self.taken)
                half = i.Binary("shr", i.Var(name), i.ONE)
                return i.Bind(name, before, i.Binary("-", i.Var(name), half))
            case _:
                return i.Binary("shr", value, exponent)

    # -------------------------------------------------------- choices

    def choice(self, test: i.Compare, then: i.Expr, otherwise: i.Expr) -> i.Expr | None:
        if test.op in ("==", "!="):
            rest, zero = (then, otherwise) if test.op == "!=" else (otherwise, then)
            return bit_length_idiom(test, rest, zero)
        function = EXTREMES[test.op]
        left, right = test.left, test.right
        if (then, otherwise) == (right, left):
            function, then, otherwise = OPPOSITE[function], left, right
        if (then, otherwise) == (left, right):
            return i.Call(function, (left, right))
        if right == i.ZERO and (then, otherwise) == by_sign(function, left):
            return i.Call("abs", (left,))
        return self.cut(OPPOSITE[function], left, right, then, otherwise)

    def cut(
        self, function: str, value: i.Expr, end: i.Expr, then: i.Expr, otherwise: i.Expr
    ) -> i.Expr | None:
        """A value cut at one end, or else at the other one."""
        match otherwise:
            case i.Call(function=inner, arguments=(first, _)) if first == value and then == end:
                # Not cut at this end, it is not cut beyond it where the ends are in order.
                return self.clip(function, end, otherwise) if inner == OPPOSITE[function] else None
            case _:
                return None

    def clip(self, function: str, end: i.Expr, inner: i.Expr) -> i.Expr | None:
        """Elements cut at two ends of the host's: the lower end first, if they are in order."""
        match inner:
            case i.Call(function=other, arguments=(left, right)) if other == OPPOSITE[function]:
                value, opposite = (right, left) if self.of_host(left) else (left, right)
            case _:
                return None
        if not self.reads(value) or not self.of_host(end) or not self.of_host(opposite):
            return None
        low, high = (opposite, end) if function == "min" else (end, opposite)
        return i.Call("clip", (value, low, high)) if self.in_order(low, high) else None

    def in_order(self, low: i.Expr, high: i.Expr) -> bool:
        least, greatest = self.widths.range(high), self.widths.range(low)
        apart = least is not None and greatest is not None and greatest.high <= least.low
        return apart or (low, high) in self.ordered


def orders(condition: i.Expr) -> list[tuple[i.Expr, i.Expr]]:
    """Pairs of which the first is not above the second, where a condition holds."""
    found = []
    for each in conjuncts(condition):
        match each:
            case i.Compare(op="<" | "<=", left=left, right=right):
                found.append((left, right))
            case i.Compare(op=">" | ">=", left=left, right=right):
                found.append((right, left))
            case _:
                pass
    return found


def by_sign(function: str, value: i.Expr) -> tuple[i.Expr, i.Expr]:
    """A value and its opposite, the greater one chosen by whether the value is positive."""
    negated = i.Binary("-", i.ZERO, value)
    return (value, negated) if function == "max" else (negated, value)


def bit_length_idiom(test: i.Compare, rest: i.Expr, zero: i.Expr) -> i.Expr | None:
    """How many bits a value takes, where that of 0 is said to be 0 or 1: all others take one."""
    bits = i.Call("bit_length", (test.left,))
    if zero in (i.ZERO, i.ONE) and rest == bits and test.right == i.ZERO:
        return rest if zero == i.ZERO else i.Call("max", (rest, zero))
    return None


def read_once(body: i.Expr, name: str) -> bool:
    """Whether an expression reads a name once, and not in a loop of its own."""
    return not has(body, i.Fold, i.Gather) and sum(each == i.Var(name) for each in walk(body)) == 1
