"""`cvmgen verify --ledger`: what is known of each operator, written beside its generated files."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import inf
from pathlib import Path
from time import monotonic

from cvmgen.api.library import LANGUAGES
from cvmgen.build.files import folder_diff, write_beside
from cvmgen.build.helpers import helped_as_done
from cvmgen.build.progress import Progress
from cvmgen.cli.build import Request, cached_texts
from cvmgen.cli.exits import Exit, UsageError, give
from cvmgen.cli.specs import checked_operators, find_operators
from cvmgen.errors import CvmgenError, Strict
from cvmgen.paths import checkout, generated_folder, spec_folder
from cvmgen.schedule.schedules import Schedules, read_schedules
from cvmgen.spec.formula import Operator
from cvmgen.verification.ledger import (
    LEDGER,
    PAGE,
    PARTS,
    VERIFIED,
    Entries,
    Ledger,
    LedgerEntry,
    Texts,
    Which,
    failed,
    ledger_text,
    merged,
    read_ledger,
    stale,
    standing_text,
    text_digests,
    worse,
)
from cvmgen.verification.ledger_check import failed_text, stale_text, worse_text
from cvmgen.verification.ledger_entries import (
    ALSO_TESTED,
    PART_VERIFIERS,
    PROPERTIES,
    TRUSTED,
    VERIFIERS,
    failed_entry,
    stands,
    tested,
)
from cvmgen.verification.ledger_page import page
from cvmgen.verification.solvers import SOLVERS, installed
from cvmgen.verification.values import program


@dataclass(frozen=True, slots=True)
class Part:
    """A property of a target that is asked by itself, on so many calls."""

    target: str
    name: str
    calls: int


@dataclass(frozen=True, slots=True)
class Task:
    """An operator to verify on a target, whose text has a digest."""

    operator: Operator
    target: str
    schedules: Schedules
    folder: Path
    text: str
    part: Part | None = None  # asked alone
    known: LedgerEntry = LedgerEntry({})


WRITTEN_AFTER = 5.0  # seconds: what was found since then is lost with a run that is killed


@dataclass
class Book:
    """The ledger of a folder as it is written; `found` is new, and `changed` are its files that
    did change."""

    folder: Path
    tests: bool  # whether the project's tests are of these formulas
    entries: Entries
    accept: bool
    found: dict[str, dict[str, LedgerEntry]] = field(default_factory=dict)
    changed: dict[str, None] = field(default_factory=dict)
    written: float = -inf  # when

    def add(self, task: Task, entry: LedgerEntry) -> None:
        """Values of C are validated; those of other targets are tested, if anything."""
        new = {task.target: entry}
        if self.tests and not entry.failed:
            new |= {
                each: tested(new.get(each, LedgerEntry({})), name)
                for each, name in ALSO_TESTED[task.target].items()
            }
        name = task.operator.full_name
        self.found.setdefault(name, {}).update(new)
        self.entries = merged(self.entries, {name: new}, (), accept=self.accept)
        if monotonic() - self.written > WRITTEN_AFTER:
            self.write()  # what is known stays known when somebody has waited long enough

    def write(self) -> None:
        ledger = Ledger(PROPERTIES, stands(tests=self.tests), TRUSTED, self.entries)
        files = {LEDGER: ledger_text(ledger), PAGE: page(ledger)}
        self.changed |= dict.fromkeys(write_beside(self.folder, files))
        self.written = monotonic()


def update_ledger(
    spec: Path,
    folder: Path,
    names: Sequence[str],
    *,
    accept: bool,
    as_json: bool,
    part: Part | None = None,
) -> Exit:
    """Verify what is named, or else what the ledger of a folder says nothing of, and write it; or
    one part of that, for texts that the ledger knows."""
    with Progress(aloud=not as_json) as progress:
        operators = checked_operators(spec, progress, Strict())
        chosen = find_operators(operators, names)
        texts = up_to_date_texts(spec, folder, progress)
        earlier = read_ledger(folder)
        before: Entries = {} if earlier is None else earlier.entries
        if part is None:
            wanted = wanted_entries(before, texts, chosen)
        else:
            wanted = wanted_parts(before, texts, chosen, part)
        tasks = tasks_of(wanted, operators, read_schedules(spec), folder, text_digests(texts))
        if part is not None:
            known = (before[each.operator.full_name][each.target] for each in tasks)
            tasks = [replace(e, part=part, known=k) for e, k in zip(tasks, known, strict=True)]
        tasks.sort(key=lambda each: -seconds_of(before, each))  # the longest ones first
        if tasks:
            engines_needed()
        gone = [each for each in stale(before, texts) if each not in text_digests(texts)]
        book = Book(folder, has_tests(spec), merged(before, {}, gone, accept=accept), accept)
        try:
            for task, entry in verified(tasks, progress):
                book.add(task, entry)
        finally:
            book.write()
    lines = [*_summary(book.found), *written(folder, book.changed)]
    told = {"folder": str(folder), "changed": [*book.changed], "entries": as_data(book.found)}
    give(told, "".join(f"{line}\n" for line in lines), as_json=as_json)
    return _verdict(book.entries)


def up_to_date_texts(spec: Path, folder: Path, progress: Progress) -> Texts:
    """The generated files, which have to be what the formulas give: proofs are of these."""
    request = Request(spec, folder, targets_in(folder), (), whole=True)
    files = cached_texts(request, progress, Strict(), afresh=False).files
    if folder_diff(folder, files):
        raise CvmgenError(f"{request.shown} is stale; `cvmgen build` brings it up to date first")
    return files


def targets_in(folder: Path) -> tuple[str, ...]:
    found = tuple(name for name in LANGUAGES if (folder / name).is_dir())
    if not found:
        raise CvmgenError(f"{folder}: no generated operators here; run 'cvmgen build'")
    return found


def wanted_entries(before: Entries, texts: Texts, chosen: Sequence[Operator]) -> list[Which]:
    """What is named on each target; without names what has changed, was better before, or failed:
    a run that was stopped goes on where it was."""
    if chosen:
        return [(each.full_name, target) for each in chosen for target in VERIFIED]
    lost = {(name, at) for name, at, what, _ in worse(before) if (at, what) not in PARTS}
    faults = {(operator, target) for operator, target, _ in failed(before)}
    return sorted({*stale(before, texts), *lost, *faults})


def wanted_parts(
    before: Entries, texts: Texts, chosen: Sequence[Operator], part: Part
) -> list[Which]:
    """What is named, or else what was not asked of the text of an entry, or was better before; an
    entry of another text is renewed first."""
    names = {each.full_name for each in chosen}
    several = [
        (operator, several[part.target], several[part.target].findings.get(part.name))
        for operator, several in before.items()
        if part.target in several and (operator in names or not names)
    ]
    left = {name for name, at in stale(before, texts) if at == part.target}
    if lost := sorted(left & (names or left)):
        raise UsageError(stale_text([(each, part.target) for each in lost]))
    return [
        (operator, part.target)
        for operator, entry, found in several
        if names or found is None or found.hash != entry.text or found.before is not None
    ]


def tasks_of(
    wanted: Sequence[Which],
    operators: Sequence[Operator],
    schedules: Schedules,
    folder: Path,
    digests: Mapping[Which, str],
) -> list[Task]:
    """What is wanted of the operators that are generated for a target."""
    by_name = {each.full_name: each for each in operators}
    return [
        Task(by_name[name], target, schedules, folder, digests[name, target])
        for name, target in wanted
        if (name, target) in digests
    ]


def seconds_of(before: Entries, task: Task) -> float:
    """How long it took before; what is new may take longest."""
    known = before.get(task.operator.full_name, {}).get(task.target)
    return inf if known is None else known.seconds


def engines_needed() -> None:
    """A ledger by fewer engines would be worse than it need be."""
    missing = [name for name in SOLVERS if name not in installed()]
    if missing:
        what = " and ".join(missing)
        raise UsageError(f"--ledger asks {what}: pip install 'cvmgen[verify]' brings both solvers")
    program.clang()  # BuildError says what is missing


def verified(tasks: Sequence[Task], progress: Progress) -> Iterator[tuple[Task, LedgerEntry]]:
    """The entries as they are found, by several processes at once."""
    progress.step("verifying", 0, len(tasks))
    for number, (task, made) in enumerate(helped_as_done(_verify, tasks), 1):
        progress.step(f"verified {task.operator.full_name}", number, len(tasks))
        yield task, _verify(task) if made is None else made


def _verify(task: Task) -> LedgerEntry:
    """What is known of an operator on a target; where an engine fails, that it did: nobody else
    has to wait for that to be mended."""
    try:
        if task.part is not None:
            return verified_part(task, task.part)
        return VERIFIERS[task.target](task.operator, task.schedules, task.folder, task.text)
    except Exception as error:
        return failed_entry(error)


def verified_part(task: Task, part: Part) -> LedgerEntry:
    """The entry as it was, with what is found of a part."""
    verify = PART_VERIFIERS[part.name]
    found = verify(task.operator, task.schedules, task.folder, part.calls)
    several = {**task.known.findings, part.name: replace(found, hash=task.text)}
    return replace(task.known, findings=several)


def has_tests(spec: Path) -> bool:
    """Whether these are the formulas that the project's tests are of."""
    return spec.resolve() == spec_folder().resolve() and checkout() is not None


