"""What has to hold for an operation to have a value, for elements that nobody may ask for."""

from __future__ import annotations

from collections.abc import Iterator

from cvmgen.analysis.definedness import DIVISIONS, SHIFTS, may_fail
from cvmgen.inside.assumptions import range_test
from cvmgen.inside.calls import CallProver
from cvmgen.inside.knowledge import Knowledge
from cvmgen.ir import nodes as i

MOST_SHIFTED = 64  # bits by which such an element is shifted at most
NEVER = i.Const(False)


def value_tests(
    expr: i.Expr, at: Knowledge, prover: CallProver
) -> Iterator[tuple[i.Expr, Knowledge]]:
    """The tests of an operation alone, not of its operands, each with what is known there: no
    divisor is 0, a shift is short, an extremum is one of something. What reads an element or an
    entry is tested by its place."""
    if not may_fail(expr):
        return
    match expr:
        case i.Binary(op=op, right=right) if op in DIVISIONS:
            yield i.Compare("<=", i.ONE, right), at
        case i.Binary(op=op, right=right) if op in SHIFTS:
            yield range_test(right, i.ZERO, i.Const(MOST_SHIFTED)), at
        case i.Fold(condition=None, over=over):
            for each in over:
                yield first_value(each), at
                at = prover.enter(at, each)
        case i.Access() | i.Item() | i.Call(function="unflatten"):
            return
        case _:
            yield NEVER, at


def first_value(over: i.Over | i.OverPack) -> i.Expr:
    """The condition under which an index has a value."""
    match over:
        case i.Over(low=low, high=high) if low is not None:
            return i.Compare("<", low, high)
        case _:
            return NEVER
