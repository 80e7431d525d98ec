"""Syntax errors in the language's own words: no names of terminals, no parser states."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from lark import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from cvmgen.source import Source, Span, SpecError, did_you_mean, nearest
from cvmgen.spec.grammar import spelling
from cvmgen.spec.nodes import REDUCTIONS
from cvmgen.spec.words import DECLARATIONS, ITEMS, RESERVED

RELATIONS = {"==", "!=", "<=", ">=", "<", ">"}
# Terminals that begin or continue something come in groups; a message names the group.
GROUPS = (
    (
        {"NAME", "NUMBER", "LPAR"},
        {"NAME", "NUMBER", "LPAR", "LBRACE", "SUM_SIGN", "TRUE", "FALSE", "NOT"},
        "a formula",
    ),
    (
        {"INPUT", "LET"},
        {"NAME", "TEXT", *(word.upper() for word in ITEMS)},
        "an item such as 'input', 'let' or 'output'",
    ),
    ({"CONST", "DEF"}, {word.upper() for word in DECLARATIONS}, "a declaration"),
)
# A formula that has begun can nearly always go on with one of these: naming them helps nobody.
CONTINUE = {"SUM_SIGN", "PRODUCT_SIGN", "CIRCUMFLEX", "AND", "OR", "IF", "IN", "LSQB"}
FOREIGN = {
    "&": "write 'and'",
    "|": "write 'or'",
    "!": "write 'not', or '!=' for unequal",
    "%": "write 'mod' for the floor remainder",
    "'": "texts stand in double quotes",
    ";": "nothing is needed between items",
    "“": "texts stand in straight double quotes",
    "”": "texts stand in straight double quotes",
    "≤": "write '<='",
    "≥": "write '>='",
    "≠": "write '!='",
    "×": "write '*'",
    "·": "write '*'",
    "÷": "write 'div' (floor) or 'tdiv' (toward zero)",
    "−": "write '-'",
    "…": "write three dots: '...'",
    "∈": "write 'in'",
    "∀": "write 'forall'",
    "∑": "write sum[i < N](...)",
    "Σ": "write sum[i < N](...)",
    "∏": "write prod[i < N](...)",
    "∧": "write 'and'",
    "∨": "write 'or'",
    "¬": "write 'not'",
    "⌊": "write 'div' for a quotient rounded down",
    "⌈": "write ceildiv(a, b) for a quotient rounded up",
}
BRACKETS = re.compile(r'"[^"\n]*"|#[^\n]*|\bin\s*[(\[]|[()\[\]{}]')
CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class Fault:
    """A token that cannot stand where it is, in the declaration that begins at `start`."""

    source: Source
    start: int
    at: int
    text: str
    is_name: bool
    accepted: frozenset[str]

    @property
    def span(self) -> Span:
        return Span(self.source, self.at, self.at + len(self.text))

    @property
    def before(self) -> str:
        """The declaration up to the token."""
        return self.source.text[self.start : self.at]

    @property
    def previous(self) -> str:
        """The word or sign before the token."""
        found = re.search(r"([A-Za-z_]\w*|[^\w\s])\s*$", self.before)
        return found[1] if found else ""

    @property
    def first_on_line(self) -> bool:
        return not self.before.rpartition("\n")[2].strip()


def explain_syntax(error: UnexpectedInput, source: Source, start: int, end: int) -> SpecError:
    """The SpecError for what lark found in the declaration source.text[start:end]."""
    if isinstance(error, UnexpectedCharacters):
        assert error.pos_in_stream is not None
        return foreign(source, start + error.pos_in_stream)
    if not isinstance(error, UnexpectedToken) or error.token.type == "$END":
        return unfinished(source, start, end, getattr(error, "accepts", None) or ())
    token = error.token
    accepted = frozenset(error.accepts or error.expected)
    at = start + (token.start_pos or 0)
    is_name = bool(re.fullmatch(r"[A-Za-z_]\w*", token))
    return unexpected(Fault(source, start, at, str(token), is_name, accepted))


def foreign(source: Source, at: int) -> SpecError:
    """A character that begins nothing in the language."""
    char = source.text[at]
    span = Span(source, at, at + 1)
    if char == '"':
        rest = source.text[at:].partition("\n")[0].rstrip()
        hint = "a text ends on the line where it begins, with '\"'"
        return SpecError(Span(source, at, at + len(rest)), "this text is not closed", hint)
    if source.text.startswith("..", at):
        return SpecError(Span(source, at, at + 2), "'..' has no meaning", "a pack is written n...")
    if char == ".":
        return SpecError(span, "'.' has no meaning here", "this version has integers only")
    shown = f"'{char}'" if char.isprintable() and char != "'" else ascii(char)
    return SpecError(span, f"{shown} has no meaning here", FOREIGN.get(char, ""))


def unfinished(source: Source, start: int, end: int, accepted: Iterable[str]) -> SpecError:
    """The declaration stops too early: point at the open bracket or at its last character."""
    text = source.text[start:end]
    still_open = open_brackets(text)
    where = "the end of the file"
    if end < len(source.text):
        where = f"the declaration in line {source.line_of(end)}"
    if still_open:
        return not_closed(source, start + still_open[-1], f"before {where}")
    code = re.sub(r"#[^\n]*", lambda comment: " " * len(comment[0]), text).rstrip()
    at = start + max(len(code) - 1, 0)
    names = expected(accepted)
    message = f"{names} is missing after this" if names else "the declaration is not finished"
    return SpecError(Span(source, at, at + 1), message)


def open_brackets(text: str) -> list[int]:
    """Offsets of the brackets that are still open at the end of `text`, the innermost last."""
    still_open: list[tuple[str, int]] = []
    for match in BRACKETS.finditer(text):
        sign = match[0]
        if sign[0] in '"#':
            continue
        if sign[-1] in CLOSING:
            # A range [a, b) may close with another bracket than the one that opened it.
            kind = "range" if sign.startswith("in") else sign
            still_open.append((kind, match.end() - 1))
            continue
        while still_open:
            kind, _ = still_open.pop()
            if CLOSING.get(kind) == sign or (kind == "range" and sign != "}"):
                break
    return [at for _, at in still_open]


def not_closed(source: Source, at: int, where: str) -> SpecError:
    sign = source.text[at]
    message = f"this '{sign}' is not closed"
    return SpecError(Span(source, at, at + 1), message, f"'{CLOSING[sign]}' is missing {where}")


def unexpected(fault: Fault) -> SpecError:
    for explain in (misspelt_word, rangeless, open_bracket):
        found = explain(fault)
        if found is not None:
            return found
    hint = advice(fault)
    if fault.text in ")]}" and not open_brackets(fault.before):
        return SpecError(fault.span, f"'{fault.text}' closes nothing", hint or "remove it")
    message = f"'{fault.text}' cannot stand here"
    names = expected(fault.accepted)
    return SpecError(fault.span, f"{message}; expected {names}" if names else message, hint)


def misspelt_word(fault: Fault) -> SpecError | None:
    """`inptu X : …` or `opertor x {`: a word at the beginning that the language does not have."""
    in_block = bool(open_brackets(fault.before))
    candidates = ITEMS if in_block else DECLARATIONS
    if "DEF" in fault.accepted and fault.is_name:
        return unknown_word(fault.span, fault.text, candidates)
    if "INPUT" in fault.accepted and fault.is_name:
        return unknown_word(fault.span, fault.text, candidates)
    previous = fault.previous
    if (not fault.is_name and fault.text not in '"({:') or previous in RESERVED:
        return None
    if not {"LSQB", "EQUAL"} <= fault.accepted or not re.match(r"[A-Za-z_]", previous):
        return None
    at = fault.start + len(fault.before.rstrip()) - len(previous)
    if not nearest(previous, candidates):
        return None
    return unknown_word(Span(fault.source, at, at + len(previous)), previous, candidates)


def unknown_word(span: Span, word: str, candidates: Iterable[str]) -> SpecError:
    known = tuple(candidates)
    what = "declares nothing" if known == DECLARATIONS else "begins no item"
    words = ", ".join(f"'{each}'" for each in known)
    hint = did_you_mean(word, known) or f"one of {words} is needed here"
    return SpecError(span, f"'{word}' {what}", hint)


def rangeless(fault: Fault) -> SpecError | None:
    """`sum[i](X[i])`: a reduction whose index has no range."""
    found = re.search(r"\b([A-Za-z_]\w*)\s*\[([^\[\]]*)\]\s*$", fault.before)
    if fault.text != "(" or found is None:
        return None
    name, index = found[1], found[2].strip()
    if name not in REDUCTIONS:
        hint = did_you_mean(name, REDUCTIONS)
        return SpecError(fault.span, "only a reduction has both an index and a body", hint)
    at = fault.start + found.start(2)
    span = Span(fault.source, at, at + max(len(found[2]), 1))
    letter = index if re.fullmatch(r"[A-Za-z_]\w*(\.\.\.)?", index) else "i"
    limit = "n..." if letter.endswith("...") else "N"
    hint = f"write {name}[{letter} < {limit}](...)"
    return SpecError(span, f"the reduction '{name}' needs a range for its index", hint)


def open_bracket(fault: Fault) -> SpecError | None:
    """A bracket before the token was not closed, for the token begins something new."""
    still_open = open_brackets(fault.before)
    if not still_open:
        return None
    at = fault.start + still_open[-1]
    new_item = fault.first_on_line and fault.text not in RELATIONS and fault.text[0] not in ",*+-)]"
    if fault.source.text[at] == "{" or not (new_item or fault.text in (*ITEMS, "}")):
        return None
    return not_closed(fault.source, at, f"before '{fault.text}' in line {fault.span.line}")


def advice(fault: Fault) -> str:
    """What mends the slips that are made most."""
    text, accepted = fault.text, fault.accepted
    line = fault.before.rpartition("\n")[2]
    if text == "=" and "EQUAL" not in accepted:
        return "equality is written '=='"
    if text == "==" and "EQUAL" in accepted:
        return "what a name or an element is, is written with one '='"
    if text == "*" and fault.previous == "*":
        return "a power is written 2^n"
    if "/" in text:
        return "write 'div' (floor) or 'tdiv' (toward zero)"
    if text == "for" and "FORALL" in accepted:
        return "after an equation its ranges follow the word 'forall'"
    if text in (*RELATIONS, "]") and "[" in line and "LESSTHAN" in accepted | {text}:
        return "a range is i < N or a <= i < b; a condition follows the word 'if'"
    if text == "..." and "PACK" not in accepted:
        return "'...' follows a pack inside brackets"
    if "ELSE" in accepted and len(accepted - CONTINUE) < 6:
        return "an 'if' needs its 'else': a if condition else b"
    if (text.startswith('"') and "COLON" in accepted) or fault.previous == "require":
        return 'write: require condition : "message"'
    if text in RESERVED and "NAME" in accepted:
        return f"'{text}' is a word of the language; choose another name"
    return ""


def expected(terminals: Iterable[str]) -> str:
    """`'(' or a name`: at most four ways to go on, or nothing when there are more."""
    left = set(terminals)
    words = []
    for mark, members, phrase in GROUPS:
        if mark <= left:
            words.append(phrase)
            left -= members
    if "PRODUCT_SIGN" in left:
        left -= CONTINUE | {name for name in left if spelling(name).strip("'") in RELATIONS}
    words = [*sorted(map(spelling, left)), *words]
    if not words or len(words) > 4:
        return ""
    if len(words) == 1:
        return words[0]
    return f"{', '.join(words[:-1])} or {words[-1]}"
