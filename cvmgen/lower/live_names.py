"""Which names the host part of an operator needs: what nothing reads is not printed."""

from __future__ import annotations

from cvmgen.ir import nodes as i
from cvmgen.ir.uses import names_in
from cvmgen.ir.visit import walk


def names_read(statements: tuple[i.Stmt, ...]) -> set[str]:
    """Names that statements read, the terms of refusals included."""
    reads = set(names_in(statements))
    for each in walk(statements):
        if isinstance(each, i.Merge):
            reads |= {each.extents, *each.steps}
        if isinstance(each, (i.Assign, i.Append, i.SetAt)):
            reads.add(each.name)
    return reads


def live_names(statements: tuple[i.Stmt, ...], used: set[str]) -> set[str]:
    """The names `used` later, and those that statements read on the way to them."""
    blocks = [statements]
    for each in statements:
        if isinstance(each, i.Cases):
            blocks += [body for _, body in each.branches]
    found = set(used)
    while True:
        before = len(found)
        for each in (each for block in blocks for each in block):
            if isinstance(each, i.Cases):
                found |= {name for test, _ in each.branches for name in names_in(test)}
            elif not isinstance(each, i.Let) or each.name in found:
                found |= names_read((each,))
        if len(found) == before:
            return found


def without_unread(statements: i.Block, used: set[str]) -> i.Block:
    """The statements of a case without locals that nothing reads there, or later by their names in
    `used`: another case may read one of the same name."""
    live = live_names(statements, used)
    return tuple(s for s in statements if not isinstance(s, i.Let) or s.name in live)
