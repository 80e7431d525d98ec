"""Entries of the host's lists that are there in every call, for numpy.

Whole arrays are computed for all elements, whatever conditions of a call stand around them: an
entry that is not proved to be in its list stays behind a test of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cvmgen.ir import nodes as i
from cvmgen.ir.uses import assigned, bound_in, names_in
from cvmgen.ir.visit import rebuild, walk
from cvmgen.lower.lift import Proof, of_nests


def with_all_entries(program: i.Program, *, proof: Callable[[i.Program], Proof]) -> i.Program:
    """The program with a test before each entry that is not proved to be there."""
    reads_inside = proof(program)
    nests = (replace(each, body=tested(each, reads_inside)) for each in program.nests)
    return replace(program, nests=tuple(nests))


def tested(nest: i.Nest, reads_inside: Proof) -> i.Block:
    inner = assigned(nest.body) | bound_in(nest.body)
    known: dict[i.Expr, bool] = {}

    def change(node: i.Expr) -> i.Expr:
        if not isinstance(node, i.Item) or names_in(node) & inner:
            return node
        if any(map(of_nests, walk(node))):
            return node
        if node not in known:
            known[node] = reads_inside(nest, node)
        return node if known[node] else entry_or_0(node)

    body: i.Block = rebuild(nest.body, change)
    return body


def entry_or_0(item: i.Item) -> i.Expr:
    length = i.Call("len", (item.sequence,))
    tests = i.Compare("<=", i.Const(0), item.index), i.Compare("<", item.index, length)
    return i.Select(i.Logic("and", tests), item, i.Const(0))
