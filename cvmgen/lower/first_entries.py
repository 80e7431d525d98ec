"""C: lists that are sorted, of which only the first entries are read: the greatest k of each row.

Where every read of a list is of an entry at the index of a loop that begins with 0, no entry from
the ends of these loops on is read; neither is the list walked through, nor asked whether it has an
entry. Then `sort` puts the first ones alone where they belong, in the order that all of them have.
How many entries there are does not change.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cvmgen.ir import nodes as i
from cvmgen.ir.host import host_types
from cvmgen.ir.uses import has, names_in, nodes_in, read_tensors
from cvmgen.ir.visit import rebuild, walk


def sort_first_entries(program: i.Program) -> i.Program:
    """Sorted lists of which only the first entries are read know how many these are."""
    return replace(program, nests=tuple(with_most(program, each) for each in program.nests))


def with_most(program: i.Program, nest: i.Nest) -> i.Nest:
    if nest.each is not None or not has(nest.body, i.Sort) or not program.lists_of(nest.tensor):
        return nest
    ends: list[i.Expr] = []
    for reader in program.nests:
        if nest.tensor in read_tensors(reader.body) and reader.tensor != nest.tensor:
            found = ends_of_reads(nest.tensor, reader.body)
            if found is None or reader.case != nest.case:
                return nest
            ends += found
    known = host_types(program).keys()
    ends = list(dict.fromkeys(ends))
    if not ends or not all(names_in(each) <= known for each in ends):
        return nest
    most = ends[0] if len(ends) == 1 else i.Call("max", tuple(ends))

    def change(node: Any) -> Any:
        return replace(node, most=most) if isinstance(node, i.Sort) else node

    return replace(nest, body=rebuild(nest.body, change))


def ends_of_reads(name: str, body: i.Block) -> list[i.Expr] | None:
    """The ends of the loops whose indices say which entries are read; None if another one is."""
    highs = {loop.index: loop.high for loop in nodes_in(body, i.Loop) if loop.low == i.ZERO}
    indices = [loop.index for loop in nodes_in(body, i.Loop)]
    found: list[i.Expr] = []
    for node in walk(body):
        match node:
            case i.Entries(first=first) if first.tensor == name:
                return None
            case i.Access(tensor=tensor, index=(*_, (i.Var(name=index), False))) if tensor == name:
                if indices.count(index) != 1 or index not in highs:
                    return None
                found.append(highs[index])
            case i.Access(tensor=tensor) if tensor == name:
                return None
            case _:
                pass
    return found
