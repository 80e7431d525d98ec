"""The command line, as far as nothing needs to be measured."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import report
from benchmarks.results import Measurement, Row, write

MACHINE = {"cpu": "a CPU", "cores": "2", "flags": "avx2", "compiler": "gcc 12"}


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["benchmarks", *map(str, arguments)])
    return command.main()


def test_without_a_baseline_nothing_is_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "--check", tmp_path / "none.json") == 1
    assert "nothing is stored here" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore")  # matplotlib's own
def test_the_page_is_written_from_what_is_stored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(command, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / report.PAGE).write_text(f"{report.BEGIN}\n{report.END}\n")
    row = Row("abs, 16 M", 1, 3000.0, {"numpy": 2900.0}, probe=2700.0)
    write(tmp_path / "stored.json", Measurement(MACHINE, {"numpy": "2.4"}, {}, {}, [row]))
    status = run(monkeypatch, "--readme", tmp_path / "stored.json")
    assert "| abs, 16 M | 3,000 | numpy 2,900 |" in (tmp_path / report.PAGE).read_text()
    drawn = (tmp_path / report.PICTURE).exists()
    assert status == (0 if drawn else 1), "1 says that there is no picture"


def test_the_page_has_a_place_for_the_table() -> None:
    text = (command.ROOT / report.PAGE).read_text(encoding="utf-8")
    assert text.index(report.BEGIN) < text.index(report.END)
