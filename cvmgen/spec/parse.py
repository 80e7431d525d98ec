"""Text to syntax tree; one syntax error for each declaration that has one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from unicodedata import normalize

from lark import Token, Tree, UnexpectedInput

from cvmgen.source import Source, Span, SpecError, SpecErrors
from cvmgen.spec import declarations as d
from cvmgen.spec.builder import Builder
from cvmgen.spec.grammar import grammar
from cvmgen.spec.messages import explain_syntax

DECLARATION_START = re.compile(r"^(?=(?:import|const|def|family|operator)\b)", re.MULTILINE)
DECLARED_NAME = re.compile(r"(?:const|def|family|operator)\s+([A-Za-z_]\w*)")


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a file declares and imports, and the names of the declarations that have a syntax
    error."""

    declarations: tuple[d.TopLevel, ...]
    broken: frozenset[str]
    errors: tuple[SpecError, ...]


def parse(source: Source) -> tuple[d.TopLevel, ...]:
    """The declarations of a file; raises SpecErrors with every syntax error found."""
    parsed = parse_all(source)
    if parsed.errors:
        raise SpecErrors(parsed.errors)
    return parsed.declarations


def parse_all(source: Source) -> Parsed:
    """Each declaration by itself, so that an error in one does not hide the others."""
    declarations: list[d.TopLevel] = []
    broken: set[str] = set()
    errors: list[SpecError] = []
    for start, end in declaration_spans(source.text):
        try:
            declarations.extend(parse_part(source, start, end))
        except SpecError as error:
            errors.append(error)
            broken.update(DECLARED_NAME.findall(source.text, start, end)[:1])
    return Parsed(tuple(declarations), frozenset(broken), tuple(errors))


def parse_at(source: Source, place: int) -> d.TopLevel | None:
    """The declaration that begins at this place of a file without syntax errors, if one does."""
    for start, end in declaration_spans(source.text):
        if start <= place < end:
            found = parse_part(source, start, end)
            return next((each for each in found if each.span.start == place), None)
    return None


def parse_part(source: Source, start: int, end: int) -> list[d.TopLevel]:
    try:
        tree = grammar().parse(source.text[start:end])
        check_names(tree, source, start)
        found: list[d.TopLevel] = Builder(source, start).build(tree)
    except UnexpectedInput as error:
        raise explain_syntax(error, source, start, end) from None
    except RecursionError:
        place = Span(source, start, start + 1)
        raise SpecError(place, "this declaration is nested too deeply") from None
    return found


def check_names(tree: Tree[Token], source: Source, start: int) -> None:
    """Names are such that all languages read the same: to Python a full-width `a` is an `a`."""
    for token in tree.scan_values(lambda each: isinstance(each, Token) and each.type == "NAME"):
        usual = normalize("NFKC", token)
        if token != usual or not token.isidentifier():
            at = start + (token.start_pos or 0)
            hint = f"write {usual}" if usual.isidentifier() else "write it with letters and digits"
            place = Span(source, at, at + len(token))
            raise SpecError(place, f"programs cannot have the name '{token}'", hint)


def declaration_spans(text: str) -> list[tuple[int, int]]:
    """Where each top-level declaration begins and ends, so that each can fail alone."""
    starts = [match.start() for match in DECLARATION_START.finditer(text)]
    if not starts or text[: starts[0]].strip():
        starts.insert(0, 0)
    return list(zip(starts, [*starts[1:], len(text)], strict=True))
