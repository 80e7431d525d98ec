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
MOST_STEPS = 12  # of facts next to facts


@dataclass(frozen=True)
class FactSlice:
    """Facts that are used; `whole` if there are no others that could matter."""

    facts: tuple[Formula, ...]
    whole: bool


def slices(symbols: Symbols, path: tuple[Formula, ...], claim: Formula) -> Iterator[FactSlice]:
    """Facts in growing numbers: those of symbols of the claim, then of symbols of these, and at
    last those whose symbols are made of any of them."""
    growing = Growing(symbols, path, set(names_of(claim)))
    for step in range(1, MOST_STEPS):
        if not growing.grow():
            break
        if step in STEPS:
            yield FactSlice(growing.facts, whole=False)
    else:
        yield FactSlice(growing.facts, whole=False)
    while growing.grow(deep=True):
        pass
    yield FactSlice(growing.facts, whole=not growing.vague_left)


class Growing:
    """The facts chosen so far, and the symbols that they speak of."""

    def __init__(self, symbols: Symbols, path: tuple[Formula, ...], near: set[str]) -> None:
        self.symbols, self.left, self.near = symbols, list(path), near
        self.known: set[str] = set()
        self.found: dict[Formula, None] = {}

    @property
    def facts(self) -> tuple[Formula, ...]:
        return tuple(self.found)

    @property
    def vague_left(self) -> bool:
        """Whether a fact that was not taken speaks of what is not all known, which could be of
        symbols that were."""
        return any(not self.made_of(each).isdisjoint(self.symbols.vague) for each in self.left)

    def grow(self, *, deep: bool = False) -> bool:
        """Take the facts that are next; gives whether there were any."""
        before = len(self.found), len(self.known)
        for name in sorted(self.near - self.known):
            self.found.update(dict.fromkeys(self.symbols.axioms.get(name, ())))
        self.known |= self.near
        chosen, left, plain = list[Formula](), list[Formula](), list[Formula]()
        for each in self.left:
            names = names_of(each)
            near = names and not (self.made_of(each) if deep else names).isdisjoint(self.known)
            (chosen if near else left if names else plain).append(each)
        chosen, self.left = [*chosen, *plain], left
        self.found.update(dict.fromkeys(chosen))
        for each in self.found:
            self.near |= names_of(each)
        return before != (len(self.found), len(self.known))

    def made_of(self, fact: Formula) -> set[str]:
        """The symbols of a fact, those that their axioms speak of, and so on."""
        found, left = set[str](), set(names_of(fact))
        while left:
            found.add(name := left.pop())
            for each in self.symbols.axioms.get(name, ()):
                left |= names_of(each) - found
        return found
