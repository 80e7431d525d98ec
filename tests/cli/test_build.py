"""`cvmgen build`: what it writes, what it says, what it leaves alone."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from cvmgen.api.cuda_cpu_backend import PRELUDE
from cvmgen.api.library import library_sources
from cvmgen.build import compile_library
from cvmgen.build.process import workers
from cvmgen.cli.command import spread
from cvmgen.emit import c_support, cuda_support, numpy, python

from .conftest import Build, Command, Outcome, contents, edit, own_files

SHARED = {
    ".cvmgen-files",
    "c/toy.h",
    "c/toy.hpp",
    "cuda/toy.h",
    "manifest.json",
    "numpy/toy/__init__.py",
    "python/toy/__init__.py",
    *(f"numpy/toy/{name}" for name in numpy.emit_support()),
    *(f"python/toy/{name}" for name in python.emit_support()),
    *(f"c/{name}" for name in c_support.emit_support()),
    *(f"cuda/{name}" for name in cuda_support.emit_support()),
}


FAMILY = """\
family multiple(BY) {
  input  X : cvm[n...]
  output Y : cvm[n...]
  Y[d...] = BY * X[d...]
}
operator thrice = multiple(3) {
  "Three times each element."
}
"""


def texts_of(name: str) -> set[str]:
    """The files that depend on an operator's formula, not on its interface alone."""
    return {each for each in own_files(name) if not each.endswith(".h")}


def changes(outcome: Outcome) -> dict[str, tuple[str, str]]:
    assert outcome.code == 0, outcome.err
    return {each["path"]: (each["kind"], each["why"]) for each in outcome.json["changes"]}


def test_first_build_writes_everything(build: Build, tmp_path: Path) -> None:
    outcome = build("--json")
    folder = tmp_path / "generated"
    expected = SHARED | own_files("double") | own_files("shifted")
    assert contents(folder).keys() == expected
    assert set(changes(outcome).values()) == {("new", "first build here")}
    assert outcome.json["folder"] == str(folder)
    assert outcome.json["stale"] == []
    assert Path(outcome.json["library"]).is_file()
    assert outcome.err == ""


def test_a_build_of_nothing_new_prints_only_the_library(build: Build, tmp_path: Path) -> None:
    first = build().out.splitlines()
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "generated").rglob("*")}
    second = build()
    assert second.out.splitlines() == first[-1:]
    assert first[-1].startswith("library  ")
    assert second.err == ""
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_a_build_of_nothing_new_imports_nothing_heavy(
    build: Build, spec: Path, tmp_path: Path
) -> None:
    assert build().code == 0
    program = (
        "import sys; from cvmgen.cli import main; code = main(sys.argv[1:]);"
        "print({'sympy', 'lark', 'jinja2'} & sys.modules.keys() or 'nothing heavy', code)"
    )
    arguments = ["build", "--spec", str(spec), "--out", str(tmp_path / "generated")]
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "nothing heavy 0"


def test_an_edited_formula_touches_its_own_files(build: Build, spec: Path) -> None:
    build()
    edit(spec, "Y[d...] = 2 * X[d...]", "Y[d...] = X[d...] + X[d...]")
    expected = dict.fromkeys(texts_of("double"), ("changed", "the formula of toy.double changed"))
    assert changes(build("--json")) == expected | {
        "manifest.json": ("changed", "toy.double changed")
    }


def test_lines_of_text_for_people(build: Build, spec: Path, tmp_path: Path) -> None:
    first = build().out.splitlines()
    files = len(SHARED) - 1 + 2 * len(own_files("double"))
    assert first[0] == f"new      {files} files in {tmp_path}/generated/: first build here"
    edit(spec, "Y[d...] = 2 * X[d...]", "Y[d...] = X[d...] + X[d...]")
    lines = build().out.splitlines()
    why = "the formula of toy.double changed"
    assert lines[0] == f"changed  {tmp_path}/generated/c/toy/double.c: {why}"
    assert len(lines) == 6


def test_what_the_spec_no_longer_has_goes(build: Build, spec: Path) -> None:
    build()
    path = spec / "toy/numbers.cvm"
    path.write_text(path.read_text().split("operator shifted")[0])
    found = changes(build("--json"))
    gone = {name: why for name, why in found.items() if why[0] == "removed"}
    reason = ("removed", "toy.shifted is no longer in the spec")
    assert gone == dict.fromkeys(own_files("shifted"), reason)
    assert found["c/toy.h"] == ("changed", "toy.shifted changed")


