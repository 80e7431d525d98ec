"""What becomes of mutants: refused by compilers, refuted by engines, or of the same meaning.

What a mutant does when it runs is found first, on the calls that the prover has chosen for the
right text and on more: that costs little, and tells in which call an engine must find the fault.
Where nothing else comes out, all values are asked, in the calls that come to the lines that differ;
then in calls that a prover does not find, of which some are far larger: to mean the same in the few
that a prover looks at is not yet to mean the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from cvmgen.verification.values.shapes import ChosenCall, searched
from cvmgen.verification.values.validate import Case, case_key
from tests.clang import has_clang
from tests.verification.mutants import engines, truth
from tests.verification.mutants.engines import Said
from tests.verification.mutants.far import elements, far_calls
from tests.verification.mutants.made import GPU, Mutant
from tests.verification.mutants.operators import HEAVY, operator, ships, text_of
from tests.verification.mutants.reach import Reached, changed_lines, chosen, further

TRIED = 3  # calls in which something else comes out that an engine is asked of
ASKED = 8  # calls of which all values are asked where nothing else comes out
MORE = 24  # calls that a prover has not chosen
BESIDE = "beside"

EQUAL, UNREACHED, REFUTED, REFUSED = "equal", "not reached", "refuted", "refused"
MISSED, OPEN, UNSHOWN = "missed", "open", "refuted, not reproduced"


@dataclass
class Judged:
    """A mutant, what each engine says of it, and what is wrong with its calls when it runs."""

    mutant: Mutant
    said: dict[str, Said] = field(default_factory=dict)
    ran: truth.Ran = field(default_factory=truth.Ran)
    reached: int = 0  # calls that come to the lines that differ
    alike: str = ""  # why it is the same, without a call
    beside: bool = False  # calls that a prover has not chosen are those that tell

    @property
    def refused(self) -> str:
        """Why a compiler does not take it: ours, or that of C."""
        why = next((each.why for each in self.said.values() if each.status == REFUSED), "")
        return self.mutant.refused or self.ran.refused or why

    @property
    def refuted(self) -> tuple[str, ...]:
        """The engines that refute it."""
        return tuple(name for name, each in self.said.items() if each.status == REFUTED)

    @property
    def verdict(self) -> str:
        if self.refused:
            return REFUSED
        if self.refuted:
            # Two threads and a place show a race; numbers are shown by the text that is run.
            alone = self.refuted == ("sizes",)
            return REFUTED if self.ran.wrong or not alone else UNSHOWN
        if self.ran.wrong:
            return MISSED
        if self.alike or (self.said and self.said["values"].status == "proved" and self.reached):
            return EQUAL
        return OPEN if self.reached else UNREACHED

    @property
    def by(self) -> str:
        """What told that it is wrong, or what became of it."""
        if self.verdict != REFUTED:
            return self.verdict
        return BESIDE if self.beside and self.refuted[0] == "values" else self.refuted[0]

    @property
    def reason(self) -> str:
        """What the engines say of one that means the same."""
        if self.alike:
            return self.alike
        return f"the same for all values in {self.said['values'].calls} calls"

    def __str__(self) -> str:
        says = ", ".join(
            f"{name} {each.status} {each.why[:160]}" for name, each in self.said.items()
        )
        wrong = next(iter(self.ran.wrong.items()), "")
        return f"{self.verdict} | {self.mutant.name[:300]} | {says} | {wrong}"


def judged(several: Sequence[Mutant], work: Path) -> list[Judged]:
    """What becomes of mutants, those of one operator together."""
    found = [Judged(each) for each in several]
    groups: dict[tuple[str, str], list[Judged]] = {}
    for each in found:
        if not each.mutant.refused:
            groups.setdefault((each.mutant.formula, each.mutant.target), []).append(each)
    for (name, target), group in groups.items():
        made = numbered(name, target, work)
        runs = truth.ran([each.mutant for each in group], made, work)
        for each, ran in zip(group, runs, strict=True):
            each.ran = ran
            if not ran.refused:
                judge(each, made, work)
    return found


@cache
def cases_of(name: str, target: str, work: Path) -> list[Case]:
    """The calls of the prover, and others beside these."""
    found = [(each.call, each.features) for each in chosen(name, target, work)]
    others: list[ChosenCall] = []

    def kept(call: ChosenCall) -> bool:
        others.append(call)
        return False

    searched(operator(name), text_of(name, target), MORE, kept)
    return [*found, *((call, frozenset[str]()) for call in others)]


@cache
def numbered(name: str, target: str, work: Path) -> list[truth.Numbered]:
    """The calls of the prover, each several times with other numbers, and calls beside these."""
    first = len(chosen(name, target, work))
    return [
        each
        for at, case in enumerate(cases_of(name, target, work))
        for seed in range(truth.DRAWN if at < first else 1)
        for each in with_numbers(name, target, case, at, seed, work)
    ]


def with_numbers(
    name: str, target: str, case: Case, at: int, seed: int, work: Path
) -> list[truth.Numbered]:
    call, features = case
    return truth.numbered(name, target, truth.drawn(call, seed), at, features, work)


def judge(one: Judged, made: Sequence[truth.Numbered], work: Path) -> None:
    mutant = one.mutant
    if mutant.layer == GPU:
        one.said["threads"] = engines.threads(mutant)
    if one.ran.faults and has_sizes(mutant):
        one.said["sizes"] = engines.sizes(mutant)
    if one.refuted:
        return
    if one.ran.wrong:
        told(one, made, cases_of(mutant.formula, mutant.target, work), work)
        return
    if engines.alike(mutant, work):
        one.alike = "the compiler makes the same instructions of it"
    elif engines.worth_alone(mutant):
        one.alike = "nothing but when threads are given work: the same parts, each once"
    if one.alike:
        return
    lines = changed_lines(text_of(mutant.formula, mutant.target), mutant.text)
    compared(one, lines, chosen(mutant.formula, mutant.target, work), work)
    if not one.refuted and has_sizes(mutant):
        sizes(one, work)
    if one.verdict in (EQUAL, UNREACHED):
        looked_further(one, lines, work)


def told(one: Judged, made: Sequence[truth.Numbered], cases: Sequence[Case], work: Path) -> None:
    """An engine asked of calls in which something else comes out."""
    where = sorted({made[each].of for each in one.ran.wrong})
    small = sorted((cases[at] for at in where), key=lambda case: elements(case[0]))
    one.said["values"] = engines.values(one.mutant, small[:TRIED], work)
    first = len(chosen(one.mutant.formula, one.mutant.target, work))
    one.beside = one.beside or where[0] >= first


def compared(one: Judged, lines: frozenset[int], several: Iterable[Reached], work: Path) -> None:
    """All values asked in calls that come to the lines that differ."""
    reaching = [(each.call, each.features) for each in several if each.lines & lines]
    one.reached = len(reaching)
    one.said["values"] = engines.values(one.mutant, reaching[:ASKED], work)


def looked_further(one: Judged, lines: frozenset[int], work: Path) -> None:
    """The same in calls that a prover does not find: first what comes out, then all values."""
    name, target, one.beside = one.mutant.formula, one.mutant.target, True
    known = {case_key((each.call, each.features)) for each in chosen(name, target, work)}
    several = [
        each
        for each in further(name, target, work)
        if each.lines & lines and case_key((each.call, each.features)) not in known
    ][:ASKED]
    cases = [(each.call, each.features) for each in several] + large_calls(name)
    made = [
        each
        for at, case in enumerate(cases)
        for seed in range(truth.DRAWN if at < len(several) else 1)
        for each in with_numbers(name, target, case, at, seed, work)
    ]
    (one.ran,) = truth.ran([one.mutant], made, work)
    if one.ran.wrong:
        told(one, made, cases, work)
        return
    before, reached = one.said["values"], one.reached
    compared(one, lines, several, work)
    now = one.said["values"]
    if now.status != "refuted":
        status = before.status if before.calls else now.status
        one.said["values"] = replace(before, status=status, calls=before.calls + now.calls)
        one.reached += reached


@cache
def large_calls(name: str) -> list[Case]:
    """Calls of numbers that are beyond a byte, and beyond a byte of blocks."""
    return [(call, frozenset[str]()) for call in far_calls(operator(name))]


def has_sizes(mutant: Mutant) -> bool:
    own = mutant.kernel is not None and mutant.layer != GPU
    return own and not ships(mutant.formula) and mutant.formula not in HEAVY


def sizes(one: Judged, work: Path) -> None:
    """Whether there are sizes for which it is wrong, and whether it is when it runs."""
    found = one.said["sizes"] = engines.sizes(one.mutant)
    call = truth.of_sizes(one.mutant.formula, found.model) if found.model else None
    if call is not None:
        given = truth.drawn(call, 0)
        made = truth.numbered(one.mutant.formula, one.mutant.target, given, 0, frozenset(), work)
        (one.ran,) = truth.ran([one.mutant], made, work)


def refuted_at_once(mutant: Mutant, work: Path) -> Said:
    """What the engine says that is asked first, without a run."""
    if mutant.layer == GPU:
        return engines.threads(mutant)
    if not has_clang():
        return engines.sizes(mutant)
    cases = chosen(mutant.formula, mutant.target, work)
    lines = changed_lines(text_of(mutant.formula, mutant.target), mutant.text)
    several: Iterable[Case] = ((e.call, e.features) for e in cases if e.lines & lines)
    return engines.values(mutant, [*several], work)
