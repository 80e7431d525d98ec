"""Lines of generated code: how they are indented and, where they are long, go on below.

A line is a text; one that is broken in a way of its own is of a class that says so.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Self

from cvmgen.emit.line_map import MarkedLine

WIDTH = 100
TEXT = r""" "(?:\\.|[^"\\])*"? | '(?:\\.|[^'\\])*'? """.replace(" ", "")
OPENING, CLOSING = ("(", "[", "{"), (")", "]", "}")
OPERATORS = ("&&", "||", "&", "|", "+", "-", "*", "/", "?", ":")
BREAKS = (", ", "; ", *(f" {each} " for each in OPERATORS), " PRId64")
PYTHON_WORDS = (" if ", " else ", " and ", " or ", " for ")
PYTHON_BREAKS = (", ", *PYTHON_WORDS, " + ", " - ", " * ", " // ", " % ")
ASSIGNED = " = "


class StructuredLine(str):
    """A line of which it is known what it consists of."""

    @abstractmethod
    def indented(self, pad: str) -> Self:
        """The line with this in front."""

    @abstractmethod
    def broken(self) -> list[str]:
        """The lines that it is where it is too long."""


class Comment(StructuredLine):
    """A comment on lines of its own, which ends between words; `hang` is how far lines but the
    first stand further in."""

    pad: str
    words: tuple[str, ...]
    hang: str

    def __new__(cls, words: Iterable[str], hang: str, pad: str = "") -> Comment:
        known = tuple(words)
        made = super().__new__(cls, pad + " ".join(known))
        made.pad, made.words, made.hang = pad, known, hang
        return made

    def indented(self, pad: str) -> Comment:
        return Comment(self.words, self.hang, pad + self.pad)

    def broken(self) -> list[str]:
        first, rest = self.pad, self.pad + self.hang
        lines, current = [], first
        for word in self.words:
            longer = current + word if current in (first, rest) else f"{current} {word}"
            if len(longer) > WIDTH and current not in (first, rest):
                lines.append(current)
                longer = rest + word
            current = longer
        return [*lines, current]


class Leaving(StructuredLine):
    """`if (test) return value;` in C."""

    pad: str
    head: str
    leave: str

    def __new__(cls, head: str, leave: str, pad: str = "") -> Leaving:
        made = super().__new__(cls, f"{pad}{head} {leave}")
        made.pad, made.head, made.leave = pad, head, leave
        return made

    def indented(self, pad: str) -> Leaving:
        return Leaving(self.head, self.leave, pad + self.pad)

    def broken(self) -> list[str]:
        inner = f"{self.pad}    "
        return [*_broken(self.pad + self.head, BREAKS, 0, inner), inner + self.leave]


class Valued(StructuredLine):
    """A statement of Python with a value, which may stand in parentheses."""

    pad: str
    head: str
    value: str
    end: str

    def __new__(cls, head: str, value: str, end: str = "", pad: str = "") -> Valued:
        made = super().__new__(cls, f"{pad}{head} {value}{end}")
        made.pad, made.head, made.value, made.end = pad, head, value, end
        return made

    def indented(self, pad: str) -> Valued:
        return Valued(self.head, self.value, self.end, pad + self.pad)

    def broken(self) -> list[str]:
        inner = f"{self.pad}    "
        whole = _broken(self, PYTHON_BREAKS, 1, inner)
        head_broken = len(whole[0]) < len(self.pad + self.head)
        if head_broken or any(depth == 0 for *_, depth in _places(self.value, PYTHON_BREAKS)):
            # So it can be broken where it is not in brackets.
            value = _broken(inner + self.value, PYTHON_BREAKS, 0, inner)
            return [f"{self.pad}{self.head} (", *value, f"{self.pad}){self.end}"]
        return whole


def indented(lines: Iterable[str], by: int = 4) -> list[str]:
    """The lines so many columns further in; empty ones stay empty."""
    pad = " " * by
    return [_moved(line, pad) for line in lines]


def _moved(line: str, pad: str) -> str:
    match line:
        case MarkedLine(line=whole, mark=mark):
            return MarkedLine(_moved(whole, pad), mark)
        case StructuredLine():
            return line.indented(pad)
        case _:
            return f"{pad if line else ''}{line}"


def wrap_c(lines: Iterable[str]) -> list[str]:
    """C lines of at most WIDTH columns where a break is possible."""
    return _wrapped(lines, BREAKS, 0)


