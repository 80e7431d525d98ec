"""`cvmgen diff`: versions of folders, files and revisions; what it prints, and its exit codes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cvmgen.cli import colour

from .conftest import OPERATORS, Command, edit

HALF = "Y[d...] = X[d...] + by"


DOCUMENT = Path(__file__).parents[2] / "docs" / "diff.md"
KEPT = """\
operator kept {
  "As it is."
  input  X : cvm[n]
  output Y : cvm[n]
  Y[i] = X[i]
}
"""


def git(place: Path, *words: str) -> None:
    who = ("-c", "user.name=n", "-c", "user.email=e@x", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(place), *who, *words], check=True, capture_output=True)


@pytest.fixture
def repository(spec: Path) -> Path:
    """The small spec in a repository, as it was in its only revision."""
    git(spec.parent, "init", "-q")
    git(spec.parent, "add", "spec")
    git(spec.parent, "commit", "-qm", "first")
    return spec


def test_a_tree_that_is_as_it_was(cvmgen: Command, repository: Path) -> None:
    outcome = cvmgen("diff", "--spec", repository)
    assert outcome.code == 0
    assert outcome.out == (
        f"HEAD:spec/ -> {repository}: 0 operators written otherwise, 2 as before\n\nversion: none\n"
    )


def test_other_values_are_shown_by_a_call_of_the_kernels(cvmgen: Command, repository: Path) -> None:
    edit(repository, HALF, "Y[d...] = X[d...] + (by if X[d...] != -1 else 0)")
    outcome = cvmgen("diff", "--spec", repository, "--target", "python")
    assert outcome.code == 1
    assert "toy.shifted  values differ  " in outcome.out
    shown = """
  other values: shifted(X=[-1]), with X of 2 bits
    before  Y = [0]
    now     Y = [-1]
    first at Y[0]: 0 before, -1 now
    the kernels of both give this too (target c)
  proved to be the same for all sizes: which calls are accepted, shapes, precisions
  text: python +"""
    assert shown in outcome.out
    assert outcome.out.endswith("version: major (toy.shifted: values differ)\n")


def test_the_edit_of_the_document(
    cvmgen: Command, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    edited, report = (text.split(f"```{kind}\n")[1].split("```")[0] for kind in ("diff", "text"))
    lines = edited.splitlines()
    for name, other in (("before", "+"), ("spec", "-")):
        folder = spec.parent / name / "toy"
        folder.mkdir(parents=True, exist_ok=True)
        (spec / "toy/numbers.cvm").unlink(missing_ok=True)
        kept = (line[1:] for line in lines if not line.startswith(other))
        (folder / "quarter.cvm").write_text("\n".join(kept) + "\n")
    monkeypatch.chdir(spec.parent)
    outcome = cvmgen("diff", "before", "spec", "--target", "python")
    heading = "before/ -> spec/: 1 operator written otherwise, 0 as before\n\n"
    assert outcome.out == heading + report


def test_revisions_and_paths_in_them(cvmgen: Command, repository: Path) -> None:
    edit(repository, "in [0, 8)", "in [0, 9)")
    git(repository.parent, "commit", "-qam", "second")
    edit(repository, "in [0, 9)", "in [1, 9)")
    for words, classes in (
        (["HEAD~1", "HEAD"], ["interface changed", "accepts more"]),
        (["HEAD:spec/toy/numbers.cvm"], ["accepts less", "interface changed"]),
        (["HEAD~1:spec", "HEAD~1"], []),
        (["HEAD~1", str(repository)], ["accepts less", "interface changed", "accepts more"]),
    ):
        outcome = cvmgen("diff", *words, "--spec", repository, "--target", "python", "--json")
        found = [each for each in outcome.json["operators"] if each["name"] == "toy.shifted"]
        assert [each["classes"] for each in found] == ([classes] if classes else [])
    assert outcome.json["version"]["level"] == "major"


def test_what_is_refused_is_told_with_the_refusal(cvmgen: Command, repository: Path) -> None:
    edit(repository, "in [0, 8)", "in [0, 7)")
    outcome = cvmgen("diff", "--spec", repository, "--target", "python")
    assert (
        """
  attribute by: in [0, 8) before, in [0, 7) now
  refused now: shifted(X=[0], by=7), with X of 1 bit
    before  Y = [7]
    now     refused: toy.shifted: by = 7: must be in [0, 7)
