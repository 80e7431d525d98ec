"""`cvmgen build`: several at once, killed ones, and faults of ours."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cvmgen as cvmgen_package
from cvmgen import driver
from cvmgen.errors import BuildError, CvmgenError
from cvmgen.ir.nodes import Program
from cvmgen.schedule.schedules import Schedules
from cvmgen.spec import check
from cvmgen.spec.declarations import OperatorDecl
from cvmgen.spec.formula import Operator

from .conftest import Build, Command, contents, edit, own_files, start

# ---------------------------------------------------------------- several runs


def spoken(errors: str) -> list[str]:
    """What a process said on stderr besides what it was doing, where the machine is slow."""
    return [line for line in errors.splitlines() if not line.startswith("cvmgen: ")]


def test_two_builds_at_once(spec: Path, tmp_path: Path) -> None:
    folder = tmp_path / "generated"
    arguments = ("build", "--target", "c", "--target", "python", "--spec", spec, "--out", folder)
    builds = [start(*arguments) for _ in range(2)]
    printed = [each.communicate() for each in builds]
    assert [each.returncode for each in builds] == [0, 0], printed
    assert printed[0][0].splitlines()[-1] == printed[1][0].splitlines()[-1]
    check = start(*arguments, "--check")
    assert spoken(check.communicate()[1]) == []
    assert check.returncode == 0


# Writes slowly, so that there is time to be killed between two files.
SLOW_BUILD = """
import pathlib, sys, time
from cvmgen.cli import main
replace = pathlib.Path.replace
def slow(self, target):
    time.sleep(0.1)
    return replace(self, target)
pathlib.Path.replace = slow
main(sys.argv[1:])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_killed_build_leaves_whole_files(build: Build, spec: Path, tmp_path: Path) -> None:
    folder = tmp_path / "generated"
    targets = ("--target", "python", "--target", "cuda")
    build(*targets)
    old = contents(folder)
    edit(spec, "Twice each element.", "Twice every element.")
    arguments = ["build", "--spec", str(spec), "--out", str(folder), *targets]
    process = subprocess.Popen([sys.executable, "-c", SLOW_BUILD, *arguments])
    changed = folder / "cuda/toy/double.cu"
    while changed.read_bytes() == old["cuda/toy/double.cu"]:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    killed = contents(folder)
    assert build(*targets).code == 0
    new = contents(folder)
    assert old.keys() == new.keys()
    found = {name: killed[name] for name in new}
    assert all(content in (old[name], new[name]) for name, content in found.items())
    assert found not in (old, new), "it was killed in the middle"
    assert build(*targets, "--check").code == 0


def test_bytes_depend_on_nothing_but_the_formulas(spec: Path, tmp_path: Path) -> None:
    """Two hash seeds, two working directories, and nothing remembered."""
    found = []
    for seed in ("1", "2"):
        place = tmp_path / seed
        place.mkdir()
        out = place / "generated"
        targets = ("--target", "python", "--target", "cuda")
        environment = {**os.environ, "PYTHONHASHSEED": seed, "CVMGEN_CACHE": str(place / "cache")}
        process = start("build", *targets, "--spec", spec, "--out", out, cwd=place, env=environment)
        assert spoken(process.communicate()[1]) == []
        found.append(contents(out))
    assert found[0] == found[1]
    joined = b"".join(found[0].values())
    assert str(tmp_path).encode() not in joined
    assert str(Path(__file__).parents[2]).encode() not in joined


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("", "the operator 'shifted' is in no opset"),
        ("my-ops", "the opset 'my-ops' has a name that programs cannot write"),
        ("class", "the opset 'class' has a name that programs cannot write"),
        ("cvmgen_ops", "the opset 'cvmgen_ops' has the name of what all opsets share"),
    ],
)
def test_an_opset_that_no_program_can_name(
    build: Build, spec: Path, folder: str, said: str
) -> None:
    (spec / folder).mkdir(exist_ok=True)
    text = (spec / "toy/numbers.cvm").read_text()
    shutil.rmtree(spec / "toy")
    (spec / folder / "numbers.cvm").write_text(text[text.index("operator shifted") :])
    done = build()
    assert done.code == 1
    assert said in done.err


# ---------------------------------------------------------------- faults of ours


def failing(monkeypatch: pytest.MonkeyPatch, target: str, name: str, text: str | None) -> None:
    """Let the emission of one operator for a target fail, or print this."""
    whole = driver.TARGETS[target]

    def emit(program: Program, schedules: Schedules) -> str:
        if program.operator.name != name:
            return whole.emit_operator(program, schedules)
        if text is None:
            raise KeyError("lost")
        return text

    monkeypatch.setitem(driver.TARGETS, target, replace(whole, emit_operator=emit))  # type: ignore[arg-type]


