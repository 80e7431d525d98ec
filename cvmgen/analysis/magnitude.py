"""Bounds of index arithmetic, as expressions that the host can compute before a call.

They hold where all loops have iterations: their extents are at least 1.
"""

from __future__ import annotations

from collections.abc import Mapping

from cvmgen import algebra
from cvmgen.analysis.facts import Facts
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import factors_in
from cvmgen.ir.visit import walk


def magnitude(expr: i.Expr, extents: Mapping[str, i.Expr], facts: Facts) -> i.Expr | None:
    """A bound of the magnitude of an index expression and of every value on the way to it.

    It is made of host values alone; None where there is none. Loops have iterations.
    """

    def total(*operands: i.Expr) -> i.Expr | None:
        bounds = [magnitude(each, extents, facts) for each in operands]
        known = [each for each in bounds if each is not None]
        return algebra.total(known) if len(known) == len(bounds) else None

    match expr:
        case i.Const(value=value):
            return i.Const(abs(value))
        case i.Var(name=name) if name in extents:
            return extents[name]
        case i.Var() | i.Item(sequence=i.Var(), index=i.Const()):
            return expr if facts.not_negative(expr) else i.Call("abs_i64", (expr,))
        case i.Convert(type="i32" | "i64", operand=operand):
            return magnitude(operand, extents, facts)
        case i.Binary(op="*", left=left, right=right):
            bounds = [magnitude(each, extents, facts) for each in (left, right)]
            # A factor of 0 would hide how great the other one is.
            factors = [
                each if at_least_one(each, extents, facts) else i.Binary("+", each, i.Const(1))
                for each in bounds
                if each is not None
            ]
            return algebra.product(factors) if len(factors) == 2 else None
        case i.Binary(op="+" | "-" | "truncdiv" | "floordiv" | "rem" | "mod" | "shr"):
            return total(expr.left, expr.right)
        case i.Call(function="min_i64" | "max_i64" | "min_i32" | "max_i32", arguments=arguments):
            return total(*arguments)
        case i.Select(condition=i.Compare(left=left, right=right), then=then, otherwise=otherwise):
            return total(left, right, then, otherwise)
        case _:
            return None


def at_least_one(bound: i.Expr, extents: Mapping[str, i.Expr], facts: Facts) -> bool:
    """Whether a bound is positive; none is negative."""
    match bound:
        case i.Binary(op="+", left=left, right=right):
            return any(at_least_one(each, extents, facts) for each in (left, right))
        case i.Binary(op="*", left=left, right=right):
            return all(at_least_one(each, extents, facts) for each in (left, right))
        case _:
            return bound in extents.values() or facts.positive(bound)


def last_indices(extents: Mapping[str, i.Expr]) -> dict[str, i.Expr]:
    return {name: i.Binary("-", high, i.Const(1)) for name, high in extents.items()}


def covers(larger: i.Expr, smaller: i.Expr) -> bool:
    """Whether a bound is at least another one: it has it as a part, or has all its factors."""
    if any(each == smaller for each in walk(larger)):
        return True
    left = factors_in(larger)
    for factor in factors_in(smaller):
        if factor not in left:
            return False
        left.remove(factor)
    return True
