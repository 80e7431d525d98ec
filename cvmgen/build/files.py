"""Generated text to files: write only what changed, whole or not at all; compare."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from cvmgen.build.locks import lock_folder
from cvmgen.errors import CvmgenError

LISTING = ".cvmgen-files"
"""In each folder of generated files: the names of those files, one to a line, sorted."""

_PARTIAL = ".cvmgen-partial"

ChangeKind = Literal["new", "changed", "removed"]


@dataclass(frozen=True, slots=True)
class Change:
    """One file that `write_changed` touched; `path` includes the folder."""

    path: Path
    kind: ChangeKind


def write_changed(
    folder: Path,
    files: Mapping[str, str | bytes],
    *,
    remove_stale: bool | Callable[[str], bool] = True,
) -> list[Change]:
    """Make `folder` hold `files` (relative names with `/`; text becomes UTF-8).

    Files that already have the wanted bytes are left alone. Each other one is replaced in one
    step, so that a reader or a crash sees the old or the new file, never a part. Files that an
    earlier run wrote (they are in the folder's listing) and this one did not are removed: all,
    none, or those of which `remove_stale` says so by name; any other file stays. Runs at the same
    time wait for each other.

    Returns what changed, sorted by path, the listing itself left out. Raises CvmgenError when
    the system refuses, or a link in the folder leads out of it; ValueError for a name that does.
    """
    wanted = _encoded(files)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with lock_folder(folder):
            return _write_locked(folder, wanted, remove_stale)
    except OSError as error:
        place = Path(error.filename or folder)
        # A file that could not be finished has its name in the message, not that of its part.
        name = place.name.removeprefix(".").removesuffix(_PARTIAL)
        shown = place.with_name(name) if place.name.endswith(_PARTIAL) else place
        reason = error.strerror or str(error)
        raise CvmgenError(f"cannot write generated files: {shown}: {reason}") from error


def write_beside(folder: Path, files: Mapping[str, str | bytes]) -> list[str]:
    """Put files beside the generated ones that no build lists or removes; returns what changed."""
    try:
        with lock_folder(folder):
            _check_links(folder, files)
            return [change.path.name for change in _written(folder, _encoded(files))]
    except OSError as error:
        reason = error.strerror or str(error)
        raise CvmgenError(f"cannot write {error.filename or folder}: {reason}") from error


def folder_diff(folder: Path, files: Mapping[str, str | bytes]) -> str:
    """How `folder` differs from `files`, as a unified diff; empty when `write_changed` would
    change nothing."""
    wanted = _encoded(files)
    wanted[LISTING] = _listing(wanted.keys())
    names = sorted(_listed(folder) | wanted.keys())
    return "".join(_difference(name, _read(folder / name), wanted.get(name)) for name in names)


def listed_files(folder: Path) -> set[str]:
    """The names of the files that earlier runs wrote into `folder`."""
    return _listed(folder)


def digest_of(root: Path, paths: Iterable[Path]) -> str:
    """Of names below `root` and contents."""
    digest = hashlib.sha256()
    for path in paths:
        if path.is_dir():
            continue
        try:
            content = path.read_bytes()
        except OSError:
            content = b"missing"
        name = path.relative_to(root).as_posix()
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _encoded(files: Mapping[str, str | bytes]) -> dict[str, bytes]:
    for name in files:
        parts = PurePosixPath(name).parts
        if not parts or name.startswith("/") or ".." in parts or name == LISTING:
            raise ValueError(f"not a name for a generated file: {name!r}")
        if name != str(PurePosixPath(name)):
            raise ValueError(f"write the name of a generated file without detours: {name!r}")
    return {
        name: content.encode() if isinstance(content, str) else content
        for name, content in files.items()
    }


def _write_locked(
    folder: Path, wanted: Mapping[str, bytes], remove_stale: bool | Callable[[str], bool]
) -> list[Change]:
    _remove_partial(folder)
    listed = _listed(folder)
    owned = listed | wanted.keys()
    _check_links(folder, owned)
    # The listing covers old and new files before the first of them changes: after a crash the
    # next run still knows everything that was ever written.
    _replace_if_different(folder, LISTING, _listing(owned))
    changes = list(_written(folder, wanted))
    stale = listed - wanted.keys()
    if callable(remove_stale):
        stale = set(filter(remove_stale, stale))
    elif not remove_stale:
        stale = set()
    if stale:
        changes.extend(_removed(folder, stale))
        _replace_if_different(folder, LISTING, _listing(owned - stale))
    return sorted(changes, key=lambda change: change.path)


def _check_links(folder: Path, names: Iterable[str]) -> None:
    """A folder from elsewhere may hold a link to any other: nothing is written or removed there."""
    root = folder.resolve()
    for inner in sorted({(folder / name).parent for name in names}):
        if not inner.resolve().is_relative_to(root):
            raise CvmgenError(f"cannot write generated files: {inner} leads out of {folder}")


def _written(folder: Path, wanted: Mapping[str, bytes]) -> Iterator[Change]:
    for name, content in sorted(wanted.items()):
        kind = _replace_if_different(folder, name, content)
        if kind is not None:
            yield Change(folder / name, kind)


def _removed(folder: Path, names: set[str]) -> Iterator[Change]:
    for name in sorted(names):
        path = folder / name
        if path.is_file():
            path.unlink()
            yield Change(path, "removed")
        _remove_empty(folder, path.parent)


def _remove_empty(folder: Path, inner: Path) -> None:
    while inner != folder:
        try:
            inner.rmdir()
        except OSError:  # something else is in it, or it is gone already
            return
        inner = inner.parent


def _remove_partial(folder: Path) -> None:
    """Clear away what a writer that died left; under the lock, none can be alive."""
    for path in folder.rglob(f".*{_PARTIAL}"):
        path.unlink()


def _replace_if_different(folder: Path, name: str, content: bytes) -> ChangeKind | None:
    path = folder / name
    before = _read(path)
    if before == content:
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}{_PARTIAL}")
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            # Without this, a power failure may keep the renaming and lose the content.
            os.fsync(file.fileno())
        partial.replace(path)
        _forget_compiled(path)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise
    return "new" if before is None else "changed"


def _forget_compiled(path: Path) -> None:
    """Python knows a text by its second and its length, which an edit may leave as they were."""
    if path.suffix == ".py":
        for made in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            with contextlib.suppress(FileNotFoundError):
                made.unlink()


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _listing(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in sorted(names)).encode()


def _listed(folder: Path) -> set[str]:
    """The names in the folder's listing that lie inside the folder."""
    content = _read(folder / LISTING)
    lines = (content or b"").decode(errors="replace").splitlines()
    # The listing is a committed file that anybody may edit, and what it names may be removed.
    return {line for line in lines if _is_inside(line)}


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts


def _difference(name: str, before: bytes | None, after: bytes | None) -> str:
    """Unified diff of one file; None stands for a file that is not there."""
    if before == after:
        return ""
    old_name = "/dev/null" if before is None else f"a/{name}"
    new_name = "/dev/null" if after is None else f"b/{name}"
    try:
        old = (before or b"").decode().splitlines(keepends=True)
        new = (after or b"").decode().splitlines(keepends=True)
    except UnicodeDecodeError:
        return f"Binary files {old_name} and {new_name} differ\n"
    lines = list(difflib.unified_diff(old, new, old_name, new_name))
    if not lines:  # an empty file comes or goes
        return f"--- {old_name}\n+++ {new_name}\n"
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
