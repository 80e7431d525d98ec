"""Which locals statements accumulate, and how: those that count, and sums of which a store computed
modulo 2^32 keeps only the lowest bits."""

from __future__ import annotations

from collections.abc import Collection

from cvmgen.ir import nodes as i
from cvmgen.ir.uses import names_in, nodes_in
from cvmgen.ir.visit import walk


def counting_locals(statements: i.Block) -> frozenset[str]:
    """The locals that are only ever counted up by one, or by places within a tensor."""
    steps = [*nodes_in(statements, i.Accumulate)]
    others = {each.name for each in steps if each.op != "+" or not _counts(each.value)}
    return frozenset({each.name for each in steps} - others)


def _counts(value: i.Expr) -> bool:
    return value == i.Const(1) or isinstance(value, i.Convert)


def accumulated_locals(statements: i.Block, *ops: str) -> set[str]:
    """The locals that are accumulated by one of the operations."""
    return {each.name for each in nodes_in(statements, i.Accumulate) if each.op in ops}


def modular_accumulators(statements: i.Block, exact_stores: Collection[str]) -> frozenset[str]:
    """Sums and products that reach nothing but stores, through + - * and choices alone.

    Into the tensors `exact_stores` values are stored exactly.
    """
    sums = {each.name for each in nodes_in(statements, i.Accumulate) if each.op in ("+", "*")}
    other = {
        each.name
        for each in walk(statements)
        if (isinstance(each, i.Accumulate) and each.op not in ("+", "*"))
        or isinstance(each, i.Assign)
    }
    candidates = sums - other
    while True:
        exact: set[str] = set()
        for statement in walk(statements):
            match statement:
                case i.Store(target=target) if target.tensor in exact_stores:
                    exact |= names_in(statement)
                case i.Store(target=target, value=value):
                    exact |= exact_reads(value) | names_in(target)
                case i.Accumulate(name=name, op="+" | "*", value=value) if name in candidates:
                    exact |= exact_reads(value)
                case i.Accumulate(value=value) | i.Let(value=value) | i.Assign(value=value):
                    exact |= names_in(value)
                case i.If(condition=condition):
                    exact |= names_in(condition)
                case i.Loop(low=low, high=high):
                    exact |= names_in((low, high))
                case i.PackLoop(extents=extents, slots=slots):
                    exact |= names_in((extents, slots))
                case i.AddAt() | i.SetAt() | i.Append() | i.Sort():  # entries of lists are places
                    exact |= names_in(statement)
                case _:
                    pass
        remaining = candidates - exact
        if remaining == candidates:
            return frozenset(candidates)
        candidates = remaining


def exact_reads(expr: i.Expr) -> set[str]:
    """The names whose exact value matters, not only their lowest bits."""
    match expr:
        case i.Var():
            return set()
        case i.Binary(op="+" | "-" | "*", left=left, right=right):
            return exact_reads(left) | exact_reads(right)
        case i.Select(condition=condition, then=then, otherwise=otherwise):
            return set(names_in(condition)) | exact_reads(then) | exact_reads(otherwise)
        case _:
            return set(names_in(expr))
