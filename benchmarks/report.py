"""Measurements as text: the table of a run, a comparison, the table of docs/speed.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.cases import Goal
from benchmarks.measure import BUSY, QUICK, Effort
from benchmarks.peers import MODULES
from benchmarks.results import SLOWER, UNSTEADY, Change, Measurement, Row, all_met, library_of
from benchmarks.workloads import by_name

BEGIN = "<!-- benchmarks: `make bench-readme` writes what follows -->"
END = "<!-- end of benchmarks -->"
PAGE = "docs/speed.md"
PICTURE = "docs/speed.png"
LIBRARIES = tuple(MODULES)
WHOLE = Effort()
KINDS = {
    "whole": f"medians of {WHOLE.rounds} turns each, the middle one of {WHOLE.passes} processes",
    "quick": f"medians of {QUICK.rounds} short turns each",
    "busy": f"the shortest of {BUSY.rounds} turns each, on a machine that did other work too",
}
MARK = "~"  # of a time whose row was disturbed
WIDTHS = (44, 7, 10, *(11 for _ in LIBRARIES), 10, 8, 8, 6)


def header() -> str:
    """The names of the columns of `line`; times are microseconds."""
    names = ("workload", "threads", "ours", *LIBRARIES, "probe", "x best", "of probe", "goal")
    return _columns(names)


def line(row: Row) -> str:
    peers = [time_text(row.of_library(each)) for each in LIBRARIES]
    verdict = {None: "", True: "met", False: "missed"}[all_met(goals_of(row), row)]
    return _columns(
        (
            row.workload,
            str(row.threads),
            time_text(row.ours),
            *peers,
            time_text(row.probe),
            ratio_text(row.ratio),
            share_text(row.share),
            verdict,
        )
    )


def summary(measurement: Measurement) -> list[str]:
    """What is to be said under the table."""
    rows = measurement.rows
    verdicts = [all_met(goals_of(row), row) for row in rows]
    lines = [f"goals: {verdicts.count(True)} met, {verdicts.count(False)} missed"]
    for kind, reasons in (("absent", measurement.absent), ("not measured", measurement.missing)):
        lines += [f"{kind}: {name}: {reason}" for name, reason in reasons.items()]
    for row in rows:
        place = f"{row.workload}, {_threads(row)}"
        if row.beside:
            times = ", ".join(f"{name} {time_text(time)}" for name, time in row.beside.items())
            lines.append(f"beside: {place}: {times}")
        if row.spread > UNSTEADY:
            lines.append(f"unsteady: {place}: times differ by {share_text(row.spread)}")
        lines += [f"failed: {place}: {name}: {why}" for name, why in row.failed.items()]
        lines += [f"WRONG: {place}: {name} has other integers than ours" for name in row.wrong]
    return lines


def changes(found: Sequence[Change]) -> list[str]:
    """What got slower than the baseline, with the yardstick that it was compared by."""
    slower = [each for each in found if each.slower]
    lines = [
        f"slower: {each.workload}, {each.threads} thread{'s' * (each.threads != 1)}: "
        f"{each.speed:.2f} of its speed (by {each.yardstick})"
        for each in slower
    ]
    return [*lines, f"{len(slower)} of {len(found)} rows are below {SLOWER} of the baseline"]


def rates(measurement: Measurement) -> list[str]:
    """What the machine reaches, by number of threads."""
    return [
        f"{threads} thread{'s' * (threads != '1')}: "
        + ", ".join(f"{name} {rate:.4g}" for name, rate in found.items())
        for threads, found in measurement.rates.items()
    ]


def markdown(measurement: Measurement) -> str:
    """A table of all workloads, with the columns of each number of threads."""
    counts = sorted({row.threads for row in measurement.rows})
    names = ["workload"]
    for count in counts:
        names += [f"{count} thread{'s' * (count != 1)}, µs", "best peer, µs", "×", "of probe"]
    rule = "| --- |" + " ---: | --- | ---: | ---: |" * len(counts)
    lines = ["| " + " | ".join(names) + " |", rule]
    for workload in dict.fromkeys(row.workload for row in measurement.rows):
        cells = [workload]
        for count in counts:
            cells += _cells(measurement.row(workload, count))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def section(measurement: Measurement) -> str:
    """What stands in the page between the marks."""
    machine = measurement.machine
    versions = ", ".join(f"{name} {version}" for name, version in measurement.versions.items())
    about = (
        f"{machine['cpu']} ({machine['cores']} cores; {machine['flags']}), {machine['compiler']}; "
        f"{versions}; {KINDS[measurement.effort]}. `×`: how many times as fast as the best peer; "
        "`of probe`: share of what a plain loop over the same memory, or the int8 instruction of "
        f"the machine, reaches in the same run. `{MARK}`: half of the turns of one of the times "
        f"that are compared lie more than {share_text(UNSTEADY)} apart."
    )
    picture = f"![times as fast as the best peer]({Path(PICTURE).name})"
    return f"{about}\n\n{picture}\n\n{markdown(measurement)}"


def insert(path: Path, text: str) -> None:
    """Put a text between the marks of a file."""
    whole = path.read_text(encoding="utf-8")
    before, begin, rest = whole.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path} has no lines {BEGIN} and {END}")
    path.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", encoding="utf-8")


def goals_of(row: Row) -> tuple[Goal, ...]:
    workload = by_name(row.workload)
    return () if workload is None else workload.goals


def time_text(microseconds: float | None) -> str:
    if microseconds is None:
        return ""
    digits = 2 if microseconds < 10 else 1 if microseconds < 1000 else 0
    return f"{microseconds:,.{digits}f}"


def ratio_text(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"


def share_text(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


def _threads(row: Row) -> str:
    return f"{row.threads} thread{'s' * (row.threads != 1)}"


def _cells(row: Row | None) -> list[str]:
    if row is None:
        return [""] * 4
    best = row.best_peer()
    peer = "" if best is None else f"{library_of(best[0])} {time_text(best[1])}"
    mark = MARK if row.spread > UNSTEADY else ""
    return [mark + time_text(row.ours), peer, ratio_text(row.ratio), share_text(row.share)]


def _columns(texts: Iterable[str]) -> str:
    first, *others = zip(texts, WIDTHS, strict=True)
    return f"{first[0]:{first[1]}}" + "".join(f" {text:>{width}}" for text, width in others)
