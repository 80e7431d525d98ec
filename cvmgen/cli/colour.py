"""Colour for people, where a terminal shows it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

CODES = {"red": 31, "green": 32, "yellow": 33, "cyan": 36, "bold": 1, "faint": 2}

Paint = Callable[[str, str], str]
"""A text in a colour or a weight, as `paint("bold", text)`."""


def painter() -> Paint:
    """Of standard output: paints nothing where it is no terminal, or nobody wants colour
    (https://no-color.org)."""
    shown = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    return painted if shown and not os.environ.get("NO_COLOR") else plain


def painted(how: str, text: str) -> str:
    return f"\x1b[{CODES[how]}m{text}\x1b[0m" if text else text


def plain(how: str, text: str) -> str:
    return text
