"""Signs and zeros of values, as C would write them."""

from __future__ import annotations

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import walk


def has_sign(expr: i.Expr) -> bool:
    """Whether a value begins with a sign where it stands without parentheses."""
    match expr:
        case i.Const(value=value):
            return not isinstance(value, bool) and value < 0
        case i.Real(text=text):
            return text[0] == "-"
        case i.Binary(op="-", left=i.Const(value=0)) | i.Call(function="negate_f64" | "negate_f32"):
            return True
        case _:
            return False


def may_be_written_zero(expr: i.Expr) -> bool:
    """Whether a real number of constants alone may be 0."""
    if isinstance(expr, i.Real):
        return float(expr.text) == 0.0
    parts = tuple(walk(expr))
    varies = any(isinstance(each, (i.Var, i.Load, i.Item)) for each in parts)
    return not varies and any(isinstance(each, i.Real) for each in parts)


def negated(expr: i.Expr) -> i.Expr | None:
    match expr:
        case i.Binary(op="*", left=i.Const(value=-1), right=right):
            return right
        case _:
            return None
