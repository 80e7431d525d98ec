"""`separate`: windows whose columns are combined first, and then the row of what came out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import fresh, names_in, replaced, substitute
from cvmgen.lower.guards import assigned
from cvmgen.schedule.actions.hoist import simple
from cvmgen.schedule.forms import Use
from cvmgen.schedule.guards import ONE, ZERO
from cvmgen.schedule.rewriting import Block, rewritten
from cvmgen.schedule.subject import Subject
from cvmgen.schedule.windows import Windows, find_windows, minus, plus, times


def separate(subject: Subject, use: Use) -> Subject:
    """A row of the columns that some results have in common comes first: each is combined once,
    not for each window that has it. Lines of results, which the second loop goes through, have
    one row after the other in the same place, whose padding is there for all of them.

    Legal where all that a window does with its elements is to combine them by an operation that
    gives the same bits in every order. The row has a size: what needs more stays as it is.
    """
    taps, over, lines = (set(use.loops(subject, at)) for at in (0, 1, 2))
    most = use.room(use.number(3))
    used, roles = subject.taken, [use.roles(at)[0] for at in (4, 5)]
    made: dict[str, dict[str, None]] = {role: {} for role in roles}

    def change(statement: i.Stmt) -> Block | None:
        match statement:
            case i.Loop(index=line, body=(*before, i.Loop(index=index) as results)) if (
                line in lines and index in over
            ):
                around: i.Loop | None = statement
            case i.Loop(index=index) as results if index in over:
                before, around = [], None
            case _:
                return None
        found = find_windows(results, None, subject)
        if found is None or found.columns.tap.index not in taps:
            use.refuse(
                f"the results of the loop {index} have no windows along it whose "
                f"elements are known by their places ({subject.place})"
            )
        if not found.separable:
            use.refuse(
                f"{found.total.name} is not the same in every order of what it is made of: rows "
                f"and columns of windows cannot be combined apart ({subject.place})"
            )
        if around is not None and not alike(before, found, around):
            return (replace(around, body=rewritten(around.body, change)),)
        base = index.removesuffix(f"_{use.roles(1)[0]}")
        column, near = (fresh(f"{base}_{role}", used) for role in roles)
        made[roles[0]][column], made[roles[1]][near] = None, None
        return (*before, *in_two(found, around, column, near, most, used))

    body = rewritten(subject.body, change)
    return subject.with_body(body).with_roles({role: tuple(made[role]) for role in roles})


def alike(before: Sequence[i.Stmt], found: Windows, lines: i.Loop) -> bool:
    """Whether the columns of all lines are at the same places, behind locals that are the same."""
    own = [each for each in before if isinstance(each, i.Let) and simple(each.value)]
    varying = assigned((lines,)) - {each.name for each in own}
    of_lines = (found.columns.start, found.results.high, *(each.value for each in own))
    return len(own) == len(before) and not varying & names_in(of_lines)


def in_two(
    found: Windows, lines: i.Loop | None, column: str, near: str, most: int, used: set[str]
) -> Block:
    """Both passes where the row has room for what the results need; the loop where not."""
    results, side, span = found.results, found.columns, found.results.span
    last = plus(times(plus(results.high, i.Const(-1)), side.step), side.reach)
    count = i.Let(fresh(f"{column}s", used), "i64", plus(last, ONE), span)
    row = i.Array(fresh(f"{column}_{found.total.name}", used), found.total.type, most, span)
    low, high, left, right, middle = columns(found, row, column, count, used)

    def in_lines(body: Block) -> Block:
        return body if lines is None else (replace(lines, body=body),)

    both = (row, left, right, *in_lines((middle, along(found, row, near))))
    enough = i.Compare("<=", i.Var(count.name), i.Const(most))
    return (count, low, high, i.If(enough, both, in_lines((results,)), span))


def columns(found: Windows, row: i.Array, column: str, count: i.Let, used: set[str]) -> Block:
    """The first pass: its ends, nothing for columns that lie in the padding, on the left and on
    the right, and what each of the others amounts to."""
    side, span = found.columns, found.total.span
    start, end = side.first(ZERO), i.Var(count.name)
    first = i.Call("max_i64", (ZERO, minus(ZERO, start)))
    last = i.Call("min_i64", (end, minus(side.extent, start)))
    low = i.Let(fresh(f"{column}_low", used), "i64", i.Call("min_i64", (first, end)), span)
    behind = i.Call("max_i64", (last, i.Var(low.name)))
    high = i.Let(fresh(f"{column}_high", used), "i64", behind, span)
    ends = ZERO, i.Var(low.name), i.Var(high.name), end
    place = {side.place: plus(i.Var(column), start)}
    more = replace(found.accumulate, value=substitute(found.element, place))
    sweep = rewritten((found.sweep,), lambda each: (more,) if each is side.tap else None)
    at = i.Load(row.name, None, i.Var(column))
    whole = (found.total, *sweep, i.Store(at, i.Var(found.total.name), span))
    assert found.empty is not None
    outside = i.Store(at, found.empty, span)
    left, middle, right = (
        i.Loop(column, ends[part], ends[part + 1], body, 0, span)
        for part, body in enumerate(((outside,), whole, (outside,)))
    )
    return (low, high, left, right, middle)


def along(found: Windows, row: i.Array, near: str) -> i.Loop:
    """The second pass: each result from the columns of its window."""
    side, results = found.columns, found.results
    offset = plus(times(i.Var(near), side.step), times(i.Var(side.tap.index), side.apart))
    column = i.Load(row.name, None, offset)
    value = replaced(found.value, lambda each: column if each == found.element else each)
    sweep = replace(side.tap, body=(replace(found.accumulate, value=value),))
    after: Block = substitute(found.after, {results.index: i.Var(near)})
    return replace(results, index=near, body=(found.total, sweep, *after))
