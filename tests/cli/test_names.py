"""Which operator a name means, in every command alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Command

NOTE = "note: 'conv2d' is taken for cvm.conv2d; also: systemml.conv2d, tosa.conv2d\n"
SAME = 'operator {name} {{\n  "X."\n  input X : cvm[n]\n  output Y : cvm[n] precision p(X)\n'
SAME += "  Y[i] = X[i]\n}}\n"


def test_of_several_the_one_in_use_is_shown(cvmgen: Command) -> None:
    short, full = cvmgen("show", "conv2d"), cvmgen("show", "cvm.conv2d")
    assert (short.code, short.out, short.err) == (0, full.out, NOTE)
    assert full.err == ""
    other = cvmgen("show", "systemml.conv2d")
    assert other.out != full.out
    assert other.err == ""


def test_of_several_the_one_in_use_is_derived(cvmgen: Command) -> None:
    found = cvmgen("derive", "conv2d", "--wrt", "W")
    assert (found.code, found.err) == (0, NOTE)
    assert found.out == cvmgen("derive", "cvm.conv2d", "--wrt", "W").out


NONE = [
    (("show",), "index_select", "elsewhere that is a name of cvm.take"),
    (("derive", "--wrt", "X"), "Gemm", "elsewhere that is a name of cvm.dense"),
    (("build",), "dens", "did you mean 'dense'?"),
    (("show",), "zzzz", "`cvmgen list` names them all"),
]


@pytest.mark.parametrize(("command", "name", "hint"), NONE)
def test_a_name_that_is_none(
    cvmgen: Command, tmp_path: Path, command: tuple[str, ...], name: str, hint: str
) -> None:
    found = cvmgen(*command, name, *(("--out", tmp_path) if command == ("build",) else ()))
    assert found.code == 2
    assert f"there is no operator '{name}'; {hint}" in found.err


@pytest.mark.parametrize("command", [("show",), ("derive", "--wrt", "X"), ("build",)])
def test_where_none_is_in_use_commands_ask(
    cvmgen: Command, tmp_path: Path, command: tuple[str, ...]
) -> None:
    for opset in ("one", "other"):
        (tmp_path / f"spec/{opset}").mkdir(parents=True)
        (tmp_path / f"spec/{opset}/a.cvm").write_text(SAME.format(name="same"))
    out = ("--out", tmp_path / "out") if command == ("build",) else ()
    found = cvmgen(*command, "same", "--spec", tmp_path / "spec", *out)
    assert found.code == 2
    assert found.err == "error: 'same' is the name of several operators: one.same, other.same\n"
    if out:
        built = cvmgen("build", "one", "--target", "python", "--spec", tmp_path / "spec", *out)
        assert built.code == 0, "an opset is no such name"


def test_files_that_begin_with_a_mark(cvmgen: Command, tmp_path: Path) -> None:
    """Editors of Windows write one; formulas and places are as without."""
    folder = tmp_path / "spec/toy"
    (tmp_path / "spec/schedules").mkdir(parents=True)
    folder.mkdir()
    sched = "schedule other for c {\n  parallelise outer when results >= 5\n}\n"
    (tmp_path / "spec/schedules/c.sched").write_text(sched, encoding="utf-8-sig")
    (folder / "a.cvm").write_text(SAME.format(name="same"), encoding="utf-8-sig")
    assert cvmgen("show", "same", "--spec", tmp_path / "spec").out.startswith("operator same {")
    assert cvmgen("show", "same", "--after", "schedule", "--spec", tmp_path / "spec").code == 0
    (folder / "a.cvm").write_text("operator same 3", encoding="utf-8-sig")
    assert "toy/a.cvm:1:15: error: " in cvmgen("check", "--spec", tmp_path / "spec").err
