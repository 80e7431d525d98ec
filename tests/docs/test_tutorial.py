"""The tutorial, gone through as a reader would: files are written, commands run, excerpts found."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cvmgen.build import c_compiler
from cvmgen.errors import BuildError
from tests.docs.documents import TUTORIAL, fenced
from tests.targets import quick_compiler

STEP = re.compile(
    r"write `(?P<file>[\w./]+)`[^`]*?\n\n```\w+\n(?P<text>.*?)^```\n"
    r"|^```(?P<language>\w+)\n(?P<block>.*?)^```\n",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)


def test_the_tutorial(tmp_path: Path) -> None:
    try:
        c_compiler()
    except BuildError as error:
        pytest.skip(str(error))
    for program in ("cc", "pkg-config"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here")
    reader = Reader(tmp_path)
    for step in STEP.finditer(TUTORIAL.read_text(encoding="utf-8")):
        reader.go(step)
    assert reader.steps == len(fenced(TUTORIAL)), "every block is a step"


class Reader:
    """Does what the tutorial says, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.said, self.steps, self.written = folder, "", 0, Path()
        (folder / "bin").mkdir()
        command = folder / "bin" / "cvmgen"
        command.write_text(f'#!/bin/sh\nexec {sys.executable} -m cvmgen "$@"\n')
        command.chmod(0o755)
        path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
        quick = quick_compiler(c_compiler().command, folder)  # what is compiled is called once
        self.environment = {**os.environ, "PATH": path, "CC": str(quick)}

    def go(self, step: re.Match[str]) -> None:
        self.steps += 1
        if step["file"]:
            self.written = self.folder / step["file"]
            self.written.parent.mkdir(parents=True, exist_ok=True)
            self.written.write_text(step["text"])
            return
        match step["language"]:
            case "sh":
                self.said = self.run("sh", "-ec", step["block"])
            case "python":
                self.run(sys.executable, "-c", self.with_checks(step["block"]))
            case "c":
                text = (self.folder / "out/c/own/leaky_relu.c").read_text(encoding="utf-8")
                assert step["block"] in text
            case "text" if "error:" in step["block"]:
                self.said = self.run("sh", "-c", f"cvmgen check {self.written} 2>&1")
                told = self.said.replace(f"{self.folder}/", "")
                assert step["block"] == told
            case "text":
                assert self.said.endswith(step["block"])
            case _:
                raise AssertionError(step[0])

    def with_checks(self, program: str) -> str:
        """What stands behind calls in comments is what they give."""
        return re.sub(
            r"^(ops\..*?)  # (.*)$", r"assert repr(\1) == repr(np.\2)", program, flags=re.M
        )

    def run(self, *command: str) -> str:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not done.stderr or "error" not in done.stderr, done.stderr
        return done.stdout
