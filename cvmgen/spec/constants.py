"""Values that are known before any call."""

from __future__ import annotations

from cvmgen.functions import ARITHMETIC, OutsideDomain
from cvmgen.source import SpecError
from cvmgen.spec import nodes as n


def known(expr: n.Expr) -> int | None:
    """The value of a checked expression of numbers; None when it depends on the call."""
    match expr:
        case n.Number(value=value):
            return value
        case n.Negate(operand=operand):
            inner = known(operand)
            return None if inner is None else -inner
        case n.Arithmetic(sign=sign, left=left, right=right):
            first, second = known(left), known(right)
            if first is None or second is None:
                return None
            try:
                return int(ARITHMETIC[sign](first, second))
            except OutsideDomain as error:
                raise SpecError(expr.span, str(error)) from None
        case _:
            return None
