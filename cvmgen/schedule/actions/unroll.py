"""`unroll`: several iterations of a loop, written out one after the other."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import product as combinations
from math import prod

from cvmgen.algebra import simplify
from cvmgen.analysis.dependences import have_room, steady_range
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import conjunction
from cvmgen.ir.rewrite import folded_totals, inner_blocks, renamed
from cvmgen.ir.uses import has, names_in
from cvmgen.ir.visit import fresh, rebuild, substitute
from cvmgen.known.constant_loops import Loops, everywhere, loop_range, single_statement_nest
from cvmgen.schedule.actions.jam import last_whole_group
from cvmgen.schedule.forms import Use
from cvmgen.schedule.rewriting import loops
from cvmgen.schedule.subject import Subject


def unroll(subject: Subject, use: Use) -> Subject:
    """Several iterations in each pass of a loop, and those left over one by one; of loops in each
    other the perfect_nest. A loop that is known to have no more iterations is gone.

    Legal for every loop over a range: the order of iterations stays. Loops that may end early, that
    change how often they run, those in steps, and those over arrays that are shorter than what is
    written out, stay as they are. Loops right in each other that are known to have no more
    iterations together are written out at once, behind a test if there are guards in them: that all
    of these hold. What is added to a total right behind its start is one expression with it.
    """
    names, size = set(use.loops(subject, 0)), use.copies(1)
    used = subject.taken
    around = enclosing(subject.body)

    def change(loop: i.Loop) -> i.Block | None:
        if whole := whole_sum(loop, names):
            return unrolled_sum(whole, size, around.get(loop.index, ())) or (loop,)
        ends = has(loop.body, i.Break)
        if ends or loop.low is None or loop.step != 1 or not steady_range(loop):
            return None
        if any(True for _ in loops(loop.body, names)):
            return None
        if not isinstance(loop.high, i.Const) and not have_room(subject.body, loop, size):
            return None
        use.copied(loop, size)
        return _written_out(loop, size, used)

    done = subject.with_loops(names, change)
    return done.with_body(folded_totals(done.body))


def enclosing(body: i.Block, around: tuple[i.Loop, ...] = ()) -> dict[str, tuple[i.Loop, ...]]:
    """The loops around each loop, by its index, from the outermost one on."""
    found: dict[str, tuple[i.Loop, ...]] = {}
    for each in body:
        inside = (*around, each) if isinstance(each, i.Loop) else around
        found |= {each.index: around} if isinstance(each, i.Loop) else {}
        for block in inner_blocks(each):
            found |= enclosing(block, inside)
    return found


@dataclass(frozen=True, slots=True)
class Sum:
    """Loops of known length right in each other, with guards between, around a sum's only step."""

    loop: i.Loop
    loops: Loops
    guards: tuple[i.Expr, ...]
    step: i.Accumulate


def whole_sum(loop: i.Loop, names: Collection[str]) -> Sum | None:
    """The whole sum that a loop begins, if all loops of it are among the names."""
    match single_statement_nest(loop):
        case loops_, guards, i.Accumulate() as step if {name for name, _ in loops_} <= set(names):
            return Sum(loop, loops_, guards, step)
        case _:
            return None


def unrolled_sum(whole: Sum, most: int, around: tuple[i.Loop, ...]) -> i.Block | None:
    """A step for each iteration of a sum where these are few; with guards, where all of them hold,
    the loops being left for the others.

    None where guards depend on elements, or vary in the loop right around: there would be a test
    for each of its iterations.
    """
    if prod(extent for _, extent in whole.loops) > most:
        return None
    if around and around[-1].index in names_in(whole.guards):
        return None
    extents = {each.index: known for each in around if (known := loop_range(each))}
    tests = everywhere(whole.guards, whole.loops, extents)
    if tests is None:
        return None
    indices = [name for name, _ in whole.loops]
    places = combinations(*(range(extent) for _, extent in whole.loops))
    values = (dict(zip(indices, map(i.Const, place), strict=True)) for place in places)
    steps = tuple(
        each for at in values for each in with_plain_places((substitute(whole.step, {**at}),))
    )
    return (i.If(conjunction(tests), steps, (whole.loop,), whole.loop.span),) if tests else steps


def _written_out(loop: i.Loop, size: int, used: set[str]) -> i.Block:
    match loop.low, loop.high:
        case i.Const(value=int(low)), i.Const(value=int(high)) if high - low <= size:
            return passes(loop, [i.Const(at) for at in range(low, high)], used)
        case _:
            return in_passes(loop, size, used)


def in_passes(loop: i.Loop, size: int, used: set[str]) -> i.Block:
    """The loop in steps of `size`, and the loop for what is left."""
    assert loop.low is not None
    whole = fresh(f"{loop.index}_whole", used)
    end = i.Let(whole, "i64", simplify(last_whole_group(loop.low, loop.high, size)), loop.span)
    index = i.Var(loop.index)
    places = [i.Binary("+", index, i.Const(at)) if at else index for at in range(size)]
    main = replace(loop, high=i.Var(whole), step=size, body=passes(loop, places, used))
    return (end, main, replace(loop, low=i.Var(whole)))


def passes(loop: i.Loop, places: Sequence[i.Expr], used: set[str]) -> i.Block:
    """The body for each of the values of the index, with locals of its own."""
    own = [each.name for each in loop.body if isinstance(each, (i.Let, i.Array))]
    done: list[i.Stmt] = []
    for number, place in enumerate(places):
        body = with_plain_places(substitute(loop.body, {loop.index: place}))
        done += renamed(body, {name: fresh(name, used) for name in own} if number else {})
    return tuple(done)


def with_plain_places(body: i.Block) -> i.Block:
    """The block with plain sums for the places of elements, and for locals."""

    def change(node: object) -> object:
        match node:
            case i.Load(offset=offset):
                return replace(node, offset=simplify(offset))
            case i.Let(value=value):
                return replace(node, value=simplify(value))
            case _:
                return node

    return rebuild(body, change)
