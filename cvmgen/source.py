"""Source text, spans in it, and errors that point at them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from cvmgen.errors import CvmgenError
from cvmgen.escape import hidden, lines_for_terminal, printable

WIDEST = 120  # characters of a line that errors show
LEFT_OUT = "..."


@dataclass(frozen=True)
class Source:
    """One spec file: the name that generated code gives it, wherever it lies (with forward
    slashes), its text, and where users find it."""

    name: str
    text: str
    path: str = field(default="", compare=False)

    @property
    def shown(self) -> str:
        """What messages call it: a path from the current folder, if it came from a file."""
        return self.path or self.name

    @cached_property
    def line_starts(self) -> list[int]:
        starts = [0]
        starts.extend(at + 1 for at, char in enumerate(self.text) if char == "\n")
        return starts

    def line_of(self, offset: int) -> int:
        """The 1-based line that holds character `offset`."""
        from bisect import bisect_right

        return bisect_right(self.line_starts, offset)

    def line_text(self, line: int) -> str:
        start = self.line_starts[line - 1]
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end]


@dataclass(frozen=True, slots=True)
class Span:
    """The characters `start` to `end` (exclusive) of a source."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        return self.source.line_of(self.start)

    @property
    def column(self) -> int:
        return self.start - self.source.line_starts[self.line - 1] + 1

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    @property
    def code(self) -> str:
        """The text on one line, without comments."""
        return code_of(self.text)

    @property
    def place(self) -> str:
        """`file:line`, wherever the file lies."""
        return f"{self.source.name}:{self.line}"

    @property
    def location(self) -> str:
        """`file:line` for people, who can go there."""
        return f"{self.source.shown}:{self.line}"

    def holds(self, other: Span) -> bool:
        """Whether another span begins within this one."""
        return self.source.name == other.source.name and self.start <= other.start < self.end

    def to(self, other: Span) -> Span:
        """From the start of this span to the end of `other`."""
        return Span(self.source, self.start, max(self.end, other.end))

    def __repr__(self) -> str:
        return f"{self.source.name}:{self.line}:{self.column}"


class SpecError(CvmgenError):
    """A fault in a spec: where it is, what is wrong, and what would mend it."""

    def __init__(self, span: Span, message: str, hint: str = "") -> None:
        self.span = span
        self.message = message
        self.hint = hint
        super().__init__(render_fault(span, message, hint))


@dataclass(frozen=True, slots=True)
class SpecWarning:
    """What is right in a spec and yet most likely not meant."""

    span: Span
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return render_fault(self.span, self.message, self.hint, "warning")


class SpecErrors(CvmgenError):
    """All faults that one run found, in the order of the text."""

    def __init__(self, errors: Iterable[SpecError]) -> None:
        unique = {str(error): error for error in errors}
        self.errors = sorted(
            unique.values(), key=lambda error: (error.span.source.name, error.span.start)
        )
        super().__init__("\n\n".join(str(error) for error in self.errors))


def raise_or_keep(errors: Iterable[SpecError], kept: list[SpecError] | None) -> None:
    """Raise SpecErrors if there are errors; or add them to those that are `kept` for the end."""
    found = list(errors)
    if kept is not None:
        kept.extend(found)
    elif found:
        raise SpecErrors(found)


def code_of(text: str) -> str:
    """A piece of a spec on one line, without comments."""
    return " ".join(" ".join(line.split("#", 1)[0] for line in text.splitlines()).split())


def read_source(name: str, path: Path) -> Source:
    """The file at `path`, which is shown as it was named, or from the current folder."""
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors begin a file with a mark
    except UnicodeDecodeError as error:
        raise CvmgenError(f"{path}: byte {error.start} is not UTF-8 text") from None
    here = Path.cwd()
    shown = path.relative_to(here) if path.is_relative_to(here) else path
    source = Source(name, text, shown.as_posix())
    check_visible(source)
    return source


def check_visible(source: Source) -> None:
    """Raise SpecError for the first character that a reader of the file would not see."""
    if source.text.isascii() and source.text.replace("\n", "").replace("\t", "").isprintable():
        return
    for at, char in enumerate(source.text):
        if hidden(char) and char != "\n":
            message = f"the character U+{ord(char):04X} cannot be seen"
            raise SpecError(Span(source, at, at + 1), message, "delete it")


def render_fault(span: Span, message: str, hint: str, kind: str = "error") -> str:
    """The message with its place, the source line, carets below the span, and the hint."""
    text = span.source.line_text(span.line).rstrip("\r").replace("\t", " ")
    marked = text[span.column - 1 : span.column - 1 + span.end - span.start]
    before, width = len(printable(text[: span.column - 1])), max(1, len(printable(marked)))
    shown, before = around(printable(text), before)
    number = str(span.line)
    margin = " " * len(number)
    lines = [
        lines_for_terminal(f"{span.source.shown}:{span.line}:{span.column}: {kind}: {message}"),
        f"{margin} |",
        f"{number} | {shown}",
        f"{margin} | {' ' * before}{'^' * min(width, max(1, len(shown) - before))}",
    ]
    if hint:
        lines.append(f"{margin} = hint: {hint}")
    return "\n".join(lines)


def around(line: str, at: int) -> tuple[str, int]:
    """The part of a long line around a place, and where that place is in it; a short line as it
    is."""
    if len(line) <= WIDEST:
        return line, at
    first = max(0, min(at - WIDEST // 2, len(line) - WIDEST))
    head, tail = (LEFT_OUT if each else "" for each in (first, first + WIDEST < len(line)))
    return f"{head}{line[first : first + WIDEST]}{tail}", at - first + len(head)


def similar_names(word: str, candidates: Iterable[str]) -> Sequence[str]:
    """Up to three candidates that `word` may be a misspelling of, the likeliest first."""
    names = sorted(set(candidates))
    same = [name for name in names if sorted(name.lower()) == sorted(word.lower())]
    close = difflib.get_close_matches(word, names, n=3, cutoff=0.7)
    return tuple(dict.fromkeys(same + close))[:3]


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """A hint with the nearest candidates, or an empty text."""
    found = similar_names(word, candidates)
    if not found:
        return ""
    quoted = [f"'{name}'" for name in found]
    if len(quoted) == 1:
        return f"did you mean {quoted[0]}?"
    return f"did you mean {', '.join(quoted[:-1])} or {quoted[-1]}?"
