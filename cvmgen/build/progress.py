"""What takes more than a second says what it is doing: a line that changes, with a bar where it is
known how much there is to do, or plain lines."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TypeVar

Item = TypeVar("Item")

DELAY = 1.0
"""Seconds before the first word."""
EVERY = 1.5
"""Seconds from one plain line to the next."""
BAR = 20
"""Characters of a bar."""
_CLEAR = "\r\x1b[K"

_shown: list[Progress] = []
"""Those that speak, the outermost first."""


class Progress:
    """One line on stderr that names the step at hand, once a second has passed.

    As a context manager it wipes the line at the end. Where stderr is no terminal that can wipe,
    nothing is printed; if `aloud`, plain lines are, so that it is never silent for two seconds.
    """

    def __init__(self, *, aloud: bool = False) -> None:
        there = sys.stderr is not None  # programs without a console have none
        self._live = there and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self.speaks = self._live or (there and aloud)
        self._started = False
        self._text = ""
        self._done, self._of = 0, 0
        self._said = ""
        self._since = 0.0
        self._lock = threading.Lock()
        self._over = threading.Event()

    def __enter__(self) -> Progress:
        _shown.append(self)
        if self.speaks:
            threading.Thread(target=self._speak, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _shown.remove(self)
        with self._lock:
            self._over.set()
        self.clear()

    def step(self, text: str, done: int = 0, of: int = 0) -> None:
        """From here on, `text` is what is being done, number `done` `of` so many where it is known
        how many there are."""
        with self._lock:
            self._text = f"{text}, {done} of {of}" if of > 1 else text
            self._done, self._of = done, of
            if self._live and self._started:
                self._show()

    def over(self, items: Iterable[Item], told: Callable[[Item], str]) -> Iterator[Item]:
        """The items one by one, each a step of which is told what is being done."""
        known = tuple(items)
        for number, each in enumerate(known, 1):
            self.step(told(each), number, len(known))
            yield each

    def clear(self) -> None:
        """Wipe the line, so that something else can be printed; the next step shows it again."""
        with self._lock:
            if self._live and self._started:
                print(_CLEAR, end="", file=sys.stderr, flush=True)

    def _speak(self) -> None:
        wait = DELAY
        while not self._over.wait(wait):
            with self._lock:
                if not self._over.is_set():
                    self._started = True
                    self._show()
            if self._live:  # from here on each step shows itself
                return
            wait = EVERY

    def _show(self) -> None:
        if not self._text:
            return
        if self._live:
            # A line that does not fit would stay on the screen when the next one is shown.
            room = shutil.get_terminal_size().columns - 1
            line = f"{_bar_text(self._done, self._of) if self._of > 1 else ''}{self._text} ..."[
                :room
            ]
            print(f"{_CLEAR}{line}", end="", file=sys.stderr, flush=True)
            return
        if self._text != self._said:
            self._said, self._since = self._text, time.monotonic()
        seconds = round(time.monotonic() - self._since)
        still = f", {seconds} s" if seconds else ""
        print(f"cvmgen: {self._text}{still}", file=sys.stderr, flush=True)


def followed(items: Iterable[Item], told: Callable[[Item], str]) -> Iterator[Item]:
    """The items one by one, each a step of the progress that is being shown, if one is."""
    speaking = next((each for each in _shown if each.speaks), None)
    return iter(items) if speaking is None else speaking.over(items, told)


def _bar_text(done: int, of: int) -> str:
    full = BAR * min(done, of) // of
    bar = f"{'━' * full}{'─' * (BAR - full)} "
    try:
        bar.encode(getattr(sys.stderr, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return bar.translate({ord("━"): "#", ord("─"): "-"})
    return bar


@contextlib.contextmanager
def shown_progress() -> Iterator[Progress]:
    """The progress that is being shown; where none speaks, one for as long as this takes, which
    speaks aloud: what calls an operator for the first time expects no wait."""
    if speaking := next((each for each in _shown if each.speaks), None):
        yield speaking
        return
    with Progress(aloud=True) as progress:
        yield progress
