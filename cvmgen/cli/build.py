"""`cvmgen build`: formulas to files to a library; only what changed, and why it changed."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cvmgen.api.library import compiled_operators, library_sources
from cvmgen.api.manifest import operator_of
from cvmgen.build.ahead import CompiledAhead
from cvmgen.build.files import LISTING, folder_diff, write_changed
from cvmgen.build.progress import Progress
from cvmgen.cli import report
from cvmgen.cli.exits import Exit, fault_json, give, tell_warnings
from cvmgen.cli.install import install
from cvmgen.cli.reasons import BuildReasons, Entry, full_name, interface, read_entries
from cvmgen.cli.stamp import (
    Stamp,
    files_digest,
    generator_digest,
    read_stamp,
    schedules_digest,
    spec_digest,
    stamp_path,
    write_stamp,
)
from cvmgen.emit.interface import manifest_text
from cvmgen.errors import BuildError, CvmgenError, Faults, InternalError
from cvmgen.escape import json_text, lines_for_terminal
from cvmgen.paths import MANIFEST, schedules_folder, spec_folder
from cvmgen.source import SpecWarning
from cvmgen.spec.unread import unread
from cvmgen.verification.ledger_check import complaints, stale_note

if TYPE_CHECKING:  # their modules need lark and sympy
    from cvmgen.cli.loops import ReportedNest
    from cvmgen.driver import Texts
    from cvmgen.schedule.schedules import Schedules
    from cvmgen.spec.formula import Operator

SHOWN_CHANGES = 12
"""More changes than these are counted by their reason."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to build: from where, to where, for which targets, which operators (none: all)."""

    spec: Path
    folder: Path
    targets: tuple[str, ...]
    names: tuple[str, ...]
    whole: bool  # all operators for all targets: whatever else an earlier build wrote must go
    architectures: tuple[str, ...] = ()  # where to look what the CUDA kernels become
    loops: bool = False  # whether to look what the nests of the C files become
    prefix: Path | None = None  # where to install the C library
    written: bool = True  # an installation's own files stay as they are

    @property
    def shown(self) -> str:
        """The folder as messages name it."""
        try:
            return f"{self.folder.resolve().relative_to(Path.cwd()).as_posix()}/"
        except ValueError:
            return f"{self.folder}/"


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """One file that a build changed, named as below the generated folder."""

    path: str
    kind: str
    why: str


@dataclass(frozen=True, slots=True)
class Generated:
    """The files to write, what they describe, operators left out that are stale as well, what
    the schedules most likely do not mean, and operators on which we failed."""

    files: Mapping[str, str]
    entries: Mapping[str, Entry]
    stale: Sequence[str]
    warnings: Sequence[SpecWarning] = ()
    failed: Collection[str] = ()

    def goes(self, name: str, *, whole: bool) -> bool:
        """Whether what an earlier build wrote, and this one did not, goes: all, or what is that of
        an operator which there is no more, but nothing of an operator on which we failed."""
        operator = operator_of(name)
        return operator not in self.failed and (whole or operator not in {None, *self.entries})


def build_folder(request: Request, faults: Faults, *, as_json: bool) -> Exit:
    """Bring the folder up to date, compile the C library, and say what changed."""
    with Progress(aloud=not as_json) as progress, CompiledAhead() as compiling:
        changes, generated = bring_up_to_date(request, progress, faults, compiling)
        progress.clear()
        tell_warnings(generated.warnings)
        # Told before compiling: should that fail, these files are what it failed on.
        if not as_json:
            tell_changes(request, changes, generated.stale)
        library = None
        if "c" in request.targets:
            progress.step("looking for the C library")
            refused: dict[str, BuildError] = {}
            library = compiled_operators(request.folder, refused=refused)
            faults.errors += refused.values()
        nests = looped(request, progress) if request.loops else None
        progress.clear()
        if nests is not None and not as_json:
            print("\n".join(loop_lines(nests)), flush=True)
        found = reported(request, progress) if request.architectures else None
        installed = install(request.folder, request.prefix) if request.prefix else []
    if as_json:
        told: dict[str, Any] = {
            "folder": str(request.folder),
            "changes": [asdict(each) for each in changes],
            "stale": list(generated.stale),
            "warnings": [fault_json(each) for each in generated.warnings],
            "library": None if library is None else str(library),
            "faults": [str(each) for each in faults.errors],
        }
        if nests is not None:
            told["c"] = {"nests": [asdict(each) for each in nests]}
        if request.prefix is not None:
            told["installed"] = [str(each) for each in installed]
        if found is not None:
            told["cuda"] = report.report_json(found)
        print(json_text(told))
        return report.verdict(found)
    if found is not None:
        print(report.report_table(found))
    if library is not None:
        print(f"library  {library}")
    for each in installed:
        print(f"installed {each}")
    return report.verdict(found)


