"""Which line of generated text computes which part of a formula.

Printers put a mark behind each line of a statement, which holds the statement's place in its spec.
A mark takes no room: lines are broken as if it were not there. When a template is filled in, the
marks leave the text and become its map.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from cvmgen.source import Span

# Noncharacters of Unicode around a mark, and between its parts: `escape` spells them elsewhere.
OPEN, BETWEEN, CLOSE = "\ufdd0", "\ufdd1", "\ufdd2"


class Place(NamedTuple):
    """The characters `start` to `end` (exclusive) of a spec file, which code names so."""

    file: str
    start: int
    end: int


class MarkedLine(str):
    """A line with the mark that stands behind it."""

    line: str
    mark: str

    def __new__(cls, line: str, mark: str) -> MarkedLine:
        made = super().__new__(cls, line + mark)
        made.line, made.mark = line, mark
        return made


def marked(span: Span, lines: Iterable[str]) -> list[str]:
    """The lines of a statement. Those of statements in it have marks of their own."""
    file = span.source.name.encode("utf-8", "surrogatepass").hex()  # which may be any text
    mark = f"{OPEN}{span.start}{BETWEEN}{span.end}{BETWEEN}{file}{CLOSE}"
    return [MarkedLine(line, mark) if line and OPEN not in line else line for line in lines]


def unmarked(line: str) -> str:
    """A line without its mark, to be part of another that has its own."""
    return line.line if isinstance(line, MarkedLine) else line


class MappedText(str):
    """Generated text; `places` says of each of its lines what it computes, if that is known."""

    places: tuple[Place | None, ...]

    def __new__(cls, marked_text: str) -> MappedText:
        lines = [_split(line) for line in marked_text.split("\n")]
        made = super().__new__(cls, "\n".join(text for text, _ in lines))
        made.places = tuple(place for _, place in lines)
        return made


def _split(line: str) -> tuple[str, Place | None]:
    first, *rest = line.split(OPEN)
    if not rest:
        return line, None
    parts = [each.partition(CLOSE) for each in rest]
    start, end, name = parts[0][0].split(BETWEEN)
    file = bytes.fromhex(name).decode("utf-8", "surrogatepass")
    return first + "".join(code for *_, code in parts), Place(file, int(start), int(end))
