"""Real arithmetic of 32 bits, where that gives the bits of rounding what 64 bits give.

Of two numbers of float32 a sum, a difference, a product or a quotient that is rounded to 64 bits
and then to 32 is the one that is rounded to 32 at once, and so is a square root: 53 digits are at
least 2 * 24 + 2, so no result of 64 bits lies between two of 32 that the exact one does not lie
between (Figueroa, "When is double rounding innocuous?", SIGNUM Newsletter 30(3), 1995). What is
less than the least normal number of 32 bits keeps to it: sums and differences are exact there, and
products, quotients and roots of such operands are normal numbers of 64 bits (Roux, "Innocuous
double rounding of basic arithmetic operations", Journal of Formalized Reasoning 7(1), 2014).
Beyond the greatest finite number both give infinity, from the same half of a step on. Whether a
result is NaN does not depend on width, and a store gives NaN its one form.

Signs, choices, the greater and the lesser of two numbers, and rounding to integers give numbers of
float32 of such numbers, as rounding goes up where its argument does. Vectors hold twice as many.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cvmgen.ir import nodes as i
from cvmgen.ir.uses import nodes_in
from cvmgen.ir.visit import rebuild, replaced, walk
from cvmgen.reals import is_float32
from cvmgen.typing.agreement import BITS, Agreement

ROUNDED = ("+", "-", "*", "over")  # once, however wide
MONOTONE = ("min_f64", "max_f64", "abs_f64", "negate_f64")
TO_INTEGERS = ("floor_f64", "ceil_f64", "trunc_f64", "roundeven_f64")
SHORT, LONG = 24, 53  # digits of a number of 32 bits, and of 64


def short_reals(body: i.Block, elements: Mapping[str, str]) -> i.Block:
    """A typed body with operations of 32 bits for those whose results are rounded to them, and with
    locals of 32 bits for those that hold no other numbers. `elements` are the machine types of
    those of tensors."""
    while True:
        kinds = {each.name: each.type for each in nodes_in(body, i.Let)}
        reals = ShortReals(elements, kinds)
        body = rebuild(body, reals.shortened)
        names = short_locals(body, reals)
        if not names:
            return body
        body = with_short_locals(body, names, reals)


class ShortReals:
    """Rewrites expressions; `kinds` are the machine types of locals."""

    def __init__(self, elements: Mapping[str, str], kinds: Mapping[str, str]) -> None:
        self.types = Agreement(elements, kinds)

    def shortened(self, node: Any) -> Any:
        """A node whose operands are done."""
        match node:
            case i.Call(function="stored_f32", arguments=(i.Convert(operand=operand),)) if (
                self.types.type_of(operand) != "f32"
            ):
                return node  # one conversion alone, for integers of all types
            case i.Call(function="stored_f32", arguments=(value,)) if varies(value):
                short = self.rounded(value)
                return node if short is None else i.Call("canonical_f32", (short,))
            case i.Convert(type="f32", operand=value) if varies(value):
                return self.rounded(value) or node
            case i.Compare(left=left, right=right) if varies(left) or varies(right):
                first, second = self.exact(left), self.exact(right)
                if first is None or second is None:
                    return node
                return replace(node, left=first, right=second)
            case _:
                return node

    def exact(self, value: i.Expr) -> i.Expr | None:
        """A value of 64 bits by one of 32, where these hold it."""
        match value:
            case i.Convert(type="f64", operand=operand):
                if self.types.type_of(operand) == "f32":
                    return operand
                return i.Convert("f32", operand) if self.digits(operand) <= SHORT else None
            case i.Real(text=text) if is_float32(float(text)) or text == "nan":
                return i.Convert("f32", value)
            case i.Call(function=function, arguments=(argument,)) if function in TO_INTEGERS:
                short = self.exact(argument)
                return None if short is None else call_of_32(function, (short,))
            case _:
                return self.below(value, self.exact)

    def rounded(self, value: i.Expr) -> i.Expr | None:
        """A value of 64 bits rounded to 32, by operations on these."""
        match value:
            case i.Binary(op=op, left=left, right=right) if op in ROUNDED:
                first, second = self.exact(left), self.exact(right)
                if first is None or second is None:
                    return None
                return i.Binary(op, first, second)
            case i.Call(function="sqrt_f64" as function, arguments=(argument,)):
                short = self.exact(argument)
                return None if short is None else call_of_32(function, (short,))
            case i.Convert(type="f64", operand=operand) if self.digits(operand) <= LONG:
                return i.Convert("f32", operand)  # which 64 bits hold
            case _:
                return self.exact(value) or self.below(value, self.rounded)

    def below(self, value: i.Expr, change: Any) -> i.Expr | None:
        """What chooses among numbers, of numbers that are changed."""
        match value:
            case i.Select(condition=condition, then=then, otherwise=otherwise):
                first, second = change(then), change(otherwise)
                if first is None or second is None:
                    return None
                return i.Select(condition, first, second)
            case i.Call(function=function, arguments=arguments) if function in MONOTONE:
                short = [change(each) for each in arguments]
                if any(each is None for each in short):
                    return None
                return call_of_32(function, tuple(short))
            case _:
                return None

    def digits(self, value: i.Expr) -> int:
        """How many digits an integer has at most."""
        kind = self.types.type_of(value)
        match value:
            case i.Const(value=number):
                return number.bit_length()
            case i.Binary(op="+" | "-", left=left, right=right) if kind[0] == "i":
                return min(max(self.digits(left), self.digits(right)) + 1, BITS[kind])
            case i.Binary(op="*", left=left, right=right) if kind[0] == "i":
                return min(self.digits(left) + self.digits(right), BITS[kind])
            case i.Convert(type=wide, operand=operand) if wide[0] == "i":
                return min(self.digits(operand), BITS[wide])
            case _:
                return BITS.get(kind, LONG + 1)


def varies(value: i.Expr) -> bool:
    """Whether a value is more than a number that is written out."""
    return any(isinstance(each, (i.Var, i.Load, i.Item)) for each in walk(value))


def call_of_32(function: str, arguments: tuple[i.Expr, ...]) -> i.Call:
    return i.Call(function.replace("f64", "f32"), arguments)


def short_locals(body: i.Block, reals: ShortReals) -> set[str]:
    """The locals of 64 bits that are given nothing but numbers of 32."""
    given: dict[str, list[i.Expr | None]] = {}
    lets: dict[str, int] = {}
    for each in walk(body):
        match each:
            case i.Let(name=name, type="f64", value=value):
                lets[name] = lets.get(name, 0) + 1
                given.setdefault(name, []).append(value)
            case i.Assign(name=name, value=value):
                given.setdefault(name, []).append(value)
            case i.Accumulate(name=name):
                given.setdefault(name, []).append(None)
            case _:
                pass
    return {
        name
        for name, count in lets.items()
        if count == 1
        and any(each is not None and varies(each) for each in given[name])
        and all(each is not None and reals.exact(each) is not None for each in given[name])
    }


def with_short_locals(body: i.Block, names: set[str], reals: ShortReals) -> i.Block:
    """The body with these locals as numbers of 32 bits."""

    def short(value: i.Expr) -> i.Expr:
        found = reals.exact(value)
        assert found is not None
        return found

    def change(node: Any) -> Any:
        match node:
            case i.Let(name=name, value=value) if name in names:
                return replace(node, type="f32", value=short(value))
            case i.Assign(name=name, value=value) if name in names:
                return replace(node, value=short(value))
            case _:
                return node

    def read(node: object) -> object:
        if isinstance(node, i.Var) and node.name in names:
            return i.Convert("f64", node)
        return node

    return replaced(rebuild(body, change), read)
