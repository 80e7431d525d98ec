"""`cvmgen check`: errors with their places, warnings, small calls that it tries."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Command

# ---------------------------------------------------------------- check

WRONG = """\
operator wrong {
  "Wrong twice."
  input  X : cvm[n...]
  output Y : cvm[n...] precision p(X)
  Y[d...] = X[e...]
}
operator worse {
  "Wrong too."
  input  X : cvm[n...]
  output Y : cvm[n...] precision p(Z)
  Y[d...] = X[d...]
}
"""
OUTSIDE = """\
operator beyond {
  "An index that leaves its tensor."
  input  X : cvm[n]
  output Y : cvm[n] precision p(X)
  Y[i] = X[i + 1]
}
"""


def test_check(cvmgen: Command, spec: Path) -> None:
    outcome = cvmgen("check", "--spec", spec)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == "2 operators in 1 file: no errors\n"
    assert cvmgen("check", "--spec", spec, "--json").json == {
        "files": ["spec/toy/numbers.cvm"],
        "operators": ["toy.double", "toy.shifted"],
        "warnings": [],
        "faults": [],
    }


def test_check_tells_all_errors_with_their_places(cvmgen: Command, spec: Path) -> None:
    (spec / "toy/wrong.cvm").write_text(WRONG)
    outcome = cvmgen("check", "--spec", spec)
    assert (outcome.code, outcome.out) == (1, "")
    assert "spec/toy/wrong.cvm:5:15: error: index 'e' is not bound" in outcome.err
    assert "spec/toy/wrong.cvm:10:" in outcome.err
    assert "Traceback" not in outcome.err


def test_check_for_programs(cvmgen: Command, spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(spec.parent)
    path = spec / "toy/wrong.cvm"
    path.write_text(WRONG)
    outcome = cvmgen("check", "--spec", spec, "--json")
    assert outcome.code == 1
    error = outcome.json["error"]
    assert error.keys() == {"kind", "code", "message", "errors"}
    assert (error["kind"], error["code"]) == ("spec", 1)
    first = error["errors"][0]
    assert first.keys() == {"file", "line", "column", "message", "hint"}
    assert (first["file"], first["line"], first["column"]) == ("spec/toy/wrong.cvm", 5, 15)
    assert error["message"] in outcome.err


def test_check_of_one_file_leaves_others_alone(cvmgen: Command, spec: Path) -> None:
    (spec / "toy/wrong.cvm").write_text(WRONG)
    good = cvmgen("check", spec / "toy/numbers.cvm", "--spec", spec)
    assert (good.code, good.out) == (0, "2 operators in 1 file: no errors\n")
    assert cvmgen("check", spec / "toy/wrong.cvm", "--spec", spec).code == 1


def test_check_of_a_file_elsewhere(cvmgen: Command, tmp_path: Path) -> None:
    path = tmp_path / "mine.cvm"
    path.write_text(WRONG)
    outcome = cvmgen("check", path)
    assert outcome.code == 1
    assert outcome.err.startswith(f"{path.as_posix()}:5:15: error: index 'e' is not bound\n")
    path.write_text(WRONG.replace("X[e...]", "clip(X[d...], -1, 1)").replace("p(Z)", "p(X)"))
    assert cvmgen("check", path).out == "2 operators in 1 file: no errors\n"


def test_check_of_a_folder(cvmgen: Command, spec: Path) -> None:
    assert cvmgen("check", spec).out == "2 operators in 1 file: no errors\n"


def test_check_tries_small_calls(cvmgen: Command, tmp_path: Path) -> None:
    path = tmp_path / "mine.cvm"
    path.write_text(OUTSIDE)
    for _ in range(2):  # only what is sound is remembered
        outcome = cvmgen("check", path)
        assert outcome.code == 1
        assert outcome.err.startswith(f"{path.as_posix()}:5:")


def test_check_applies_the_schedules(cvmgen: Command, spec: Path) -> None:
    (spec / "schedules").mkdir()
    schedule = spec / "schedules/c.sched"
    schedule.write_text("schedule elementwise for c {\n  move outer\n}\n")
    for asked in ((), (schedule,), (spec / "toy/numbers.cvm",)):  # each operator refuses it
        outcome = cvmgen("check", *asked, "--spec", spec)
        assert (outcome.code, outcome.err.count("error: ")) == (1, 1)
        assert outcome.err.startswith(f"{schedule}:2:3: error: these loops do more")
    schedule.write_text("schedule elementwise for c {\n  merge outer, inner\n}\n")
    assert cvmgen("check", schedule, "--spec", spec).out == "2 operators in 1 file: no errors\n"
    assert cvmgen("check", schedule).code == 2


def test_check_warns_of_actions_that_change_nothing(cvmgen: Command, spec: Path) -> None:
    (spec / "schedules").mkdir()
    schedule = spec / "schedules/c.sched"
    schedule.write_text(
        "schedule gather for c {\n  vectorise inner\n}\n"  # no nest is of this class
        "schedule elementwise for c {\n  vectorise inner\n  copy\n}\n"
    )
    for asked in ((), (schedule,)):
        outcome = cvmgen("check", *asked, "--spec", spec, "--json")
        assert outcome.code == 0
        assert outcome.err == (
            f"{schedule}:6:3: warning: 'copy' changes no nest of the class elementwise\n"
            "  |\n6 |   copy\n  |   ^^^^\n  = hint: leave it out; "
            "`cvmgen show OPERATOR --after schedule` tells what each action makes of nests\n\n"
        )
        assert [each["line"] for each in outcome.json["warnings"]] == [6]
    part = cvmgen("check", spec / "toy/numbers.cvm", "--spec", spec)
    assert (part.code, part.err) == (0, ""), "other files may have nests that it changes"


def test_check_of_a_file_that_is_not_there(cvmgen: Command, tmp_path: Path) -> None:
    outcome = cvmgen("check", tmp_path / "none.cvm", "--json")
    assert outcome.code == 1
    assert outcome.err == f"error: {tmp_path}/none.cvm: No such file or directory\n"
    assert outcome.json["error"]["kind"] == "file"


RARE = """\
operator rare {
  "Reads beside in few calls."
  input  X : cvm[N]
  attr   a = 1 in [0, 100000)
  attr   b = 1 in [0, 100000)
  output Y : cvm[N]
  Y[i] = X[i + 1] if 3 * a == 2 * b + 71 else 0
}
"""


def test_check_asks_a_solver_for_calls_that_read_outside(cvmgen: Command, spec: Path) -> None:
    pytest.importorskip("z3")
    (spec / "toy/rare.cvm").write_text(RARE)
    outcome = cvmgen("check", "--spec", spec)
    assert outcome.code == 1
    assert "rare.cvm:7:12: error: index 0 of X is 1, outside [0, 1)" in outcome.err
    assert "for example when i = 0, N = 1, a = 25, b = 2" in outcome.err


def test_check_warns_where_no_call_is_found(
    cvmgen: Command, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The solver is asked once of a formula, wherever it stands."""
    formula = RARE.replace("3 * a == 2 * b + 71", "a * a == 2")
    (spec / "toy/rare.cvm").write_text(formula)
    outcome = cvmgen("check", "--spec", spec)
    assert outcome.code == 0
    assert "it is not proved that this index stays inside, so each call tests it" in outcome.err
    monkeypatch.setattr("cvmgen.verification.quick.outside", lambda _: pytest.fail("asked again"))
    (spec / "toy/rare.cvm").write_text(f"\n\n{formula}")
    again = cvmgen("check", "--spec", spec)
    assert again.code == 0
    assert "rare.cvm:9:" in again.err


def test_check_without_a_solver_warns(
    cvmgen: Command, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cvmgen.verification.solvers.find_spec", lambda _: None)
    (spec / "toy/rare.cvm").write_text(RARE)
    outcome = cvmgen("check", "--spec", spec)
    assert outcome.code == 0
    assert "so each call tests it" in outcome.err


def test_check_warns_of_what_nothing_reads(cvmgen: Command, tmp_path: Path) -> None:
    path = tmp_path / "mine.cvm"
    items = "input X : cvm[N] attr k = 3 output Y : cvm[N] Y[i] = X[i]"
    path.write_text(f"operator f {{ {items} }}")
    outcome = cvmgen("check", path)
    assert outcome.code == 0
    assert "mine.cvm:1:31: warning: nothing reads the attribute 'k'" in outcome.err
