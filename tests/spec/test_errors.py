"""Bad specs and the exact report of each, which stand side by side in errors/*.txt.

A row is a title, the spec and, after `---`, the complete report. `@ name` begins one of
several files. After a change of wording, `python tests/spec/test_errors.py` writes all reports
anew; read the difference before it goes in.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from cvmgen.reference.probe import check_operators
from cvmgen.source import Source, SpecErrors
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile

FOLDER = Path(__file__).parent / "errors"
NO_NEWLINE = "which has no newline"


@dataclass(frozen=True, slots=True)
class Row:
    file: str
    title: str
    spec: str
    report: str


def read_rows(path: Path) -> list[Row]:
    rows = []
    for entry in path.read_text(encoding="utf-8").split("=== ")[1:]:
        title, _, rest = entry.partition("\n")
        spec, _, report = rest.partition("\n---\n")
        rows.append(Row(path.name, title, spec, report.strip("\n")))
    return rows


def newline(row: Row) -> str:
    return "\r\n" if "carriage return" in row.title else "\n"


def sources(row: Row) -> list[SpecFile]:
    """The files of a row: `bad.cvm`, or those that it names."""
    parts = row.spec.split("@ ")[1:] if row.spec.startswith("@ ") else ["bad.cvm\n" + row.spec]
    files = []
    for part in parts:
        name, _, text = part.partition("\n")
        text = text.rstrip("\n") + ("" if NO_NEWLINE in row.title else "\n")
        text = text.replace("\n", newline(row))
        files.append(SpecFile(Source(name, text), ""))
    return files


def report_of(row: Row) -> str:
    try:
        check_operators(check_files(sources(row)))
    except SpecErrors as errors:
        return str(errors)
    return "nothing is wrong"


ROWS = [row for path in sorted(FOLDER.glob("*.txt")) for row in read_rows(path)]


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{row.file[:-4]}: {row.title}") for row in ROWS]
)
def test_report(row: Row) -> None:
    assert report_of(row) == row.report


def test_titles_are_different() -> None:
    titles = [row.title for row in ROWS]
    assert sorted(set(titles)) == sorted(titles)


def test_reports_show_where_and_why() -> None:
    for row in ROWS:
        for error in row.report.split("\n\n"):
            place, source_line, carets = error.split("\n")[0::2][0], *error.split("\n")[2:4]
            assert ": error: " in place, row.title
            assert set(carets.partition("|")[2].strip()) == {"^"}, row.title
            assert " | " in source_line, row.title


def write_reports() -> None:
    for path in sorted(FOLDER.glob("*.txt")):
        entries = [
            f"=== {row.title}\n{row.spec}\n---\n{report_of(row)}\n" for row in read_rows(path)
        ]
        path.write_text("\n".join(entries), encoding="utf-8")


if __name__ == "__main__":
    write_reports()
