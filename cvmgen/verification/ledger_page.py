"""The ledger as a page that people read: a table for each opset, what is open, what is trusted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from cvmgen.escape import printable
from cvmgen.verification.ledger import (
    COMMAND,
    LEDGER,
    OPEN,
    PROVED,
    REFUTED,
    TESTED,
    VALIDATED,
    Finding,
    Ledger,
    LedgerEntry,
    failed,
    standing_text,
)

TITLE = "# What holds of the generated kernels, and how it is known"
WORDS: Mapping[str, str] = {
    PROVED: "for all sizes and all values that a call may have, by the engines that are named",
    VALIDATED: "for all values of the elements, on the calls that the ledger lists",
    TESTED: "on random calls, by the tests of the project",
    OPEN: "not decided: how much is, what is not and why, and what stands there instead, is below",
    REFUTED: "shown not to hold, by values",
}
TARGETS = ("c", "cuda", "numpy", "python")
SPECIAL = re.compile(r"([\\`*_<\[\]|])")


def page(ledger: Ledger) -> str:
    parts = (
        opening(ledger),
        *(_table(ledger, opset, names) for opset, names in opsets(ledger)),
        failed_part(ledger),
        open_part(ledger),
        ["## What is trusted", "", *entries_of(ledger.trusted)],
        versions_part(ledger),
    )
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def opening(ledger: Ledger) -> list[str]:
    found = [
        (name, finding)
        for several in ledger.entries.values()
        for entry in several.values()
        for name, finding in entry.findings.items()
    ]
    return [
        f"{TITLE}\n",
        f"`{COMMAND}` writes this page and `{LEDGER}`, which names the digest of each text and of "
        "what was asked; `cvmgen build --check` fails when a text has changed since, or when "
        "something was better before.\n",
        *entries_of(WORDS),
        "\n| property | asked | closed | open |",
        "| --- | --- | --- | --- |",
        *(total_row(ledger, name, [each for one, each in found if one == name])
          for name in ledger.properties),
    ]  # fmt: skip


def total_row(ledger: Ledger, name: str, found: Sequence[Finding]) -> str:
    """All operators and targets of a property."""
    by: dict[str, int] = {}
    for finding in found:
        for engine, number in finding.by.items():
            by[engine] = by.get(engine, 0) + number
    closed, left = sum(by.values()), sum(each.open for each in found)
    told = f"{closed}: {by_text(by)}" if closed else "0"
    meaning = f"**{name}**: {cell(ledger.properties[name])}"
    return f"| {meaning} | {closed + left} | {told} | {left} |"


def opsets(ledger: Ledger) -> Iterator[tuple[str, list[str]]]:
    for opset, names in groupby(ledger.entries, key=lambda name: name.partition(".")[0]):
        yield opset, list(names)


def _table(ledger: Ledger, opset: str, names: Sequence[str]) -> list[str]:
    """A row for each operator, a column for each property that one of them has on a target."""
    columns = [
        (target, name)
        for target in TARGETS
        for name in ledger.properties
        if any(_finding_of(ledger, each, target, name) for each in names)
    ]
    heads = ["operator", *(f"{target}: {name}" for target, name in columns)]
    rows = [
        [f"`{code(each)}`", *(_shown(_finding_of(ledger, each, *column)) for column in columns)]
        for each in names
    ]
    lines = [heads, ["---"] * len(heads), *rows]
    return [f"## {cell(opset)}", "", *(f"| {' | '.join(cells)} |" for cells in lines)]


def _finding_of(ledger: Ledger, operator: str, target: str, name: str) -> Finding | None:
    entry = ledger.entries[operator].get(target)
    return None if entry is None else entry.findings.get(name)


def _shown(finding: Finding | None) -> str:
    """A cell: the word, and how many obligations or calls that is said of."""
    if finding is None:
        return "-"
    better = finding.before
    word = finding.status if better is None else f"{finding.status}, {standing_text(better)} before"
    if finding.status == TESTED:
        return word
    whole = finding.closed + finding.open
    unit = " calls" if finding.calls else ""
    return f"{word}: {finding.closed} of {whole}" if finding.open else f"{word} {whole}{unit}"


def failed_part(ledger: Ledger) -> list[str]:
    """Where cvmgen itself failed, so that nothing new is known."""
    lines = [f"- {cell(op)}, {target}: {cell(how)}." for op, target, how in failed(ledger.entries)]
    return ["## What failed", "", *lines] if lines else []


def open_part(ledger: Ledger) -> list[str]:
    """What is not closed, by property: what stands there, then each operator with its reasons."""
    lines: list[str] = []
    for name in ledger.properties:
        found = [
            (f"{cell(operator)}, {target}", finding)
            for operator, several in ledger.entries.items()
            for target, entry in several.items()
            if (finding := entry.findings.get(name)) is not None and finding.open
        ]
        if found:
            stands = ledger.stands.get(name, "")
            lines += [f"\n**{name}**{f' - where it is open, {cell(stands)}:' if stands else ':'}\n"]
            lines += [line for place, finding in found for line in reasons(place, finding)]
    return ["## What is open", *lines] if lines else []


def reasons(place: str, finding: Finding) -> Iterator[str]:
    for left in finding.left:
        some = ", ".join(f"`{code(each)}`" for each in left.shown)
        more = ", ..." if left.count > len(left.shown) else ""
        yield f"- {place}: {left.count}, {cell(left.why)}{f': {some}{more}' if some else ''}"


def versions_part(ledger: Ledger) -> list[str]:
    """The engines' versions, with what proofs take for granted."""
    entries = [each for several in ledger.entries.values() for each in several.values()]
    versions = sorted({pair for each in entries for pair in each.engines.items()})
    relies = relied(entries)
    lines = ["Engines: " + ", ".join(f"{cell(name)} {cell(at)}" for name, at in versions) + "."]
    if relies:
        told = "; ".join(f"{cell(what)} ({number})" for what, number in sorted(relies.items()))
        lines.append(f"\nTaken for granted by some of what is closed: {told}.")
    return lines if versions else []


def relied(entries: Sequence[LedgerEntry]) -> dict[str, int]:
    found: dict[str, int] = {}
    for entry in entries:
        for finding in entry.findings.values():
            for what, number in finding.relies.items():
                found[what] = found.get(what, 0) + number
    return found


# ---------------------------------------------------------------- Markdown


def entries_of(meanings: Mapping[str, str]) -> list[str]:
    return [f"- **{cell(name)}**: {cell(meaning)}." for name, meaning in meanings.items()]


def by_text(by: Mapping[str, int]) -> str:
    return ", ".join(f"{number} by {cell(name)}" for name, number in sorted(by.items()))


def cell(text: str) -> str:
    """A text in a line or a cell; what stands in backquotes is code."""
    parts = re.split(r"(`[^`]*`)", printable(text))
    return "".join(
        part.replace("|", "\\|") if part.startswith("`") else SPECIAL.sub(r"\\\1", part)
        for part in parts
    )


def code(text: str) -> str:
    """What stands between two backquotes."""
    return printable(text).replace("`", "'").replace("|", "\\|")
