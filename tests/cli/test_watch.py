"""`cvmgen watch`: errors, what an edit means, what is built, on each save; and how it ends."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from threading import Thread

import pytest

from cvmgen.cli import watch
from cvmgen.cli.watch import Watched

from .conftest import Command, edit, start


@pytest.fixture
def turns(spec: Path) -> Iterator[None]:
    """Three saves: an edit, one with an error, one that mends it in other words."""

    def edits() -> Iterator[None]:
        edit(spec, "2 * X[d...]", "X[d...] + X[d...]")
        yield
        edit(spec, "X[d...] + X[d...]", "X[d...] + Y[d...]")
        yield
        edit(spec, "X[d...] + Y[d...]", "X[d...] + 0")
        edit(spec, "== [2, -4]", "== [1, -2]")
        yield

    return edits()


def test_each_save_is_told(
    spec: Path, tmp_path: Path, turns: Iterator[None], capsys: pytest.CaptureFixture[str]
) -> None:
    watch.watch(Watched(spec, tmp_path / "out", ("python", "c")), turns)
    told, errors = capsys.readouterr()
    first, second = told.split(" s\n\n")[:2]
    assert f"watching {spec}, 2 operators" in first
    assert "toy.double  same: proved for all sizes" in first
    assert "out/c/toy/double.c: first build here" in first or "first build here" in first
    assert "library  " in first
    assert errors.count("error: ") == 1
    assert "the save before -> " in second
    assert "toy.double  values differ" in second
    assert "changed" in second


def test_saves_against_one_version(
    spec: Path, tmp_path: Path, turns: Iterator[None], capsys: pytest.CaptureFixture[str]
) -> None:
    before = tmp_path / "before/toy"
    before.mkdir(parents=True)
    (before / "numbers.cvm").write_text((spec / "toy/numbers.cvm").read_text())
    since = str(before.parent)
    watched = Watched(spec, tmp_path / "out", ("python",), since, as_json=True)
    watch.watch(watched, turns)
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["event"] for each in events] == ["watching", "saved", "errors", "saved"]
    assert events[1]["report"]["operators"][0]["classes"] == ["same"]
    assert events[2]["error"]["errors"][0]["line"] == 6
    assert events[3]["report"]["version"]["level"] == "major"
    assert events[3]["changes"][0]["kind"] == "changed"


@pytest.mark.usefixtures("heard")
def test_files_are_looked_at_until_ctrl_c(spec: Path, tmp_path: Path) -> None:
    words = ("watch", "--spec", spec, "--out", tmp_path / "out", "--target", "python", "--json")
    process = start(*words)
    events: Queue[str] = Queue()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            events.put(json.loads(line)["event"])

    reader = Thread(target=read)
    reader.start()
    try:
        assert events.get(timeout=60) == "watching"
        edit(spec, "2 * X[d...]", "2 * X[e...]")
        assert events.get(timeout=60) == "errors"
        edit(spec, "2 * X[e...]", "X[d...] + X[d...]")
        assert events.get(timeout=60) == "saved"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    finally:
        process.kill()
        reader.join(20)
        _, told = process.communicate()
    assert told == ""


def test_pages_follow(spec: Path, tmp_path: Path, turns: Iterator[None]) -> None:
    pages, page = tmp_path / "pages", "toy.double.html"
    told, written = [], []

    def look() -> None:
        last = json.loads((pages / "watch.js").read_text()[len("saved(") : -len(");\n")])
        told.append(last["told"])
        written.append(last["versions"].get(page))
        if written[-1] is not None:
            mark = f'data-page="{page}" data-version="{written[-1]}"'
            assert mark in (pages / page).read_text()

    def seen() -> Iterator[None]:
        look()
        for turn in turns:
            yield turn
            look()

    watch.watch(Watched(spec, tmp_path / "out", ("python",), pages=pages), seen())
    first, same, wrong, others = written
    assert first is wrong is None
    assert same != others
    for words, text in zip(("", "double  same", "error: ", "values differ"), told, strict=True):
        assert words in text


def test_a_folder_that_is_none(cvmgen: Command, tmp_path: Path) -> None:
    outcome = cvmgen("watch", "--spec", tmp_path / "none", "--out", tmp_path / "out")
    assert (outcome.code, outcome.out) == (1, "")
    assert "none: no .cvm files here" in outcome.err


def test_a_folder_that_goes_away_while_it_is_looked_at(
    spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(folder: Path, pattern: str) -> Iterator[Path]:
        yield spec / "toy/numbers.cvm"
        raise FileNotFoundError(2, "no such folder", str(folder))

    seen = watch.snapshot(spec)
    monkeypatch.setattr(Path, "rglob", gone)
    assert watch.snapshot(spec).keys() < seen.keys()


def test_a_file_that_goes_is_a_change(spec: Path) -> None:
    before = watch.snapshot(spec)
    (spec / "toy/numbers.cvm").unlink()
    assert watch.snapshot(spec) != before
