"""Loops: how often they run."""

from __future__ import annotations

from cvmgen.ir import nodes as i


def extent(loop: i.Loop) -> i.Expr:
    """How many indices a loop goes through; of a loop over a list, the list."""
    return loop.high if loop.low is None else distance(loop.low, loop.high)


def leaves(body: i.Block) -> bool:
    """Whether a statement of a loop's body ends that loop, and not a loop in it."""
    return any(
        isinstance(each, i.Break)
        or (isinstance(each, i.If) and leaves((*each.then, *each.otherwise)))
        for each in body
    )


def distance(low: i.Expr, high: i.Expr) -> i.Expr:
    """How many indices there are in low <= index < high."""
    return high if low == i.ZERO else i.Binary("-", high, low)
