"""Requirements on elements to nests that find the first point where one does not hold."""

from __future__ import annotations

from collections.abc import Iterator

from cvmgen.dtypes import MAX_SIZE
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import fresh, walk
from cvmgen.lower.expressions import Expressions
from cvmgen.spec import formula as f
from cvmgen.spec.demands import limits

NOTHING = i.Const(MAX_SIZE)  # the position of no point


def demand_nest(
    translator: Expressions, item: f.Demand, case: int | None, taken: set[str]
) -> tuple[i.Scratch, i.Block, i.Nest]:
    """The word where the nest of a requirement leaves the least position of a point where that does
    not hold, the host statements that find what a refusal shows, and the nest."""
    name = fresh(f"{item.tensor}_refused", taken)
    with translator.over(item.domain.items) as over:
        holds = translator.with_where(item.condition)
        only = item.domain.condition
        when = None if only is None else translator.expr(only)
        at = position(over) if item.placed else i.ZERO
    several = any(isinstance(each, i.Access) and each.which is not None for each in walk(holds))
    outer = tuple(each for each in over[:several] if isinstance(each, i.Over))
    inner = over[len(outer) :]
    value: i.Expr = i.Select(holds, NOTHING, at)
    if inner or when is not None:
        least = i.Fold("min", value, inner, when)
        value = i.Call("min", (least, NOTHING))  # there may be no point
    index: i.Expr = i.Var(outer[0].index) if outer else i.ZERO
    store: i.Stmt = i.Store(i.Access(name, None, ((index, False),)), value, item.span)
    for each in outer:
        store = i.Loop(each.index, each.low, each.high, (store,), 0, item.span)
    counts = tuple(each.high for each in outer) or (i.Const(1),)
    scratch = i.Scratch(name, name, counts, case)
    host: list[i.Stmt] = [i.Let(scratch.size, "int", counts[0], item.span)]
    shape = f"{name}_shape" if item.placed else None
    if shape is not None:
        host.append(i.Let(shape, "list", i.ListOf(tuple(extents(over))), item.span))
    guarded = i.Guarded(item.tensor, shape, item.message)
    formula = translator.operator.quote(item.span)
    return (
        scratch,
        tuple(host),
        i.Nest(name, case, None, (), (store,), formula, item.span, guarded=guarded),
    )


def requirements(operator: f.Operator) -> dict[str, tuple[tuple[str, i.Expr], ...]]:
    """What requirements say of all elements of an input: relations to values of the call."""
    found: dict[str, tuple[tuple[str, i.Expr], ...]] = {}
    expressions = Expressions(operator)
    for each in limits(operator):
        told = each.relation, expressions.expr(each.value)
        found[each.tensor] = (*found.get(each.tensor, ()), told)
    return found


def extents(over: tuple[i.Over | i.OverPack, ...]) -> Iterator[tuple[i.Expr, bool]]:
    """The extents of a box."""
    for each in over:
        yield (each.high, False) if isinstance(each, i.Over) else (each.extents, True)


def position(over: tuple[i.Over | i.OverPack, ...]) -> i.Expr:
    """The row-major position of a point in its box."""
    found: i.Expr | None = None
    for each in over:
        match each:
            case i.Over(index=index, high=size):
                place: i.Expr = i.Var(index)
            case i.OverPack(pack=pack, extents=box):
                place, size = i.Call("flatten_index", (i.Var(pack), box)), i.Call("size", (box,))
        found = place if found is None else i.Binary("+", i.Binary("*", found, size), place)
    return i.ZERO if found is None else i.Convert("i64", found)
