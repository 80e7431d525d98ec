"""Expressions of a call folded, where numbers or neighbours cancel out or all is known before."""

from __future__ import annotations

from cvmgen.functions import ARITHMETIC, FUNCTIONS, OutsideDomain
from cvmgen.source import Span, SpecError
from cvmgen.spec import nodes as n


def constant_value(expr: n.Expr) -> int | None:
    """The value of a checked expression of numbers; None when it depends on the call."""
    match expr:
        case n.Number(value=value):
            return value
        case n.Negate(operand=operand):
            inner = constant_value(operand)
            return None if inner is None else -inner
        case n.Arithmetic(sign=sign, left=left, right=right):
            first, second = constant_value(left), constant_value(right)
            if first is None or second is None:
                return None
            try:
                return int(ARITHMETIC[sign](first, second))
            except OutsideDomain as error:
                raise SpecError(expr.span, str(error)) from None
        case _:
            return None


INVERSE = {"+": "-", "-": "+"}


def operate(sign: str, left: n.Expr, right: n.Expr, span: Span) -> n.Expr:
    """left sign right."""
    zero, one = n.Number(0, span), n.Number(1, span)
    match left, right:
        case n.Number(value=first), n.Number(value=second):
            return n.Number(ARITHMETIC[sign](first, second), span)
        case n.Arithmetic(sign=inner, left=rest, right=n.Number() as number), n.Number() if (
            number == right and INVERSE.get(inner) == sign
        ):
            return rest  # x - 1 + 1
        case _ if sign in ("+", "-") and right == zero:
            return left
        case _ if sign == "+" and left == zero:
            return right
        case _ if sign == "*" and one in (left, right):
            return right if left == one else left
        case _:
            return n.Arithmetic(sign, left, right, span)


def negate(expr: n.Expr, span: Span) -> n.Expr:
    match expr:
        case n.Number(value=value):
            return n.Number(-value, span)
        case n.Negate(operand=operand):
            return operand
        case _:
            return n.Negate(expr, span)


def function(name: str, arguments: tuple[n.Expr, ...], span: Span) -> n.Expr:
    """A call of a function of the language."""
    flat = tuple(dict.fromkeys(arguments)) if name in ("max", "min") else arguments
    match name, flat:
        case (("max" | "min"), (only,)):
            return only
        case "ceil_log2", (n.Arithmetic(sign="^", left=n.Number(value=2), right=power),):
            return power
        case _ if all(isinstance(each, n.Number) for each in flat):
            values = [each.value for each in flat if isinstance(each, n.Number)]
            return n.Number(FUNCTIONS[name].exact(*values), span)
        case _:
            return n.Function(name, flat, span)