def reported(request: Request, progress: Progress) -> report.Report:
    """What the CUDA kernels of the requested operators became."""
    # Imported here, as in `cached_texts`.
    from cvmgen.schedule.schedules import read_schedules

    schedules = read_schedules(request.spec)
    chosen = reported_operators(request, progress)
    return report.build_report(request.folder, chosen, schedules, request.architectures, progress)


def looped(request: Request, progress: Progress) -> list[ReportedNest]:
    """What the nests of the requested operators became in C."""
    from cvmgen.cli import loops
    from cvmgen.schedule.schedules import read_schedules

    schedules = read_schedules(request.spec)
    return loops.loops_report(
        request.folder, reported_operators(request, progress), schedules, progress
    )


def loop_lines(nests: Sequence[ReportedNest]) -> Iterator[str]:
    from cvmgen.cli import loops

    return loops.lines(nests)


def reported_operators(request: Request, progress: Progress) -> Sequence[Operator]:
    """The operators that a report is about."""
    from cvmgen.cli.specs import find_operators, probed_operators

    operators = probed_operators(request.spec, progress, Faults())  # the build has told them
    return find_operators(operators, request.names) if request.names else operators


def tell_changes(request: Request, changes: Sequence[WrittenFile], stale: Sequence[str]) -> None:
    """A line for each changed file, or for each reason where there are many."""
    if len(changes) <= SHOWN_CHANGES:
        for each in changes:
            print(f"{each.kind:<8} {request.shown}{each.path}: {each.why}")
    else:
        for (kind, why), count in Counter((each.kind, each.why) for each in changes).items():
            files = f"{count} file{'s' * (count != 1)}"
            print(f"{kind:<8} {files} in {request.shown}: {why}")
    sys.stdout.flush()
    if stale:
        names = ", ".join(stale)
        print(f"stale too, and not built: {names} (`cvmgen build` builds all)", file=sys.stderr)
    if changes and (note := stale_note(request.folder, existing(request.folder))):
        print(lines_for_terminal(f"note: {request.shown}{note}"), file=sys.stderr)


def check(request: Request, faults: Faults, *, as_json: bool) -> Exit:
    """Compare the folder with what a build would write; a unified diff where they differ."""
    with Progress(aloud=not as_json) as progress:
        generated = cached_texts(request, progress, faults, afresh=True)
    files = generated.files
    goes = partial(generated.goes, whole=request.whole)
    kept = {name: text for name, text in existing(request.folder).items() if not goes(name)}
    difference = folder_diff(request.folder, {**kept, **files})
    stale = [name for name, text in sorted(files.items()) if differs(request.folder, name, text)]
    unproved = complaints(request.folder, {**kept, **files})
    told = {"folder": str(request.folder), "stale": stale, "diff": difference, "ledger": unproved}
    fine = f"{request.shown} is up to date\n" if not unproved else ""
    give(told, difference or fine, as_json=as_json)
    if difference:
        print(f"{request.shown} is stale; `cvmgen build` brings it up to date", file=sys.stderr)
    for each in unproved:
        print(lines_for_terminal(f"{request.shown}{each}"), file=sys.stderr)
    return Exit.WRONG if difference or unproved else Exit.OK


def bring_up_to_date(
    request: Request, progress: Progress, faults: Faults, compiling: CompiledAhead
) -> tuple[Sequence[WrittenFile], Generated]:
    """Write what changed; also what was generated, which is nothing where nothing changed."""
    if not request.written:
        note = "note: the files of this installation stay as they are; --out DIR writes others"
        print(note, file=sys.stderr)
        return (), Generated({}, {}, ())
    path = stamp_path(request.folder, request.spec, request.targets, request.names)
    known = read_stamp(path)
    made_from = (spec_digest(request.spec), schedules_digest(request.spec), generator_digest())
    if known is not None:
        files = files_digest(request.folder, known.names)
        if (known.spec, known.schedules, known.generator, known.files) == (*made_from, files):
            return (), Generated({}, {}, ())
    before = read_entries(request.folder)
    generated = cached_texts(request, progress, faults, afresh=False, compiling=compiling)
    progress.step("writing what changed")
    goes = partial(generated.goes, whole=request.whole)
    changes = write_changed(request.folder, generated.files, remove_stale=goes)
    reasons = BuildReasons(before, generated.entries, known, *made_from)
    written = []
    for change in changes:
        name = change.path.relative_to(request.folder).as_posix()
        written.append(WrittenFile(name, change.kind, reasons.why(name, change.kind)))
    if not generated.stale and not faults.errors:
        names = tuple(sorted(generated.files))
        write_stamp(path, Stamp(*made_from, files_digest(request.folder, names), names))
    return written, generated


# ---------------------------------------------------------------- generating


