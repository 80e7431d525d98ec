"""Specs in the one layout: `formatted` moves blanks and lines, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, pairwise

from cvmgen.errors import InternalError
from cvmgen.source import Source, Span
from cvmgen.spec import declarations as d
from cvmgen.spec import nodes as n
from cvmgen.spec.layout import Layout, beginning
from cvmgen.spec.lexemes import Lexeme, LexemeKind, comments, lexemes
from cvmgen.spec.parse import parse
from cvmgen.spec.schedules import IntrinsicBlock, ScheduleDefinition, parse_schedules

STEP = 2
QUOTED = re.compile(r'#[^\n]*|"[^"]*"')
FORMULA_LINE = re.compile(r"(?:input|output)[ \t]|\w+[ \t]*\[")
SCHEDULE = re.compile(r"^(?:schedule|intrinsic)\b", re.MULTILINE)
SCHEDULES = ".sched"
STANDARD_INPUT = "<stdin>"


def _is_schedule(source: Source) -> bool:
    """Whether a file holds schedules; one without a name of its own is known by how it begins."""
    if source.name.endswith(SCHEDULES):
        return True
    return source.name == STANDARD_INPUT and bool(SCHEDULE.search(source.text))


def formatted(source: Source) -> str:
    """The text of a file of formulas or schedules, laid out; raises SpecErrors or SpecError where
    it cannot be parsed. Comments, and what the formulas say, are as before."""
    if _is_schedule(source):
        schedules = parse_schedules(source)
        text = _schedules_text(source.text)
        kept = text == source.text or (
            _schedules_meaning(parse_schedules(replace(source, text=text)))
            == _schedules_meaning(schedules)
        )
    else:
        formulas = parse(source)
        text = _formulas_text(source.text, formulas)
        kept = text == source.text or (
            meaning(parse(replace(source, text=text))) == meaning(formulas)
        )
    if not kept or [*comments(text)] != [*comments(source.text)]:
        raise InternalError(f"laid out, {source.shown} would not say what it says")
    return text


def ended_alike(text: str, before: str) -> str:
    """A text with the line ends that most lines had `before`."""
    if 2 * before.count("\r\n") > before.count("\n"):
        return text.replace("\n", "\r\n")
    return text


def meaning(declarations: Iterable[d.TopLevel]) -> list[d.TopLevel]:
    """Declarations without the text that they were written in."""
    return [
        replace(each, text="") if isinstance(each, d.OperatorDecl) else each
        for each in declarations
    ]


def _schedules_meaning(blocks: Iterable[ScheduleDefinition]) -> list[object]:
    """Schedules, and intrinsics without the places of what they quote."""
    return [
        (replace(each, doc=None, formula=()), _words(each.doc), [*map(_words, each.formula)])
        if isinstance(each, IntrinsicBlock)
        else each
        for each in blocks
    ]


def _words(span: Span | None) -> list[str]:
    return [each.text for each in lexemes(span.text)] if span else []


# ---------------------------------------------------------------- formulas


@dataclass(frozen=True, slots=True)
class FormatPiece:
    """A comment, an item, the head of a block, or its end; `depth` blocks are open around it."""

    depth: int
    lexemes: tuple[Lexeme, ...]

    @property
    def blank(self) -> bool:
        """Whether an empty line stands in front of it."""
        return self.lexemes[0].lines > 1

    @property
    def code(self) -> tuple[Lexeme, ...]:
        return tuple(each for each in self.lexemes if not each.is_comment)


def _formulas_text(text: str, declarations: Sequence[d.TopLevel]) -> str:
    pieces = list(_pieces(lexemes(text), declarations))
    lines: list[str] = []
    opened = True  # a file, or a block, begins
    for piece, pads in zip(pieces, _pads(pieces), strict=True):
        closes = [each.text for each in piece.code] == ["}"]
        if piece.blank and not opened and not closes:
            lines.append("")
        lines += Layout(piece.lexemes, STEP * piece.depth, pads).lines()
        opened = bool(piece.code) and piece.code[-1].text == "{"
    return "".join(f"{line}\n" for line in lines)


def _pieces(found: Sequence[Lexeme], declarations: Sequence[d.TopLevel]) -> Iterator[FormatPiece]:
    """Where a new line always begins: in front of items and comments, behind and before braces."""
    blocks = [each.span for each in n.walk(tuple(declarations)) if isinstance(each, d.BlockDecl)]
    opening, closing = {each.start for each in blocks}, {each.end - 1 for each in blocks}
    begins = closing | {each.span.start for each in declarations}
    begins |= {item.span.start for item in _items(declarations)}
    code = [each for each in found if not each.is_comment]
    begins |= {first.start for brace, first in pairwise(code) if brace.start in opening}
    depth, current = 0, list[Lexeme]()
    for number, each in enumerate(found):
        after = next((one for one in found[number:] if not one.is_comment), None)
        behind = current and any(one.start in opening | closing for one in current)
        apart = after is None or after.start in begins or behind
        if (each.start in begins or (apart and (not each.is_comment or each.lines))) and current:
            yield FormatPiece(depth, tuple(current))
            depth += sum(one.start in opening for one in current)
            current = []
        depth -= each.start in closing
        current.append(each)
    if current:
        yield FormatPiece(depth, tuple(current))


def _items(declarations: Sequence[d.TopLevel]) -> Iterator[d.ItemDecl]:
    blocks = (each for each in n.walk(tuple(declarations)) if isinstance(each, d.BlockDecl))
    return chain.from_iterable(each.items for each in blocks)


# ---------------------------------------------------------------- columns


def _pads(pieces: Sequence[FormatPiece]) -> Iterator[Mapping[int, int]]:
    """For each piece the blanks that line up what its author has lined up: the signs `=` of lets in
    a row, or of equations for one tensor; the components of attributes."""
    numbered = list(enumerate(pieces))
    for _, row in groupby(numbered, key=lambda pair: _row(pieces, *pair)):
        yield from _row_pads([piece for _, piece in row])


def _row(pieces: Sequence[FormatPiece], number: int, piece: FormatPiece) -> tuple[int, str]:
    """Where the row of a piece begins, and what it is made of."""
    word = piece.lexemes[0].text
    lined = beginning(piece.lexemes) in ("let", "attr", "")
    first = number
    while first and not pieces[first].blank and pieces[first - 1].lexemes[0].text == word:
        first -= 1
    return (first, word if lined else f"{number}")


def _row_pads(row: Sequence[FormatPiece]) -> Iterator[Mapping[int, int]]:
    """Rows that stand in one column stay; those of which one is moved are moved together. What is
    alone is lined up with nothing."""
    places = [_column_place(each) for each in row]
    there = [
        (_head_width(piece, place), piece.lexemes[place].gap)
        for piece, place in zip(row, places, strict=True)
        if place is not None
    ]
    columns = {width + gap for width, gap in there}
    aligned = len(there) > 1 and any(gap > 1 for _, gap in there)
    column = (
        max(columns) if len(columns) == 1 else 1 + max((width for width, _ in there), default=0)
    )
    for piece, place in zip(row, places, strict=True):
        moved = aligned and place is not None
        yield {place: column - _head_width(piece, place) - 1} if moved and place else {}


def _column_place(piece: FormatPiece) -> int | None:
    """The lexeme of an item that those of items below it may be lined up with."""
    texts, word = [each.text for each in piece.lexemes], beginning(piece.lexemes)
    if word == "attr":
        place = 2 if texts[2:3] == ["("] else None
    else:
        place = texts.index("=") if word in ("let", "") and "=" in texts else None
    if place is None:
        return None
    return place if not any(each.lines for each in piece.lexemes[1 : place + 1]) else None


def _head_width(piece: FormatPiece, place: int) -> int:
    (line,) = Layout(piece.lexemes[:place], 0).lines()
    return len(line)


# ---------------------------------------------------------------- schedules


def _schedules_text(text: str) -> str:
    """Each line as it is, its words one blank apart; what a text in quotes says stays."""
    within = _quoted_ends(text)
    lines: list[str] = []
    depth = 0
    for number, line in enumerate(text.split("\n")):
        if number - 1 in within:
            lines.append(line if number in within else line.rstrip())
            continue
        stripped = line.lstrip() if number in within else line.strip()
        if stripped:
            depth -= stripped.startswith("}")
            lines.append(" " * STEP * depth + _schedule_line(stripped))
            depth += stripped.split("#")[0].rstrip().endswith("{")
        elif lines and lines[-1] and not lines[-1].endswith("{"):
            lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n" if lines else ""


def _quoted_ends(text: str) -> set[int]:
    """The lines whose ends stand within a text in quotes, by their numbers from 0."""
    ends: set[int] = set()
    for each in QUOTED.finditer(text):
        if each[0].startswith('"'):
            first = text.count("\n", 0, each.start())
            ends.update(range(first, first + each[0].count("\n")))
    return ends


def _schedule_line(line: str) -> str:
    if line.startswith(("#", '"')) or line == "}":
        return line
    if FORMULA_LINE.match(line):
        return "\n".join(Layout(lexemes(line), 0).lines())
    found = lexemes(line)
    text = found[0].text
    for each in found[1:]:
        if each.kind is LexemeKind.COMMENT:
            text += " " * max(2, each.gap)
        elif each.text != ",":
            text += " "
        text += each.text
    return text