def test_a_fault_in_one_operator_leaves_the_others(
    build: Build, spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(spec, "Twice each element.", "Twice each element, but for numpy.")  # not remembered
    failing(monkeypatch, "numpy", "double", None)
    outcome = build("--target", "c", "--target", "numpy")
    assert outcome.code == 70
    told = (
        "toy.double (spec/toy/numbers.cvm:1): the stage 'emit numpy' fails on toy.double: KeyError"
    )
    assert f"internal error: {told}" in outcome.err
    folder = tmp_path / "generated"
    assert contents(folder).keys() & (own_files("double") | own_files("shifted")) == {
        "c/toy/shifted.c",
        "c/toy/shifted.h",
        "numpy/toy/shifted.py",
    }
    for target in ("c", "numpy"):
        ops = cvmgen_package.load(target, folder=folder)
        assert ops.toy.shifted(np.array([1, 2], np.int8)).tolist() == [2, 3]
    assert json.loads(build("--target", "numpy", "--json").out)["faults"][0].startswith(told)


@pytest.mark.parametrize("names", [(), ("toy.shifted",)])
def test_a_fault_in_one_operator_leaves_what_there_is_of_it(
    build: Build,
    spec: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    names: tuple[str, ...],
) -> None:
    build()
    before = contents(tmp_path / "generated")
    edit(spec, "Twice each element.", f"Twice each element, {names}.")
    failing(monkeypatch, "numpy", "double", None)
    assert build(*names).code == 70
    after = contents(tmp_path / "generated")
    assert after.keys() == before.keys()
    assert {name for name in own_files("double") if after[name] != before[name]} == set()
    assert "removed" not in build(*names, "--check").out


def test_what_one_compiler_refuses_leaves_the_others(
    build: Build, spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(spec, "Twice each element.", "Twice each element, but for C.")
    failing(monkeypatch, "c", "double", "no C at all\n")
    outcome = build("--target", "c")
    assert outcome.code == 3
    assert "refuses toy/double.c" in outcome.err
    assert "library" in outcome.out
    ops = cvmgen_package.load("c", folder=tmp_path / "generated")
    x = np.array([1, 2], np.int8)
    assert ops.toy.shifted(x).tolist() == [2, 3]
    with pytest.raises(BuildError, match=r"refuses toy/double\.c"):
        ops.toy.double(x)


def test_a_module_that_cannot_be_imported_leaves_the_others(build: Build, tmp_path: Path) -> None:
    build("--target", "python")
    (tmp_path / "generated/python/toy/double.py").write_text("no Python at all\n")
    ops = cvmgen_package.load("python", folder=tmp_path / "generated")
    x = np.array([1, 2], np.int8)
    assert ops.toy.shifted(x).tolist() == [2, 3]
    with pytest.raises(CvmgenError, match=r"double\.py cannot be imported"):
        ops.toy.double(x)


def failing_check(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let the check of an operator fail."""
    check_operator = check.check_operator

    def fail(declaration: OperatorDecl, *rest: Any) -> Operator | None:
        if declaration.name == name:
            raise ZeroDivisionError("by zero")
        return check_operator(declaration, *rest)

    monkeypatch.setattr(check, "check_operator", fail)


FAILS = "internal error: toy.double (spec/toy/numbers.cvm:1): ZeroDivisionError: by zero"


def test_a_check_that_fails_on_one_operator_tells_of_the_others(
    cvmgen: Command, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing_check(monkeypatch, "double")
    outcome = cvmgen("check", "--spec", spec)
    assert outcome.code == 70
    assert "1 operator in 1 file: no errors" in outcome.out
    assert FAILS in outcome.err


def test_commands_about_another_operator_go_on(
    cvmgen: Command, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those about the one that fails tell so."""
    failing_check(monkeypatch, "double")
    for asked in (("list",), ("list", "--search", "number")):
        listed = cvmgen(*asked, "--spec", spec)
        assert (listed.code, FAILS in listed.err) == (70, True)
        assert ("toy.shifted" in listed.out, "toy.double" in listed.out) == (True, False)
    for asked in (("show", "shifted"), ("derive", "shifted", "--wrt", "X")):
        outcome = cvmgen(*asked, "--spec", spec)
        assert (outcome.code, outcome.err) == (0, "")
        assert outcome.out.startswith("operator shifted")
    for asked in (("show", "double"), ("show", "toy.double"), ("derive", "double", "--wrt", "X")):
        outcome = cvmgen(*asked, "--spec", spec)
        assert (outcome.code, FAILS in outcome.err) == (70, True)