def test_a_new_operator_is_new(build: Build, spec: Path) -> None:
    build()
    more = 'operator same {\n  "X."\n  input X : cvm[n]\n  output Y : cvm[n] precision p(X)\n'
    path = spec / "toy/numbers.cvm"
    path.write_text(f"{path.read_text()}{more}  Y[i] = X[i]\n}}\n")
    found = changes(build("--json"))
    assert found["c/toy/same.c"] == ("new", "toy.same is new")
    assert not found.keys() & (own_files("double") | own_files("shifted"))


ANOTHER = """operator another {
  "9 X."
  input  X : cvm[n]
  output Y : cvm[n] precision p(X) + 4
  Y[i] = 9 * X[i]
}

operator double"""
EDITS = [
    ("operator double", ANOTHER, "a new operator in front"),
    ("attr   by = 1 in [0, 8)", "attr   by = 3 in [0, 5)", "a default and a range"),
    ("X[d...] + by\n", "X[d...] + by + by - by\n", "a formula"),
    ("  attr   by", "  attr   more = 1\n  attr   by", "an attribute more"),
]


@pytest.fixture
def alone(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache into which no other process puts anything."""
    own = tmp_path / "cache"
    shutil.copytree(cache, own, ignore=shutil.ignore_patterns("*.partial", "*.lock"))
    monkeypatch.setenv("CVMGEN_CACHE", str(own))
    return own


@pytest.mark.parametrize(("old", "new", "why"), EDITS)
def test_an_edit_compiles_what_was_edited(
    build: Build, spec: Path, alone: Path, old: str, new: str, why: str
) -> None:
    assert build("--target", "c").code == 0
    before = set(alone.rglob("*.o"))
    edit(spec, old, new)
    assert build("--target", "c").code == 0
    assert len(set(alone.rglob("*.o")) - before) == 1, why


def test_an_edit_compiles_what_was_edited_for_cuda(
    build: Build, spec: Path, alone: Path, tmp_path: Path
) -> None:
    def compile_all() -> set[Path]:
        assert build("--target", "cuda").code == 0
        sources = library_sources(tmp_path / "generated", "cuda-cpu")
        compile_library(sources, name="tried", threads=False, prelude=PRELUDE)
        return set(alone.rglob("*.o"))

    before = compile_all()
    edit(spec, *EDITS[0][:2])
    assert len(compile_all() - before) == 1


def test_blocks_that_only_move_change_no_generated_text(
    build: Build, spec: Path, tmp_path: Path
) -> None:
    (spec / "common.cvm").write_text("def scaled(x) = 2 * x\n")
    (spec / "toy/families.cvm").write_text(FAMILY)
    edit(spec, "Y[d...] = 2 * X[d...]", "Y[d...] = scaled(X[d...])")
    library = build("--json").json["library"]
    before = contents(tmp_path / "generated")
    for path in spec.rglob("*.cvm"):
        path.write_text(f"# A comment,\n\n# and another one.\n{path.read_text()}")
    moved = build("--json")
    names = "toy.thrice, toy.double, toy.shifted"
    assert changes(moved) == {"manifest.json": ("changed", f"{names} moved")}
    assert moved.json["library"] == library
    after = contents(tmp_path / "generated")
    assert {name for name in before if before[name] != after[name]} == {"manifest.json"}
    assert build("--check").code == 0, "remembered texts are what is generated afresh"


def test_an_operator_that_moved_to_another_file_says_where_to(build: Build, spec: Path) -> None:
    build()
    (spec / "toy/numbers.cvm").rename(spec / "toy/others.cvm")
    found = changes(build("--json"))
    assert found["c/toy/shifted.c"] == ("changed", "toy.shifted moved to spec/toy/others.cvm:10")
    assert found["manifest.json"] == ("changed", "toy.double, toy.shifted moved")
    assert build("--check").code == 0


def test_a_definition_in_common_is_the_reason(build: Build, spec: Path) -> None:
    edit(spec, "Y[d...] = 2 * X[d...]", "Y[d...] = scaled(X[d...])")
    (spec / "common.cvm").write_text("def scaled(x) = 2 * x\n")
    build()
    (spec / "common.cvm").write_text("def scaled(x) = x + x\n")
    reason = ("changed", "a definition that it uses changed")
    assert changes(build("--json")) == dict.fromkeys(texts_of("double"), reason)
    assert build("--check").code == 0


def test_a_schedule_is_the_reason(build: Build, spec: Path) -> None:
    build()
    own = spec / "schedules"
    own.mkdir()
    (own / "c.sched").write_text(
        "schedule other for c {\n  parallelise outer when results >= 5\n}\n"
    )
    expected = dict.fromkeys(
        ["c/toy/double.c", "c/toy/shifted.c"], ("changed", "a schedule changed")
    )
    assert changes(build("--json")) == expected


def test_a_bad_schedule_is_reported(build: Build, spec: Path) -> None:
    own = spec / "schedules"
    own.mkdir()
    (own / "c.sched").write_text("schedule other for c {\n  copi\n}\n")
    outcome = build()
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith(f"{own}/c.sched:2:3: error: there is no action 'copi'")


def test_an_action_that_changes_nothing_is_a_warning(build: Build, spec: Path) -> None:
    own = spec / "schedules"
    own.mkdir()
    (own / "c.sched").write_text("schedule elementwise for c {\n  copy\n  vectorise inner\n}\n")
    outcome = build("--target", "c", "--json")
    assert outcome.code == 0
    assert outcome.err.startswith(
        f"{own}/c.sched:2:3: warning: 'copy' changes no nest of the class"
    )
    assert [each["line"] for each in outcome.json["warnings"]] == [2]


def test_files_changed_by_hand_are_restored(build: Build, tmp_path: Path) -> None:
    build()
    folder = tmp_path / "generated"
    whole = contents(folder)
    with (folder / "c/toy/double.c").open("a") as file:
        file.write("/* mine */\n")
    (folder / "python/toy/double.py").unlink()
    assert changes(build("--json")) == {
        "c/toy/double.c": ("changed", "it had been changed by hand"),
        "python/toy/double.py": ("new", "it was missing"),
    }
    assert contents(folder) == whole


# ---------------------------------------------------------------- some targets, some operators


def test_one_target(build: Build, tmp_path: Path) -> None:
    outcome = build("--target", "python", "--json")
    assert {path.split("/")[0] for path in changes(outcome)} == {"python", "manifest.json"}
    assert outcome.json["library"] is None
    build()
    assert changes(build("--target", "python", "--json")) == {}
    assert (tmp_path / "generated/c/toy/double.c").exists()


def test_one_operator_of_a_stale_folder(build: Build, spec: Path, tmp_path: Path) -> None:
    build()
    edit(spec, "Y[d...] = 2 * X[d...]", "Y[d...] = X[d...] + X[d...]")
    edit(spec, "Y[d...] = X[d...] + by", "Y[d...] = by + X[d...]")
    outcome = build("toy.shifted", "--json")
    assert changes(outcome).keys() == texts_of("shifted") | {"manifest.json"}
    assert outcome.json["stale"] == ["toy.double"]
    again = build("shifted")
    assert again.err == "stale too, and not built: toy.double (`cvmgen build` builds all)\n"
    manifest = json.loads((tmp_path / "generated/manifest.json").read_text())
    formulas = {each["name"]: each["formula"] for each in manifest["operators"]}
    assert "2 * X" in formulas["double"], "it describes the file that is there"
    assert "by + X" in formulas["shifted"]


def test_a_renamed_operator_leaves_nothing_in_any_target(
    build: Build, spec: Path, tmp_path: Path
) -> None:
    build("--target", "c", "--target", "python")
    folder = tmp_path / "generated"
    (folder / "c/toy/mine.c").write_text("no C at all")
    edit(spec, "operator double", "operator twofold")
    edit(spec, "example double(", "example twofold(")
    outcome = build("--target", "c")
    assert outcome.code == 0, outcome.err
    assert not list(folder.rglob("double*"))
    assert (folder / "c/toy/mine.c").read_text() == "no C at all", "never a file of the user"
    assert "c/toy/mine.c" not in library_sources(folder)


def test_what_the_manifest_does_not_know_is_not_compiled(build: Build, tmp_path: Path) -> None:
    build("--target", "c")
    folder = tmp_path / "generated"
    (folder / "c/toy/old.c").write_text("no C any more")
    with (folder / ".cvmgen-files").open("a") as listing:
        listing.write("c/toy/old.c\n")
    assert "c/toy/old.c" not in library_sources(folder)
    assert build("--target", "c").code == 0
    assert not (folder / "c/toy/old.c").exists()


def test_one_operator_of_an_empty_folder(build: Build, tmp_path: Path) -> None:
    assert build("toy.double").code == 0
    assert contents(tmp_path / "generated").keys() == SHARED | own_files("double")


def test_an_opset_is_all_of_its_operators(build: Build, tmp_path: Path) -> None:
    assert build("toy", "--target", "python").code == 0
    assert (tmp_path / "generated/python/toy/shifted.py").exists()


def test_another_interface_cannot_be_left_out(build: Build, spec: Path) -> None:
    build()
    edit(spec, "attr   by = 1", "attr   by = 2")
    outcome = build("toy.double")
    assert outcome.code == 1
    assert outcome.err == "error: toy.shifted has another interface now; build it too, or all\n"


# ---------------------------------------------------------------- --check


def test_check_of_what_is_up_to_date(build: Build, tmp_path: Path) -> None:
    build()
    outcome = build("--check")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == f"{tmp_path}/generated/ is up to date\n"
    assert build("--check", "toy.double").code == 0
    assert build("--check", "--target", "c").code == 0


def test_check_of_what_is_stale(build: Build, spec: Path, tmp_path: Path) -> None:
    build()
    before = contents(tmp_path)
    edit(spec, "Y[d...] = 2 * X[d...]", "Y[d...] = X[d...] + X[d...]")
    changed = contents(tmp_path)
    outcome = build("--check")
    assert outcome.code == 1
    assert "--- a/c/toy/double.c\n+++ b/c/toy/double.c\n" in outcome.out
    assert "+     Y[d...] = X[d...] + X[d...]\n" in outcome.out
    message = f"{tmp_path}/generated/ is stale; `cvmgen build` brings it up to date\n"
    assert outcome.err == message
    assert contents(tmp_path) == changed, "nothing is written"
    report = build("--check", "--json").json
    assert set(report["stale"]) == texts_of("double") | {"manifest.json"}
    assert "+++ b/python/toy/double.py" in report["diff"]
    assert build("--check", "toy.shifted").code == 0
    edit(spec, "Y[d...] = X[d...] + X[d...]", "Y[d...] = 2 * X[d...]")
    assert contents(tmp_path) == before


def test_check_does_not_trust_the_last_build(build: Build, tmp_path: Path) -> None:
    """The committed files are compared, not remembered."""
    build()
    (tmp_path / "generated/c/toy.h").unlink()
    assert build("--check").code == 1


# ---------------------------------------------------------------- failures


def test_without_a_compiler_the_files_are_written(
    build: Build, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    outcome = build()
    assert outcome.code == 3
    assert outcome.err == (
        "error: no C compiler: CC=no-such-compiler names no program that can be run\n"
    )
    assert (tmp_path / "generated/python/toy/double.py").exists()
    assert build("--target", "python").code == 0


def test_the_number_of_compilers(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CVMGEN_JOBS", "3")
    with spread(Namespace(jobs=1, workers=None)):
        assert workers() == 1
    assert build("-j", "1").code == 0
    assert workers() == 3


def test_a_spec_that_is_not_there(cvmgen: Command, tmp_path: Path) -> None:
    own = ("--spec", tmp_path / "nowhere")
    outcome = cvmgen("build", *own, "--out", tmp_path)
    assert outcome.code == 1
    assert outcome.err.startswith(f"error: {tmp_path}/nowhere: no .cvm files here")
    outcome = cvmgen("build", *own)
    assert outcome.code == 2
    assert "--spec goes with --out DIR" in outcome.err


def test_a_folder_that_cannot_be_written(build: Build, tmp_path: Path) -> None:
    (tmp_path / "generated").write_text("a file")
    outcome = build()
    assert outcome.code == 1
    assert (
        outcome.err == f"error: cannot write generated files: {tmp_path}/generated: File exists\n"
    )
