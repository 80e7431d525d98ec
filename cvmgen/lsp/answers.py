"""What an editor is told of a place in a file: help, names that may stand there, the outline."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cvmgen.escape import in_markdown, in_markdown_code
from cvmgen.lsp.documents import Document
from cvmgen.lsp.project import Project
from cvmgen.lsp.symbols import FileSymbol
from cvmgen.lsp.words import Help, formula_words, help_of, schedule_help, schedule_words
from cvmgen.source import Span
from cvmgen.spec import declarations as d
from cvmgen.spec.formatting import SCHEDULES
from cvmgen.spec.lexemes import LexemeKind, lexemes
from cvmgen.spec.words import RESERVED

WORD = re.compile(r"[A-Za-z_]\w*")
WHOLE = ("definition", "constant", "family", "operator")
"""What a declaration of its own declares."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A word that may stand at a place: what kind of thing it is, and what is said of it."""

    word: str
    kind: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """An entry of a file's outline, with those below it."""

    name: str
    kind: str
    about: str
    whole: Span
    named: Span
    below: tuple[OutlineEntry, ...] = ()


def word_at(text: str, offset: int) -> re.Match[str] | None:
    """The word that a place stands in, or right behind."""
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    line = text[start : len(text) if end < 0 else end]
    at = offset - start
    found = (each for each in WORD.finditer(line) if each.start() <= at <= each.end())
    word = next(found, None)
    return WORD.search(text, start + word.start()) if word else None


def is_schedule(path: Path) -> bool:
    return path.suffix == SCHEDULES


# ---------------------------------------------------------------- hover


def hover(project: Project, path: Path, offset: int) -> str:
    """What is known of a place, as Markdown; empty where nothing is."""
    document = project.document(path)
    if document is None:
        return ""
    found = word_at(document.text, offset)
    word = found[0] if found else ""
    if is_schedule(path):
        return help_text(schedule_help(word))
    parts = []
    if symbol := project.symbol_at(path, offset):
        parts.append(symbol_text(project, path, symbol))
    elif known := help_text(help_of(word)):
        parts.append(known)
    parts += _facts(project, document, offset, symbol)
    return "\n\n".join(each for each in parts if each)


def help_text(found: Help | None) -> str:
    if found is None:
        return ""
    return f"{in_markdown_code(found.form)}\n\n{in_markdown(found.text)}"


def symbol_text(project: Project, path: Path, symbol: FileSymbol) -> str:
    """What a name stands for: its item, or its whole declaration."""
    of = f" of {symbol.operator}" if symbol.operator not in ("", symbol.name) else ""
    head = f"**{symbol.kind}**{in_markdown(of)}"
    text = statement_of(symbol)
    known = help_of(symbol.name) if symbol.kind == "definition" else None
    return f"{head}\n\n{in_markdown_code(text)}" + (
        f"\n\n{in_markdown(known.text)}" if known else ""
    )


def statement_of(symbol: FileSymbol) -> str:
    """The line in which a name is bound, with those on which it goes on."""
    lines = symbol.span.source.text.split("\n")
    first = symbol.span.line - 1
    margin = len(lines[first]) - len(lines[first].lstrip())
    shown = [lines[first].strip()]
    for line in lines[first + 1 : first + 8]:
        deeper = len(line) - len(line.lstrip()) > margin + (2 if symbol.kind in WHOLE else 0)
        if not line.strip() or not deeper or line.lstrip().startswith(("}", "#")):
            break
        shown.append(line.rstrip()[margin:])
    if symbol.kind in WHOLE and len(lines) > first + 1:
        shown += [each for each in lines[first + 1 : first + 2] if each.strip().startswith('"')]
    return "\n".join(shown)


