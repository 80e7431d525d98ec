"""`cvmgen build --model` and `cvmgen run` of the folder that it writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cvmgen.build import cpp_compiler
from cvmgen.cli import specs
from tests.cli.conftest import Command, contents
from tests.cli.test_commands import DIGITS, digit
from tests.graph.test_tflite import SMALL, arrays, model_of
from tests.operators import product
from tests.targets import quick_compiler

__all__ = ["digit"]

SYMBOL, PARAMS = DIGITS / "digits.json", DIGITS / "digits.bin"


@pytest.fixture
def folder(cvmgen: Command, tmp_path: Path) -> Path:
    """A model of the digits network, built."""
    place = tmp_path / "digits"
    outcome = cvmgen("build", "--model", SYMBOL, PARAMS, "--out", place, "--name", "digits")
    assert outcome.code == 0, outcome.err
    *changes, library = outcome.out.splitlines()
    assert f"new      {place / 'digits.c'}" in changes
    assert Path(library.removeprefix("library  ")).is_file()
    return place


def test_the_model_gives_what_the_network_gives(cvmgen: Command, folder: Path, digit: Path) -> None:
    one = cvmgen("run", folder, "--input", digit, "--json")
    other = cvmgen(
        "run", SYMBOL, "--params", PARAMS, "--target", "python", "--input", digit, "--json"
    )
    assert one.json == other.json


def test_a_model_for_cuda(
    cvmgen: Command, folder: Path, digit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", str(quick_compiler(cpp_compiler().command, tmp_path)))
    place = tmp_path / "on_gpu"
    built = ("build", "--model", SYMBOL, PARAMS, "--out", place, "--target", "cuda")
    outcome = cvmgen(*built, "--report")
    assert outcome.code == 0, outcome.err
    assert "  contraction kernel:" in outcome.out.splitlines()
    assert f"new      {place / 'digits.cu'}" in outcome.out.splitlines()
    given = ("--input", digit, "--json")
    one = cvmgen("run", place, "--target", "cuda-cpu", *given)
    assert one.json == cvmgen("run", folder, *given).json
    assert 'built for target="cuda" or "cuda-cpu"' in cvmgen("run", place, *given).err
    assert (
        "it runs on c or cuda-cpu, not on cuda"
        in cvmgen("run", place, "--target", "cuda", *given).err
    )
    assert "--rust is about the C" in cvmgen(*built, "--rust").err


def test_building_again_changes_nothing(cvmgen: Command, folder: Path) -> None:
    before = contents(folder)
    again = ("build", "--model", SYMBOL, PARAMS, "--out", folder, "--name", "digits")
    assert cvmgen(*again, "--json").json["changes"] == []
    assert cvmgen(*again, "--check").code == 0
    assert contents(folder) == before
    told = cvmgen(*again, "--report").out.splitlines()
    assert any(each.startswith("  contraction, by spec/schedules/model.sched:") for each in told)
    assert "  tile rows, columns by dot4" in told
    assert told[-1].startswith("library  ")
    (folder / "digits.h").write_text("")
    outcome = cvmgen(*again, "--check")
    assert outcome.code == 1
    assert "+int digits_run(" in outcome.out


def test_options_that_do_not_go_with_a_model(cvmgen: Command, folder: Path, digit: Path) -> None:
    built = ("build", "--model", SYMBOL, PARAMS)
    assert "one --target, c or cuda, not numpy" in cvmgen(*built, "--target", "numpy").err
    assert "OPSET.OP does not go with --model" in cvmgen("build", "relu", *built[1:]).err
    beside = cvmgen("build", "--model", "net.tflite", "params.bin").err
    assert "net.tflite holds its parameters: no 'params.bin' beside it" in beside
    assert "--name goes with --model" in cvmgen("build", "--name", "digits", "--check").err
    given = ("run", folder, "--input", digit)
    assert "is a folder" in cvmgen(*given, "--params", PARAMS).err
    assert "needs its parameters" in cvmgen("run", SYMBOL, "--input", digit).err


def test_schedules_of_ones_own(cvmgen: Command, tmp_path: Path) -> None:
    (tmp_path / "schedules").mkdir()
    schedule = tmp_path / "schedules/model.sched"
    schedule.write_text("schedule contraction for model {\n  tile rows by dot4\n}\n")
    line = ("build", "--model", SYMBOL, PARAMS, "--spec", tmp_path, "--out", tmp_path / "digits")
    outcome = cvmgen(*line, "--check")
    assert outcome.code == 1
    assert "schedules/model.sched:2:3: error: a tile has all rows" in outcome.err
    schedule.write_text("schedule other for model {}\n")
    told = cvmgen(*line, "--check", "--report").out
    assert "schedules/model.sched:1\n" in told
    (tmp_path / "own.cvm").write_text("")
    assert "--spec with formulas does not go with --model" in cvmgen(*line).err


# stage, step, what is shown, why
STAGES = [
    ("specialise", "conv0_step", "total.6 += data[", "indices as in the formula"),
    ("fuse", "relu0_step", "let narrowed0.0: int", "a node that another one joined"),
    ("layouts", "relu0_step", "by register tiles, of weight0_panels", "where all lies"),
    ("types", "relu0_step", "for 0 <= ki < 3:", "before its schedule"),
    ("schedule", "relu0_step", "tile rows, columns by dot4", "each action"),
    ("outline", "relu0_step", "tile 8 rows, 1 panels: ", "what is printed"),
    ("all", None, "\nschedule: each step by", "all stages"),
]


@pytest.mark.parametrize(("stage", "step", "part", "why"), STAGES)
def test_what_a_stage_made_of_a_model(
    cvmgen: Command, stage: str, step: str | None, part: str, why: str
) -> None:
    named = () if step is None else (step,)
    found = cvmgen("show", *named, "--model", SYMBOL, PARAMS, "--after", stage)
    assert found.code == 0, found.err
    assert found.out.startswith(f"{'specialise' if stage == 'all' else stage}: ")
    assert part in found.out, why
    assert ("\npool0_step\n" in found.out) == (step is None)


def test_what_cannot_be_shown_of_a_model(cvmgen: Command) -> None:
    line = ("show", "--model", SYMBOL, PARAMS)
    assert "--model goes with --after STAGE" in cvmgen(*line).err
    assert "and not with --target" in cvmgen(*line, "--after", "types", "--target", "c").err
    assert (
        "there is no stage 'unfold' of models; stages are specialise, fuse"
        in cvmgen(*line, "--after", "unfold").err
    )
    wrong = cvmgen(*line, "relu_step", "--after", "types")
    assert "the model has no step 'relu_step'; did you mean" in wrong.err
    assert "name an operator, or a model" in cvmgen("show").err


@pytest.mark.slow
def test_operators_of_the_project_are_sound(cvmgen: Command, tmp_path: Path) -> None:
    """They are those of a folder that has schedules alone."""
    (tmp_path / "schedules").mkdir()
    (tmp_path / "schedules/model.sched").write_text("# those of cvmgen\n")
    outcome = cvmgen("check", "--spec", tmp_path)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(f"{len(product())} operators in ")


def test_check_applies_schedules_to_a_model(
    cvmgen: Command, tmp_path: Path, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of a folder that has no formulas they are the project's, which take long to try.
    monkeypatch.setattr(specs, "formulas_folder", lambda _: spec)
    schedule = tmp_path / "own/schedules/model.sched"
    schedule.parent.mkdir(parents=True)
    schedule.write_text("schedule reduction for model {\n  fuse\n}\n")
    line = ("check", "--spec", tmp_path / "own")
    outcome = cvmgen(*line)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.endswith("models are applied with --model SYMBOL PARAMS only\n")
    outcome = cvmgen(*line, "--model", SYMBOL, PARAMS)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith(f"{schedule}:2:3: error: only what goes element by element")
    schedule.write_text("# those of cvmgen\n")
    outcome = cvmgen(*line, "--model", SYMBOL, PARAMS)
    assert outcome.out.endswith(f"steps of {SYMBOL}: no errors\n")


def test_files_that_are_no_model(cvmgen: Command, tmp_path: Path, digit: Path) -> None:
    (tmp_path / "symbol.json").write_text("{}")
    outcome = cvmgen("build", "--model", tmp_path / "symbol.json", PARAMS)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith(f"error: {tmp_path / 'symbol.json'}: ")
    outcome = cvmgen("run", tmp_path, "--input", digit)
    assert outcome.code == 1
    assert np.load(digit).shape == (1, 1, 8, 8)


def test_the_command_takes_a_file_alone(cvmgen: Command, tmp_path: Path) -> None:
    file, out = tmp_path / "net.tflite", tmp_path / "out"
    file.write_bytes(model_of(SMALL).data)
    np.save(tmp_path / "x.npy", arrays(SMALL, "in")[0][0])
    outcome = cvmgen("build", "--model", file, "--out", out, "--name", "net")
    assert outcome.code == 0, outcome.err
    one, other = (
        cvmgen("run", each, "--input", tmp_path / "x.npy", "--json") for each in (out, file)
    )
    assert one.json == other.json
    assert "image: shape (1, 10, 8, 3), int8." in (out / "net.h").read_text()
    shown = cvmgen("show", "--model", file, "--after", "layouts").out
    assert "tflite.depthwise_conv_2d" in shown
