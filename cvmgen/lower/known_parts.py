"""Names for parts of shapes: lists that an input's shape holds beside other slots, and extents of
an output that are computed by a division or a function.

In `input Z : cvm[k, n[1:]...]` the place of every slot after the list depends on its length, so
that the check of the shape and the offsets of the elements read it more than once. The extent of
`output Y : cvm[(L - K) div stride + 1]` stands in loops and offsets too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import fresh, replaced, walk
from cvmgen.lower.unfold import taken

DIVISIONS = ("floordiv", "truncdiv", "mod")


def name_parts(program: i.Program) -> i.Program:
    """Known lists beside other slots of a shape, and computed extents, get names."""
    names = set(taken(program.prepare))
    for nest in program.nests:
        names |= taken((*nest.prologue, *nest.body))
    extents: dict[i.Expr, i.Var] = {}
    prepare: list[i.Stmt] = []
    for statement in program.prepare:
        if isinstance(statement, i.SetOutput):
            prepare += computed_extents(statement, names, extents)
        prepare += with_lists(with_extent_names(statement, extents), names)
    nests = tuple(
        replace(nest, body=tuple(with_extent_names(each, extents) for each in nest.body))
        for nest in program.nests
    )
    return replace(program, prepare=tuple(prepare), nests=nests)


def computed_extents(
    statement: i.SetOutput, names: set[str], extents: dict[i.Expr, i.Var]
) -> Iterator[i.Let]:
    """Locals for the extents of an output in front of its packs that take computing."""
    entries = statement.extents.entries if isinstance(statement.extents, i.ListOf) else ()
    for at, (value, pack) in enumerate(entries):
        if pack:
            return
        if value not in extents and any(map(needs_computing, walk(value))):
            extents[value] = i.Var(fresh(f"{statement.tensor}_extent_{at}", names))
            yield i.Let(extents[value].name, "int", value, statement.span)


def needs_computing(node: object) -> bool:
    match node:
        case i.Binary(op=op):
            return op in DIVISIONS
        case i.Call(function=function):
            return function not in ("len", "size")
        case _:
            return False


def with_extent_names(statement: i.Stmt, extents: dict[i.Expr, i.Var]) -> i.Stmt:
    return replaced(statement, lambda node: extents.get(node, node))


def with_lists(statement: i.Stmt, names: set[str]) -> Iterator[i.Stmt]:
    """A statement, after the lists that it needs."""
    if isinstance(statement, i.TakeInput) and len(statement.known) > 1:
        known = list(statement.known)
        for at, (value, extent) in enumerate(zip(known, statement.input.extents, strict=True)):
            if extent.pack and value is not None and not isinstance(value, i.Var):
                name = fresh(f"{statement.input.name}_part", names)
                yield i.Let(name, "list", value, statement.span)
                known[at] = i.Var(name)
        statement = replace(statement, known=tuple(known))
    yield statement
