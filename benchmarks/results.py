"""What was measured: rows, ratios, goals, and how two measurements compare."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, assert_never

from benchmarks.cases import Goal, OfPeers, OfProbe, Within

# A row is slower than it was when it falls below this share of what it was.
SLOWER = 0.8
# A row whose turns lie further apart, as a share of their median, was disturbed.
UNSTEADY = 0.2


@dataclass(frozen=True, slots=True)
class Row:
    """A workload on so many threads. All times are microseconds, medians.

    peers: by library and way, `oneDNN, matmul`; beside: what is shown only
    probe: the time that the machine allows
    spread: how far half of the turns lie apart, as a share of their median; the largest of ours,
        the best peer's and the probe's
    wrong: those whose integers are not ours; failed: libraries that refuse, and why
    """

    workload: str
    threads: int
    ours: float
    peers: dict[str, float] = field(default_factory=dict)
    beside: dict[str, float] = field(default_factory=dict)
    probe: float | None = None
    spread: float = 0.0
    wrong: tuple[str, ...] = ()
    failed: dict[str, str] = field(default_factory=dict)

    def best_peer(self, libraries: Sequence[str] = ()) -> tuple[str, float] | None:
        """The fastest of the peers, or of those of these libraries."""
        times = {
            name: time
            for name, time in self.peers.items()
            if name not in self.wrong and (not libraries or library_of(name) in libraries)
        }
        return min(times.items(), key=lambda item: item[1], default=None)

    @property
    def ratio(self) -> float | None:
        """How many times as fast as the best peer."""
        best = self.best_peer()
        return None if best is None else best[1] / self.ours

    @property
    def share(self) -> float | None:
        """What share of the probe's speed."""
        return None if self.probe is None else self.probe / self.ours

    def of_library(self, library: str) -> float | None:
        """The time of the fastest way of a library."""
        best = self.best_peer((library,))
        return None if best is None else best[1]


@dataclass(frozen=True, slots=True)
class Measurement:
    """Rows, and where they were measured: the machine, the versions of the libraries, what the
    machine reaches with each number of threads, what was not there; with which effort."""

    machine: dict[str, str]
    versions: dict[str, str]
    rates: dict[str, dict[str, float]]
    absent: dict[str, str]
    rows: list[Row]
    missing: dict[str, str] = field(default_factory=dict)
    effort: str = "whole"

    def row(self, workload: str, threads: int) -> Row | None:
        key = (workload, threads)
        return next((row for row in self.rows if (row.workload, row.threads) == key), None)


def library_of(name: str) -> str:
    return name.split(",", 1)[0]


def reached(goal: Goal, row: Row) -> float | None:
    """The speed of a row as a share of the goal; None where the goal says nothing of the row, or
    nothing is known."""
    match goal:
        case OfProbe(share):
            return None if row.share is None else row.share / share
        case OfPeers(factor, libraries):
            best = row.best_peer(libraries)
            return None if best is None else factor * best[1] / row.ours
        case Within(microseconds, threads):
            return None if threads not in (None, row.threads) else microseconds / row.ours
        case _:
            assert_never(goal)


def all_met(goals: Sequence[Goal], row: Row) -> bool | None:
    """Whether a row meets its goals; None where none says anything of it."""
    found = [each for goal in goals if (each := reached(goal, row)) is not None]
    return min(found) >= 1 if found else None


def standing(goals: Sequence[Goal], row: Row) -> float:
    """How a row stands to what it is measured by, more for faster: the goal that it is nearest to
    missing; without goals the probe, the best peer or the clock."""
    found = [each for goal in goals if (each := reached(goal, row)) is not None]
    if found:
        return min(found)
    yardsticks = (each for each in (row.share, row.ratio) if each is not None)
    return next(yardsticks, 1 / row.ours)


def middle(goals: Sequence[Goal], rows: Sequence[Row]) -> Row:
    """Of rows of one workload the one that stands in the middle, of two the slower one."""
    ranked = sorted(rows, key=lambda row: standing(goals, row))
    return ranked[(len(ranked) - 1) // 2]


def write(path: Path, measurement: Measurement) -> None:
    """As JSON, with digits that mean something."""
    text = json.dumps(_rounded(asdict(measurement)), indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def read(path: Path) -> Measurement:
    stored = json.loads(path.read_text(encoding="utf-8"))
    rows = [Row(**{**each, "wrong": tuple(each["wrong"])}) for each in stored.pop("rows")]
    return Measurement(rows=rows, **stored)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(each) for each in value]
    return value


@dataclass(frozen=True, slots=True)
class Change:
    """A row beside what it was: its speed now as a share of then, measured by the same yardstick,
    which stands for the machine of each day."""

    workload: str
    threads: int
    speed: float
    yardstick: str

    @property
    def slower(self) -> bool:
        return self.speed < SLOWER


def compare(now: Measurement, before: Measurement) -> list[Change]:
    """The rows that both have, the most slowed first."""
    changes = []
    for row in now.rows:
        old = before.row(row.workload, row.threads)
        if old is not None:
            changes.append(_change(row, old, now.machine == before.machine))
    return sorted(changes, key=lambda each: each.speed)


def _change(row: Row, old: Row, one_machine: bool) -> Change:
    """By the probe where both have it, else by the peer that was best and is still there; else,
    by the clock."""
    plain = old.ours / row.ours
    if row.probe is not None and old.probe is not None:
        return Change(row.workload, row.threads, plain * row.probe / old.probe, "probe")
    best = old.best_peer()
    if best is not None and best[0] in row.peers:
        return Change(row.workload, row.threads, plain * row.peers[best[0]] / best[1], best[0])
    clock = "clock" if one_machine else "clock, another machine"
    return Change(row.workload, row.threads, plain, clock)
