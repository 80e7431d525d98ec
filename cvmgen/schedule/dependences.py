"""What one iteration of a loop leaves for the next, which decides what actions are legal."""

from __future__ import annotations

from cvmgen.ir import nodes as i
from cvmgen.ir.visit import walk
from cvmgen.lower.guards import changed


def carried(loop: i.Loop) -> set[str]:
    """The locals that a loop changes and that were there before it."""
    return changed((loop,)) - {each.name for each in walk(loop) if isinstance(each, i.Let)}
