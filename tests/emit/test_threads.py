"""Threads that share the tasks of a call."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cvmgen.build import c_compiler
from cvmgen.emit.c_support import emit_support
from tests.emit.cuda_texts import write

PROGRAM = Path(__file__).with_name("threads.c")
SOURCES = ("cvmgen_threads.c", "cvmgen.c")


def test_tasks_are_done_once_and_late_threads_are_left_alone(tmp_path: Path) -> None:
    compiler = c_compiler()
    if not compiler.openmp:
        pytest.skip(f"{compiler.name} has no OpenMP")
    write(emit_support(), tmp_path)
    flags = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", *compiler.openmp)
    line = (*compiler.command, *flags, "-I.", str(PROGRAM), *SOURCES, "-lm", "-o", "threads")
    made = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert subprocess.run(("./threads",), cwd=tmp_path, check=False).returncode == 0