"""
        in outcome.out
    )


def test_files_by_themselves(cvmgen: Command, spec: Path, tmp_path: Path) -> None:
    old, new = tmp_path / "old.cvm", tmp_path / "new.cvm"
    old.write_text(OPERATORS)
    new.write_text(OPERATORS.replace("2 * X[d...]", "X[d...] + X[d...]"))
    outcome = cvmgen("diff", old, new, "--spec", spec, "--target", "numpy", "--text")
    assert outcome.code == 0
    assert "new.double  same: proved for all sizes" in outcome.out
    assert "+++ b/numpy/new/double.py" in outcome.out
    assert "version: patch" in outcome.out


def test_formulas_that_are_too_long_are_told(cvmgen: Command, tmp_path: Path) -> None:
    total = " + ".join(["X[i]"] * 400)
    text = f'operator f {{\n  "d"\n  input X : cvm[N]\n  output Y : cvm[N]\n  Y[i] = {total}\n}}\n'
    (tmp_path / "long.cvm").write_text(text, encoding="utf-8")
    run = cvmgen("diff", tmp_path / "long.cvm", tmp_path / "long.cvm")
    assert run.code == 2
    assert "a formula is at most 200 levels deep" in run.err


def test_new_and_removed_and_renamed_operators(cvmgen: Command, spec: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "toy").mkdir(parents=True)
    text = OPERATORS.replace("operator double", "operator twofold").replace(
        "example double", "example twofold"
    )
    text = text[: text.index("operator shifted")]
    (other / "toy/numbers.cvm").write_text(text.replace("  alias  twice\n", ""))
    (other / "toy/more.cvm").write_text(KEPT)
    targets = ("--target", "python", "--target", "c", "--target", "cuda")
    outcome = cvmgen("diff", spec, other, *targets, "--json")
    found = {each["name"]: each for each in outcome.json["operators"]}
    assert {name: each["classes"] for name, each in found.items()} == {
        "toy.shifted": ["removed"],
        "toy.twofold": ["renamed"],
        "toy.kept": ["new"],
    }
    assert found["toy.twofold"]["renamed_from"] == "toy.double"
    assert found["toy.twofold"]["schedules"] == []
    assert outcome.json["version"]["level"] == "major"


def test_a_definition_in_common_changes_all_that_use_it(cvmgen: Command, repository: Path) -> None:
    (repository / "common.cvm").write_text("def up(x) = 2 * x\n")
    edit(repository, "2 * X[d...]", "up(X[d...])")
    edit(repository, HALF, "Y[d...] = up(X[d...]) + by")
    git(repository.parent, "add", "spec")
    git(repository.parent, "commit", "-qam", "second")
    (repository / "common.cvm").write_text("def up(x) = x\n")
    outcome = cvmgen("diff", "--spec", repository, "--target", "python", "--json")
    assert [each["changed_in"] for each in outcome.json["operators"]] == [["def up"]] * 2
    named = cvmgen("diff", "HEAD", repository / "common.cvm", "--spec", repository, "--json")
    assert len(named.json["operators"]) == 2


def test_examples_that_do_not_hold_are_told(cvmgen: Command, repository: Path) -> None:
    edit(repository, "2 * X[d...]", "2 * X[d...] + 1")
    outcome = cvmgen("diff", "--spec", repository, "--target", "python")
    assert "  line 7: the example gives [3, -3], not [2, -4]\n" in outcome.out


@pytest.mark.parametrize("side", ["old", "new"])
def test_errors_are_shown_where_they_stand(cvmgen: Command, repository: Path, side: str) -> None:
    edit(repository, "by = 1", "by = ?")
    if side == "old":
        git(repository.parent, "commit", "-qam", "wrong")
        edit(repository, "by = ?", "by = 1")
    outcome = cvmgen("diff", "--spec", repository, "--json")
    place = "HEAD:spec/toy/numbers.cvm" if side == "old" else f"{repository}/toy/numbers.cvm"
    assert outcome.code == 2
    assert outcome.json["error"]["code"] == 2
    assert outcome.json["error"]["errors"][0]["file"] == place
    assert f"{place}:13:15: error: " in outcome.err


@pytest.mark.parametrize(
    "name", ["--output=x", "-x", "no-such-revision", "HEAD:nowhere", "HEAD\nHEAD", "", "HEAD:../x"]
)
def test_what_is_no_version_is_refused(cvmgen: Command, repository: Path, name: str) -> None:
    outcome = cvmgen("diff", "--spec", repository, "--", name)
    assert outcome.code == 2
    assert "error: " in outcome.err
    assert not (repository.parent / "x").exists()


@pytest.mark.parametrize("side", ["HEAD:spec/toy", "spec/toy"])
def test_a_part_of_a_spec_folder_is_refused_with_what_to_name(
    cvmgen: Command, repository: Path, monkeypatch: pytest.MonkeyPatch, side: str
) -> None:
    monkeypatch.chdir(repository.parent)
    outcome = cvmgen("diff", "--spec", "spec", side)
    assert outcome.code == 2
    assert f"'{side}' is a part of a spec folder: name '{side[:4]}" in outcome.err


def test_without_a_repository_both_must_be_named(cvmgen: Command, spec: Path) -> None:
    outcome = cvmgen("diff", "--spec", spec)
    assert outcome.code == 2
    assert "name OLD and NEW" in outcome.err


def test_links_in_a_revision_are_not_followed(cvmgen: Command, repository: Path) -> None:
    (repository / "toy/link.cvm").symlink_to("/etc/hostname")
    git(repository.parent, "add", "spec")
    git(repository.parent, "commit", "-qm", "a link")
    assert cvmgen("diff", "HEAD", "HEAD~1", "--spec", repository).code == 0


def test_colour_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    assert colour.painter()("red", "x") == "x"
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert colour.painter()("red", "x") == "\x1b[31mx\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert colour.painter()("red", "x") == "x"
