"""What statements set and change."""

from __future__ import annotations

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import walk


def changed(statements: tuple[i.Stmt, ...]) -> set[str]:
    """The locals that a block gives a second value."""
    return {
        node.name
        for node in walk(statements)
        if isinstance(node, (i.Assign, i.Accumulate, i.AddAt, i.SetAt, i.Append))
    }


def assigned(statements: tuple[object, ...]) -> set[str]:
    """The names that a block sets."""
    found = set()
    for node in walk(statements):
        match node:
            case i.Let(name=name) | i.Assign(name=name) | i.Accumulate(name=name):
                found.add(name)
            case i.AddAt(name=name) | i.SetAt(name=name) | i.Append(name=name):
                found.add(name)
            case i.Loop(index=name) | i.PackLoop(pack=name):
                found.add(name)
            case _:
                pass
    return found
