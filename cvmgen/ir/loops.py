"""Loops: how often they run."""

from __future__ import annotations

from cvmgen.ir import nodes as i


def extent(loop: i.Loop) -> i.Expr:
    """How many indices a loop goes through; of a loop over a list, the list."""
    return loop.high if loop.low is None else distance(loop.low, loop.high)


def distance(low: i.Expr, high: i.Expr) -> i.Expr:
    """How many indices there are in low <= index < high."""
    return high if low == i.ZERO else i.Binary("-", high, low)
