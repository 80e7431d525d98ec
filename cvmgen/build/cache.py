"""What compilers made, kept under a hash of everything that went into it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from cvmgen.build.locks import lock_file
from cvmgen.build.ownership import is_own_file, make_own, own_folder
from cvmgen.errors import CacheError, InternalError
from cvmgen.paths import cache_folder

UNUSED_DAYS = 30
"""An entry that nobody asked for in so many days goes."""

MOST_BYTES = 5 << 30
"""What all entries may take together, those of the last day apart."""

_DAY = 24 * 60 * 60


def content_key(
    sources: Mapping[str, str | bytes], *, compiler: str, flags: Sequence[str] = ()
) -> str:
    """A name for what `compiler` (its identity, version included) makes of `sources`.

    It changes with the name or the content of any source, the compiler, any flag, their order,
    and the machine, since several may share one home folder.
    """
    digest = hashlib.sha256()
    for part in _parts(sources, (sys.platform, platform.machine(), compiler, *flags)):
        # The length first: ("ab", "c") and ("a", "bc") are different.
        digest.update(f"{len(part)}:".encode())
        digest.update(part)
    return digest.hexdigest()


def get_or_build(key: str, suffix: str, builder: Callable[[Path], None]) -> Path:
    """The cached file `<key><suffix>`, after `builder` wrote it if it was not there.

    `builder` gets the path to write, alone in a scratch folder that it may use and that is
    removed afterwards. Only a finished file becomes visible, and one whose bytes are no longer
    those that were stored, or that another user could have written, is built again. Several
    processes or threads asking at once build once; when the builder's process dies, the next one
    starts afresh. What `builder` raises comes through; CacheError when the cache cannot be
    written, or others can write to its folders.
    """
    root = cache_folder()
    entry = _entry(key, suffix)
    try:
        own_folder(root, entry.parent)
        if _is_whole(entry):
            _mark_used(entry)
            return entry
        with lock_file(entry.with_name(f"{entry.name}.lock")):
            if not _is_whole(entry):
                _build(entry, builder)
        _sweep()
    except OSError as error:
        raise _unwritable(error) from error
    return entry


def is_stored(key: str, suffix: str) -> bool:
    """Whether `get_or_build` most likely finds the file."""
    return _entry(key, suffix).exists()


def keep_failed(name: str, key: str, sources: Mapping[str, str]) -> Path:
    """Store sources that a compiler refused, for the user to look at; returns their folder."""
    root = cache_folder()
    folder = root / "failed" / f"{name}-{key[:12]}"
    try:
        own_folder(root, folder)
        write_sources(folder, sources)
    except OSError as error:
        raise _unwritable(error) from error
    return folder


def write_sources(folder: Path, sources: Mapping[str, str]) -> None:
    """Write each source below `folder`, at its relative name."""
    for name, text in sources.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")


def _entry(key: str, suffix: str) -> Path:
    return cache_folder() / "entries" / key[:2] / f"{key}{suffix}"


def _unwritable(error: OSError) -> CacheError:
    reason = error.strerror or error
    hint = "set CVMGEN_CACHE to a folder that can be written"
    return CacheError(f"cannot write to the cache in {cache_folder()}: {reason}; {hint}")


def _parts(sources: Mapping[str, str | bytes], others: Sequence[str]) -> Iterator[bytes]:
    yield from (other.encode() for other in others)
    yield b""  # no flag is empty: ends the flags
    for name, content in sorted(sources.items()):
        yield name.encode()
        yield content.encode() if isinstance(content, str) else content


def _build(entry: Path, builder: Callable[[Path], None]) -> None:
    scratch = entry.with_name(f"{entry.name}.partial")
    shutil.rmtree(scratch, ignore_errors=True)  # of a builder that was killed
    scratch.mkdir(mode=0o700)
    try:
        made = scratch / entry.name
        builder(made)
        if not made.is_file():
            raise InternalError(f"the builder of {entry.name} wrote no file")
        digest = scratch / "digest"
        digest.write_text(_digest(made))
        make_own(made)
        make_own(digest)
        # In this order a crash between the two leaves a pair that does not match: built again.
        made.replace(entry)
        digest.replace(_digest_path(entry))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _is_whole(entry: Path) -> bool:
    # A truncated library would kill the process that loads it. Hashing is about 1 ms for 1 MB.
    digest = _digest_path(entry)
    try:
        own = is_own_file(entry) and is_own_file(digest)
        return own and digest.read_text(errors="replace") == _digest(entry)
    except OSError:
        return False


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest_path(entry: Path) -> Path:
    return entry.with_name(f"{entry.name}.sha256")


def _mark_used(entry: Path) -> None:
    digest = _digest_path(entry)
    with contextlib.suppress(OSError):  # a cache that can only be read still serves
        if digest.stat().st_mtime < time.time() - _DAY:
            os.utime(digest)


def _sweep() -> None:
    """Once a day, remove what nobody used for `UNUSED_DAYS`, and the oldest beyond `MOST_BYTES`.

    What was used within the last day, of which `_mark_used` tells with a day's patience, stays,
    however much it is: another process may have asked for it and not have opened it yet.
    """
    folder = cache_folder()
    stamp = folder / "swept"
    now = time.time()
    if stamp.exists() and stamp.stat().st_mtime > now - _DAY:
        return
    stamp.touch()
    limit = now - UNUSED_DAYS * _DAY
    size = 0
    for used, digest in sorted(_last_used(folder), reverse=True):
        with contextlib.suppress(FileNotFoundError):  # another process sweeps too
            entry = digest.with_suffix("")
            size += entry.stat().st_size
            if used < limit or (size > MOST_BYTES and used < now - 2 * _DAY):
                digest.unlink()
                entry.unlink()
    for left in (*folder.glob("failed/*"), *folder.glob("entries/*/*.partial")):
        with contextlib.suppress(FileNotFoundError):
            if left.stat().st_mtime < limit:
                shutil.rmtree(left, ignore_errors=True)


def _last_used(folder: Path) -> Iterator[tuple[float, Path]]:
    for digest in folder.glob("entries/*/*.sha256"):
        with contextlib.suppress(FileNotFoundError):
            yield digest.stat().st_mtime, digest
