"""Bad schedules and the exact report of each, side by side in errors/*.txt as those of formulas.

After a change of wording, `python -m tests.schedule.test_errors` writes all reports anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from cvmgen.driver import C, emitted, lower
from cvmgen.schedule.schedules import checked_schedules
from cvmgen.source import Source, SpecError, SpecErrors
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.spec.schedules import parse_schedules

FOLDER = Path(__file__).parent / "errors"


@dataclass(frozen=True, slots=True)
class Row:
    """A schedule, behind `@ operator` an operator whose nest it is for, and the report."""

    file: str
    title: str
    schedule: str
    formula: str
    report: str


def read_rows(path: Path) -> list[Row]:
    rows = []
    for entry in path.read_text(encoding="utf-8").split("=== ")[1:]:
        title, _, rest = entry.partition("\n")
        text, _, report = rest.partition("\n---\n")
        schedule, _, formula = text.partition("\n@ operator\n")
        rows.append(Row(path.name, title, schedule, formula, report.strip("\n")))
    return rows


def report_of(row: Row) -> str:
    try:
        schedules = checked_schedules(parse_schedules(Source("bad.sched", f"{row.schedule}\n")))
        if row.formula:
            text = f"operator f {{\n{row.formula}\n}}\n"
            (found,) = check_files([SpecFile(Source("test.cvm", text), "test")])
            emitted("c", found, lower(found, C), schedules)
    except (SpecError, SpecErrors) as errors:
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


def write_reports() -> None:
    for path in sorted(FOLDER.glob("*.txt")):
        entries = []
        for row in read_rows(path):
            formula = f"\n@ operator\n{row.formula}" if row.formula else ""
            text = f"=== {row.title}\n{row.schedule}{formula}\n---\n{report_of(row)}\n"
            entries.append(text)
        path.write_text("\n".join(entries), encoding="utf-8")


if __name__ == "__main__":
    write_reports()
