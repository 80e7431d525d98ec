"""Threads that share the iterations of a loop."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cvmgen.build import c_compiler
from cvmgen.emit.c_support import emit_support
from tests.emit.cuda_texts import write
from tests.targets import whole

PROGRAM = Path(__file__).with_name("threads.c")
SOURCES = ("cvmgen_threads.c", "cvmgen.c", "cvmgen_runs.c")
BUILDS = [
    (("-pthread", "-DTHREADS=1"), "threads"),
    (("-pthread", "-DTHREADS=1", "-fsanitize=thread"), "sanitized"),
    (("-DTHREADS=0",), "no threads"),
]


@pytest.mark.parametrize(("flags", "why"), BUILDS, ids=[row[-1] for row in BUILDS])
def test_iterations_are_done_once(tmp_path: Path, flags: tuple[str, ...], why: str) -> None:
    write(emit_support() | {"empty.c": "int main(void) { return 0; }\n"}, tmp_path)
    command = (*c_compiler().command, "-std=gnu11", "-O1", *flags)
    tried = (*command, "empty.c", "-o", "empty")
    if subprocess.run(tried, cwd=tmp_path, capture_output=True, check=False).returncode:
        pytest.skip(f"the C compiler has no {' '.join(flags)}")
    line = (
        *command,
        "-Wall",
        "-Wextra",
        "-Werror",
        "-I.",
        str(PROGRAM),
        *SOURCES,
        "-lm",
        "-lpthread",
    )
    made = subprocess.run(
        (*line, "-o", "threads"), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    done = subprocess.run(
        ("./threads",), cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, ""), why


def test_a_library_is_loaded_forked_with_and_unloaded(generated: Path, tmp_path: Path) -> None:
    """By a program in which several threads have bound calls of their own."""
    program = tmp_path / "unload"
    source = Path(__file__).with_name("unload.c")
    flags = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-pthread")
    line = (*c_compiler().command, *flags, "-I", generated / "c", source, "-o", program, "-ldl")
    subprocess.run(line, check=True)
    done = subprocess.run(
        (program, whole(generated)),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 wrong\n", "")
