"""`cvmgen watch`: on each save the errors, or what the edit means and what is generated anew."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cvmgen.api.library import compiled_operators
from cvmgen.build.ahead import CompiledAhead
from cvmgen.build.progress import Progress
from cvmgen.cli import build
from cvmgen.cli.checked import checked
from cvmgen.cli.colour import Paint, painter, plain
from cvmgen.cli.diff import cached, compare_versions, described, named
from cvmgen.cli.diff_text import told
from cvmgen.cli.exits import Exit, error_json, exit_code, tell, tell_faults, tell_warnings
from cvmgen.compare.compared import CompareRequest, Version
from cvmgen.compare.findings import OperatorDiff
from cvmgen.compare.versions import SpecVersion, read_side, root_of
from cvmgen.errors import BuildError, CvmgenError, Faults
from cvmgen.escape import json_text
from cvmgen.paths import formulas_folder, schedules_folder
from cvmgen.spec.words import plural

EVERY = 0.2
"""Seconds from one look at the files to the next; what changes while it is looked at twice in a row
is still being written."""

Snapshot = dict[str, tuple[int, int]]  # of each file the time of its last change, and its size


@dataclass(frozen=True, slots=True)
class Watched:
    """What is watched: a spec folder, where to what is generated of it goes and for which targets,
    and the version that saves are compared with: the save before, where none is named."""

    spec: Path
    out: Path
    targets: Sequence[str]
    since: str | None = None
    pages: Path | None = None  # a folder of pages of `cvmgen explore`, which follow
    text: bool = False
    as_json: bool = False
    debug: bool = False


def watch(watched: Watched, turns: Iterable[None] | None = None) -> Exit:
    """Look at a spec folder until somebody ends it; or for as many saves as there are `turns`."""
    session = Session(watched)
    seen = snapshot(watched.spec)  # before it is read: what changes from here on is another save
    session.begin()
    for _ in saves(watched.spec, seen) if turns is None else turns:
        session.saved()
    return Exit.OK


def saves(spec: Path, seen: Snapshot) -> Iterator[None]:
    """A turn each time when files have changed and then stayed as they are."""
    while True:
        time.sleep(EVERY)
        found = snapshot(spec)
        if found == seen:
            continue
        time.sleep(EVERY / 2)
        if snapshot(spec) == found:
            seen = found
            yield


def snapshot(spec: Path) -> Snapshot:
    """How the formulas and schedules of a folder lie there now."""
    found: Snapshot = {}
    with suppress(OSError):  # another folder is put in its place just now
        places = {formulas_folder(spec): "*.cvm", schedules_folder(spec): "*.sched"}
        for place, pattern in places.items():
            for path in place.rglob(pattern):
                with suppress(OSError):  # or another file
                    state = path.stat()
                    found[str(path)] = state.st_mtime_ns, state.st_size
    return found


@dataclass(frozen=True, slots=True)
class Compared:
    """What a save means: the names of both versions, the newer one and its operators that were
    edited, what `cvmgen diff` finds of them, and how many are as before."""

    before: str
    now: str
    new: Version
    edited: Collection[str]
    found: Sequence[OperatorDiff]
    count: int

    def text(self, paint: Paint, *, text: bool) -> str:
        return told(self.before, self.now, self.found, self.count, paint, text=text)

    def report(self) -> dict[str, Any]:
        return described(self.before, self.now, self.found, self.count)


@dataclass(slots=True)
class Session:
    """The last version that had no errors, with which the next one is compared."""

    watched: Watched
    version: Version | None = None
    shown: str = "the save before"
    warned: set[str] = field(default_factory=set)  # each warning is told once

    def begin(self) -> None:
        """Read the folder as it lies there, or the version to compare with, if one was named."""
        watched = self.watched
        with Progress(aloud=not watched.as_json) as progress:
            progress.step("reading the formulas")
            if watched.since is not None:
                side = self.read(watched.since)
                self.version, self.shown = self.checked(side, Faults()), side.shown
            else:
                try:
                    self.version = self.checked(self.read(None), Faults())
                except (CvmgenError, OSError) as error:
                    if not watched.spec.is_dir():
                        raise
                    self.failed(error)  # the first save without any is compared with
            progress.step("writing pages")
            if self.version is not None:
                self.follow(self.version, (), "", progress)
        known = self.version
        count = f", {plural(len(known.operators), 'operator')}" if known is not None else ""
        self.tell(
            {"event": "watching", "spec": str(watched.spec)},
            f"watching {watched.spec}{count}; Ctrl-C ends it\n",
        )

    def read(self, name: str | None) -> SpecVersion:
        return read_side(name, self.watched.spec, root_of(None, self.watched.spec))

    @staticmethod
    def checked(side: SpecVersion, faults: Faults) -> Version:
        return Version(named(checked(side.files, faults)), side.schedules)

    def saved(self) -> None:
        """What a save means and what became of it, or its errors."""
        began, faults = time.perf_counter(), Faults()
        try:
            with (
                Progress(aloud=not self.watched.as_json) as progress,
                CompiledAhead() as compiling,
            ):
                found = self.compared(progress, faults, compiling)
                progress.clear()
                self.tell(None, found.text(painter(), text=self.watched.text))
                made = self.built(progress, faults, compiling)
                means = found.text(plain, text=False)
                made |= self.follow(found.new, found.edited, means, progress)
        except (CvmgenError, OSError) as error:
            self.failed(error)
            return
        tell_faults(faults, Exit.OK, debug=self.watched.debug)
        seconds = round(time.perf_counter() - began, 2)
        result = {"event": "saved", "report": found.report(), **made, "seconds": seconds}
        self.tell(result, f"{seconds:.1f} s\n\n")

    def compared(self, progress: Progress, faults: Faults, compiling: CompiledAhead) -> Compared:
        """What `cvmgen diff` finds. The C of what was edited is compiled meanwhile."""
        watched = self.watched
        progress.step("checking the formulas")
        side = self.read(None)
        new = self.checked(side, faults)
        old = self.version or new
        edited = [each for name, each in new.operators.items() if old.operators.get(name) != each]
        if "c" in watched.targets:
            build.compile_new(edited, self.request(), new.schedules, compiling)
        request = CompareRequest(watched.targets, cached, run=False)
        found, count = compare_versions(old, new, request, progress, faults)
        if watched.since is None:
            self.version = new
        names = {each.full_name for each in edited}
        return Compared(self.shown, side.shown, new, names, found, count)

    def request(self) -> build.Request:
        watched = self.watched
        return build.Request(watched.spec, watched.out, tuple(watched.targets), (), whole=False)

    def built(self, progress: Progress, faults: Faults, compiling: CompiledAhead) -> dict[str, Any]:
        """Write what changed, and compile what that changes."""
        watched, request = self.watched, self.request()
        changes, generated = build.bring_up_to_date(request, progress, faults, compiling)
        progress.clear()
        if not watched.as_json:
            tell_warnings(each for each in generated.warnings if str(each) not in self.warned)
            self.warned |= {*map(str, generated.warnings)}
            build.tell_changes(request, changes, generated.stale)
        library = None
        if "c" in watched.targets:
            progress.step("compiling")
            refused: dict[str, BuildError] = {}
            library = compiled_operators(watched.out, refused=refused)
            faults.errors += refused.values()
            progress.clear()
            self.tell(None, f"library  {library}\n")
        return {
            "changes": [asdict(each) for each in changes],
            "library": None if library is None else str(library),
        }

    def follow(
        self, version: Version, edited: Collection[str], told: str, progress: Progress
    ) -> dict[str, Any]:
        """Bring the pages up to date, if there are some to be watched; which of them changed."""
        if self.watched.pages is None:
            return {}
        from cvmgen.cli.pages import WatchedPages  # what pages need, not all who watch need

        found = WatchedPages(self.watched.pages).update(version, edited, told, progress)
        progress.clear()
        pages = [each for each in found if each.endswith(".html")]
        self.tell(None, f"{plural(len(pages), 'page')} anew in {self.watched.pages}\n")
        return {"pages": pages}

    # -------------------------------------------------------- what is told

    def tell(self, described: dict[str, Any] | None, text: str) -> None:
        """An object on a line for programs, or a text for people."""
        if not self.watched.as_json:
            print(text, end="", flush=True)
        elif described is not None:
            print(json_text(described, indent=None), flush=True)

    def failed(self, error: Exception) -> None:
        code = exit_code(error)
        if code is Exit.INTERNAL:
            raise error
        if self.watched.as_json:
            self.tell({"event": "errors", "error": error_json(error, code)}, "")
        else:
            tell(error, as_json=False, debug=self.watched.debug)
        if self.watched.pages is not None:
            from cvmgen.cli.pages import WatchedPages

            WatchedPages(self.watched.pages).tell(str(error), {})