def wrap_python(lines: Iterable[str]) -> list[str]:
    """Python lines, broken only inside brackets; comments by words."""
    return _wrapped(lines, PYTHON_BREAKS, 1)


def _wrapped(lines: Iterable[str], signs: tuple[str, ...], least_depth: int) -> list[str]:
    made: list[str] = []
    for line in lines:
        if isinstance(line, MarkedLine):
            made += [each + line.mark for each in _wrapped((line.line,), signs, least_depth)]
        elif len(line) <= WIDTH:
            made.append(line)
        elif isinstance(line, StructuredLine):
            made += line.broken()
        else:
            pad = " " * (len(line) - len(line.lstrip()) + 4)
            made += _broken(line, signs, least_depth, pad)
    return made


def _broken(line: str, signs: tuple[str, ...], least_depth: int, pad: str) -> list[str]:
    """A line in pieces: each ends at its last break at the least depth of brackets, or, where
    none comes in time, in C behind the sign of an assignment or the bracket of a call, or at the
    first."""
    if len(line) <= WIDTH:
        return [line]
    places = [each for each in _places(line, signs) if each[2] >= least_depth]
    stores = [each for each in _places(line, (ASSIGNED,)) if least_depth == 0]
    calls = [each for each in _calls(line) if signs is BREAKS]
    pieces: list[str] = []
    start, lead = 0, ""
    while len(lead) + len(line) - start > WIDTH:
        shift = len(lead) - start
        left = [each for each in places if each[1] + shift > len(pad)]
        if all(sign + shift >= WIDTH for sign, *_ in left):
            inside = (
                [each for each in others if len(pad) < each[1] + shift <= WIDTH]
                for others in (stores, calls)
            )
            left = next(filter(None, inside), left)
        fit = [(-depth, place) for sign, place, depth in left if sign + shift < WIDTH]
        if not left:
            break
        end = max(fit)[1] if fit else left[0][1]
        # What is stored to stays whole where its line has room for it.
        whole = (at for _, at, depth in stores if depth == 0 and end < at <= WIDTH - shift)
        end = next(whole, end)
        pieces.append(lead + line[start:end].rstrip())
        start, lead = end, pad
    pieces.append(lead + line[start:])
    return [part for each in pieces for part in _parted(each, pad)] if signs is BREAKS else pieces


def _parted(line: str, pad: str) -> list[str]:
    """A line of C, where it is too long with a text that goes on below, as C reads it."""
    if len(line) <= WIDTH or (begin := _long_text(line)) is None:
        return [line]
    behind = line.rfind(" ", begin + 1, WIDTH - 1) + 1
    if behind == 0:
        return [line]
    return [f'{line[:behind]}"', *_parted(f'{pad}"{line[behind:]}', pad)]


def _long_text(line: str) -> int | None:
    """Where the text begins that goes beyond the width."""
    at = 0
    while 0 <= (at := line.find('"', at)) < WIDTH:
        if (end := _text_end(line, at)) > WIDTH:
            return at
        at = end
    return None


def _places(line: str, signs: tuple[str, ...]) -> Iterator[tuple[int, int, int]]:
    """Where a sign begins, where a line may end there, and the depth of brackets around; signs in
    texts are none."""
    depth = 0
    for found in _marks(signs).finditer(line):
        if found["text"]:
            continue
        if sign := found["sign"]:
            behind = sign in (", ", "; ", ASSIGNED)
            yield found.start(), found.end() if behind else found.start() + 1, depth
        depth += (found[0] in OPENING) - (found[0] in CLOSING)


@cache
def _marks(signs: tuple[str, ...]) -> re.Pattern[str]:
    """The next text, sign or bracket of a line."""
    sign = "|".join(map(re.escape, signs))
    return re.compile(rf"(?P<text>{TEXT})|(?P<sign>{sign})|[(\[{{)\]}}]", re.S)


def _calls(line: str) -> Iterator[tuple[int, int, int]]:
    """The same of the brackets in which functions are given something, the last one best."""
    for at, end, _ in _places(line, ("(",)):
        if line[:at].replace("_", "0")[-1:].isalnum():
            yield at, end, 0


def _text_end(line: str, at: int) -> int:
    """Behind the quote that ends the text which begins there, or the line."""
    quote, at = line[at], at + 1
    while at < len(line) and line[at] != quote:
        at += 2 if line[at] == "\\" else 1
    return at + 1
