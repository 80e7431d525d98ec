"""Attribute texts of graphs, such as "(1, 1)", "[3, 3]", "True", "1" and "NCHW", as values."""

from __future__ import annotations

import re
from typing import Final

Value = int | bool | float | str | tuple[int, ...] | None

MAX_INTEGER: Final = (1 << 63) - 1
_NAMED: Final[dict[str, bool | None]] = {"True": True, "False": False, "None": None}
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LIST: Final = re.compile(r"\((?P<round>[^()]*)\)|\[(?P<square>[^\[\]]*)\]")


def parse_value(text: str) -> Value:
    """The value that `text` stands for; ValueError says why it stands for none.

    Integers of 64 bits, True, False, None, one word (a layout, say), and flat tuples or lists
    of integers, both of which become tuples.
    """
    trimmed = text.strip()
    if trimmed in _NAMED:
        return _NAMED[trimmed]
    if _WORD.fullmatch(trimmed):
        return trimmed
    items = _LIST.fullmatch(trimmed)
    if items is None:
        return _integer(trimmed)
    return _integers(items["round"] if items["square"] is None else items["square"])


def render_value(value: Value) -> str:
    """A text that `parse_value` turns back into `value`."""
    return value if isinstance(value, str) else repr(value)


def _integers(text: str) -> tuple[int, ...]:
    items = [item.strip() for item in text.split(",")]
    if items[-1] == "":
        del items[-1]
    return tuple(_integer(item) for item in items)


def _integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        shown = text if len(text) <= 40 else f"{text[:40]}..."
        raise ValueError(
            f"'{shown}' is neither an integer, True, False, None nor a flat list of integers"
        )
    value = int(text)
    if abs(value) > MAX_INTEGER:
        raise ValueError(f"{text} needs more than 64 bits")
    return value
