"""Which real numbers of a typed body cannot be NaN: products and sums of finite ones, rounded."""

from __future__ import annotations

import math
from collections.abc import Collection
from enum import IntEnum

from cvmgen.ir import nodes as i
from cvmgen.typing.agreement import BITS, Agreement
from cvmgen.typing.short_reals import TO_INTEGERS

KEPT = (*TO_INTEGERS, *(name.replace("f64", "f32") for name in TO_INTEGERS))


class RealKind(IntEnum):
    """What is known of a real number: nothing, that it is not NaN, that it is finite."""

    ANY = 0
    NUMBER = 1
    FINITE = 2


def real_kind(value: i.Expr, types: Agreement, finite: Collection[str]) -> RealKind:
    """What is known of a value; the elements of `finite` tensors are so."""

    def of(each: i.Expr) -> RealKind:
        return real_kind(each, types, finite)

    match value:
        case i.Real(text=text):
            finite_number = math.isfinite(float(text))
            return RealKind.FINITE if finite_number else not_nan(math.isinf(float(text)))
        case i.Load(tensor=tensor) if tensor in finite:
            return RealKind.FINITE
        case i.Convert(type="f32" | "f64", operand=operand):
            if types.type_of(operand) in BITS:
                return RealKind.FINITE
            return of(operand) if value.type == "f64" else min(of(operand), RealKind.NUMBER)
        case i.Call(function=function, arguments=(inner,)) if function in KEPT:
            return of(inner)
        case i.Binary(op="*", left=left, right=right):
            return not_nan(min(of(left), of(right)) == RealKind.FINITE)
        case i.Binary(op="+" | "-", left=left, right=right):
            kinds = of(left), of(right)
            return not_nan(min(kinds) >= RealKind.NUMBER and max(kinds) == RealKind.FINITE)
        case i.Call(function="fma_f64", arguments=(one, other, more)):
            product = min(of(one), of(other))
            return not_nan(product == RealKind.FINITE and of(more) >= RealKind.NUMBER)
        case _:
            return RealKind.ANY


def not_nan(holds: bool) -> RealKind:
    return RealKind.NUMBER if holds else RealKind.ANY
