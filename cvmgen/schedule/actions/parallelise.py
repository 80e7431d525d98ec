"""Loops to threads: `parallelise`, and when that is worth it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import TypeGuard

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import names_in, walk
from cvmgen.lower.copies import Run
from cvmgen.lower.guards import assigned
from cvmgen.schedule.dependences import carried
from cvmgen.schedule.forms import Use
from cvmgen.schedule.subject import Subject

ONE = i.Const(1)


def parallelise(subject: Subject, use: Use) -> Subject:
    """The loops of a role in parallel, the outermost and those that stand right in it.

    Every iteration writes elements of its own: in gather form by construction, in scatter form
    because each element is written once.
    """
    names = set(use.loops(subject, 0))
    measure, least = use.test(1)
    return subject.with_body(block(subject.body, subject, use, names, MEASURES[measure], least))


def block(
    body: tuple[i.Stmt, ...],
    subject: Subject,
    use: Use,
    names: Collection[str],
    measure: Measure,
    least: int,
) -> tuple[i.Stmt, ...]:
    match body:
        case (i.If(then=then, otherwise=otherwise) as choice,):
            both = (
                block(branch, subject, use, names, measure, least) for branch in (then, otherwise)
            )
            first, second = both
            return (replace(choice, then=first, otherwise=second),)
        case (i.Loop(index=index) as loop,) if index in names:
            for each in chain(loop, names):
                if lost := carried(each):
                    use.refuse(
                        f"the loop {each.index} carries {' and '.join(sorted(lost))}: its "
                        f"iterations cannot run in parallel ({subject.place})",
                        "expand what it carries, or parallelise loops around it",
                    )
            count = len(chain(loop, names))
            marked = replace(loop, parallel=count)
            return (replace(marked, worth=worth(subject, marked, measure, least)),)
        case _:
            return body


def chain(loop: i.Loop, names: Collection[str]) -> list[i.Loop]:
    """A loop and those of the names that stand in each other right below it."""
    found = [loop]
    while len(found[-1].body) == 1 and isinstance(found[-1].body[0], i.Loop):
        below = found[-1].body[0]
        if below.index not in names:
            break
        found.append(below)
    return found


def worth(subject: Subject, loop: i.Loop, measure: Measure, least: int) -> i.Expr:
    """The test that the iterations are worth more than one thread."""
    enough = i.Compare(">=", product(measure(subject, loop)), i.Const(least))
    if loop.parallel == 1 and any(isinstance(each, Run) for each in repeated(loop.body)):
        # One long run has its own threads.
        return i.Logic("and", (i.Compare(">", loop.high, ONE), enough))
    return enough


def product(extents: list[i.Expr]) -> i.Expr:
    """The product from the left, as a person would write it."""
    result: i.Expr | None = None
    for extent in extents:
        for factor in factors(extent):
            result = factor if result is None else i.Binary("*", result, factor)
    return ONE if result is None else result


def factors(expr: i.Expr) -> list[i.Expr]:
    match expr:
        case i.Binary(op="*", left=left, right=right):
            return [*factors(left), *factors(right)]
        case _:
            return [expr]


# ---------------------------------------------------------------- measures

Measure = Callable[[Subject, i.Loop], list[i.Expr]]


def results(subject: Subject, loop: i.Loop) -> list[i.Expr]:
    """The iterations of the parallel loops."""
    extents, inner = [], loop
    for _ in range(loop.parallel):
        extents.append(count(inner))
        if isinstance(inner.body[0], i.Loop):
            inner = inner.body[0]
    return extents


def elements(subject: Subject, loop: i.Loop) -> list[i.Expr]:
    """Those, and the iterations and runs right inside, as far as the call alone decides them."""
    inner = loop
    for _ in range(loop.parallel - 1):
        below = inner.body[0]
        assert isinstance(below, i.Loop)
        inner = below
    within = assigned((loop,))
    inside = (each for each in repeated(inner.body) if not names_in(ends(each)) & within)
    return [*results(subject, loop), *map(count, inside)]


def entries(subject: Subject, loop: i.Loop) -> list[i.Expr]:
    """The most entries that the lists of the nest may have."""
    return list(subject.memory)


def products(subject: Subject, loop: i.Loop) -> list[i.Expr]:
    """The iterations of the parallel loops and of all loops of the sums inside."""
    return [*results(subject, loop), *(each.high for each in walk(loop) if sums(each))]


def sums(loop: object) -> TypeGuard[i.Loop]:
    return isinstance(loop, i.Loop) and loop.low is not None and bool(carried(loop))


MEASURES: Mapping[str, Measure] = {
    "products": products,
    "results": results,
    "elements": elements,
    "entries": entries,
}


def count(statement: i.Loop | Run) -> i.Expr:
    """About how many iterations a loop has, or elements a run."""
    match statement:
        case i.Loop(low=None, high=members):
            return i.Call("len", (members,))
        case i.Loop(high=high):
            return high
        case _:
            return statement.count


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


def ends(statement: i.Loop | Run) -> tuple[i.Expr | None, ...]:
    """What decides how often a loop runs, or how long a run is."""
    if isinstance(statement, i.Loop):
        return (statement.low, statement.high)
    return (statement.count,)
