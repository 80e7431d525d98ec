"""Places that elements name: `table[clip(X[i], 0, N - 1)]`."""

from __future__ import annotations

from cvmgen.ir import nodes as i
from cvmgen.ir.uses import names_in, nodes_in, read_tensors
from cvmgen.ir.visit import walk

ENDS = ("min_i32", "max_i32")


def named_place(loop: i.Loop) -> i.Call | None:
    """The place of 32 bits that each iteration of a loop reads and cuts to ends, where the loop
    does no more than store what lies there."""
    match loop.body:
        case (i.Store(value=value),):
            offsets = (each.offset for each in nodes_in(value, i.Load))
            parts = (part for offset in offsets for part in walk(offset))
            return next((each for each in parts if is_indirect_place(each, loop.index)), None)
        case _:
            return None


def is_indirect_place(node: object, index: str) -> bool:
    if not isinstance(node, i.Call) or node.function not in ENDS:
        return False
    return bool(read_tensors(node)) and index in names_in(node)
