"""The outermost loops of a nest, whose iterations may run side by side."""

from __future__ import annotations

from dataclasses import dataclass

from cvmgen.ir import nodes as i
from cvmgen.ir.loops import extent
from cvmgen.ir.uses import assigned, names_in, read_tensors, reassigned


@dataclass(frozen=True, slots=True)
class Grid:
    """The loops whose iterations are threads, outermost first, and what each thread does."""

    loops: tuple[i.Loop, ...]
    body: i.Block

    @property
    def extents(self) -> tuple[i.Expr, ...]:
        return tuple(map(extent, self.loops))


def grid(body: i.Block, most: int | None = None) -> Grid:
    """The outermost loops of a nest that can all run in parallel, with the locals between them.

    `most` are all that are wanted.

    As where schedules make loops parallel, every iteration writes elements of its own. A local in
    front of a loop is computed by each thread again, so the loops need not be perfectly nested: a
    walk over rows and along a row is one grid.
    """
    loops: list[i.Loop] = []
    locals_: list[i.Stmt] = []
    while True:
        *before, last = body
        inner = {each.name for each in before if isinstance(each, i.Let)}
        if not isinstance(last, i.Loop) or last.low is None or len(inner) < len(before):
            break
        if len(loops) == most or read_tensors((last.low, last.high)):
            break
        varying = inner | assigned(tuple(locals_)) | {loop.index for loop in loops}
        if inner & reassigned(body) or names_in((last.low, last.high)) & varying:
            break
        loops.append(last)
        locals_ += before
        body = last.body
    return Grid(tuple(loops), (*locals_, *body))