def cached_texts(
    request: Request,
    progress: Progress,
    faults: Faults,
    *,
    afresh: bool,
    compiling: CompiledAhead | None = None,
) -> Generated:
    """The text of the requested files; unless `afresh`, from the cache where it is there. What C
    of few operators is new is handed to `compiling` before all else."""
    progress.step("starting")
    # Imported here: these need lark, sympy and jinja2, which an up-to-date build does not.
    from cvmgen import driver
    from cvmgen.cli.precompute import made_ahead
    from cvmgen.cli.specs import (
        apply_all,
        checked_operators,
        find_operators,
        of_folder,
        probe_all,
        unproved_places,
    )
    from cvmgen.cli.stories import texts_and_story
    from cvmgen.cli.texts import remembered_texts
    from cvmgen.schedule.schedules import packaged, read_schedules

    operators = checked_operators(request.spec, progress, faults)
    find_operators(operators, request.names)  # a name that is none is told before all are tried
    schedules = read_schedules(request.spec)
    progress.step("generating")
    targets = () if request.names else request.targets  # of all operators few texts are missing
    if compiling is not None and "c" in request.targets:
        meant = find_operators(operators, request.names) if request.names else operators
        compile_new(meant, request, schedules, compiling)
    ahead = made_ahead(operators, targets, schedules, progress, afresh=afresh)
    operators = probe_all(operators, progress, faults, ahead)
    places = {name: each.places for name, each in ahead.items() if each.places is not None}
    numbers = count(1)

    def make(operator: Operator, targets: Sequence[str], schedules: Schedules | None) -> Texts:
        progress.step(f"generating {operator.full_name}", next(numbers), len(operators))
        made = ahead.get(operator.full_name)
        if made is not None and made.texts is not None:
            return made.texts
        return texts_and_story(operator, targets, schedules or packaged())

    def remembered(
        operator: Operator, targets: Sequence[str], schedules: Schedules | None
    ) -> Texts:
        return remembered_texts(operator, targets, schedules, make)

    how = make if afresh else remembered

    if not request.names:
        files = driver.generate(operators, request.targets, how, schedules, faults)
        warnings = [*unread(operators), *unproved_places(operators, progress, faults, places)]
        if "c" in request.targets and has_own_schedules(request.spec):
            idle, _ = apply_all(operators, schedules, progress, faults)
            warnings += of_folder(idle, request.spec)
        return Generated(files, entries_in(files), (), warnings, tuple(faults.failed))
    chosen = {each.full_name for each in find_operators(operators, request.names)}
    before = read_entries(request.folder)
    members = [each for each in operators if each.full_name in chosen | before.keys()]
    files = driver.generate(members, request.targets, how, schedules, faults)
    entries = entries_in(files)
    stale = []
    for operator in members:
        name = operator.full_name
        if name in chosen or name not in entries:
            continue
        texts = {path: files.pop(path) for path in driver.operator_files(operator, request.targets)}
        if any(differs(request.folder, path, text) for path, text in texts.items()):
            stale.append(name)
        if interface(before[name]) != interface(entries[name]):
            message = f"{name} has another interface now; build it too, or all"
            raise CvmgenError(message)
        entries[name] = before[name]
    files[MANIFEST] = manifest_text(list(entries.values()))
    own = [each for each in members if each.full_name in chosen]
    warnings = [*unread(own), *unproved_places(own, progress, faults, places)]
    return Generated(files, entries, stale, warnings, tuple(faults.failed))


def compile_new(
    operators: Sequence[Operator],
    request: Request,
    schedules: Schedules,
    compiling: CompiledAhead,
) -> None:
    """Begin with the C of operators whose texts are not known, where these are few, beside what an
    earlier build wrote. What fails is told by those who need it."""
    from cvmgen import driver
    from cvmgen.build.helpers import FEW
    from cvmgen.cli.texts import are_remembered

    new = [each for each in operators if not are_remembered(each, request.targets, schedules)]
    for each in new if len(new) < FEW else ():
        with suppress(CvmgenError, InternalError):
            texts = driver.operator_texts(each, ("c",), schedules).files
            sources = library_sources(request.folder)
            own = {name.removeprefix("c/"): text for name, text in texts.items()}
            unit = driver.operator_file(each, "c").removeprefix("c/")
            compiling.start({**sources, **own}, unit, name="cvmgen")


def has_own_schedules(spec: Path) -> bool:
    """Whether somebody wrote schedules beside those of cvmgen, which its tests try."""
    return schedules_folder(spec).resolve() != schedules_folder(spec_folder()).resolve()


def entries_in(files: Mapping[str, str]) -> dict[str, Entry]:
    return {full_name(entry): entry for entry in json.loads(files[MANIFEST])["operators"]}


def existing(folder: Path) -> dict[str, bytes]:
    """The files that earlier builds wrote into a folder."""
    try:
        names = (folder / LISTING).read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    return {name: (folder / name).read_bytes() for name in names if (folder / name).is_file()}


def differs(folder: Path, name: str, text: str) -> bool:
    try:
        return (folder / name).read_bytes() != text.encode()
    except OSError:
        return True
