"""Loops: how often they run, and which iteration stands at a place among all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from functools import partial

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import fresh
from cvmgen.source import Span

Over = i.Over | i.OverPack


def bound_name(binder: i.Loop | i.PackLoop | Over) -> str:
    """The index or multi-index that a loop or a range binds."""
    return binder.pack if isinstance(binder, (i.PackLoop, i.OverPack)) else binder.index


def over_of(loop: i.Loop | i.PackLoop) -> Over:
    """What a loop runs over."""
    if isinstance(loop, i.PackLoop):
        return i.OverPack(loop.pack, loop.extents, loop.slots)
    return i.Over(loop.index, loop.low, loop.high)


def range_ends(over: Over) -> list[i.Expr]:
    """What says how often a range is gone through."""
    pair = (over.low, over.high) if isinstance(over, i.Over) else (over.extents, over.slots)
    return [each for each in pair if each is not None]


def extent(loop: i.Loop) -> i.Expr:
    """How many indices a loop goes through."""
    return length(loop.high) if loop.low is None else distance(loop.low, loop.high)


def length(sequence: i.Expr) -> i.Expr:
    """How many entries a list has."""
    return sequence.length if isinstance(sequence, i.Entries) else i.Call("len", (sequence,))


def leaves_loop(body: i.Block) -> bool:
    """Whether a statement of a loop's body ends that loop, and not a loop in it."""
    return any(
        isinstance(each, i.Break)
        or (isinstance(each, i.If) and leaves_loop((*each.then, *each.otherwise)))
        for each in body
    )


def distance(low: i.Expr, high: i.Expr) -> i.Expr:
    """How many indices there are in low <= index < high."""
    return high if low == i.ZERO else i.Binary("-", high, low)


def iterations(loops: Sequence[i.Loop]) -> i.Expr:
    """How often the body of loops in each other runs."""
    return product(list(map(extent, loops)))


def product(factors: Sequence[i.Expr]) -> i.Expr:
    """The factors one after the other; nothing that is known of them is used."""
    found, *others = factors or [i.ONE]
    for each in others:
        found = i.Binary("*", found, each)
    return found


def entry_at(sequence: i.Expr, at: i.Expr) -> i.Expr:
    """Entry `at` of a list."""
    match sequence:
        case i.Entries(first=i.Load(tensor=tensor, offset=offset)):
            return i.Load(tensor, None, at if offset == i.ZERO else i.Binary("+", offset, at))
        case _:
            return i.Item(sequence, at)


# ---------------------------------------------------------------- unravelling


def unravel(at: i.Expr, extents: Sequence[i.Expr]) -> list[i.Expr]:
    """The indices of a place in a box, the last one fastest; the extent of the first is not
    asked."""
    found: list[i.Expr] = []
    for extent_ in reversed(extents[1:]):
        found.insert(0, i.Binary("rem", at, extent_))
        at = i.Binary("truncdiv", at, extent_)
    return [at, *found]


def unravelled(
    loops: Sequence[i.Loop], at: i.Expr, read: Set[str], taken: set[str], span: Span
) -> i.Block:
    """Locals for those indices of loops in each other that are `read`, at a place among all their
    iterations; what is left of the place, where there are many loops, has a name not `taken`."""
    if not loops:
        return ()
    if len(loops) <= 2:
        values = unravel(at, [extent(loop) for loop in loops])
        pairs = zip(loops, values, strict=True)
        return tuple(index_local(loop, value) for loop, value in pairs if loop.index in read)
    dimensions = [
        Dimension(extent(loop), partial(index_local, loop) if loop.index in read else None)
        for loop in loops
    ]
    return one_by_one(dimensions, i.Let(fresh("rest", taken), "i64", at, span))


@dataclass(frozen=True, slots=True)
class Dimension:
    """One of a box: its extent, and the local for its index, where one is wanted."""

    extent: i.Expr
    local: Callable[[i.Expr], i.Let] | None


def one_by_one(dimensions: Sequence[Dimension], rest: i.Let) -> i.Block:
    """Locals for the indices of a place in a box, the last dimension first: it varies fastest.
    `rest`, which begins as the place, is what is left of it."""
    left = i.Var(rest.name)
    outermost, *others = dimensions
    found: list[i.Stmt] = [rest]
    for each in reversed(others):
        if each.local is not None:
            found.append(each.local(i.Binary("rem", left, each.extent)))
        found.append(i.Accumulate(rest.name, "truncdiv", each.extent, rest.span))
    return tuple(found[:-1]) if outermost.local is None else (*found, outermost.local(left))


def index_local(loop: i.Loop, place: i.Expr, type_name: str = "i64") -> i.Let:
    """A local for the index of a loop at a place among its iterations."""
    value = place if loop.low in (None, i.ZERO) else i.Binary("+", loop.low, place)
    return i.Let(loop.index, type_name, value, loop.span)
