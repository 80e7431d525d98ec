"""Builds, checks and builds of models that are killed at any moment lose nothing."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import numpy as np
import pytest

import cvmgen
from cvmgen.build import c_compiler
from cvmgen.graph import load_model, write_parameters, write_symbol
from tests.fuzz import seeds
from tests.fuzz.test_texts import network

SPEC = """
operator f {{ "First." input X : int8[N] output Y : int32[N] Y[i] = X[i] + {number} }}
operator g {{ "Second." input X : int8[N] output Y : int32[N] Y[i] = X[i] - {number} }}
"""
LONGEST = 3.0  # seconds; about what a build takes


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, with a cache that all rounds use, and with a compiler that is quick:
    what is killed matters here, not how fast the code is that comes of it."""
    folder = tmp_path_factory.mktemp("killed")
    (folder / "spec" / "x").mkdir(parents=True)
    symbol, arrays = network(("weights", "dense", "clip"))
    write_symbol(folder / "symbol.json", symbol)
    write_parameters(folder / "params.bin", arrays)
    quick = folder / "quick-cc"
    quick.write_text(f'#!/bin/sh\nexec {shlex.join(c_compiler().command)} "$@" -O0\n')
    quick.chmod(0o700)
    return folder


@pytest.mark.parametrize("seed", seeds(1))
def test_what_is_killed_is_made_by_the_next_one(seed: int, place: Path) -> None:
    random = Random(seed)
    number = seed % 1000 + 1
    (place / "spec" / "x" / "f.cvm").write_text(SPEC.format(number=number))
    build = ["build", "--spec", "spec", "--out", "out", "--target", "c", "--target", "python"]
    model = ["build", "--model", "symbol.json", "params.bin", "--out", f"net{number}"]
    for command in random.sample([build, model, ["check", "spec"]], 2):
        killed(command, place, random.uniform(0, LONGEST))
    libraries = {"c": library(finished(build, place)), "python": None}
    finished(model, place)
    for target, made in libraries.items():
        ops = cvmgen.load(target, folder=place / "out", library=made)
        assert ops.x.f(np.array([1, 2], np.int8)).tolist() == [number + 1, number + 2]
        assert ops.x.g(np.array([1, 2], np.int8)).tolist() == [1 - number, 2 - number]
    found = load_model(place / f"net{number}")(np.array([[1, 2, 3, 4]], np.int8))
    assert found.tolist() == [[20, 31, 31]]
    left = [path for path in (place / "out").rglob("*") if path.name.startswith(".")]
    assert {path.name for path in left} == {".cvmgen-files"}


def library(output: str) -> Path:
    """The library in the cache of the rounds, as a build names it."""
    (found,) = (line.split()[-1] for line in output.splitlines() if line.startswith("library"))
    return Path(found)


def finished(command: list[str], place: Path) -> str:
    """What a command said that was left to come to its end."""
    done = started(command, place)
    output, _ = done.communicate(timeout=300)
    assert done.returncode == 0, output
    return output


def started(command: list[str], place: Path) -> subprocess.Popen[str]:
    """A command with the compilers that it starts in a group of their own."""
    return subprocess.Popen(
        [sys.executable, "-m", "cvmgen", *command],
        cwd=place,
        env={
            **os.environ,
            "CC": str(place / "quick-cc"),
            "CVMGEN_CACHE": str(place / "cache"),
            "CVMGEN_JOBS": "2",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def killed(command: list[str], place: Path, seconds: float) -> None:
    """Start a command and kill it and its compilers after so many seconds, if it still runs."""
    with started(command, place) as process:
        time.sleep(seconds)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
