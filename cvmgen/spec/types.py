"""The element types of an operator: its `type` items as one table, a row for each choice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from cvmgen.dtypes import CVM, DTYPES, DType
from cvmgen.source import SpecError, did_you_mean
from cvmgen.spec import declarations as d
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n

MOST_ROWS = 32
CONVERSION = re.compile(r"write (real|int)\(")  # what is right for one choice, and not for others


def type_table(block: d.BlockDecl) -> f.TypeTable:
    """The table of an operator; that of one without type parameters has a single row."""
    table = f.TypeTable()
    for item in block.items:
        if isinstance(item, d.TypeChoice):
            rows = tuple(row_types(item, row) for row in item.rows)
            known = [*table.names, *DTYPES, CVM]
            for name in item.names:
                if name.text in known:
                    message = f"'{name.text}' is an element type already"
                    raise SpecError(name.span, message, "choose another name")
                known.append(name.text)
            every_row_once(item, rows)
            names = (*table.names, *(name.text for name in item.names))
            joined = tuple((*first, *second) for first in table.rows for second in rows)
            table = f.TypeTable(names, joined)
    if len(table.rows) > MOST_ROWS:
        message = (
            f"an operator has at most {MOST_ROWS} choices of types, this one {len(table.rows)}"
        )
        raise SpecError(
            block.span, message, "write the rows that are wanted: type A, B in (int8, int32), ..."
        )
    return table


def row_types(item: d.TypeChoice, row: tuple[n.Name, ...]) -> tuple[DType, ...]:
    """The types of one row."""
    found = []
    for name in row:
        if name.text not in DTYPES:
            hint = did_you_mean(name.text, DTYPES) or f"storage types are {', '.join(DTYPES)}"
            raise SpecError(name.span, f"'{name.text}' is no storage type", hint)
        found.append(DTYPES[name.text])
    if len(row) != len(item.names):
        names = ", ".join(name.text for name in item.names)
        whole = row[0].span.to(row[-1].span)
        message = f"{len(item.names)} types are needed here, {len(row)} given"
        raise SpecError(whole, message, f"one for each of {names}, in parentheses")
    return tuple(found)


def every_row_once(item: d.TypeChoice, rows: tuple[tuple[DType, ...], ...]) -> None:
    for at, row in enumerate(rows):
        if row in rows[:at]:
            span = item.rows[at][0].span.to(item.rows[at][-1].span)
            raise SpecError(span, "this choice of types is there already", "remove it")


def untold(table: f.TypeTable, given: Iterable[f.Input | f.Attribute]) -> list[str]:
    """The type parameters that the inputs which every call has, and attributes, leave open; none,
    where these tell the row."""
    types = (f.typed_by(item) for item in given if not item.optional)
    names = [name for name in types if name in table.names]
    told = {tuple(table.dtype(name, number) for name in names) for number in range(len(table.rows))}
    if len(told) == len(table.rows):
        return []
    return [name for name in table.names if name not in names]


def row_text(table: f.TypeTable, number: int) -> str:
    """`T = int8`: a row as messages name it."""
    pairs = zip(table.names, table.rows[number], strict=True)
    return ", ".join(f"{name} = {dtype.name}" for name, dtype in pairs)


def in_some_rows(table: f.TypeTable, found: list[list[SpecError]]) -> Iterator[SpecError]:
    """The errors of all rows, each once; one that only some rows have says for which."""
    rows: dict[tuple[str, str, str], list[int]] = {}
    first: dict[tuple[str, str, str], SpecError] = {}
    for number, errors in enumerate(found):
        for error in errors:
            key = (str(error.span), error.message, error.hint)
            rows.setdefault(key, []).append(number)
            first.setdefault(key, error)
    for key, error in first.items():
        numbers = rows[key]
        if len(set(numbers)) == len(found):
            yield error
        else:
            message = f"{error.message}, for {row_text(table, numbers[0])}"
            hint = error.hint
            if CONVERSION.match(hint):
                hint = "for other types it is right: leave these out, or give them an operator"
            yield SpecError(error.span, message, hint)
