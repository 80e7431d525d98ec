"""The example in C, built as its first lines say."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

from cvmgen.build import c_compiler

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "examples" / "c" / "boxes.c"

PRINTED = """\
class 0 score 90 box 10 10 50 50
class 1 score 70 box 12 11 52 49
class 0 score 60 box 90 90 99 99
class -1 score -1 box -1 -1 -1 -1
"""


def test_boxes(tmp_path: Path) -> None:
    head = SOURCE.read_text(encoding="utf-8").split("*/")[0]
    command = re.search(r"cc (.*?) -o boxes", head.replace("\\\n", " "), re.DOTALL)
    assert command is not None
    words = shlex.split(command[1].replace("-O3", "-O0").replace("-pthread", ""))
    given = [
        path
        for word in words
        for path in (sorted(map(str, ROOT.glob(word))) if "*" in word else [word])
    ]
    program = tmp_path / "boxes"
    compiler = c_compiler()
    build = [*compiler.command, *given, "-pthread", "-o", str(program)]
    subprocess.run(build, cwd=ROOT, check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    assert done.stdout == PRINTED
