"""`separate`: windows whose columns are combined first, and then the row of what came out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cvmgen.analysis.windows import Windows, simplified_product, simplified_sum
from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import rewritten
from cvmgen.ir.uses import assigned, names_in
from cvmgen.schedule.actions.hoist import simple
from cvmgen.schedule.column_pairs import ColumnPairs
from cvmgen.schedule.columns import COLUMN, NEAR, ColumnNames, Columns
from cvmgen.schedule.forms import Use
from cvmgen.schedule.subject import Subject


def separate(subject: Subject, use: Use) -> Subject:
    """A row of the columns that some results have in common comes first: each is combined once,
    not for each window that has it. Lines of results, which the second loop goes through, have
    one row after the other in the same place, whose padding is there for all of them.

    With two roles more, small windows two columns apart have no row: their results go by runs,
    for which all stays in registers.

    Legal where all that a window does with its elements is to combine them by an operation that
    gives the same bits in every order. A row has a size: what needs more stays as it is.
    """
    taps, over, lines = (set(use.loops(subject, at)) for at in (0, 1, 2))
    most = use.room(use.number(3))
    used = subject.taken
    roles = [use.roles(at)[0] for at in range(4, len(use.given))]
    made: dict[str, dict[str, None]] = {role: {} for role in roles}

    def change(statement: i.Stmt) -> i.Block | None:
        match statement:
            case i.Loop(index=line, body=(*before, i.Loop(index=index) as results)) if (
                line in lines and index in over
            ):
                around: i.Loop | None = statement
            case i.Loop(index=index) as results if index in over:
                before, around = [], None
            case _:
                return None
        found = subject.windows(results)
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
        if around is not None and not same_columns(before, found, around):
            return (replace(around, body=rewritten(around.body, change)),)
        base = index.removesuffix(f"_{use.roles(1)[0]}")
        columns = Columns(found, f"{base}_{roles[0]}", used)
        names = ColumnNames(base, roles, made, used)
        rows = in_two(columns, around, names, most)
        pairs = ColumnPairs.of(columns, names) if len(roles) > 2 else None
        if pairs is None:
            return (*before, *columns.locals_, *rows)
        body = in_lines(around, pairs.body())
        choice = i.If(pairs.test, body, rows, results.span)
        return (*before, *columns.locals_, pairs.low, pairs.high, choice)

    body = rewritten(subject.body, change)
    return subject.with_body(body).with_roles({role: tuple(made[role]) for role in roles})


def same_columns(before: Sequence[i.Stmt], found: Windows, lines: i.Loop) -> bool:
    """Whether the columns of all lines are at the same places, behind locals that are the same."""
    own = [each for each in before if isinstance(each, i.Let) and simple(each.value)]
    varying = assigned((lines,)) - {each.name for each in own}
    of_lines = (found.columns.start, found.results.high, *(each.value for each in own))
    return len(own) == len(before) and not varying & names_in(of_lines)


def in_two(columns: Columns, lines: i.Loop | None, names: ColumnNames, most: int) -> i.Block:
    """Both passes where the row has room for what the results need; the loop where not."""
    found, span = columns.found, columns.found.results.span
    column, near = names.loop(COLUMN), names.loop(NEAR)
    name = names.local(f"{column}_{found.total.name}")
    row = i.Array(name, found.total.type, most, span)
    at = i.Load(row.name, None, i.Var(column))
    middle = columns.combined(i.Var(column), at)
    side = found.columns
    offset = simplified_sum(
        simplified_product(i.Var(near), side.step),
        simplified_product(i.Var(side.tap.index), side.apart),
    )
    results = columns.along(i.Var(near), i.Load(row.name, None, offset))
    both = (
        i.Loop(column, columns.low, columns.high, middle, 0, found.total.span),
        replace(found.results, index=near, body=results),
    )
    enough = i.Compare("<=", columns.count, i.Const(most))
    separated = (row, *columns.outside(column, at), *in_lines(lines, both))
    return (i.If(enough, separated, in_lines(lines, (found.results,)), span),)


def in_lines(lines: i.Loop | None, body: i.Block) -> i.Block:
    return body if lines is None else (replace(lines, body=body),)
