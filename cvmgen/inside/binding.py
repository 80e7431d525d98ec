"""Substitution that minds binders, one form for what differs in bound names alone, and tests of
accesses put together as conditions of the formula's own language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from cvmgen.ir import nodes as i
from cvmgen.ir.logic import combination
from cvmgen.ir.remember import remembered
from cvmgen.ir.uses import names_in
from cvmgen.ir.visit import walk, with_children

BINDERS = (i.Gather, i.Fold, i.Bind)


def with_free_values(expr: i.Expr, values: Mapping[str, i.Expr]) -> i.Expr:
    """The expression with values for its free names; none of theirs is captured."""
    if not values:
        return expr
    taken = frozenset().union(*(names_in(value) for value in values.values()))
    result: i.Expr = _put(expr, values, taken)
    return result


def _put(node: Any, values: Mapping[str, i.Expr], taken: frozenset[str]) -> Any:
    match node:
        case i.Var(name=name):
            return values.get(name, node)
        case i.Bind(name=name, value=value, body=body):
            inner, renamed = _below(name, values, taken)
            return i.Bind(renamed, _put(value, values, taken), _put(body, inner, taken))
        case i.Gather() | i.Fold():
            over = []
            for each in node.over:
                bound, values = _over(each, values, taken)
                over.append(bound)
            condition = None if node.condition is None else _put(node.condition, values, taken)
            element = _put(node.element, values, taken)
            return replace(node, element=element, over=tuple(over), condition=condition)
        case _:
            return with_children(node, lambda child: _put(child, values, taken))


def _over(
    each: i.Over | i.OverPack, values: Mapping[str, i.Expr], taken: frozenset[str]
) -> tuple[i.Over | i.OverPack, Mapping[str, i.Expr]]:
    if isinstance(each, i.Over):
        inner, name = _below(each.index, values, taken)
        low = None if each.low is None else _put(each.low, values, taken)
        return i.Over(name, low, _put(each.high, values, taken)), inner
    extents = _put(each.extents, values, taken)
    if each.slots is not None:  # more entries of a pack that is there already
        return i.OverPack(each.pack, extents, _put(each.slots, values, taken)), values
    inner, name = _below(each.pack, values, taken)
    return i.OverPack(name, extents, None), inner


def _below(
    name: str, values: Mapping[str, i.Expr], taken: frozenset[str]
) -> tuple[Mapping[str, i.Expr], str]:
    """The values below a binder of a name, which takes another one where it would capture."""
    inner = {each: value for each, value in values.items() if each != name}
    renamed = name
    while renamed in taken:
        renamed += "'"
    return (inner if renamed == name else {**inner, name: i.Var(renamed)}), renamed


@remembered
def canonical(expr: i.Expr, depth: int = 0) -> i.Expr:
    """The expression with bound names by their depth: what means the same looks the same."""
    if not any(isinstance(each, BINDERS) for each in walk(expr)):
        return expr
    result: i.Expr = _alike(expr, {}, depth)
    return result


def _alike(node: Any, names: Mapping[str, str], depth: int) -> Any:
    match node:
        case i.Var(name=name):
            return i.Var(names[name]) if name in names else node
        case i.Bind(name=name, value=value, body=body):
            inner = {**names, name: f"${depth}"}
            return i.Bind(f"${depth}", _alike(value, names, depth), _alike(body, inner, depth + 1))
        case i.Gather() | i.Fold():
            over: list[i.Over | i.OverPack] = []
            for each in node.over:
                bound = f"${depth}"
                if isinstance(each, i.Over):
                    low = None if each.low is None else _alike(each.low, names, depth)
                    over.append(i.Over(bound, low, _alike(each.high, names, depth)))
                    names = {**names, each.index: bound}
                else:
                    bound = bound if each.slots is None else names.get(each.pack, each.pack)
                    slots = None if each.slots is None else _alike(each.slots, names, depth)
                    over.append(i.OverPack(bound, _alike(each.extents, names, depth), slots))
                    names = {**names, each.pack: bound}
                depth += 1
            condition = None if node.condition is None else _alike(node.condition, names, depth)
            element = _alike(node.element, names, depth)
            return replace(node, element=element, over=tuple(over), condition=condition)
        case _:
            return with_children(node, lambda child: _alike(child, names, depth))


# ---------------------------------------------------------------- tests of accesses


TRUE = i.Const(True)


def put_over(over: i.Over | i.OverPack, values: dict[str, i.Expr]) -> i.Over | i.OverPack:
    if isinstance(over, i.Over):
        low = None if over.low is None else with_free_values(over.low, values)
        return replace(over, low=low, high=with_free_values(over.high, values))
    slots = None if over.slots is None else with_free_values(over.slots, values)
    return replace(over, extents=with_free_values(over.extents, values), slots=slots)


def both_of(one: i.Expr, other: i.Expr) -> i.Expr:
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
    return combination("and", parts)


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
