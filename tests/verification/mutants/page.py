"""The page of what became of mutants, as the run writes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.verification.mutants.survivors import known

PAGE = "docs/mutants.md"
COLUMNS = ("refused", "sizes", "values", "beside", "threads", "equal", "not reached")


class Row(NamedTuple):
    """A mutant, and what became of it."""

    layer: str
    kind: str
    name: str
    by: str
    verdict: str
    reason: str  # what engines say of one that means the same
    said: str
    seconds: float

    @property
    def known(self) -> str:
        return known(self.name, self.verdict)

    @property
    def settled(self) -> bool:
        """Whether nothing is left to explain."""
        return self.verdict in ("refused", "refuted", "equal") or bool(self.known)


@dataclass
class Run:
    """Several mutants; what was shown of the hypotheses of proofs; how many questions solvers
    decided."""

    rows: list[Row] = field(default_factory=list)
    hypotheses: Counter[str] = field(default_factory=Counter)
    decided: int = 0

    def __add__(self, other: Run) -> Run:
        return Run(
            self.rows + other.rows,
            self.hypotheses + other.hypotheses,
            self.decided + other.decided,
        )


HEAD = """# Faults that are put in, and what finds them

`make mutants` writes this page: it puts faults into formulas, kernels, what actions of schedules
leave, C and CUDA text, and what threads of a GPU do, and says which engine refutes each.
*sizes* are obligations for all sizes, *values* the text on terms beside the formula, *threads* two
threads of a GPU. Each that is refuted is shown by a call with numbers, or by two threads and a
place. What is *refused* no compiler takes: ours or that of C. *equal* means the same, as is said
below. The calls are those that `cvmgen verify` chooses for the right text; *beside* are those that
all values tell too, but in calls that were drawn for this page alone, of which some are larger.
"""


def page(run: Run) -> str:
    return "\n".join(lines(run)) + "\n"


def lines(run: Run) -> Iterator[str]:
    rows = sorted(run.rows)
    kinds = {row.kind for row in rows}
    yield HEAD
    yield f"{len(rows)} mutants of {len(kinds)} kinds: {counted(row.by for row in rows)}."
    yield (
        f"{run.hypotheses['proved']} sets of hypotheses were shown to hold of some call, "
        f"{run.hypotheses.total() - run.hypotheses['proved']} were not. Solvers decided "
        f"{run.decided} questions, none of them in two ways."
    )
    others = sorted({row.by for row in rows} - {*COLUMNS})
    columns = (*COLUMNS, *others)
    yield f"\n| put into | kind | {' | '.join(columns)} |"
    yield f"|---|---|{'---:|' * len(columns)}"
    groups: dict[tuple[str, str], Counter[str]] = {}
    for row in rows:
        groups.setdefault((row.layer, row.kind), Counter())[row.by] += 1
    for (layer, kind), found in groups.items():
        cells = " | ".join(str(found[each] or "") for each in columns)
        yield f"| {layer} | {kind} | {cells} |"
    for verdict in ("equal", "not reached", *others):
        if several := [row for row in rows if row.by == verdict]:
            yield f"\n## {verdict}\n"
            for row in several:
                why = [each for each in (row.known, row.reason) if each]
                yield f"- `{shortened(row.name)}`: {'; '.join(why)}"


def counted(several: Iterable[str]) -> str:
    return ", ".join(f"{number} {word}" for word, number in sorted(Counter(several).items()))


def shortened(name: str) -> str:
    text = " ".join(name.split()).replace("`", "'")
    return text if len(text) < 200 else f"{text[:200]} …"
