"""What takes more than a second says what it is doing, to people at a terminal only."""

from __future__ import annotations

import sys
import threading
from types import TracebackType

from cvmgen.escape import printable

DELAY = 1.0
_CLEAR = "\r\x1b[K"


class Progress:
    """One line on stderr that names the step at hand, once a second has passed.

    As a context manager it wipes the line at the end. Where stderr is no terminal, nothing is
    ever printed.
    """

    def __init__(self) -> None:
        self._shown = False
        self._over = False
        self._text = ""
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        if sys.stderr.isatty():
            self._timer = threading.Timer(DELAY, self._start)
            self._timer.daemon = True

    def __enter__(self) -> Progress:
        if self._timer is not None:
            self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._over = True
        self.clear()

    def step(self, text: str) -> None:
        """From here on, `text` is what is being done."""
        with self._lock:
            self._text = printable(text)
            if self._shown:
                self._show()

    def clear(self) -> None:
        """Wipe the line, so that something else can be printed; the next step shows it again."""
        with self._lock:
            if self._shown:
                print(_CLEAR, end="", file=sys.stderr, flush=True)

    def _start(self) -> None:
        with self._lock:
            if not self._over:
                self._shown = True
                self._show()

    def _show(self) -> None:
        print(f"{_CLEAR}{self._text} ...", end="", file=sys.stderr, flush=True)
