"""The ways that decisions on elements take, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from cvmgen.verification.values import terms as t
from cvmgen.verification.values.evaluate import CallTooLarge
from cvmgen.verification.values.facts import PathFacts
from cvmgen.verification.values.solver import possible

MOST_WAYS = 120
SOON = 16  # ways, behind which it is seen whether there may be an end
Choice = tuple[bool, bool]  # whether the condition holds; whether the opposite is still to be tried


class Way:
    """Decisions: first those of a script, then each condition holds unless it cannot."""

    def __init__(self, script: list[Choice]) -> None:
        self.facts = PathFacts()
        self.script, self.taken = script, list[Choice]()

    def decide(self, test: t.Condition) -> bool:
        said = self.facts.says(test)
        if said is not None:
            return said
        at = len(self.taken)
        # what was found out on the way before need not be asked again
        choice = self.script[at] if at < len(self.script) else self.first(test)
        self.taken.append(choice)
        self.facts.assume(test if choice[0] else test.other)
        return choice[0]

    def first(self, test: t.Condition) -> Choice:
        assumed = self.facts.conditions()
        for holds in (True, False):
            if not possible([*assumed, test.other if holds else test], exact=False):
                return holds, False
        return True, True


def ways() -> Iterator[Way]:
    """Every way, each while its decisions are those that are asked for."""
    script: list[Choice] = []
    first = 0
    for number in range(MOST_WAYS):
        way = Way(script)
        with t.decided_by(way.decide):
            yield way
        taken = way.taken
        left = sum(both for _, both in taken)
        first = left if number == 0 else first
        # Each choice that is open is a way at least; where elements decide apart from each other,
        # these double with each, and 16 ways take four of them away.
        if number == SOON and first > SOON and first - left < SOON // 2:
            raise CallTooLarge(f"ways that part {first} times")
        while taken and not taken[-1][1]:
            taken.pop()
        if not taken:
            return
        script = [*taken[:-1], (False, False)]
    raise CallTooLarge(f"more than {MOST_WAYS} ways")
