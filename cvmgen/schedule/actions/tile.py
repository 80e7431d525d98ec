"""Contractions by the register tile: `tile`."""

from __future__ import annotations

from dataclasses import replace

from cvmgen.lower.tiling import find_contraction, tiling
from cvmgen.schedule.forms import Use
from cvmgen.schedule.subject import Subject


def tile(subject: Subject, use: Use) -> Subject:
    """Blocks of totals by an intrinsic; the body stays for calls for which that does not pay, and
    a nest whose elements stand at other than affine places has nothing else."""
    names = set(use.loops(subject, 0))
    measure, least = use.test(2)
    found = find_contraction(subject.body, subject.facts, subject.sizes)
    if found is None:
        use.refuse(f"only a sum of products of two inputs has tiles ({subject.place})")
    lines = {loop.index for side in (found.rows, found.columns) for loop in side.lines}
    if names != lines or measure != "products":
        use.refuse(
            "a tile has all rows and all columns, and is worth it by its products",
            "write: tile rows, columns by dot4 when products >= 8192",
        )
    made = tiling(found, subject.facts)
    if made is None:
        return subject
    whole = replace(made, least=least, sizes=subject.sizes)
    return replace(subject, tiling=whole)
