"""What only this user, or the administrator, can have written: nothing else is loaded or linked."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from pathlib import Path

from cvmgen.errors import CacheError

_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def own_folder(root: Path, inner: Path) -> None:
    """Make `root` and the folders down to `inner` in it, for this user alone.

    CacheError names the first of them that is no folder, belongs to another user, or that other
    users can write to: what they put there would run as this user. The same holds for a place
    where they could put another folder in the place of `root`.
    """
    names = inner.relative_to(root).parts
    folders = [root, *(root.joinpath(*names[: at + 1]) for at in range(len(names)))]
    root.parent.mkdir(parents=True, exist_ok=True)
    for folder in folders:
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
    if sys.platform != "win32":
        _check_parents(root.resolve())
        for folder in folders:
            _check_folder(folder.resolve() if folder == root else folder)


def is_own_file(path: Path) -> bool:
    """Whether a path in such a folder is a file, and only this user or the administrator can
    have written it. OSError where there is nothing."""
    found = path.lstat()
    return stat.S_ISREG(found.st_mode) and (sys.platform == "win32" or _fault(found) == "")


def make_own(path: Path) -> None:
    """Others may read a file that this user made, and not write it, whatever the umask says."""
    path.chmod(stat.S_IMODE(path.stat().st_mode) & ~_OTHERS)


def _check_folder(folder: Path) -> None:
    found = folder.lstat()
    fault = _fault(found) if stat.S_ISDIR(found.st_mode) else "it is no folder"
    if fault:
        _refuse(folder, fault)


def _check_parents(root: Path) -> None:
    """Nobody else can rename what is above the cache. Groups are left to the administrator."""
    for folder in root.parents:
        mode = folder.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            _refuse(folder, "any user can write to it")


def _fault(found: os.stat_result) -> str:
    """What is wrong with who may write a file or folder; empty where nothing is."""
    if found.st_uid not in (os.geteuid(), 0):
        return f"it belongs to another user ({found.st_uid})"
    return "other users can write to it" if found.st_mode & _OTHERS else ""


def _refuse(folder: Path, fault: str) -> None:
    hint = "set CVMGEN_CACHE to a folder of your own"
    if fault == "other users can write to it":
        hint = f"remove it, or {hint}"
    raise CacheError(f"the cache does not use {folder}: {fault}; {hint}")
