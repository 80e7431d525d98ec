"""`cvmgen verify --ledger`: what is known of each operator, written beside its generated files."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cvmgen.api.library import LANGUAGES
from cvmgen.build.files import folder_diff, write_beside
from cvmgen.build.helpers import helped
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
    VERIFIED,
    Entries,
    Entry,
    Ledger,
    Texts,
    Which,
    ledger_text,
    merged,
    read_ledger,
    stale,
    standing_text,
    text_digests,
    worse,
)
from cvmgen.verification.ledger_check import worse_text
from cvmgen.verification.ledger_entries import (
    PROPERTIES,
    TESTED_ALONE,
    TRUSTED,
    VERIFIERS,
    stands,
    tested,
)
from cvmgen.verification.ledger_page import page
from cvmgen.verification.solvers import SOLVERS, installed
from cvmgen.verification.values import program


@dataclass(frozen=True, slots=True)
class Task:
    """An operator to verify on a target, whose text has a digest."""

    operator: Operator
    target: str
    schedules: Schedules
    folder: Path
    text: str


def update_ledger(
    spec: Path, folder: Path, names: Sequence[str], *, accept: bool, as_json: bool
) -> Exit:
    """Verify what is named, or else what the ledger of a folder says nothing of, and write it."""
    with Progress(aloud=not as_json) as progress:
        operators = checked_operators(spec, progress, Strict())
        chosen = find_operators(operators, names)
        texts = up_to_date_texts(spec, folder, progress)
        earlier = read_ledger(folder)
        before: Entries = {} if earlier is None else earlier.entries
        now = text_digests(texts)
        wanted = [each for each in wanted_entries(before, texts, chosen, accept) if each in now]
        by_name = {each.full_name: each for each in operators}
        schedules = read_schedules(spec)
        tasks = [
            Task(by_name[name], target, schedules, folder, now[name, target])
            for name, target in wanted
        ]
        if tasks:
            engines_needed()
        found = verified(tasks, progress)
        found = with_tests(found) if has_tests(spec) else found
        gone = [each for each in stale(before, texts) if each not in now]
        entries = merged(before, found, gone, accept=accept)
        meanings = PROPERTIES, stands(tests=has_tests(spec)), TRUSTED
        ledger = Ledger(*meanings, entries)
        files = {LEDGER: ledger_text(ledger), PAGE: page(ledger)}
        changed = write_beside(folder, files)
    lines = [*summary(found), *written(folder, changed)]
    told = {"folder": str(folder), "changed": changed, "entries": as_data(found)}
    give(told, "".join(f"{line}\n" for line in lines), as_json=as_json)
    return verdict(entries)


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


def wanted_entries(
    before: Entries, texts: Texts, chosen: Sequence[Operator], accept: bool
) -> list[Which]:
    """What is named on each target; without names what has changed, or was better before."""
    if chosen:
        return [(each.full_name, target) for each in chosen for target in VERIFIED]
    marked = {(operator, target) for operator, target, *_ in worse(before)}
    return sorted({*stale(before, texts), *marked})


def engines_needed() -> None:
    """A ledger by fewer engines would be worse than it need be."""
    missing = [name for name in SOLVERS if name not in installed()]
    if missing:
        what = " and ".join(missing)
        raise UsageError(f"--ledger asks {what}: pip install 'cvmgen[verify]' brings both solvers")
    program.clang()  # BuildError says what is missing


def verified(tasks: Sequence[Task], progress: Progress) -> dict[str, dict[str, Entry]]:
    """The entries, made by several processes at once."""
    found: dict[str, dict[str, Entry]] = {}
    for number, (task, made) in enumerate(zip(tasks, helped(verify, tasks), strict=True), 1):
        name = task.operator.full_name
        progress.step(f"verifying {name}, {number} of {len(tasks)}")
        found.setdefault(name, {})[task.target] = verify(task) if made is None else made
    return found


def verify(task: Task) -> Entry:
    return VERIFIERS[task.target](task.operator, task.schedules, task.folder, task.text)


def has_tests(spec: Path) -> bool:
    """Whether these are the formulas that the project's tests are of."""
    return spec.resolve() == spec_folder().resolve() and checkout() is not None


def with_tests(found: dict[str, dict[str, Entry]]) -> dict[str, dict[str, Entry]]:
    """With what tests say of values on the targets where these are not validated."""
    return {
        name: several | {target: tested(several.get(target, Entry({}))) for target in TESTED_ALONE}
        for name, several in found.items()
    }


# ---------------------------------------------------------------- what is told


def summary(found: Entries) -> Iterator[str]:
    """A line for each operator and target that was verified."""
    for operator, several in found.items():
        for target, entry in several.items():
            told = ", ".join(
                f"{name} {standing_text(finding.standing)}"
                for name, finding in entry.findings.items()
            )
            yield f"{operator:<34} {target:<4} {told or 'nothing is asked'}"
    counted = Counter(
        (name, finding.status)
        for several in found.values()
        for entry in several.values()
        for name, finding in entry.findings.items()
    )
    for (name, status), number in sorted(counted.items()):
        yield f"{name}: {status} {number}"


def written(folder: Path, changed: Sequence[str]) -> Iterator[str]:
    if not changed:
        yield f"{folder / LEDGER} says so already"
    yield from (f"written {folder / name}" for name in changed)


def verdict(entries: Entries) -> Exit:
    """Something that is refuted or was better is wrong."""
    lost = list(worse(entries))
    for each in lost:
        print(worse_text(each), file=sys.stderr)
    refuted = any(
        finding.status == "refuted"
        for several in entries.values()
        for entry in several.values()
        for finding in entry.findings.values()
    )
    return Exit.WRONG if lost or refuted else Exit.OK


def as_data(found: Entries) -> dict[str, dict[str, object]]:
    return {
        name: {target: asdict(entry) for target, entry in several.items()}
        for name, several in found.items()
    }


def default_folder(spec: Path, folder: Path | None) -> Path:
    """Where the ledger lies: beside the project's files, or the ones that are named."""
    if folder is None and spec.resolve() != spec_folder().resolve():
        raise UsageError("--ledger with --spec needs --generated DIR: what was built from it")
    return folder or generated_folder()
