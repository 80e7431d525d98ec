"""Contractions by the register tile: `tile`."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.analysis.tiling import find_contraction, tiling
from cvmgen.ir import nodes as i
from cvmgen.ir.visit import walk
from cvmgen.schedule.forms import Use
from cvmgen.schedule.measures import MEASURES, product
from cvmgen.schedule.subject import Subject


def tile(subject: Subject, use: Use) -> Subject:
    """Blocks of totals by an intrinsic where there is enough to do; the body stays for other calls,
    and a nest whose elements stand at other than affine places has nothing else.

    Legal for a sum of products of two inputs, with all its rows and columns.
    """
    names = set(use.loops(subject, 0))
    found = find_contraction(subject.body, subject.facts, subject.sizes)
    if found is None:
        use.refuse(f"only a sum of products of two inputs has tiles ({subject.place})")
    lines = {loop.index for side in (found.rows, found.columns) for loop in side.lines}
    if names != lines:
        use.refuse("a tile has all rows and all columns", "name both roles: tile rows, columns")
    made = tiling(found, subject.facts)
    if made is None:
        return subject
    whole = replace(made, worth=worth(subject, use), sizes=subject.sizes)
    return replace(subject, tiling=whole)


def worth(subject: Subject, use: Use) -> i.Expr | None:
    """The test that there is enough to do; None where it is always done."""
    if len(use.given) < 3:
        return None
    measure, least = use.test(2)
    outermost = next(each for each in walk(subject.body) if isinstance(each, i.Loop))
    return i.Compare(">=", product(MEASURES[measure](subject, outermost)), i.Const(least))
