"""Accesses along boxes of any rank, walked by steps: what the kernel owes, and what the host owes.

The host gives a kernel a box and steps, lists of one length, and a row's offset is the sum of index
times step over all dimensions but the last one. The kernel owes that it stays in the box: its row
is below the number of rows, its place in the row below the last extent. That every place of the box
lies in the tensor is a claim about the host's lists alone, for every rank, and an obligation of its
own. Both together put each access into its tensor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cvmgen.verification import terms as t
from cvmgen.verification.lists import ListTerms, RowWalk
from cvmgen.verification.terms import Formula, Term, term_text

STRIDES = "a sum of strides"


@dataclass(frozen=True)
class WalkClaims:
    """The claims that the kernel owes, and in words what the host owes."""

    claims: tuple[Formula, ...]
    box: str
    base: Term
    walks: Mapping[str, RowWalk]  # by their symbols
    offset: Term


def walked(
    offset: Term,
    tensor: str,
    walks: Mapping[str, RowWalk],
    path: tuple[Formula, ...],
    lists: ListTerms,
) -> WalkClaims | None:
    """An offset taken apart by the boxes that it walks; None if it is not made so."""
    found = [(name, walks[name]) for name in sorted(offset.names) if name in walks]
    if not found or any(offset.poly.get((name,)) != 1 for name, _ in found):
        return None
    rest = offset - sum((t.symbol(name) for name, _ in found), t.ZERO)
    claims: list[Formula] = []
    plain: list[RowWalk] = []
    for _, walk in found:
        step = lists.measure("last", walk.steps)
        claims += _inside(walk.row, lists.measure("rows", walk.box))
        if t.equal(step, 1) in path:
            plain.append(walk)
        else:
            place, rest = along(rest, step)
            claims += _inside(place, lists.measure("last", walk.box))
    if len(plain) > 1 or (not plain and rest.names - lists.bases):
        return None
    base = rest if not plain else sums_of_strides(rest, lists)
    for walk in plain:
        claims += _inside(rest - base, lists.measure("last", walk.box))
    boxes = " and ".join(f"{walk.box.name} by {walk.steps.name}" for _, walk in found)
    shown = f"{tensor} from {term_text(base)} on along {boxes}"
    return WalkClaims(tuple(claims), shown, base, dict(found), offset)


def sums_of_strides(rest: Term, lists: ListTerms) -> Term:
    """What the host added up before, beside the place in a row."""
    vague = lists.symbols.vague
    found = [each for each in sorted(rest.names) if vague.get(each) == STRIDES]
    return sum((t.symbol(each) for each in found if rest.poly.get((each,)) == 1), t.ZERO)


def _inside(place: Term, extent: Term) -> tuple[Formula, Formula]:
    return t.at_most(0, place), t.below(place, extent)


def along(rest: Term, step: Term) -> tuple[Term, Term]:
    """What is multiplied by a step, and the terms that are not."""
    (name,) = step.names
    place = {
        tuple(each for each in monomial if each != name): value
        for monomial, value in rest.parts
        if monomial.count(name) == 1
    }
    others = {monomial: value for monomial, value in rest.parts if name not in monomial}
    return t.term_of(place), t.term_of(others)
