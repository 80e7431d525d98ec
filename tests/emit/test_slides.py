"""Local arrays an entry further in C, by vectors and without them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cvmgen.build import c_compiler
from cvmgen.emit import c_support
from cvmgen.emit.c_like import CPrinter
from cvmgen.ir import nodes as i
from tests.emit.cuda_texts import write
from tests.specs import operator

PROGRAM = Path(__file__).with_name("slides_in_c.c")
FLAGS = ("-Wall", "-Wextra", "-Werror", "-std=c11")


@pytest.mark.parametrize("options", [(), ("-DWITHOUT",)], ids=["vectors", "loops"])
@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_entries_are_one_further(options: tuple[str, ...], level: str, tmp_path: Path) -> None:
    write(c_support.emit_support(), tmp_path)
    build = (*c_compiler().command, *FLAGS, level, *options, "-I", tmp_path, PROGRAM)
    subprocess.run([*build, "-o", tmp_path / "slides"], check=True)
    subprocess.run([tmp_path / "slides"], check=True)


def test_statement() -> None:
    span = operator("input X : cvm[N]\noutput Y : cvm[N] precision p(X)\nY[i] = X[i]").span
    before, second = (i.Load(name, None, i.Const(0)) for name in ("before", "second"))
    slide = i.Slide("i64", before, second, i.Var("ahead"), 32, span)
    expected = "cvmgen_slide_i64(before, second, ahead, 32);"
    assert CPrinter(host=False).statement(slide) == [expected]
