"""Run compilers and other programs, as many as there are to be at once."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cvmgen.errors import BuildError

_running: set[subprocess.Popen[bytes]] = set()
_stopped: set[subprocess.Popen[bytes]] = set()
_ended: list[bool] = []


def workers() -> int:
    """$CVMGEN_JOBS, the number of compilers to run at once, else one for each core."""
    chosen = os.environ.get("CVMGEN_JOBS", "")
    return int(chosen) if chosen.isdecimal() and int(chosen) else os.cpu_count() or 1


def run_command(command: Sequence[str], *, folder: Path | None = None) -> tuple[int, str]:
    """Exit status and output (both streams) of `command`, run in `folder`.

    Messages come in English with plain quotes, whatever the user's language, since they are
    parsed. Raises BuildError when the program cannot be started.
    """
    where = {"stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT}
    started = _start(command, {"LC_ALL": "C"}, cwd=folder, **where)
    try:
        output, _ = started.communicate()
    except BaseException:
        _end(started)
        started.wait()
        raise
    finally:
        _running.discard(started)
        stopped = started in _stopped
        _stopped.discard(started)
    if stopped:
        raise BuildError(f"{command[0]} was interrupted")
    return started.returncode, output.decode(errors="replace")


def run_commands(commands: Iterable[Sequence[str]], *, folder: Path) -> tuple[int, str]:
    """Exit status and output of the last of some commands that are run in turn: one that fails is
    the last."""
    found = 0, ""
    for each in commands:
        if (found := run_command(each, folder=folder))[0] != 0:
            break
    return found


@contextlib.contextmanager
def piped(command: Sequence[str], **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program that reads from a pipe and writes to another one; it ends with the block."""
    started = _start(command, environment, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        yield started
    finally:
        _end(started)
        _running.discard(started)
        _stopped.discard(started)
        with contextlib.suppress(OSError):  # what it did not read
            started.communicate()


def _start(
    command: Sequence[str], environment: Mapping[str, str], **options: Any
) -> subprocess.Popen[bytes]:
    """A program whose output is read here; BuildError if it cannot be started."""
    try:
        started = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            # Compilers start others, which end with them only as a group.
            process_group=None if sys.platform == "win32" else 0,
            **options,
        )
    except OSError as error:
        raise BuildError(f"cannot run {command[0]}: {error.strerror or error}") from error
    _running.add(started)
    if _ended:
        _end(started)
    return started


def end_all() -> None:
    """End all programs that run, and those that are started from now on. It may be called in the
    middle of anything: it waits for no lock."""
    _ended.append(True)
    end_running()


def end_running() -> None:
    """End the programs that run now: who waits for them has been interrupted."""
    for each in tuple(_running):
        _end(each)


def _end(program: subprocess.Popen[bytes]) -> None:
    _stopped.add(program)
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            program.kill()
        elif program.poll() is None:
            os.killpg(program.pid, signal.SIGKILL)


def look_for_cycles_seldom() -> None:
    """For processes that end soon: trees of nodes have no cycles, and to walk through all of them
    in search of some takes a fifth of a build."""
    gc.set_threshold(1_000_000)
