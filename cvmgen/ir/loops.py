"""Loops: how often they run, and which iteration stands at a place among all of them."""

from __future__ import annotations

from collections.abc import Sequence, Set

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


def ends(over: Over) -> list[i.Expr]:
    """What says how often a range is gone through."""
    pair = (over.low, over.high) if isinstance(over, i.Over) else (over.extents, over.slots)
    return [each for each in pair if each is not None]


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
    outermost, *others = loops
    rest = fresh("rest", taken)
    found: list[i.Stmt] = [i.Let(rest, "i64", at, span)]
    for loop in reversed(others):
        if loop.index in read:
            found.append(index_local(loop, i.Binary("rem", i.Var(rest), extent(loop))))
        found.append(i.Accumulate(rest, "truncdiv", extent(loop), span))
    if outermost.index in read:
        return (*found, index_local(outermost, i.Var(rest)))
    return tuple(found[:-1])


def index_local(loop: i.Loop, place: i.Expr, type_name: str = "i64") -> i.Let:
    """A local for the index of a loop at a place among its iterations."""
    value = place if loop.low in (None, i.ZERO) else i.Binary("+", loop.low, place)
    return i.Let(loop.index, type_name, value, loop.span)
