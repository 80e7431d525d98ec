"""Where two versions of formulas come from: folders, files, and revisions of git.

Git is asked for names and contents alone, which runs no hook, filter or viewer of a repository. A
revision is a word of its own behind options, and no word that could be an option is given to it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath, PurePosixPath

from cvmgen.errors import CvmgenError
from cvmgen.paths import formulas_folder
from cvmgen.schedule.schedules import (
    Schedules,
    checked_schedules,
    packaged,
    read_schedules,
    with_usual,
)
from cvmgen.source import Source, SpecError, SpecErrors, check_visible, read_source
from cvmgen.spec.files import SpecFile, read_folder
from cvmgen.spec.imports import imports_of
from cvmgen.spec.schedules import ScheduleDefinition, parse_schedules

PLAIN_FILE = "100644", "100755"  # of git: no links, which lead anywhere
MOST_BYTES = 1 << 26  # of all formulas and schedules of a revision


class NotThere(CvmgenError):
    """What is named is neither a folder, nor a file, nor a revision."""


@dataclass(frozen=True, slots=True)
class SpecVersion:
    """The spec files of a version and its schedules; `only` is the file that was named, if one
    was."""

    shown: str
    files: tuple[SpecFile, ...]
    schedules: Schedules
    only: str = ""


def read_side(name: str | None, spec: Path, root: str) -> SpecVersion:
    """A side by its name: a folder, a .cvm file, `REV`, or `REV:PATH`; of None the spec folder.
    `root` is what generated code calls the folder of formulas of both sides.

    Raises NotThere, SpecErrors, and CvmgenError where git fails.
    """
    if name is None:
        return _of_folder(spec, root)
    if name and Path(name).is_dir():
        _check_whole(Path(name).resolve(), formulas_folder(spec).resolve(), shown_path(spec), name)
        return _of_folder(Path(name), root)
    if Path(name).is_file():
        return of_file(Path(name), spec, root)
    return Repository.around(spec, name, root).side(name, spec)


def _check_whole(place: PurePath, spec: PurePath, whole: str, name: str) -> None:
    """Refuse the folder of one opset: its formulas speak of what lies beside it."""
    if place.parent == spec:
        raise NotThere(
            f"'{name}' is a part of a spec folder: name '{whole}' for all of it, or one of its "
            "files for the operators in that"
        )


def root_of(name: str | None, spec: Path) -> str:
    """What generated code calls the folder of formulas that a side is: the name that it has."""
    folder = Path(name) if name and Path(name).is_dir() else spec
    return formulas_folder(folder).resolve().name


# ---------------------------------------------------------------- folders and files


def _of_folder(folder: Path, root: str) -> SpecVersion:
    files = read_folder(formulas_folder(folder), shown=root)
    if not files:
        raise FileNotFoundError(2, "no .cvm files here, and no schedules/*.sched", str(folder))
    return SpecVersion(shown_path(folder), files, read_schedules(folder))


def of_file(path: Path, spec: Path, root: str) -> SpecVersion:
    """A file by itself, with what its opset imports and what all share in the spec folder; a file
    of a spec folder together with that one."""
    if path.suffix != ".cvm":
        raise NotThere(f"{path} is no .cvm file")
    for folder in (path.parent, path.parent.parent):
        if folder.resolve() == formulas_folder(spec).resolve():
            whole = _of_folder(spec, root)
            name = f"{root}/{path.resolve().relative_to(folder.resolve()).as_posix()}"
            return replace(whole, shown=shown_path(path), only=name)
    source = read_source(f"{root}/{path.name}", path)
    opset = "".join(each if each.isalnum() else "_" for each in path.stem)
    needed = {"", *imports_of(source)}
    shared = read_folder(formulas_folder(spec), shown=root)
    others = tuple(each for each in shared if each.opset in needed and each.source != source)
    schedules = read_schedules(spec)
    return SpecVersion(shown_path(path), (*others, SpecFile(source, opset)), schedules, source.name)


def shown_path(path: Path) -> str:
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix() + ("/" if path.is_dir() else "")
    except ValueError:
        return str(path)


# ---------------------------------------------------------------- git


@dataclass(frozen=True, slots=True)
class Blob:
    """A file of a revision, by its path from the root of the repository."""

    path: str
    name: str


@dataclass(frozen=True, slots=True)
class Repository:
    """The repository that a spec folder lies in, and what generated code calls that folder."""

    root: Path
    called: str

    @classmethod
    def around(cls, spec: Path, asked: str, called: str) -> Repository:
        place = spec if spec.is_dir() else spec.parent
        try:
            found = git(place, ["rev-parse", "--show-toplevel"]).decode().rstrip("\n")
        except CvmgenError as error:
            raise NotThere(
                f"'{asked}' is neither a folder nor a .cvm file, and {spec} is in no repository "
                f"of git ({error}): name OLD and NEW"
            ) from None
        return cls(Path(found), called)

    def side(self, name: str, spec: Path) -> SpecVersion:
        revision, colon, path = name.partition(":")
        tree = self.commit(revision, name)
        inside = self.inside(spec)
        place = (path.strip("/") if path else inside) if colon else inside
        if colon and path.startswith("./"):
            place = (Path.cwd().resolve().relative_to(self.root.resolve()) / path).as_posix()
        if place.endswith(".cvm"):
            return self.of_file(tree, revision, place, inside)
        _check_whole(PurePosixPath(place), PurePosixPath(inside), revision, name)
        return self.of_folder(tree, revision, place)

    def inside(self, spec: Path) -> str:
        found = spec.resolve().relative_to(self.root.resolve()).as_posix()
        return "" if found == "." else found

    def commit(self, revision: str, shown: str) -> str:
        """The tree of a revision. A word that begins with '-' is no revision but an option."""
        if not revision or revision.startswith("-") or any(each in revision for each in "\0\n"):
            raise NotThere(f"'{shown}' is neither a folder, nor a .cvm file, nor a revision")
        words = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{tree}}"]
        try:
            return git(self.root, words).decode().split()[-1]
        except CvmgenError:
            raise NotThere(
                f"'{shown}' is neither a folder, nor a .cvm file, nor a revision of git in "
                f"{self.root}"
            ) from None

    def of_folder(self, tree: str, revision: str, place: str) -> SpecVersion:
        texts = self.texts(tree, place)
        base = f"{place}/" if place else ""
        files = tuple(self.spec_files(texts, revision, base))
        if not files:
            raise NotThere(f"{revision}:{place or '.'} has no .cvm files")
        return SpecVersion(f"{revision}:{base}", files, self.schedules(texts, revision, base))

    def of_file(self, tree: str, revision: str, place: str, spec: str) -> SpecVersion:
        """A file of a revision, with the spec folder of that revision."""
        base = f"{spec}/" if spec else ""
        if not place.startswith(base):
            raise NotThere(f"{revision}:{place} is not in {base or './'}: name its spec folder")
        whole = self.of_folder(tree, revision, spec)
        name = f"{self.called}/{place.removeprefix(base)}"
        if all(each.source.name != name for each in whole.files):
            raise NotThere(f"{revision} has no file {place}")
        return replace(whole, shown=f"{revision}:{place}", only=name)

    def spec_files(
        self, texts: Sequence[tuple[str, str]], revision: str, base: str
    ) -> Iterator[SpecFile]:
        for path, text in texts:
            if path.endswith(".cvm"):
                relative = path.removeprefix(base)
                folder, slash, _ = relative.partition("/")
                source = Source(f"{self.called}/{relative}", text, f"{revision}:{path}")
                check_visible(source)
                yield SpecFile(source, folder if slash else "")

    def schedules(self, texts: Sequence[tuple[str, str]], revision: str, base: str) -> Schedules:
        """Those of the revision; of a folder without any, cvmgen's own."""
        found: list[ScheduleDefinition] = []
        errors: list[SpecError] = []
        for path, text in texts:
            place, _, name = path.rpartition("/")
            if not name.endswith(".sched") or f"{place}/" != f"{base}schedules/":
                continue
            try:
                source = Source(f"{self.called}/schedules/{name}", text, f"{revision}:{path}")
                found += parse_schedules(source)
            except SpecError as error:
                errors.append(error)
        if errors:
            raise SpecErrors(errors)
        return with_usual(checked_schedules(found)) if found else packaged()

    def texts(self, tree: str, place: str) -> list[tuple[str, str]]:
        """The formulas and schedules below a folder of a revision, by their paths."""
        listed = git(self.root, ["ls-tree", "-r", "-z", "--full-tree", "-l", tree])
        blobs, size = [], 0
        for entry in listed.decode("utf-8", "surrogateescape").split("\0"):
            about, _, path = entry.partition("\t")
            below = not place or path.startswith(f"{place}/")
            if not below or not path.endswith((".cvm", ".sched")):
                continue
            mode, _, name, length = about.split()
            if mode in PLAIN_FILE:
                size += int(length)
                blobs.append(Blob(path, name))
        if size > MOST_BYTES:
            raise CvmgenError(f"the formulas of this revision have {size} bytes, which is too many")
        return list(self.contents(blobs))

    def contents(self, blobs: Sequence[Blob]) -> Iterator[tuple[str, str]]:
        asked = "".join(f"{each.name}\n" for each in blobs).encode()
        whole, at = git(self.root, ["cat-file", "--batch"], asked), 0
        for each in blobs:
            end = whole.index(b"\n", at)
            length = int(whole[at:end].split()[2])
            data = whole[end + 1 : end + 1 + length]
            at = end + length + 2
            try:
                yield each.path, data.decode("utf-8-sig")
            except UnicodeDecodeError as error:
                place = f"{each.path}: byte {error.start}"
                raise CvmgenError(f"{place} is not UTF-8 text") from None


def git(folder: Path, words: Sequence[str], given: bytes = b"") -> bytes:
    """What git says; CvmgenError where it is not there or refuses."""
    command = ["git", "-C", str(folder), "-c", "core.fsmonitor=false", *words]
    try:
        done = subprocess.run(command, input=given, capture_output=True, check=False)
    except OSError as error:
        raise CvmgenError(f"git cannot be run: {error.strerror}") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise CvmgenError(said[-1] if said else f"git {words[0]} failed")
    return done.stdout
