"""Sums of products of real numbers, each in its order, as a product of matrices has them.

Rows are the lines of one factor, columns those of the other: an index of results that one of them
alone depends on. Each meets the terms of a sum one after the other, which is why blocks of sums
may grow side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cvmgen import algebra
from cvmgen.analysis.grid import Grid, grid
from cvmgen.analysis.paths import path
from cvmgen.dtypes import DType
from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import expanded
from cvmgen.ir.uses import assigned, carried, names_in, read_tensors, reassigned
from cvmgen.ir.visit import substitute

REALS = ("f32", "f64")


@dataclass(frozen=True, slots=True)
class OrderedFactor:
    """A factor: the loop over its lines, its first element where the indices of rows, of columns
    and of terms are 0, and how far apart the elements of lines and of terms are."""

    loop: i.Loop
    first: i.Load
    type: str
    line: i.Expr
    term: i.Expr


@dataclass(frozen=True, slots=True)
class OrderedProducts:
    """A nest: its other loops over results, the factors, the loops of the sum around the innermost
    one, and how many terms that has: `depth`, and `longer` more from one row to the next. There are
    `width` columns, and `wider` more from one row to the next.

    `before` and `after` are the statements around the sum, which begins with `total`.
    """

    others: tuple[i.Loop, ...]
    rows: OrderedFactor
    columns: OrderedFactor
    around: tuple[i.Loop, ...]
    depth: i.Expr
    longer: i.Expr
    width: i.Expr
    wider: int
    before: i.Block
    total: i.Let
    after: i.Block


def ordered_products(body: i.Block, dtypes: Mapping[str, DType]) -> OrderedProducts | None:
    """What a nest is as a product of matrices of real numbers; None if it is none."""
    nest = results_of(body)
    sums = reassigned(nest.body)
    before = tuple(each for each in nest.body if isinstance(each, i.Let) and each.name not in sums)
    match nest.body[len(before) :]:
        case (
            i.Let(name=name, type="f64", value=i.Real("0.0")) as total,
            i.Loop() as sweep,
            *after,
        ):
            way = path(sweep)
        case _:
            return None
    match way.last:
        case i.Accumulate(name=added, op="+", value=i.Binary(op="*", left=left, right=right)):
            pass
        case _:
            return None
    plain = nest.body[: len(before)] == before and sums == {name} == {added} and not way.tests
    ranged = all(each.low == i.ZERO and each.step == 1 for each in (*nest.loops, *way.loops))
    if not plain or not ranged:
        return None
    values = expanded((*before, *way.lets))
    factors = [_element(each, values, dtypes) for each in (left, right)]
    inner = assigned(nest.body)
    first, second = factors
    if first is None or second is None or names_in(tuple(e.high for e in way.loops[:-1])) & inner:
        return None
    return with_sides(nest.loops, way.loops, (first, second), dtypes, (before, total, tuple(after)))


def results_of(body: i.Block) -> Grid:
    """The loops over results, of which the innermost may end where those around it say."""
    found = grid(body)
    match found.body:
        case (i.Loop(low=i.Const(value=0)) as loop,) if not carried(loop):
            return Grid((*found.loops, loop), loop.body)
        case _:
            return found


def _element(
    value: i.Expr, values: Mapping[str, i.Expr], dtypes: Mapping[str, DType]
) -> i.Load | None:
    """The element that a factor is, its place over indices and host values alone."""
    while isinstance(value, i.Convert) and value.type == "f64":
        value = value.operand
    if not isinstance(value, i.Load) or value.which is not None or value.tensor not in dtypes:
        return None
    offset = substitute(value.offset, values)
    known = dtypes[value.tensor].machine in REALS and not read_tensors(offset)
    return i.Load(value.tensor, None, offset) if known else None


def with_sides(
    loops: Sequence[i.Loop],
    summed: tuple[i.Loop, ...],
    factors: tuple[i.Load, i.Load],
    dtypes: Mapping[str, DType],
    parts: tuple[i.Block, i.Let, i.Block],
) -> OrderedProducts | None:
    """The nest whose factors are these: the last loop that one of them alone depends on is that of
    columns, the last one of the other that of rows."""
    readers = {
        loop.index: [each for each in factors if loop.index in names_in(each.offset)]
        for loop in loops
    }
    own = [loop for loop in loops if len(readers[loop.index]) == 1]
    if not own or factors[0] == factors[1]:
        return None
    column = own[-1]
    (w,) = readers[column.index]
    x = factors[0] if w == factors[1] else factors[1]
    row = next((each for each in reversed(own) if readers[each.index] == [x]), None)
    last, indices = summed[-1], {each.index for each in loops}
    if row is None or names_in(tuple(e.high for e in loops if e is not column)) & indices:
        return None
    wide = algebra.line(column.high, row.index, indices)
    match None if wide is None else wide.step:
        case i.Const(value=wider) if wider >= 0:
            pass
        case _:
            return None
    assert wide is not None
    depth = algebra.plane(last.high, [row.index, column.index])
    sides = (_line(x, row, last, dtypes), _line(w, column, last, dtypes))
    if depth is None or depth.step(column.index) != i.ZERO or None in sides:
        return None
    rows, columns = sides
    assert rows is not None and columns is not None
    others = tuple(each for each in loops if each not in (row, column))
    ends = tuple(each.high for each in summed[:-1])
    inner = {each.index for each in (row, column, *summed)}
    if names_in((ends, depth.rest, depth.step(row.index))) & inner:
        return None
    before, total, after = parts
    longer = depth.step(row.index)
    return OrderedProducts(
        *(others, rows, columns, summed[:-1]),
        *(depth.rest, longer, wide.rest, wider),
        *(before, total, after),
    )


def _line(
    place: i.Load, loop: i.Loop, last: i.Loop, dtypes: Mapping[str, DType]
) -> OrderedFactor | None:
    """A factor by the loop over its lines and the one over terms."""
    found = algebra.plane(place.offset, [loop.index, last.index])
    if found is None:
        return None
    kind = dtypes[place.tensor].machine
    steps = found.step(loop.index), found.step(last.index)
    return OrderedFactor(loop, i.Load(place.tensor, None, found.rest), kind, *steps)
