"""Guards of loops as ranges: which iterations pass a test that is linear in the index."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cvmgen import algebra
from cvmgen.algebra import Line
from cvmgen.analysis.facts import Facts
from cvmgen.ir import nodes as i


@dataclass(frozen=True, slots=True)
class PlaceBound:
    """`place >= low`, or `place < high`, where the other is None."""

    place: i.Expr
    low: i.Expr | None
    high: i.Expr | None


def condition_bounds(condition: i.Expr) -> list[PlaceBound] | None:
    """A condition as bounds that hold together; None for other conditions."""
    match condition:
        case i.Logic(op="and", operands=operands):
            found = [condition_bounds(each) for each in operands]
            return None if None in found else [each for part in found for each in part or ()]
        case i.Compare(op="<=", left=low, right=place):
            return [PlaceBound(place, low, None)]
        case i.Compare(op=">=", left=place, right=low):
            return [PlaceBound(place, low, None)]
        case i.Compare(op="<", left=place, right=high):
            return [PlaceBound(place, None, high)]
        case i.Compare(op=">", left=high, right=place):
            return [PlaceBound(place, None, high)]
        case _:
            return None


def slope(place: i.Expr, index: str, facts: Facts) -> Line | None:
    """How a place moves with an index, if it does so upwards by the same step each time."""
    found = algebra.line(place, index)
    return found if found is not None and facts.positive(found.step) else None


def first_from(low: i.Expr, line: Line) -> i.Expr:
    """The least index whose place is not below."""
    distance = algebra.simplify(algebra.normal(i.Binary("-", low, line.rest)))
    return distance if line.step == i.ONE else i.Call("ceildiv", (distance, line.step))


def maximum_of(values: Iterable[i.Expr]) -> i.Expr:
    return extreme_call("max_i64", values)


def smallest(values: Iterable[i.Expr]) -> i.Expr:
    return extreme_call("min_i64", values)


def extreme_call(function: str, values: Iterable[i.Expr]) -> i.Expr:
    first, *others = dict.fromkeys(values)
    for each in others:
        first = i.Call(function, (first, each))
    return first