def _facts(
    project: Project, document: Document, offset: int, symbol: FileSymbol | None
) -> Iterator[str]:
    """Ranges of values, and rules of precision, of the operator at hand where it is right."""
    from cvmgen.inspection.facts import precision_rules, ranges

    chunk = document.chunk_at(offset)
    found = [op for own, op in project.operators(document.path) if chunk and own.text == chunk.text]
    for operator in found:
        with suppress(ArithmeticError, AssertionError, LookupError, RecursionError):
            narrow: tuple[int, str] | None = None
            for span, told in ranges(operator):
                start = chunk_offset(document, span, chunk.text if chunk else "")
                length = span.end - span.start
                inside = start is not None and start <= offset <= start + length
                if inside and (narrow is None or length < narrow[0]):
                    narrow = (
                        length,
                        f"range of {in_markdown(f'`{span.code}`')}: {in_markdown(told)}",
                    )
            if narrow:
                yield narrow[1]
        if symbol is not None and symbol.kind in ("output", "operator"):
            yield from (in_markdown(each) for each in precision_rules(operator))


def chunk_offset(document: Document, span: Span, text: str) -> int | None:
    """Where a place of a text that was checked stands in the file now."""
    if not span.source.text.endswith(text):
        return None
    for each in document.chunks:
        if each.text == text:
            return span.start - (len(span.source.text) - len(text)) + each.start
    return None


# ---------------------------------------------------------------- completion


def candidates(project: Project, path: Path, offset: int) -> list[Candidate]:
    """The words that may stand at a place, those of the declaration at hand first."""
    document = project.document(path)
    if document is None:
        return []
    if is_schedule(path):
        return [_described(each, schedule_help(each)) for each in schedule_words()]
    found: dict[str, Candidate] = {}
    before = word_at(document.text, offset)
    typed = before.start() if before else offset
    chunk = document.chunk_at(typed)
    names = project.names(path)[1]
    kinds = {each.symbol.name: each.symbol for each in names}
    if chunk is not None:
        for each in lexemes(chunk.text):
            own = each.kind is LexemeKind.WORD and each.text not in RESERVED
            if own and chunk.start + each.start != typed:
                known = kinds.get(each.text)
                found[each.text] = Candidate(each.text, known.kind if known else "name")
    for symbol in kinds.values():
        if symbol.kind in WHOLE:
            about = statement_of(symbol)
            found.setdefault(symbol.name, Candidate(symbol.name, symbol.kind, about))
    for word in formula_words():
        found.setdefault(word, _described(word, help_of(word)))
    return list(found.values())


def _described(word: str, known: Help | None) -> Candidate:
    if known is None:
        return Candidate(word, "keyword")
    return Candidate(word, known.kind, f"{known.form}\n{known.text}")


# ---------------------------------------------------------------- outline


def outline(document: Document) -> Iterator[OutlineEntry]:
    """The declarations of a file, with their items."""
    for chunk in document.chunks:
        for each in chunk.parsed.declarations:
            if isinstance(each, d.Import):
                continue
            whole, named = document.place(each.span), document.place(each.name_span)
            if whole is not None and named is not None:
                about, below = "", tuple[OutlineEntry, ...]()
                if isinstance(each, d.OperatorDecl | d.FamilyDecl | d.InstanceDecl) and each.block:
                    about = each.block.doc
                    below = tuple(item_entries(document, each.block))
                yield OutlineEntry(each.name, declared_kind(each), about, whole, named, below)


def item_entries(document: Document, block: d.BlockDecl) -> Iterator[OutlineEntry]:
    for item in block.items:
        match item:
            case d.OperandDecl(output=output, place=place, span=span):
                kind, named = "output" if output else "input", place.span
            case d.AttributeDecl(span=span, name_span=named):
                kind = "attribute"
            case d.LetDecl(span=span, name_span=named):
                kind = "let"
            case d.CaseDecl(block=inner) | d.WithinDecl(block=inner):
                yield from item_entries(document, inner)
                continue
            case _:
                continue
        whole, name = document.place(span), document.place(named)
        if whole is not None and name is not None:
            yield OutlineEntry(name.text, kind, whole.code, whole, name)


def declared_kind(each: d.Declaration) -> str:
    match each:
        case d.Const():
            return "constant"
        case d.Definition():
            return "definition"
        case d.FamilyDecl():
            return "family"
        case d.OperatorDecl() | d.InstanceDecl():
            return "operator"