# ---------------------------------------------------------------- what is told


def _summary(found: Entries) -> Iterator[str]:
    """A line for each operator and target that was verified."""
    for operator, several in found.items():
        for target, entry in several.items():
            told = ", ".join(
                f"{name} {standing_text(finding.standing)}"
                for name, finding in entry.findings.items()
            )
            told = f"failed: {entry.failed}" if entry.failed else told or "nothing is asked"
            yield f"{operator:<34} {target:<4} {told}"
    counted = Counter(
        (name, finding.status)
        for several in found.values()
        for entry in several.values()
        for name, finding in entry.findings.items()
    )
    for (name, status), number in sorted(counted.items()):
        yield f"{name}: {status} {number}"


def written(folder: Path, changed: Collection[str]) -> Iterator[str]:
    if not changed:
        yield f"{folder / LEDGER} says so already"
    yield from (f"written {folder / name}" for name in changed)


def _verdict(entries: Entries) -> Exit:
    """Something that is refuted, was better or failed is wrong."""
    lost, faults = list(worse(entries)), list(failed(entries))
    for line in (*(failed_text(*each) for each in faults), *map(worse_text, lost)):
        print(line, file=sys.stderr)
    refuted = any(
        finding.status == "refuted"
        for several in entries.values()
        for entry in several.values()
        for finding in entry.findings.values()
    )
    return Exit.WRONG if lost or faults or refuted else Exit.OK


def as_data(found: Entries) -> dict[str, dict[str, object]]:
    return {
        name: {target: asdict(entry) for target, entry in several.items()}
        for name, several in found.items()
    }


def default_folder(spec: Path, folder: Path | None) -> Path:
    """Where the ledger lies: beside the project's files, or the ones that are named."""
    if folder is None and spec.resolve() != spec_folder().resolve():
        raise UsageError("--ledger with --spec needs --generated DIR: what was built from it")
    if folder is None and checkout() is None:
        raise UsageError(
            "the files of this installation stay as they are: --generated DIR is others"
        )
    return folder or generated_folder()
