"""`cvmgen list`, `show` and `run`, and what the command tells when something fails."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import cvmgen as package
from cvmgen import driver
from cvmgen.api.library import LANGUAGES, TARGETS
from cvmgen.cli import command
from cvmgen.cli.exits import MEANINGS
from cvmgen.paths import generated_folder
from cvmgen.schedule.classes import CLASSES
from cvmgen.schedule.mappings import MAPPINGS
from cvmgen.schedule.measures import MEASURES

from .conftest import Command, start

ROOT = Path(__file__).parents[2]
DIGITS = ROOT / "examples/digits"


# ---------------------------------------------------------------- list


def test_list(cvmgen: Command, spec: Path) -> None:
    outcome = cvmgen("list", "--spec", spec)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        "toy.double   Twice each element. (also twice)\ntoy.shifted  Each element and a number.\n"
    )


def test_list_for_programs(cvmgen: Command, spec: Path) -> None:
    found = cvmgen("list", "--spec", spec, "--json").json["operators"]
    assert found[1] == {
        "name": "toy.shifted",
        "aliases": [],
        "doc": "Each element and a number.",
        "place": "spec/toy/numbers.cvm:10",
        "inputs": ["X"],
        "attributes": ["by"],
        "outputs": ["Y"],
    }
    assert found[0]["aliases"] == ["twice"]


def test_list_of_the_project(cvmgen: Command) -> None:
    names = {each["name"] for each in cvmgen("list", "--json").json["operators"]}
    assert {"cvm.conv2d", "cvm.dense", "cvm.sum", "cvm.flatten"} <= names


def test_list_of_the_language_of_schedules(
    cvmgen: Command, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(spec.parent)
    (spec / "schedules").mkdir()
    (spec / "schedules/own.sched").write_text("schedule other for c {\n  copy\n}\n")
    page = cvmgen("list", "--schedules", "--spec", spec).out
    assert "  peel LOOP into NEW, NEW, NEW\n      The middle of a loop" in page
    own, usual = "spec/schedules/own.sched:1", "spec/schedules/cuda.sched"
    assert re.search(rf"      for c {own}, for cuda\s+(\S*/)?{usual}:\d", page)
    assert "  dot4\n      Totals of products of bytes" in page
    told = cvmgen("list", "--schedules", "--json").json
    assert [each["name"] for each in told["classes"]] == list(CLASSES)
    assert [each["name"] for each in told["mappings"]] == list(MAPPINGS)
    untold = [each["name"] for each in told["actions"] if "egal" not in each["details"]]
    assert untold == [], "the docstring of an action says where it is legal"
    assert told["measures"].keys() == MEASURES.keys()
    assert all(told["measures"].values())


# ---------------------------------------------------------------- show


@pytest.mark.parametrize("name", ["toy.double", "double", "twice", "toy.twice"])
def test_show_prints_the_formula(cvmgen: Command, spec: Path, name: str) -> None:
    outcome = cvmgen("show", name, "--spec", spec)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith('operator double {\n  "Twice each element."\n')
    assert outcome.out.endswith("== [2, -4]\n}\n")


SHOWN = {
    "python": ("--target", "def double(X"),
    "c": ("--target", "int toy_double(const toy_double_args *args"),
    "cuda": ("--target", "__global__"),
    "parse": ("--after", "EquationDecl"),
    "check": ("--after", "Equation"),
    "translate": ("--after", "Y[d...] = 2 * X[d...]"),
    "offsets": ("--after", "Y@[position(d)] = 2 * X@[position(d)]"),
    "flatten": ("--after", "for 0 <= d < size(n):"),
    "types": ("--after", "let n_size: i64 = size(n)"),
}


@pytest.mark.parametrize("what", SHOWN)
def test_show_a_target_or_a_stage(cvmgen: Command, spec: Path, what: str) -> None:
    option, part = SHOWN[what]
    outcome = cvmgen("show", "double", option, what, "--spec", spec)
    assert (outcome.code, outcome.err) == (0, "")
    assert part in outcome.out


def test_show_for_programs(cvmgen: Command, spec: Path) -> None:
    shown = cvmgen("show", "double", "--target", "c", "--spec", spec, "--json").json
    text = cvmgen("show", "double", "--target", "c", "--spec", spec).out
    places = shown.pop("places")
    assert shown == {"operator": "toy.double", "target": "c", "stage": None, "text": text}
    assert len(places) == len(text.split("\n"))


def test_show_is_what_build_writes(cvmgen: Command) -> None:
    outcome = cvmgen("show", "cvm.relu", "--target", "c")
    assert outcome.out == (generated_folder() / "c/cvm/relu.c").read_text(encoding="utf-8")


UNKNOWN = [
    (("show", "dubble"), "there is no operator 'dubble'; did you mean 'double'?"),
    (("show", "toy.dubble"), "there is no operator 'toy.dubble'; did you mean 'toy.double'?"),
    (("show", "zzz"), "there is no operator 'zzz'; `cvmgen list` names them all"),
    (("show", "toy"), "there is no operator 'toy'; `cvmgen list` names them all"),
    (("show", "double", "--after", "tipes"), "there is no stage 'tipes'; did you mean 'types'?"),
    (("show", "double", "--after", "q"), "there is no stage 'q'; stages are parse, check, "),
    (("build", "--target", "python", "dobule"), "there is no operator 'dobule'; did you mean"),
]


@pytest.mark.parametrize(("arguments", "message"), UNKNOWN)
def test_unknown_names(
    cvmgen: Command, spec: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    out = ("--out", tmp_path / "generated") if arguments[0] == "build" else ()
    outcome = cvmgen(*arguments, "--spec", spec, *out)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"error: {message}")


def test_languages_are_those_that_the_driver_writes() -> None:
    assert list(LANGUAGES) == list(driver.TARGETS)
    assert set(TARGETS.values()) == set(LANGUAGES)


# ---------------------------------------------------------------- run


@pytest.fixture
def digit(tmp_path: Path) -> Path:
    """The picture of a 7, as the digits network takes it."""
    with np.load(DIGITS / "digits_test.npz") as test:
        image = test["images"][test["labels"] == 7][0]
    path = tmp_path / "seven.npy"
    np.save(path, image[np.newaxis, np.newaxis])
    return path


RUN = ("run", DIGITS / "digits.json", "--params", DIGITS / "digits.bin", "--target", "python")


def test_run(cvmgen: Command, digit: Path, tmp_path: Path) -> None:
    outcome = cvmgen(*RUN, "--input", digit)
    assert (outcome.code, outcome.err) == (0, "")
    scores = [int(word) for word in outcome.out.strip("[]\n").split()]
    assert scores.index(max(scores)) == 7
    (output,) = cvmgen(*RUN, "--input", digit, "--json").json["outputs"]
    assert output == {"shape": [1, 10], "dtype": "int32", "values": [scores]}
    stored = cvmgen(*RUN, "--input", digit, "--output", tmp_path / "scores.npy")
    assert (stored.code, stored.out) == (0, "")
    assert np.load(tmp_path / "scores.npy").tolist() == [scores]


def test_run_on_what_is_no_array(cvmgen: Command, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    path.write_text("no array")
    outcome = cvmgen(*RUN, "--input", path)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith(f"error: {path}: not an array that numpy.save wrote: ")
    np.save(path, np.array([object()]))
    assert cvmgen(*RUN, "--input", path).code == 1


def test_run_on_another_shape(cvmgen: Command, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.zeros((1, 2), np.int32))
    outcome = cvmgen(*RUN, "--input", path, "--json")
    assert outcome.code == 1
    assert "node data: must have shape (1, 1, 8, 8), not (1, 2)" in outcome.err
    error = outcome.json["error"]
    assert (error["kind"], error["where"]) == ("model", "node data")


def test_run_of_a_file_that_is_no_model(cvmgen: Command, digit: Path, tmp_path: Path) -> None:
    model = tmp_path / "symbol.json"
    model.write_text("{}")
    outcome = cvmgen("run", model, "--params", DIGITS / "digits.bin", "--input", digit)
    assert outcome.code == 1
    assert outcome.err.startswith(f"error: {model}: ")
    assert cvmgen("run", tmp_path / "no", "--params", "p", "--input", digit).code == 1


# ---------------------------------------------------------------- exit codes and failures

USAGE = [
    (),
    ("bild",),
    ("build", "--target", "fortran"),
    ("build", "-j", "0"),
    ("build", "-j", "many"),
    ("run", "symbol.json"),
]


@pytest.mark.parametrize("arguments", USAGE)
def test_usage(cvmgen: Command, arguments: tuple[str, ...]) -> None:
    outcome = cvmgen(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("usage: cvmgen")


@pytest.mark.parametrize("arguments", [(), ("build",), ("list",), ("show",), ("check",), ("run",)])
def test_help(cvmgen: Command, arguments: tuple[str, ...]) -> None:
    outcome = cvmgen(*arguments, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("usage: cvmgen")


def test_exit_codes_are_documented(cvmgen: Command) -> None:
    text = cvmgen("--help").out
    for code, meaning in MEANINGS.items():
        assert f"  {int(code):<4} {meaning}\n" in text
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert "<!-- made: exit codes -->" in page


def test_version() -> None:
    process = start("--version")
    assert process.communicate() == (f"cvmgen {package.__version__}\n", "")


def fails(*_: object) -> None:
    raise KeyError("lost")


def test_a_fault_of_ours_names_the_pass(
    cvmgen: Command, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = replace(driver.TARGETS["c"], passes=(("lift", fails),))
    monkeypatch.setitem(driver.TARGETS, "c", changed)  # type: ignore[arg-type]
    arguments = ("show", "double", "--after", "lift", "--spec", spec)
    outcome = cvmgen(*arguments, "--json")
    assert outcome.code == 70
    assert outcome.err == (
        "internal error: the stage 'lift' fails on toy.double: KeyError: 'lost'\n"
        "This is a fault of cvmgen. Please report it with what the command prints with --debug.\n"
    )
    assert outcome.json["error"]["kind"] == "internal"
    debug = cvmgen(*arguments, "--debug")
    assert debug.code == 70
    assert "Traceback (most recent call last)" in debug.err
    assert "in fails" in debug.err


def test_any_other_exception_is_a_fault_of_ours(
    cvmgen: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "perform", fails)
    outcome = cvmgen("list")
    assert outcome.code == 70
    assert outcome.err.startswith("internal error: KeyError: 'lost'\n")


def test_debug_shows_where_an_error_of_the_user_comes_from(cvmgen: Command, spec: Path) -> None:
    outcome = cvmgen("show", "dubble", "--spec", spec, "--debug")
    assert outcome.code == 2
    assert "Traceback (most recent call last)" in outcome.err


def test_a_cache_that_cannot_be_written(
    cvmgen: Command, spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "cache"
    place.write_text("a file where the folder should be")
    monkeypatch.setenv("CVMGEN_CACHE", str(place))
    outcome = cvmgen("list", "--spec", spec, "--json")
    assert outcome.code == 1, "no compiler is missing"
    assert outcome.err == (
        f"error: cannot write to the cache in {place}: Not a directory; "
        "set CVMGEN_CACHE to a folder that can be written\n"
    )
    assert outcome.json["error"]["kind"] == "file"


def test_an_interrupt(cvmgen: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "perform", interrupt)
    outcome = cvmgen("list")
    assert (outcome.code, outcome.out, outcome.err) == (130, "", "")


def test_a_reader_that_has_enough(spec: Path) -> None:
    process = start("show", "double", "--after", "check", "--spec", spec)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    with process.stderr:
        assert process.stderr.read() == ""
    assert process.wait() == 0


def test_json_is_all_there_is_on_stdout(spec: Path) -> None:
    command = [sys.executable, "-m", "cvmgen", "list", "--json", "--spec", str(spec)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)
    assert done.stderr == ""
