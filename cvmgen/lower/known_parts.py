"""Names for the lists that an input's shape holds beside other slots.

In `input Z : cvm[k, n[1:]...]` the place of every slot after the list depends on its length, so
that the check of the shape and the offsets of the elements read it more than once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import fresh
from cvmgen.lower.unfold import taken


def name_parts(program: i.Program) -> i.Program:
    names = set(taken(program.prepare))
    for nest in program.nests:
        names |= taken((*nest.prologue, *nest.body))
    prepare = tuple(each for statement in program.prepare for each in named(statement, names))
    return replace(program, prepare=prepare)


def named(statement: i.Stmt, names: set[str]) -> Iterator[i.Stmt]:
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
