"""Run compilers, as many as there are to be at once, and collect what they say."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from cvmgen.errors import BuildError


def workers() -> int:
    """$CVMGEN_JOBS, the number of compilers to run at once, else one for each core."""
    chosen = os.environ.get("CVMGEN_JOBS", "")
    return int(chosen) if chosen.isdecimal() and int(chosen) else os.cpu_count() or 1


def run(command: Sequence[str], *, folder: Path | None = None) -> tuple[int, str]:
    """Exit status and output (both streams) of `command`, run in `folder`.

    Messages come in English with plain quotes, whatever the user's language, since they are
    parsed. Raises BuildError when the program cannot be started.
    """
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    except OSError as error:
        raise BuildError(f"cannot run {command[0]}: {error.strerror or error}") from error
    return done.returncode, done.stdout.decode(errors="replace")
