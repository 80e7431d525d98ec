"""Shells complete commands, options and operators."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cvmgen.cli.completion import operator_names

from .conftest import Command

pytest.importorskip("argcomplete")

WORDS = {
    "cvmgen sh": {"show"},
    "cvmgen show cvm.con": {"cvm.conv2d", "cvm.concatenate"},
    "cvmgen explore get_valid_c": {"get_valid_count", "get_valid_counts"},
    "cvmgen build --tar": {"--target"},
    "cvmgen build --target cu": {"cuda"},
    "cvmgen completion ": {"bash", "zsh", "fish"},
}


def asked(line: str, folder: Path) -> set[str]:
    """What the command tells a shell that asks."""
    told = folder / "told"
    shell = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(told),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    command = "from cvmgen.cli import main; main()"
    subprocess.run([sys.executable, "-c", command], env={**os.environ, **shell}, check=False)
    return {*told.read_text(encoding="utf-8").split("\n")}


@pytest.mark.parametrize("line", WORDS)
def test_words_go_on(tmp_path: Path, line: str) -> None:
    assert asked(line, tmp_path) >= WORDS[line]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_read_the_script(cvmgen: Command, tmp_path: Path, shell: str) -> None:
    outcome = cvmgen("completion", shell)
    assert outcome.code == 0
    if program := shutil.which(shell):
        (tmp_path / "script").write_text(outcome.out, encoding="utf-8")
        subprocess.run([program, "-n", tmp_path / "script"], check=True)


def test_bash_completes(cvmgen: Command, tmp_path: Path) -> None:
    """By its own functions, with the command on its path."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    command = tmp_path / "cvmgen"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m cvmgen "$@"\n')
    command.chmod(0o755)
    script = cvmgen("completion", "bash").out + (
        'COMP_LINE="cvmgen show cvm.den"; COMP_POINT=19; COMP_TYPE=9\n'
        "COMP_WORDS=(cvmgen show cvm.den); COMP_CWORD=2\n"
        '_python_argcomplete cvmgen cvm.den show; echo "${COMPREPLY[@]}"\n'
    )
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [bash, "--norc", "-c", script],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["cvm.dense"], done.stderr


def test_names_of_a_folder_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own/a.cvm").write_text("operator twice {\n  alias  double, two\n}\n")
    names = {"twice", "double", "two"}
    assert {*operator_names(tmp_path)} == names | {f"own.{each}" for each in names}
