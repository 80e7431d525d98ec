"""Files as an editor has them, cut into declarations: what did not change is not parsed again.

Each declaration has a source of its own, with as many empty lines in front as stand above it, so
that what is said of a line names the right one; `shift` leads from there into the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cvmgen.source import Source, Span, SpecError, check_visible
from cvmgen.spec import declarations as d
from cvmgen.spec.parse import DECLARED_NAME, Parsed, declaration_spans, parse_all


@dataclass(frozen=True, slots=True)
class DocumentFault:
    """What is wrong, or may not be meant, at a place of a file."""

    span: Span
    message: str
    hint: str
    warning: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Chunk:
    """A declaration, or what could not be read as one."""

    text: str
    start: int  # in the file
    lines: int  # that stand above it
    source: Source
    parsed: Parsed

    @property
    def shift(self) -> int:
        return self.start - self.lines

    @property
    def is_operator(self) -> bool:
        kinds = (d.OperatorDecl, d.InstanceDecl)
        found = self.parsed.declarations
        return bool(found) and all(isinstance(each, kinds) for each in found)

    @property
    def name(self) -> str:
        """What it declares first, also where it cannot be parsed."""
        found = DECLARED_NAME.search(self.text)
        return found[1] if found else ""


@dataclass(slots=True)
class Document:
    """A file, as it is on the disk or in an editor."""

    path: Path
    opset: str
    text: str = ""
    chunks: Sequence[Chunk] = ()
    read: dict[str, Chunk] = field(default_factory=dict)  # the last good ones, by name
    source: Source = field(init=False)
    late: list[DocumentFault] = field(default_factory=list)  # what a closer look at this text found

    def __post_init__(self) -> None:
        text, self.text = self.text, ""
        self.source = Source(self.path.name, "", self.path.as_posix())
        self.update(text)

    def update(self, text: str) -> None:
        """Take the text that the file has now."""
        known: dict[str, list[Chunk]] = {}
        for each in self.chunks:
            known.setdefault(each.text, []).append(each)
        self.text = text
        self.late = []
        self.source = Source(self.source.name, text, self.source.path)
        self.chunks = [
            self.chunk(start, text[start:end], known) for start, end in declaration_spans(text)
        ]
        self.read |= {each.name: each for each in self.chunks if not each.parsed.errors}

    def chunk(self, start: int, text: str, known: dict[str, list[Chunk]]) -> Chunk:
        lines = self.source.line_of(start) - 1
        if known.get(text):
            old = known[text].pop(0)
            return Chunk(text, start, old.lines, old.source, old.parsed)
        source = Source(self.source.name, "\n" * lines + text, self.source.path)
        return Chunk(text, start, lines, source, parse_all(source))

    def declared(self) -> tuple[d.TopLevel, ...]:
        """All declarations; of those that cannot be read now what they were before."""
        found: list[d.TopLevel] = []
        for each in self.chunks:
            good = each if not each.parsed.errors else self.read.get(each.name)
            found += good.parsed.declarations if good else ()
        return tuple(found)

    def chunk_of(self, span: Span) -> Chunk | None:
        return next((each for each in self.chunks if each.source is span.source), None)

    def chunk_at(self, offset: int) -> Chunk | None:
        within = (
            each for each in self.chunks if each.start <= offset <= each.start + len(each.text)
        )
        return next(within, None)

    def place(self, span: Span) -> Span | None:
        """A place in a declaration as a place in the file; None of one that is not there now."""
        if span.source is self.source:
            return span
        chunk = self.chunk_of(span)
        if chunk is None:
            return None
        return Span(self.source, span.start + chunk.shift, span.end + chunk.shift)


def unseen(text: str) -> Iterable[SpecError]:
    """The first character that a reader would not see."""
    try:
        check_visible(Source("", text.replace("\r\n", "\n")))
    except SpecError as error:
        yield error
