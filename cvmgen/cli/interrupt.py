"""Ctrl-C at any moment: compilers end, what is open is tidied up, and nobody sees a traceback."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType
from typing import Any, NoReturn

PATIENCE = 2.0
"""Seconds for tidying up; a library that caught the interrupt has no more than that."""

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Ended(KeyboardInterrupt):
    """The command is to end, and has this exit code."""

    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__(code)


def end_on_signals() -> None:
    """From here on these signals end the process, unless whoever started it ignores them."""
    if threading.current_thread() is not threading.main_thread():
        return
    for each in SIGNALS:
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, _end)


def _end(number: int, _: FrameType | None) -> NoReturn:
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    # What an interrupt leaves behind in other threads and in destructors tells nobody anything.
    sys.excepthook = sys.unraisablehook = threading.excepthook = _silence
    late = threading.Timer(PATIENCE, leave, (128 + number,))
    late.daemon = True
    late.start()
    if (process := sys.modules.get("cvmgen.build.process")) is not None:
        process.end_all()
    raise Ended(128 + number)


def _silence(*_: Any) -> None:
    pass


def leave(code: int) -> NoReturn:
    """End now: what Python does at exit waits for threads."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, RuntimeError):  # nobody reads it, or it was being written
            continue
    os._exit(code)
