"""The ledger: what is known of each operator on each target, of which text, and by what.

It lies beside the generated files and speaks of them by digests, so that whether it is stale is
seen without a solver. What was closed once and is open now is kept with the entry until it is
closed again or accepted: an entry is never worse than what it replaces without a word.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

from cvmgen.api.manifest import SUFFIXES, operator_of
from cvmgen.errors import CvmgenError
from cvmgen.escape import json_text

LEDGER = "ledger.json"
PAGE = "ledger.md"
COMMAND = "cvmgen verify --ledger"
VERSION = 1
VERIFIED = ("c", "cuda")  # targets of whose text engines speak; of others tests alone do
REFUTED, OPEN, TESTED, VALIDATED, PROVED = STATUSES = (
    "refuted",
    "open",
    "tested",
    "validated",
    "proved",
)

VALUES, ACTIONS = "values", "actions"
PARTS: Mapping[tuple[str, str], str] = {
    ("c", ACTIONS): "--actions",
    ("cuda", VALUES): "--values --target cuda",
}
"""What takes far longer than all the rest, by target and property: `--ledger` with this asks it.
Its finding has the digest of the text that it is about, and is kept while that is the same."""
Texts = Mapping[str, str | bytes]  # generated files by their names below the folder


@dataclass(frozen=True, slots=True)
class Left:
    """Obligations that are not closed for one reason: how many, and the first of them."""

    why: str
    count: int
    shown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    """How good a finding is."""

    status: str
    open: int

    def is_worse(self, than: Standing) -> bool:
        """A lower status, or more that is open."""
        rank, other = STATUSES.index(self.status), STATUSES.index(than.status)
        return rank < other or (rank == other and self.open > than.open)


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of one property: how many obligations are closed `by` what, which are `left`;
    of values the calls that were looked at; what proofs rely on. `before` is what was better."""

    status: str
    by: Mapping[str, int] = field(default_factory=dict)
    left: tuple[Left, ...] = ()
    hash: str = ""  # of the obligations
    calls: tuple[str, ...] = ()
    relies: Mapping[str, int] = field(default_factory=dict)
    before: Standing | None = None

    @property
    def closed(self) -> int:
        return sum(self.by.values())

    @property
    def open(self) -> int:
        return sum(each.count for each in self.left)

    @property
    def standing(self) -> Standing:
        return Standing(self.status, self.open)

    @property
    def best(self) -> Standing:
        """What later findings are compared with."""
        return self.before or self.standing


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """What is known of an operator on a target. `text` is the digest of the files that it speaks
    of, empty where tests speak of whatever is built; `engines` their versions. `failed` says how
    cvmgen itself failed when it looked last: the rest is what was known before."""

    findings: Mapping[str, Finding]
    text: str = ""
    engines: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    failed: str = ""


Entries = Mapping[str, Mapping[str, LedgerEntry]]  # by operator, then by target
Which = tuple[str, str]  # an operator on a target
Worse = tuple[str, str, str, Finding]  # operator, target, property


@dataclass(frozen=True, slots=True)
class Ledger:
    """All entries, with what each property means, what stands where it is open, what is trusted."""

    properties: Mapping[str, str]
    stands: Mapping[str, str]
    trusted: Mapping[str, str]
    entries: Entries


# ---------------------------------------------------------------- texts


def text_digests(texts: Texts) -> dict[Which, str]:
    """Of each operator on each target that engines look at: its own files, and those that all
    operators of the target share."""
    own: dict[Which, list[str]] = {}
    shared: dict[str, list[str]] = {}
    for name in sorted(texts):
        target = PurePosixPath(name).parts[0]
        if target not in VERIFIED:
            continue
        if (operator := operator_of(name)) is not None:
            own.setdefault((operator, target), []).append(name)
        elif is_support(name):
            shared.setdefault(target, []).append(name)
    common = {target: _digest_of(texts, names) for target, names in shared.items()}
    return {
        (operator, target): _digest_of(texts, names, common.get(target, ""))
        for (operator, target), names in own.items()
        if any(name.endswith(f".{SUFFIXES[target]}") for name in names)
    }


def is_support(name: str) -> bool:
    """Whether kernels may include a file, or are linked with it; headers of opsets only list."""
    parts = PurePosixPath(name).parts
    return len(parts) == 2 and parts[1].startswith("cvmgen")


def _digest_of(texts: Texts, names: Iterable[str], more: str = "") -> str:
    digest = sha256(more.encode())
    for name in names:
        text = texts[name]
        content = text.encode() if isinstance(text, str) else text
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


# ---------------------------------------------------------------- what does not hold any longer


def stale(entries: Entries, texts: Texts) -> list[Which]:
    """The operators and targets whose text is not that of their entry, or that have none; entries
    of what is generated no longer."""
    now = text_digests(texts)
    known = {
        (operator, target): entry.text
        for operator, several in entries.items()
        for target, entry in several.items()
        if target in VERIFIED
    }
    return [each for each in sorted({*now, *known}) if now.get(each) != known.get(each)]


def worse(entries: Entries) -> Iterator[Worse]:
    """What was better before."""
    for operator, several in entries.items():
        for target, entry in several.items():
            for name, finding in entry.findings.items():
                if finding.before is not None:
                    yield operator, target, name, finding


