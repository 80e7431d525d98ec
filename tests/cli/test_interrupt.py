"""Ctrl-C: whatever a command is doing, it ends at once, quietly, and leaves nothing behind."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from .conftest import ROOT
from .test_build import Build, contents

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")

# The command, which says when an interrupt may come.
READY = """
import sys
from cvmgen.cli import interrupt
interrupt.end_on_signals()
print("ready", file=sys.stderr, flush=True)
from cvmgen.cli import main
sys.exit(main())
"""
# A compiler that notes what runs and takes its time.
COMPILER = """#!/bin/sh
case "$*" in *"-c a"*|*"-c cvmgen"*) echo $$ >> {pids}; sleep 120 & echo $! >> {pids}; wait;; esac
exec cc "$@"
"""
SOON = 1.9  # seconds: before there is no more patience


pytestmark = pytest.mark.usefixtures("heard")


def start(arguments: Sequence[object], **variables: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", READY, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "ready\n"
    return process


COMMANDS = {
    "build": ("build", "--target", "cuda", "--target", "python", "--spec", "SPEC", "--out", "OUT"),
    "check": ("check", "--spec", "SPEC"),
    "show": ("show", "toy.double", "--after", "schedule", "--spec", "SPEC"),
    "derive": ("derive", "toy.double", "--wrt", "X", "--spec", "SPEC"),
    "list": ("list", "--search", "gather"),
    "run": ("run", "examples/digits/digits.json", "--params", "examples/digits/digits.bin"),
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", COMMANDS)
def test_at_any_moment(
    build: Build, spec: Path, tmp_path: Path, cache: Path, name: str, seed: int
) -> None:
    draw = random.Random(f"{name} {seed}")
    places = {"SPEC": str(spec), "OUT": str(tmp_path / "generated")}
    arguments = [places.get(each, each) for each in COMMANDS[name]]
    if name == "run":
        arguments += ["--input", str(tmp_path / "none.npy")]
    own = tmp_path / "cache"
    process = start(arguments, CVMGEN_CACHE=str(cache if seed else own))
    time.sleep(draw.uniform(0, 1.5))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert "Traceback" not in out + err
    assert "Exception ignored" not in err
    assert "KeyboardInterrupt" not in err
    # It may have been done before, well or not: `run` has no such input.
    assert process.returncode in (0, 130) or not err.strip() or name == "run", err
    if name == "build":
        assert build("--target", "cuda", "--target", "python").code == 0
        assert not [path for path in contents(tmp_path / "generated") if "partial" in path]
        assert build("--target", "cuda", "--target", "python", "--check").code == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_compilers_end_too(spec: Path, tmp_path: Path, number: signal.Signals) -> None:
    pids = tmp_path / "pids"
    compiler = tmp_path / "slow-cc"
    compiler.write_text(COMPILER.format(pids=pids))
    compiler.chmod(0o755)
    arguments = ("build", "--target", "c", "--spec", spec, "--out", tmp_path / "generated")
    process = start(arguments, CC=str(compiler), CVMGEN_CACHE=str(tmp_path / "cache"))
    while not pids.exists() or len(pids.read_text().split()) < 2:
        assert process.poll() is None
        time.sleep(0.02)
    began = time.monotonic()
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert time.monotonic() - began < SOON + 2
    assert process.returncode == 128 + number
    assert "Traceback" not in err
    assert not [pid for pid in pids.read_text().split() if alive(int(pid))]
    assert not list((tmp_path / "cache").rglob("*.partial"))
    assert not list((tmp_path / "cache").glob("failed/*")), "nothing was refused"


PROGRAM = """
import sys
from cvmgen.build import compile_library
sources = {f"a{at}.c": f"int f{at}(void); int f{at}(void) {{ return {at}; }}" for at in range(9)}
try:
    compile_library(sources, name="many")
except KeyboardInterrupt:
    print("stopped")
"""


def test_a_program_that_compiles_stops_too(tmp_path: Path) -> None:
    """Its compilers end with it, and those that wait for a turn are not started."""
    pids = tmp_path / "pids"
    compiler = tmp_path / "slow-cc"
    compiler.write_text(COMPILER.format(pids=pids))
    compiler.chmod(0o755)
    variables = {"CC": str(compiler), "CVMGEN_CACHE": str(tmp_path / "cache"), "CVMGEN_JOBS": "2"}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        text=True,
    )
    while not pids.exists() or len(pids.read_text().split()) < 4:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60) == ("stopped\n", None)
    assert len(pids.read_text().split()) == 4
    assert not [pid for pid in pids.read_text().split() if alive(int(pid))]


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and is waited for does not."""
    for _ in range(250):
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
                return False
        except (ProcessLookupError, FileNotFoundError):
            return False
        time.sleep(0.02)
    return True


SWALLOWED = """
import os, signal, sys
from cvmgen.cli import interrupt
interrupt.end_on_signals()
class Noisy:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(9): pass
{how}
import time
time.sleep(120)
"""
WAYS = {
    "a destructor": "noisy = Noisy()\ndel noisy",
    "a handler of everything": "try:\n    os.kill(os.getpid(), 2)\nexcept BaseException:\n    pass",
    "impatience": "for _ in range(3):\n    try:\n        os.kill(os.getpid(), 2)\n"
    "    except BaseException:\n        pass",
}


def test_an_interrupt_that_is_caught_ends_the_command_all_the_same() -> None:
    """Each has its time until there is no more patience; all at once they take one such time."""
    processes = {
        way: subprocess.Popen(
            [sys.executable, "-c", SWALLOWED.format(how=how)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for way, how in WAYS.items()
    }
    ended = {way: each.communicate(timeout=60) for way, each in processes.items()}
    assert ended == dict.fromkeys(WAYS, ("", ""))
    codes = {way: each.returncode for way, each in processes.items()}
    assert codes == dict.fromkeys(WAYS, 130)


def test_who_ignores_interrupts_stays_undisturbed() -> None:
    """As `nohup` and shells do for what they start in the background."""
    code = (
        "import os, signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from cvmgen.cli import interrupt; interrupt.end_on_signals()\n"
        "os.kill(os.getpid(), signal.SIGINT); print('here')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "here\n")


@pytest.mark.parametrize(
    "variables", [{"TERM": "dumb"}, {"NO_COLOR": "1"}, {"FORCE_COLOR": "1", "TERM": "dumb"}]
)
def test_a_plain_terminal_gets_plain_text(
    spec: Path, tmp_path: Path, variables: dict[str, str]
) -> None:
    """Nothing is coloured at all; lines that change are for terminals that can wipe them."""
    (spec / "toy/wrong.cvm").write_text("operator wrong 3")
    inner, outer = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "cvmgen", "check", "--spec", str(spec)],
        cwd=ROOT,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=outer,
        stderr=outer,
    )
    os.close(outer)
    process.wait(60)
    said = os.read(inner, 100_000).decode()
    os.close(inner)
    assert "wrong.cvm:1:16: error" in said
    assert "\x1b[3" not in said, "a colour"
    assert "\x1b[9" not in said, "a bright one"
    if "TERM" in variables:
        assert "\x1b" not in said
