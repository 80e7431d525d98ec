"""`divide`: quotients of integers as those of real numbers, which processors make in vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cvmgen.analysis.dependences import Locals
from cvmgen.dtypes import DType
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import rebuild
from cvmgen.schedule.forms import Use
from cvmgen.schedule.subject import Subject


def divide(subject: Subject, use: Use) -> Subject:
    """Quotients in the loops, rounded toward zero, or 0 where the divisor is 0.

    Legal for integers of 32 bits: doubles hold them, and their quotient, whatever its rounding,
    reaches an integer only where the true one does: that is 1/b away from it at least, far more
    than the rounding of numbers below 2^32.
    """
    names, types = set(use.loops(subject, 0)), Locals.of(subject.body).types

    def change(node: i.Expr) -> i.Expr:
        match node:
            case i.Select(
                condition=i.Compare(op="!=", left=divisor, right=i.Const(value=0)),
                then=i.Binary(op="truncdiv", left=left, right=right),
                otherwise=i.Const(value=0),
            ) if without_widening(right) == divisor and narrow(left) and narrow(right):
                return i.Call("quotient_or_0", (without_widening(left), divisor))
            case _:
                return node

    def narrow(value: i.Expr) -> bool:
        return has_32_bits(without_widening(value), types, subject.dtypes)

    def inside(loop: i.Loop) -> i.Block | None:
        return (replace(loop, body=rebuild(loop.body, change)),)

    return subject.with_loops(names, inside)


def without_widening(value: i.Expr) -> i.Expr:
    """A value without conversions to wider types."""
    return (
        without_widening(value.operand)
        if isinstance(value, i.Convert) and value.type == "i64"
        else value
    )


def has_32_bits(value: i.Expr, types: Mapping[str, str], dtypes: Mapping[str, DType]) -> bool:
    """Whether a value is a signed integer of at most 32 bits."""
    match value:
        case i.Var(name=name):
            return types.get(name) == "i32"
        case i.Load(tensor=tensor):
            known = dtypes.get(tensor)
            return known is not None and known.kind == "int" and known.bits <= 32
        case _:
            return False
