"""Which loops may run in parallel: the outermost ones that only index the store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import names_in
from cvmgen.lower.copies import Run


def mark_parallel(body: tuple[i.Stmt, ...]) -> tuple[i.Stmt, ...]:
    """The nest with its outermost loop marked, and how many loops below it go along.

    Every iteration writes elements of its own: in gather form by construction, in scatter
    form because each element is written once.
    """
    match body:
        case (i.If(then=then, otherwise=otherwise) as choice,):
            both = (mark_parallel(then), mark_parallel(otherwise))
            return (replace(choice, then=both[0], otherwise=both[1]),)
        case _:
            pass
    if len(body) != 1 or not isinstance(body[0], i.Loop) or body[0].low is None:
        return body
    loop = body[0]
    count, inner, indices = 1, loop, {loop.index}
    while len(inner.body) == 1 and isinstance(inner.body[0], i.Loop):
        below = inner.body[0]
        if below.low is None or names_in((below.low, below.high)) & indices:
            break
        indices.add(below.index)
        count, inner = count + 1, below
    return (replace(loop, parallel=count),)


def repeated(body: tuple[i.Stmt, ...]) -> Iterator[i.Loop | Run]:
    """The loops and runs of a block; of a choice, those of the first branch."""
    for each in body:
        match each:
            case i.Loop() | i.Copy() | i.Fill():
                yield each
            case i.If(then=then):
                yield from repeated(then)
            case _:
                pass
