"""What becomes of mutants: refused by compilers, refuted by engines, or survivors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.clang import has_clang
from tests.verification.mutants import engines, truth
from tests.verification.mutants.engines import Said
from tests.verification.mutants.made import GPU, Mutant
from tests.verification.mutants.operators import HEAVY, ships
from tests.verification.mutants.survivors import EQUIVALENT, MISSED, Rule


@dataclass
class Judged:
    """A mutant, what each engine says of it, and what is wrong with its calls when it runs."""

    mutant: Mutant
    said: dict[str, Said] = field(default_factory=dict)
    wrong: str = ""

    @property
    def refused(self) -> str:
        """Why a compiler does not take it: ours, or that of C."""
        why = next((each.why for each in self.said.values() if each.status == "refused"), "")
        return (
            self.mutant.refused or why or (self.wrong if self.wrong.startswith("COMPILE") else "")
        )

    @property
    def refuted(self) -> tuple[str, ...]:
        """The engines that refute it."""
        return tuple(name for name, each in self.said.items() if each.status == "refuted")

    @property
    def verdict(self) -> str:
        if self.refused:
            return "refused"
        if self.refuted:
            shown = self.wrong or self.mutant.layer == GPU
            return "refuted" if shown else "refuted, not reproduced"
        return "missed" if self.wrong else "survives"

    @property
    def by(self) -> str:
        """What told that it is wrong."""
        return " and ".join(self.refuted) if self.verdict == "refuted" else self.verdict

    @property
    def reason(self) -> str:
        """Why a survivor means the same, or what does not look where one is missed."""
        rules: Iterable[Rule] = {"survives": EQUIVALENT, "missed": MISSED}.get(self.verdict, ())
        return next((rule.why for rule in rules if rule.explains(self.mutant)), "")

    def __str__(self) -> str:
        says = ", ".join(
            f"{name} {each.status} {each.why[:80]}" for name, each in self.said.items()
        )
        return f"{self.verdict} | {self.mutant.name[:300]} | {says} | {self.wrong[:160]}"


def judged(several: Sequence[Mutant], folder: Path, *, run: bool = True) -> list[Judged]:
    """Each engine asked of each mutant; where they are `run`, on the calls of counterexamples and
    on others."""
    found = [Judged(each, {} if each.refused else asked(each, folder)) for each in several]
    for each in found:
        if run and each.mutant.text and not each.refused:
            each.wrong = truth.wrong(each.mutant, calls(each.mutant.formula, each.said), folder)
    return found


def asked(mutant: Mutant, folder: Path) -> dict[str, Said]:
    if mutant.layer == GPU:
        return {"threads": engines.threads(mutant)}
    said = {"values": engines.values(mutant, folder)} if has_clang() else {}
    if mutant.kernel is not None and not ships(mutant.formula) and mutant.formula not in HEAVY:
        said["sizes"] = engines.sizes(mutant)
    return said


def calls(name: str, said: Mapping[str, Said]) -> truth.Calls:
    """What engines say of the mutant, and elements drawn for all calls."""
    parts = []
    for each in said.values():
        if each.call is not None:
            parts.append(truth.of_numbers(name, each.call))
        if each.model:
            parts.append(truth.of_sizes(name, each.model))
    drawn = (truth.of_numbers(name, truth.drawn(call, 0)) for call in engines.calls_of(name))
    return truth.together((*parts, *drawn))
