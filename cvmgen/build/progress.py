"""What takes more than a second says what it is doing: a line that changes, or plain lines."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from types import TracebackType

DELAY = 1.0
"""Seconds before the first word."""
EVERY = 1.5
"""Seconds from one plain line to the next."""
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

    def step(self, text: str) -> None:
        """From here on, `text` is what is being done."""
        with self._lock:
            self._text = text
            if self._live and self._started:
                self._show()

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
            print(f"{_CLEAR}{self._text} ...", end="", file=sys.stderr, flush=True)
            return
        if self._text != self._said:
            self._said, self._since = self._text, time.monotonic()
        seconds = round(time.monotonic() - self._since)
        still = f", {seconds} s" if seconds else ""
        print(f"cvmgen: {self._text}{still}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def shown_progress() -> Iterator[Progress]:
    """The progress that is being shown; where none speaks, one for as long as this takes, which
    speaks aloud: what calls an operator for the first time expects no wait."""
    if speaking := next((each for each in _shown if each.speaks), None):
        yield speaking
        return
    with Progress(aloud=True) as progress:
        yield progress