def failed(entries: Entries) -> Iterator[tuple[str, str, str]]:
    """The operators and targets on which cvmgen itself failed, with how."""
    for operator, several in entries.items():
        for target, entry in several.items():
            if entry.failed:
                yield operator, target, entry.failed


def standing_text(standing: Standing) -> str:
    return f"{standing.status} ({standing.open} open)" if standing.open else standing.status


# ---------------------------------------------------------------- bringing up to date


def merged(before: Entries, found: Entries, gone: Iterable[Which], *, accept: bool) -> Entries:
    """The entries with what was found; of what was better before, that is kept unless accepted."""
    whole = {operator: dict(several) for operator, several in before.items()}
    for operator, target in gone:
        whole.get(operator, {}).pop(target, None)
    for operator, several in found.items():
        for target, entry in several.items():
            known = before.get(operator, {}).get(target)
            if entry.failed:
                whole.setdefault(operator, {})[target] = replace(
                    known or LedgerEntry({}), failed=entry.failed
                )
                continue
            entry = _with_parts(target, entry, known, accept=accept)
            whole.setdefault(operator, {})[target] = _compared(entry, None if accept else known)
    return {
        name: {target: whole[name][target] for target in sorted(whole[name])}
        for name in sorted(whole)
        if any(target in VERIFIED for target in whole[name])
    }


def _with_parts(
    target: str, entry: LedgerEntry, known: LedgerEntry | None, *, accept: bool
) -> LedgerEntry:
    """With what was asked by itself, if it is of this very text; of another one it is open."""
    found = dict(entry.findings)
    for at, name in PARTS:
        before = known.findings.get(name) if known is not None and at == target else None
        asked = name in found and found[name].status != TESTED
        if before is None or asked:
            continue
        if before.hash == entry.text:
            found[name] = before
        elif name not in found and not accept:
            found[name] = Finding(OPEN, left=(Left("not asked of this text", 1),))
    return replace(entry, findings=found)


def _compared(entry: LedgerEntry, before: LedgerEntry | None) -> LedgerEntry:
    """An entry that says what was better; of one that is found again the time stays as it was, so
    that nothing changes in the file."""
    if before is None:
        return entry
    findings = {
        name: with_before(finding, before.findings.get(name))
        for name, finding in entry.findings.items()
    }
    entry = replace(entry, findings=findings)
    return before if replace(entry, seconds=before.seconds) == before else entry


def with_before(finding: Finding, before: Finding | None) -> Finding:
    if before is None or not finding.standing.is_worse(before.best):
        return finding
    return replace(finding, before=before.best)


# ---------------------------------------------------------------- the file


def read_ledger(folder: Path) -> Ledger | None:
    """The ledger of a folder; None where there is none."""
    path = folder / LEDGER
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return of_data(data)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        what = f"{type(error).__name__}: {error}"
        message = f"{path} is no ledger that this version reads ({what}); remove it"
        raise CvmgenError(f"{message}, and `{COMMAND}` writes it anew") from None


def of_data(data: Mapping[str, Any]) -> Ledger:
    if data["version"] != VERSION:
        raise ValueError(f"version {data['version']}")
    properties, stands, trusted = (
        words(data[name]) for name in ("properties", "stands", "trusted")
    )
    entries = {
        str(operator): {str(target): _entry_of(each) for target, each in several.items()}
        for operator, several in data["entries"].items()
    }
    return Ledger(properties, stands, trusted, entries)


def words(data: Mapping[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in data.items()}


def _counts(data: Mapping[str, Any]) -> dict[str, int]:
    return {str(name): int(value) for name, value in data.items()}


def _entry_of(data: Mapping[str, Any]) -> LedgerEntry:
    findings = {str(name): _finding_of(each) for name, each in data.get("findings", {}).items()}
    versions = words(data.get("engines", {}))
    digest, seconds = str(data.get("text", "")), float(data.get("seconds", 0))
    return LedgerEntry(findings, digest, versions, seconds, str(data.get("failed", "")))


def _finding_of(data: Mapping[str, Any]) -> Finding:
    left = (
        Left(str(each["why"]), int(each["count"]), tuple(map(str, each.get("shown", ()))))
        for each in data.get("left", ())
    )
    before = data.get("before")
    return Finding(
        known_status(data["status"]),
        _counts(data.get("by", {})),
        tuple(left),
        str(data.get("hash", "")),
        tuple(map(str, data.get("calls", ()))),
        _counts(data.get("relies", {})),
        None
        if before is None
        else Standing(known_status(before["status"]), int(before.get("open", 0))),
    )


def known_status(status: Any) -> str:
    if status not in STATUSES:
        raise ValueError(f"the status {status!r}")
    return str(status)


def ledger_text(ledger: Ledger) -> str:
    """The file, without what is empty."""
    return f"{json_text({'version': VERSION, **without_empty(asdict(ledger))})}\n"


def without_empty(data: Any) -> Any:
    """Without entries of objects that say nothing: no text, no parts, none of them open."""
    if not isinstance(data, dict):
        return [without_empty(each) for each in data] if isinstance(data, (list, tuple)) else data
    kept = {name: without_empty(value) for name, value in data.items()}
    return {name: value for name, value in kept.items() if value or value is False}
