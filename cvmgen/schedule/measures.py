"""How much there is to do: what tests in schedules compare with numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from cvmgen.algebra import normal, simplify, total
from cvmgen.ir import nodes as i
from cvmgen.ir.logic import factors_in
from cvmgen.ir.loops import length, product
from cvmgen.ir.rewrite import inner_blocks
from cvmgen.ir.uses import assigned, names_in
from cvmgen.ir.visit import substitute, walk
from cvmgen.schedule.copies import Run
from cvmgen.schedule.subject import Subject

Counted = i.Loop | Run | i.Products
Measure = Callable[[Subject, i.Loop], list[i.Expr]]
"""Factors whose product says how much a loop does."""


def results(subject: Subject, loop: i.Loop) -> list[i.Expr]:
    """The iterations of the parallel loops."""
    return [trip_count(each) for each in parallel(loop)]


def parallel_elements(subject: Subject, loop: i.Loop) -> list[i.Expr]:
    """The iterations of the parallel loops, times those of the loops and runs right inside, as far
    as the call alone decides them.

    These stand one after the other, so that they add up: of the size of a sum there are as many
    steps to take, of the size of a product there are not, and it may be beyond all integers.
    """
    counted = decided(loop, loops_and_runs(parallel(loop)[-1].body))
    together = counted if len(counted) < 2 else [normal(total(counted))]
    return [*results(subject, loop), *together]


def loop_work(subject: Subject, loop: i.Loop) -> list[i.Expr]:
    """The iterations of a loop and of all in it, as far as the call alone decides them; in models
    times the statements in them as they stood before any action, where 16 products of a tile are
    one."""
    return decided(loop, deepest((loop,)))


def decided(loop: i.Loop, inside: Iterable[Counted]) -> list[i.Expr]:
    """How often loops and runs inside of a loop run, as far as the call alone decides them; those
    that end where loops around them say, in the last iteration of these. A loop over blocks stands
    for that over the lines of each."""
    within, last = assigned((loop,)), last_values(loop)
    found: list[i.Expr] = []
    for each in inside:
        own, count = names_in(trip_ends(each)) & within, trip_count(each)
        if not own:
            found.append(count)
        elif own <= last.keys() and not isinstance(count, i.Var):
            found.append(normal(substitute(count, last)))
    return found


def last_values(loop: i.Loop) -> Mapping[str, i.Expr]:
    """Indices of a loop and of those in it, and how many lines blocks have, in last iterations."""
    within, last = assigned((loop,)), dict[str, i.Expr]()
    for each in walk(loop):
        match each:
            case i.Loop(index=index, low=low, high=high, step=step) if low is not None:
                if names_in(high) & within <= last.keys():
                    end = substitute(high, last)
                    last[index] = normal(i.Binary("-", end, i.Const(step)))
            case i.Let(name=name, value=i.Call(function="min_i64", arguments=(most, rest))):
                if normal(substitute(rest, last)) == most:
                    last[name] = most
            case _:
                pass
    return last


def most_list_entries(subject: Subject, loop: i.Loop) -> list[i.Expr]:
    """The most entries that the lists of the nest may have."""
    return list(subject.memory)


def loop_iterations(subject: Subject, loop: i.Loop) -> list[i.Expr]:
    """The iterations of a loop by itself."""
    return [trip_count(loop)]


def _points(subject: Subject, loop: i.Loop) -> list[i.Expr]:
    """The iterations of the nest as it stood before any action."""
    return list(subject.written)


MEASURES: Mapping[str, Measure] = {
    "results": results,
    "elements": parallel_elements,
    "work": loop_work,
    "entries": most_list_entries,
    "iterations": loop_iterations,
    "points": _points,
}


def enough(subject: Subject, loop: i.Loop, test: tuple[str, int]) -> i.Compare:
    """The test that a loop does enough to be worth it; between numbers where that is known."""
    measure, least = test
    much = product(
        [factor for each in MEASURES[measure](subject, loop) for factor in factors_in(each)]
    )
    if subject.model is not None:
        known = subject.model.measures.get(measure)
        much = simplify(much) if known is None else i.Const(known)
    return i.Compare(">=", much, i.Const(least))


def known_outcome(test: i.Compare) -> bool | None:
    """How a test comes out, where it is between numbers."""
    match test:
        case i.Compare(op=">=", left=i.Const(value=much), right=i.Const(value=least)):
            return much >= least
        case _:
            return None


def parallel(loop: i.Loop) -> list[i.Loop]:
    """The loops that run in parallel together, this one first."""
    found = [loop]
    for _ in range(loop.parallel - 1):
        below = found[-1].body[-1]
        assert isinstance(below, i.Loop)
        found.append(below)
    return found


def deepest(body: i.Block) -> list[Counted]:
    """The loops and runs in each other, along the way to sums of products, or else that on which
    there are most."""
    best: list[Counted] = []
    for each in body:
        own = [each] if isinstance(each, (i.Loop, i.Copy, i.Fill, i.Products)) else []
        inner: list[Counted] = max(map(deepest, inner_blocks(each)), key=depth, default=[])
        best = max(best, [*own, *inner], key=depth)
    return best


def depth(way: list[Counted]) -> tuple[bool, int]:
    return bool(way) and isinstance(way[-1], i.Products), len(way)


def trip_count(statement: Counted) -> i.Expr:
    """About how many iterations a loop has, or elements a run."""
    if isinstance(statement, i.Products):
        return statement.depth
    if not isinstance(statement, i.Loop):
        return statement.count
    return length(statement.high) if statement.low is None else most_iterations(statement)


def most_iterations(loop: i.Loop) -> i.Expr:
    """The end of a loop; of one over parts of a row, of which the last may be shorter, that of the
    others."""
    match loop.high:
        case i.Select(then=i.Var(), otherwise=(i.Var() | i.Const()) as most):
            return most
        case high:
            return high


def loops_and_runs(body: i.Block) -> Iterator[Counted]:
    """The loops and runs of a block; of a choice, those of the first branch."""
    for each in body:
        match each:
            case i.Loop() | i.Copy() | i.Fill():
                yield each
            case i.If(then=then):
                yield from loops_and_runs(then)
            case _:
                pass


def trip_ends(statement: Counted) -> tuple[i.Expr | None, ...]:
    """What decides how often a loop runs, or how long a run is."""
    if isinstance(statement, i.Loop):
        return (statement.low, most_iterations(statement))
    return (statement.depth if isinstance(statement, i.Products) else statement.count,)
