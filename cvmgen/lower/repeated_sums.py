"""Reductions that are computed again and again, where a `let` would keep them.

A reduction is made in front of the innermost loops that it does not depend on, whose values all
read it. But it stands within all loops around that: a sum over a column, in a matrix that is gone
through by rows, is computed for each element.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from cvmgen import polynomials as p
from cvmgen.lower.let_memory import (
    LOAD,
    STORE,
    Count,
    EvaluationCounter,
    count_text,
    product_of_counts,
    typical,
)
from cvmgen.source import SpecWarning
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n


def repeated_sums(operator: f.Operator) -> Iterator[SpecWarning]:
    """The reductions of equations that a `let` would compute less often, where that costs less."""
    reader = EvaluationCounter(operator, frozenset())
    for item in f.all_items(operator.items):
        if isinstance(item, f.Equation) and not any(
            isinstance(each, n.PackRange) for each in item.domain.items
        ):
            yield from of_equation(item, reader)


def of_equation(equation: f.Equation, reader: EvaluationCounter) -> Iterator[SpecWarning]:
    reader.definitions = {**reader.definitions, **{each.name: each for each in equation.where}}
    trips: dict[str, Count] = {}
    at: dict[str, Count] = {}
    for binder in equation.domain.items:
        if not isinstance(binder, n.IndexRange):
            return
        trips[binder.index] = reader.trips(binder, at)
        at[binder.index] = trips[binder.index]
    for each in reductions(equation):
        used = _free_names(each, reader.definitions) & trips.keys()
        last = max((at for at, name in enumerate(trips) if name in used), default=-1)
        reads = product_of_counts(list(trips.values())[: last + 1])
        values = product_of_counts(trips[name] for name in trips if name in used)
        cost = reader.cost(each, {})
        kept = p.plus(p.times(values, p.plus(cost, {(): STORE})), p.times(reads, {(): LOAD}))
        if reads != values and typical(p.times(reads, cost)) > typical(kept):
            indices = ", ".join(name for name in trips if name in used)
            yield SpecWarning(
                each.span,
                f"this is computed {count_text(reads)} times, and has {count_text(values)} values",
                f"name it, to have it computed once for each: `let s[{indices}] = ...`",
            )


def reductions(equation: f.Equation) -> Iterator[n.Reduction]:
    """The reductions of elements in an equation, outside of others, and those that its `where`
    names."""
    left: list[object] = [equation.value, *(each.body for each in equation.where)]
    while left:
        node = left.pop()
        if isinstance(node, n.Reduction):
            if any(isinstance(each, n.Access) for each in n.walk(node)):
                yield node
        else:
            left += n.children(node)


def _free_names(expr: n.Expr, definitions: Mapping[str, f.Definition]) -> Collection[str]:
    """The names that an expression reads, also by what it applies."""
    found: set[str] = set()
    left, seen = [expr], set[str]()
    while left:
        for part in n.walk(left.pop()):
            if isinstance(part, n.Ref):
                found.add(part.name)
            if isinstance(part, n.Apply) and part.name not in seen:
                seen.add(part.name)
                left.append(definitions[part.name].body)
    return found
