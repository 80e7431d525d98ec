"""The ways that decisions on elements take, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from random import Random
from typing import Any

from cvmgen.verification.values import terms as t
from cvmgen.verification.values.assumed import decided_by
from cvmgen.verification.values.evaluate import CallTooLarge, Evaluation, OpenEquality, Place
from cvmgen.verification.values.facts import PathFacts
from cvmgen.verification.values.solver import CALL_STEPS, possible, spent

MOST_WAYS = 120
INPUTS = 16  # that are drawn for a call
SOON = 16  # ways, behind which it is seen whether there may be an end
Choice = tuple[bool, bool]  # whether the condition holds; whether the opposite is still to be tried


Draw = Callable[[Place, Random], Any]


class Drawn(dict[Place, Any]):
    """Elements that are drawn when they are asked for: the least of so many of each, so that some
    inputs are small and others have one large element among small ones."""

    def __init__(self, draw: Draw, number: int) -> None:
        self.draw, self.of, self.random = draw, 1 + number // 2, Random(number)

    def __missing__(self, place: Place) -> Any:
        several = (self.draw(place, self.random) for _ in range(self.of))
        self[place] = found = min(several, key=abs)
        return found


class Way:
    """Decisions: first those of a script, then each condition holds unless it cannot. `inputs` are
    some that go this way: what is seen of one need not be asked of a solver, which is asked as
    long as it has taken fewer `steps` in a call."""

    def __init__(self, script: list[Choice], inputs: Iterable[Evaluation], steps: int) -> None:
        self.facts = PathFacts()
        self.script, self.taken, self.steps = script, list[Choice](), steps
        self.inputs = list(inputs)

    def decide(self, test: t.Condition) -> bool:
        said = self.facts.says(test)
        if said is not None:
            return said
        at = len(self.taken)
        seen = self.seen(test)
        # what was found out on the way before need not be asked again
        choice = self.script[at] if at < len(self.script) else self.first(test, seen)
        self.taken.append(choice)
        self.inputs = seen[choice[0]]
        self.facts.assume(test if choice[0] else test.other)
        return choice[0]

    def seen(self, test: t.Condition) -> dict[bool, list[Evaluation]]:
        """The inputs for which a condition holds, and those for which it does not."""
        found: dict[bool, list[Evaluation]] = {True: [], False: []}
        for each in self.inputs:
            with suppress(OpenEquality):  # of what has no number
                found[each.value(test)].append(each)
        return found

    def first(self, test: t.Condition, seen: Mapping[bool, Sequence[Evaluation]]) -> Choice:
        for holds in (True, False):
            other = test.other if holds else test
            asked = not seen[not holds] and spent() < self.steps
            if asked and not possible([*self.facts.conditions(), other], exact=False):
                return holds, False
        return True, True


def ways(draw: Draw, steps: int = CALL_STEPS) -> Iterator[Way]:
    """Every way, each while its decisions are those that are asked for."""
    script: list[Choice] = []
    first = 0
    inputs = [Evaluation(Drawn(draw, number)) for number in range(INPUTS)]
    for number in range(MOST_WAYS):
        way = Way(script, inputs, steps)
        with decided_by(way.decide):
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
