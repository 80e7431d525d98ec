"""Setting up: which packages each command of the Makefile installs, and that it is told."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INSTALL = ROOT / "tools" / "install.py"

PIP = """\
import sys, time
if "fail" in sys.argv:
    print("no such thing")
    sys.exit(1)
print("Collecting numpy")
print("Requirement already satisfied: sympy")
if "slow" in sys.argv:
    time.sleep(2.2)
print("Successfully installed", sys.argv[-1])
"""


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """An environment whose Python does nothing but say what pip would."""
    script = tmp_path / "pip.py"
    script.write_text(PIP)
    python = tmp_path / "venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {sys.executable} {script} "$@"\n')
    python.chmod(0o755)
    return tmp_path / "venv"


SETS = [
    ("core", "."),
    ("test,cuda,examples", ".[test,cuda,examples]"),
    ("check", ".[check]"),
    ("numba", "numba"),
    ("torch==2.13.0+cpu", "torch==2.13.0+cpu"),
]


@pytest.mark.parametrize(("name", "asked"), SETS)
def test_each_set_is_told(venv: Path, name: str, asked: str) -> None:
    done = subprocess.run([sys.executable, INSTALL, venv, name], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert lines[0] == f"installing into {venv}: {name}"
    assert lines[-2:] == ["  Collecting numpy", f"  Successfully installed {asked}"]


def test_a_long_silence_is_broken(venv: Path) -> None:
    done = subprocess.run([sys.executable, INSTALL, venv, "slow"], capture_output=True, text=True)
    assert "    2 s" in done.stdout.splitlines()


def test_what_fails_is_told_whole(venv: Path) -> None:
    done = subprocess.run([sys.executable, INSTALL, venv, "fail"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("no such thing\nfailed: ")


@pytest.mark.parametrize(
    ("goal", "sets"),
    [
        ("demo", ["core"]),
        ("test", ["core", "test,cuda,examples,verify"]),
        ("check", ["core", "check"]),
        ("gpu-bench", ["core", "cuda"]),
    ],
)
def test_what_a_goal_installs(goal: str, sets: list[str], tmp_path: Path) -> None:
    command = ["make", "-n", "-C", str(ROOT), goal, f"VENV={tmp_path / 'venv'}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        pytest.skip("no make here")
    lines = [line.split() for line in done.stdout.splitlines() if "tools/install.py" in line]
    assert [line[-1] for line in lines] == sets


def test_the_core_is_small() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {each.split(">")[0].split("[")[0] for each in project["dependencies"]}
    assert names == {"jinja2", "lark", "numpy", "sympy"}
