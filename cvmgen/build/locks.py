"""Locks between processes; the system releases them when their holder dies."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
    import time

    def _lock(descriptor: int) -> None:
        while True:  # LK_LOCK gives up after ten seconds
            with contextlib.suppress(OSError):
                msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
                return
            time.sleep(0.1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)


@contextlib.contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Hold the lock named `path` (its folder must exist); waits; threads exclude each other too.

    The file exists only while somebody holds or awaits the lock.
    """
    descriptor = _open_locked(path)
    try:
        yield
    finally:
        # Removed while still held, so that whoever waits on it sees that it is gone; Windows
        # refuses to remove an open file, and there it stays.
        with contextlib.suppress(OSError):
            path.unlink()
        os.close(descriptor)


@contextlib.contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold the lock of an existing folder, without leaving a file in it."""
    if sys.platform == "win32":  # cannot open a folder
        with lock_file(folder / ".cvmgen-lock"):
            yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        _lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def _open_locked(path: Path) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(descriptor)
            if _is_still(path, descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_still(path: Path, descriptor: int) -> bool:
    """Whether `path` names the locked file; its former holder may have removed it."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
