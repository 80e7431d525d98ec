"""Progress: after a second, on a terminal one line, wiped at the end; elsewhere plain lines."""

from __future__ import annotations

import io
import sys
import time

import pytest

from cvmgen.build import progress
from cvmgen.build.progress import Progress, shown_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    # Not a fixture: pytest sets stderr again after those.
    monkeypatch.setenv("TERM", "xterm")
    made = Terminal()
    monkeypatch.setattr(sys, "stderr", made)
    return made


def wait_for(screen: Terminal, text: str) -> None:
    for _ in range(500):
        if text in screen.getvalue():
            return
        time.sleep(0.01)
    raise AssertionError(f"{text!r} is not in {screen.getvalue()!r}")


def test_slow_steps_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    monkeypatch.setattr(progress, "DELAY", 0.01)
    with Progress() as shown:
        shown.step("first")
        wait_for(screen, "\r\x1b[Kfirst ...")
        shown.step("second")
        wait_for(screen, "\r\x1b[Ksecond ...")
    assert screen.getvalue().endswith("second ...\r\x1b[K"), "the line is wiped"


def test_a_bar_shows_how_much_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    monkeypatch.setattr(progress, "DELAY", 0.01)
    monkeypatch.setenv("COLUMNS", "50")
    with Progress() as shown:
        for each in shown.over(("a", "b", "c", "d"), lambda each: f"doing {each}"):
            wait_for(screen, f"doing {each}, ")
        shown.step("x" * 100)
    assert f"\r\x1b[K{'━' * 10}{'─' * 10} doing b, 2 of 4 ..." in screen.getvalue()
    assert f"\x1b[K{'x' * 49}\r" in screen.getvalue(), "a line stays on one line"


def test_quick_steps_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    with Progress() as shown:
        shown.step("first")
    time.sleep(0.01)
    assert screen.getvalue() == ""


def test_nothing_where_nobody_looks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "DELAY", 0.0)
    with Progress() as shown:
        shown.step("first")
        time.sleep(0.05)
    assert capsys.readouterr().err == ""


def test_plain_lines_where_no_terminal_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "DELAY", 0.01)
    monkeypatch.setattr(progress, "EVERY", 0.01)
    said = ""
    with Progress(aloud=True) as outer, shown_progress() as inner:
        assert inner is outer, "one speaks at a time"
        for text in ("compiling: 0 of 2 files", "compiling: 1 of 2 files"):
            inner.step(text)
            for _ in range(500):
                if text in said:
                    break
                time.sleep(0.01)
                said += capsys.readouterr().err
    said += capsys.readouterr().err
    lines = dict.fromkeys(said.splitlines(keepends=True))
    assert "".join(lines) == "cvmgen: compiling: 0 of 2 files\ncvmgen: compiling: 1 of 2 files\n"


def test_a_dumb_terminal_gets_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(progress, "DELAY", 0.0)
    with shown_progress() as speaking:
        speaking.step("compiling")
        wait_for(screen, "cvmgen: compiling\n")
    assert set(screen.getvalue().splitlines()) == {"cvmgen: compiling"}


def test_what_takes_long_says_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setattr(progress, "EVERY", 0.3)
    with shown_progress() as speaking:
        speaking.step("compiling")
        wait_for(screen, "cvmgen: compiling, 1 s\n")


def test_what_is_compiled_is_told_where_a_command_is_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = terminal(monkeypatch)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(progress, "DELAY", 0.0)
    with Progress() as silent, shown_progress() as speaking:
        silent.step("running")
        speaking.step("compiling")
        wait_for(screen, "cvmgen: compiling")
    assert "running" not in screen.getvalue()
