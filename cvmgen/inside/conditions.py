"""Tests of accesses put together: conditions of the formula's own language."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from cvmgen.inside.binding import put
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import names_in

TRUE = i.Const(True)


def put_over(over: i.Over | i.OverPack, values: dict[str, i.Expr]) -> i.Over | i.OverPack:
    if isinstance(over, i.Over):
        low = None if over.low is None else put(over.low, values)
        return replace(over, low=low, high=put(over.high, values))
    slots = None if over.slots is None else put(over.slots, values)
    return replace(over, extents=put(over.extents, values), slots=slots)


def both(one: i.Expr, other: i.Expr) -> i.Expr:
    return all_of((one, other))


def all_of(tests: Iterable[i.Expr]) -> i.Expr:
    parts: list[i.Expr] = []
    for test in tests:
        if test == TRUE:
            continue
        for each in test.operands if isinstance(test, i.Logic) and test.op == "and" else (test,):
            if each not in parts:
                parts.append(each)
    if not parts:
        return TRUE
    return parts[0] if len(parts) == 1 else i.Logic("and", tuple(parts))


def bind(name: str, value: i.Expr, test: i.Expr) -> i.Expr:
    return i.Bind(name, value, test) if name in names_in(test) else test


def quantified(over: i.Over | i.OverPack, test: i.Expr) -> i.Expr:
    if test == TRUE:
        return TRUE
    match test:
        case i.Fold(op="all", over=inner, condition=None, element=element):
            return i.Fold("all", element, (over, *inner), None)
        case _:
            return i.Fold("all", test, (over,), None)
