"""Schedules as they are written: text to actions, one syntax error for each file."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from lark import Lark, Token, Transformer, UnexpectedInput, v_args

from cvmgen.source import Source, Span, SpecError, SpecErrors, read_source
from cvmgen.spec.tables import parser
from cvmgen.spec.words import alternatives

SIGNS = {
    "PREPOSITION": ("'by'", "'into'", "'over'", "'when'", "'with'"),
    "RELATION": ("'<='", "'>='"),
}
SPELLED = {
    "NAME": "a name",
    "NUMBER": "a number",
    "TEXT": "a text in double quotes",
    "_NEWLINE": "the end of the line",
    "SCHEDULE": "'schedule'",
    "INTRINSIC": "'intrinsic'",
    "FORMULA": "a line of its formula",
    "FOR": "'for'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "COMMA": "','",
    "$END": "the end of the file",
}


def _span() -> Span:
    return field(compare=False, repr=False)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class OperandName:
    text: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class OperandNumber:
    value: int
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Test:
    """`measure >= number`."""

    measure: OperandName
    relation: str
    bound: OperandName | OperandNumber
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Setting:
    """`name number`."""

    name: OperandName
    value: int
    span: Span = _span()


PatternOperand = OperandName | OperandNumber | Setting | Test


@dataclass(frozen=True, slots=True)
class Clause:
    """Operands behind a preposition, or ('') right behind the name of the action."""

    preposition: str
    operands: tuple[PatternOperand, ...]


@dataclass(frozen=True, slots=True)
class Action:
    name: str
    clauses: tuple[Clause, ...]
    span: Span = _span()
    name_span: Span = _span()


@dataclass(frozen=True, slots=True)
class Schedule:
    """What a target does with the nests of a class, action by action."""

    shape: OperandName
    target: OperandName
    doc: str
    actions: tuple[Action, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class IntrinsicBlock:
    """What a target calls: its meaning, lines of a formula, and lines that look like actions."""

    name: OperandName
    target: OperandName
    doc: Span | None
    formula: tuple[Span, ...]
    lines: tuple[Action, ...]
    braces: Span = _span()
    span: Span = _span()


ScheduleDefinition = Schedule | IntrinsicBlock


@cache
def schedule_grammar(*, strict: bool = False) -> Lark:
    """The LALR parser of schedules; `strict` as of `parser`."""
    return parser("schedule.lark", strict=strict, start=["start", "action"])


def read_files(folder: Path, shown: str) -> tuple[ScheduleDefinition, ...]:
    """What the `.sched` files of a folder define; raises SpecErrors."""
    found: list[ScheduleDefinition] = []
    errors: list[SpecError] = []
    for path in sorted(folder.glob("*.sched")):
        source = read_source(f"{shown}/{path.name}", path)
        try:
            found += parse_schedules(source)
        except SpecError as error:
            errors.append(error)
    if errors:
        raise SpecErrors(errors)
    return tuple(found)


def parse_schedules(source: Source) -> tuple[ScheduleDefinition, ...]:
    """What a file defines; SpecError for the first thing that cannot stand where it is."""
    return tuple(parsed(source, "start"))


def parse_action(text: str) -> Action:
    """One action by itself."""
    found: Action = parsed(Source("action", text), "action")
    return found


def parsed(source: Source, start: str) -> Any:
    try:
        return ScheduleBuilder(source).transform(schedule_grammar().parse(source.text, start=start))
    except UnexpectedInput as error:
        raise syntax_fault(error, source) from None


def syntax_fault(error: UnexpectedInput, source: Source) -> SpecError:
    """What stands there, and what could."""
    at: int | None = error.pos_in_stream  # None at the end, whatever lark declares
    token = getattr(error, "token", None)
    known = set(getattr(error, "accepts", None) or getattr(error, "allowed", None) or ())
    if at is None or at < 0:
        at = len(source.text.rstrip())
    if (opened := open_text(source.text, at)) is not None:
        end = source.text.find("\n", opened)
        span = Span(source, opened, len(source.text) if end < 0 else end)
        return SpecError(span, "this text has no end", "close it with '\"'")
    length = len(token) if token is not None and token.type != "$END" else 1
    line_end = token is not None and token.type in ("_NEWLINE", "$END")
    what = "the line ends here" if line_end else f"unexpected '{source.text[at : at + length]}'"
    expected = sorted(
        each for name in known for each in SIGNS.get(name, (SPELLED.get(name),)) if each
    )
    hint = f"expected {alternatives(expected)}" if expected else ""
    if source.text[at : at + 1] in tuple("<=>!"):
        hint = "a measure is compared by '>='"
    elif token == "if":
        hint = "a condition follows the word 'when'"
    return SpecError(Span(source, at, at + (1 if line_end else length)), what, hint)


def open_text(text: str, at: int) -> int | None:
    """Where a text begins that has no end: its first quote is alone in front of `at`, or the next
    one is behind the end of its block."""
    quotes = [place for place in range(at) if text[place] == '"']
    if text[at : at + 1] == '"':
        return at
    if len(quotes) >= 2 and len(quotes) % 2 == 0 and "\n}" in text[quotes[-2] : quotes[-1]]:
        return quotes[-2]
    return None


@v_args(inline=True)
class ScheduleBuilder(Transformer[Token, Any]):
    """Parse trees to nodes."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.source = source

    def span(self, token: Token) -> Span:
        assert token.start_pos is not None
        assert token.end_pos is not None
        return Span(self.source, token.start_pos, token.end_pos)

    def start(self, *definitions: ScheduleDefinition) -> list[ScheduleDefinition]:
        return list(definitions)

    def schedule(self, shape: Token, target: Token, *rest: Token | Action) -> Schedule:
        doc = next((str(each)[1:-1] for each in rest if isinstance(each, Token)), "")
        actions = tuple(each for each in rest if isinstance(each, Action))
        names = (self.name(shape), self.name(target))
        return Schedule(*names, doc, actions, names[0].span.to(names[1].span))

    def intrinsic(self, name: Token, target: Token, *rest: Token | Action) -> IntrinsicBlock:
        tokens = [each for each in rest if isinstance(each, Token)]
        docs = [self.span(each) for each in tokens if each.type == "TEXT"]
        formula = tuple(self.span(each) for each in tokens if each.type == "FORMULA")
        lines = tuple(each for each in rest if isinstance(each, Action))
        names = (self.name(name), self.name(target))
        first, last = (self.span(each) for each in tokens if each.type in ("LBRACE", "RBRACE"))
        doc = docs[0] if docs else None
        span = names[0].span.to(names[1].span)
        return IntrinsicBlock(*names, doc, formula, lines, first.to(last), span)

    def action(self, name: Token, *rest: tuple[PatternOperand, ...] | Clause) -> Action:
        clauses = tuple(each if isinstance(each, Clause) else Clause("", each) for each in rest)
        span = self.span(name)
        ends = [operand.span for clause in clauses for operand in clause.operands]
        return Action(str(name), clauses, span.to(ends[-1]) if ends else span, span)

    def clause(self, preposition: Token, operands: tuple[PatternOperand, ...]) -> Clause:
        return Clause(str(preposition), operands)

    def operands(self, *operands: PatternOperand) -> tuple[PatternOperand, ...]:
        return operands

    def name(self, token: Token) -> OperandName:
        return OperandName(str(token), self.span(token))

    def number(self, token: Token) -> OperandNumber:
        return OperandNumber(int(token), self.span(token))

    def setting(self, name: Token, value: Token) -> Setting:
        return Setting(self.name(name), int(value), self.span(name).to(self.span(value)))

    def test(self, measure: Token, relation: Token, bound: Token) -> Test:
        value = self.name(bound) if bound.type == "NAME" else self.number(bound)
        span = self.span(measure).to(self.span(bound))
        return Test(self.name(measure), str(relation), value, span)
