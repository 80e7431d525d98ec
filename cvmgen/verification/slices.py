"""Which of the facts at a place a proof is tried with: few first, those that are near the claim.

A claim that follows from some of the facts follows from all of them, so leaving facts out is sound;
solvers are far quicker with the few that matter. Only with all facts does a model refute a claim.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cvmgen.verification.symbols import Symbols
from cvmgen.verification.terms import Formula, names_of

STEPS = (1, 2, 4)


@dataclass(frozen=True)
class Slice:
    """Facts that are used; `whole` if there are no others that could matter."""

    facts: tuple[Formula, ...]
    whole: bool


def slices(symbols: Symbols, path: tuple[Formula, ...], claim: Formula) -> Iterator[Slice]:
    """Facts in growing numbers: those of symbols of the claim, then of symbols of these, ..."""
    left = [(each, names_of(each)) for each in path]
    near, known = set(names_of(claim)), set[str]()
    found: list[Formula] = []
    step = 0
    while True:
        step += 1
        new = [each for name in sorted(near - known) for each in symbols.axioms.get(name, ())]
        known |= near
        new += [each for each, names in left if not names.isdisjoint(known) or not names]
        left = [(each, names) for each, names in left if names and names.isdisjoint(known)]
        found = list(dict.fromkeys((*found, *new)))
        for each in new:
            near |= names_of(each)
        whole = near <= known
        if whole or step in STEPS:
            yield Slice(tuple(found), whole)
        if whole:
            return
