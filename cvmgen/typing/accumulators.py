"""Which locals statements accumulate, and how."""

from __future__ import annotations

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import walk


def counters(statements: i.Block) -> frozenset[str]:
    """The locals that are only ever counted up by one."""
    steps = [each for each in walk(statements) if isinstance(each, i.Accumulate)]
    others = {each.name for each in steps if (each.op, each.value) != ("+", i.Const(1))}
    return frozenset({each.name for each in steps} - others)


def accumulated(statements: i.Block, *ops: str) -> set[str]:
    """The locals that are accumulated by one of the operations."""
    found = (each for each in walk(statements) if isinstance(each, i.Accumulate))
    return {each.name for each in found if each.op in ops}
