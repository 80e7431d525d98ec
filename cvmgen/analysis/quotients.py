"""Indices that one factor of a product sees only divided: the quotient is an index of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cvmgen.ir import nodes as i
from cvmgen.ir.uses import names_in
from cvmgen.ir.visit import rebuild


@dataclass(frozen=True, slots=True)
class DividedIndex:
    """An index that became `outer * divisor + inner`; divisors must divide its extent."""

    index: str
    divisor: i.Expr
    extent: i.Expr
    outer: str
    inner: str

    @property
    def whole(self) -> i.Expr:
        return i.Binary("+", i.Binary("*", i.Var(self.outer), self.divisor), i.Var(self.inner))


def quotient_only(expr: i.Expr, index: str, inner: Mapping[str, object]) -> i.Expr | None:
    """What an index is divided by wherever it stands; None if it also stands otherwise."""
    divisors: set[i.Expr] = set()

    def change(node: i.Expr) -> i.Expr:
        match node:
            case i.Binary(op="floordiv" | "truncdiv", left=i.Var(name=name), right=divisor) if (
                name == index and not names_in(divisor) & set(inner)
            ):
                divisors.add(divisor)
                return i.ZERO
            case _:
                return node

    left = rebuild(expr, change)
    return divisors.pop() if index not in names_in(left) and len(divisors) == 1 else None


def with_quotient(node: Any, divided: DividedIndex) -> Any:
    """Expressions in which the quotient of an index is an index of its own."""
    quotients = [
        i.Binary(op, i.Var(divided.index), divided.divisor) for op in ("floordiv", "truncdiv")
    ]

    def change(each: i.Expr) -> i.Expr:
        return i.Var(divided.outer) if each in quotients else each

    return rebuild(node, change)
