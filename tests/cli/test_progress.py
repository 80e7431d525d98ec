"""Progress: after a second, on a terminal, one line, wiped at the end."""

from __future__ import annotations

import io
import sys
import time

import pytest

from cvmgen.cli import progress
from cvmgen.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    # Not a fixture: pytest sets stderr again after those.
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
