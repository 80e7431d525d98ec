"""`cvmgen list --markdown` and `--into`: the operators as tables, printed or kept in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from cvmgen.cli import table
from cvmgen.cli.table import BEGIN, END, escaped

from .conftest import Command

ROWS = """\
**[{file}]({file})**

| operator | formula | python | numpy | c | cuda | what it gives |
| --- | --- | --- | --- | --- | --- | --- |
| `double` | [numbers.cvm:1]({file}#L1) | {states} | Twice each element. Also `twice`. |
| `shifted` | [numbers.cvm:10]({file}#L10) | {states} | Each element and a number. |
"""


def rows(*states: str) -> str:
    return ROWS.format(file="spec/toy/numbers.cvm", states=" | ".join(states))


BUILT = rows(*["runs"] * 4)
UNBUILT = rows(*["not built"] * 4)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of generated files in the place of the project's."""
    monkeypatch.setattr(table, "generated_folder", lambda: tmp_path / "generated")
    return tmp_path / "generated"


@pytest.mark.usefixtures("folder")
def test_tables_before_a_build(cvmgen: Command, spec: Path) -> None:
    assert cvmgen("list", "--markdown", "--spec", spec).out == UNBUILT


@pytest.mark.usefixtures("folder")
def test_tables_tell_what_targets_do(cvmgen: Command, build: Command, spec: Path) -> None:
    assert build().code == 0
    outcome = cvmgen("list", "--markdown", "--spec", spec)
    assert (outcome.code, outcome.out, outcome.err) == (0, BUILT, "")
    assert cvmgen("list", "--markdown", "--spec", spec, "--json").json == {
        "markdown": BUILT.removesuffix("\n")
    }


@pytest.mark.usefixtures("folder")
def test_a_target_that_was_not_built(cvmgen: Command, build: Command, spec: Path) -> None:
    assert build("--target", "python").code == 0
    expected = rows("runs", *["not built"] * 3)
    assert cvmgen("list", "--markdown", "--spec", spec).out == expected


def test_a_table_for_each_file_in_the_order_of_the_list(cvmgen: Command, spec: Path) -> None:
    second = '\noperator same {\n  "Itself."\n  input X : cvm[n...]\n  output Y : cvm[n...]\n'
    (spec / "toy/again.cvm").write_text(f"{second}  Y[d...] = X[d...]\n}}\n")
    lines = cvmgen("list", "--markdown", "--spec", spec).out.splitlines()
    listed = cvmgen("list", "--spec", spec, "--json").json["operators"]
    assert [line for line in lines if line.startswith("**")] == [
        "**[spec/toy/again.cvm](spec/toy/again.cvm)**",
        "**[spec/toy/numbers.cvm](spec/toy/numbers.cvm)**",
    ]
    names = [f"toy.{line.split('`')[1]}" for line in lines if line.startswith("| `")]
    assert names == [each["name"] for each in listed]


ESCAPED = [
    ("a_min to a_max", "a_min to a_max", "inside words, Markdown leaves these alone"),
    ("a * b, c*d", r"a \* b, c\*d", "emphasis"),
    ("X[i] < 2", r"X\[i\] \< 2", "links and tags"),
    ("`X[i] * 2` and *", r"`X[i] * 2` and \*", "code stays as it is"),
    ("|x| and `|x|`", r"\|x\| and `\|x\|`", "a bar ends a cell even in code"),
    ("a \\ b", r"a \\ b", "the sign that escapes"),
]


@pytest.mark.parametrize(("text", "expected", "why"), ESCAPED)
def test_descriptions_are_text(text: str, expected: str, why: str) -> None:
    assert escaped(text) == expected, why


# ---------------------------------------------------------------- into a file


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "PAGE.md"
    path.write_text(f"# Title\n\n{BEGIN}\nold\n{END}\n\nMore, with a ß.\n", encoding="utf-8")
    return path


@pytest.mark.usefixtures("folder")
def test_only_what_is_between_the_marks_is_written(cvmgen: Command, spec: Path, page: Path) -> None:
    outcome = cvmgen("list", "--into", page, "--spec", spec)
    written = f"{page}: the list of operators is written\n"
    assert (outcome.code, outcome.out, outcome.err) == (0, written, "")
    text = page.read_text(encoding="utf-8")
    assert text == f"# Title\n\n{BEGIN}\n\n{UNBUILT}\n{END}\n\nMore, with a ß.\n"
    again = cvmgen("list", "--into", page, "--spec", spec)
    assert again.out == f"{page}: the list of operators is up to date\n"
    assert page.read_text(encoding="utf-8") == text


@pytest.mark.usefixtures("folder")
def test_check_writes_nothing_and_tells_what_mends_it(
    cvmgen: Command, spec: Path, page: Path
) -> None:
    before = page.read_bytes()
    outcome = cvmgen("list", "--into", page, "--check", "--spec", spec)
    assert outcome.code == 1
    assert outcome.out == f"{page}: the list of operators is stale\n"
    assert outcome.err == f"`cvmgen list --into {page}` brings it up to date\n"
    assert page.read_bytes() == before
    assert cvmgen("list", "--into", page, "--check", "--spec", spec, "--json").json == {
        "file": str(page),
        "stale": True,
    }
    cvmgen("list", "--into", page, "--spec", spec)
    after = cvmgen("list", "--into", page, "--check", "--spec", spec)
    assert (after.code, after.err) == (0, "")


PAGES = [
    "no marks",
    f"{BEGIN}\n",
    f"{END}\n{BEGIN}\n",
    f"{BEGIN}\n{BEGIN}\n{END}\n",
    f"{BEGIN}\n{END}\n{END}\n",
]


@pytest.mark.parametrize("text", PAGES)
def test_a_file_without_the_two_marks(
    cvmgen: Command, spec: Path, tmp_path: Path, text: str
) -> None:
    page = tmp_path / "PAGE.md"
    page.write_text(text)
    outcome = cvmgen("list", "--into", page, "--spec", spec)
    assert outcome.code == 1
    assert f"{page}: one line '{BEGIN}' and, after it, one line '{END}' are needed" in outcome.err
    assert page.read_text() == text


def test_no_such_file(cvmgen: Command, spec: Path, tmp_path: Path) -> None:
    outcome = cvmgen("list", "--into", tmp_path / "none.md", "--spec", spec)
    assert outcome.code == 1
    assert "none.md" in outcome.err


def test_check_needs_a_file(cvmgen: Command) -> None:
    outcome = cvmgen("list", "--check")
    assert outcome.code == 2
    assert "--check needs a file to look at: --into FILE" in outcome.err
