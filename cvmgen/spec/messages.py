"""Syntax errors in the language's own words: no names of terminals, no parser states."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from dataclasses import dataclass

from lark import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from cvmgen.source import Source, Span, SpecError, did_you_mean
from cvmgen.spec.grammar import spelling
from cvmgen.spec.nodes import REDUCTIONS, SELECTIONS
from cvmgen.spec.words import DECLARATIONS, FORMULA_WORDS, ITEMS, RESERVED, SELECTION_FORMS

RELATIONS = {"==", "!=", "<=", ">=", "<", ">"}
# Words that stand inside items; a misspelt one reads like the name of a next equation.
INNER_WORDS = (*FORMULA_WORDS, "list", "optional", "empty", "precision", "by")
# Terminals that begin or continue something come in groups; a message names the group.
FORMULA_BEGINS = frozenset(
    ("NAME", "NUMBER", "TEXT", "LPAR", "LBRACE", "SUM_SIGN", "TRUE", "FALSE", "NOT", "REFUSE")
)
GROUPS: tuple[tuple[Set[str], Set[str], str], ...] = (
    (
        {"NAME", "NUMBER", "LPAR"},
        FORMULA_BEGINS,
        "a formula",
    ),
    (
        {"INPUT", "LET"},
        {"NAME", "TEXT", *(word.upper() for word in ITEMS)},
        "an item such as 'input', 'let' or 'output'",
    ),
    ({"CONST", "DEF"}, {word.upper() for word in DECLARATIONS}, "a declaration"),
    ({"NAME", "WHERE", "DIV", "MOD"}, {"NAME", "WHERE", "DIV", "MOD"}, "a name"),
)
# A formula that has begun can nearly always go on with one of these: naming them helps nobody.
CONTINUE = {"SUM_SIGN", "PRODUCT_SIGN", "CIRCUMFLEX", "AND", "OR", "IF", "IN", "LSQB"}
FOREIGN = {
    "&": "write 'and', or bitand(a, b) of integers",
    "|": "write 'or', bitor(a, b) of integers, or 'for' in a set: {i for i < N if ...}",
    "~": "write 'not', or bitnot(a) of an integer",
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
    "?": "write: a if condition else b",
    "⌈": "write ceildiv(a, b) for a quotient rounded up",
}
OR_EMPTY = "the words 'or empty' follow the shape: X : cvm[n...] or empty"
NAME = r"[A-Za-z_]\w*"
SORTED = re.compile(r"\b(sort)\s*\[([^\[\]]*)\]\s*by\s*$")
COMMENT = re.compile(r"#[^\n]*")
BRACKETS = re.compile(r'"[^"\n]*"|\bin\s*[(\[]|[()\[\]{}]')
CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class RefusedToken:
    """A token that cannot stand where it is; `before` is its declaration up to it."""

    source: Source
    at: int
    text: str
    before: str
    accepted: frozenset[str]

    @property
    def span(self) -> Span:
        return Span(self.source, self.at, self.at + len(self.text))

    @property
    def is_name(self) -> bool:
        return bool(re.fullmatch(NAME, self.text))

    @property
    def previous(self) -> str:
        """The word or sign before the token."""
        found = re.search(rf"({NAME}|[^\w\s])\s*$", self.before)
        return found[1] if found else ""

    @property
    def previous_span(self) -> Span:
        end = self.at - len(self.before) + len(self.before.rstrip())
        return Span(self.source, end - max(len(self.previous), 1), end)

    @property
    def first_on_line(self) -> bool:
        return not self.before.rpartition("\n")[2].strip()

    @property
    def item(self) -> str:
        """The word that begins the item before the token."""
        words = re.findall(rf"^\s*({'|'.join(ITEMS)})\b", self.before, re.MULTILINE)
        return str(words[-1]) if words else ""


def explain_syntax(error: UnexpectedInput, source: Source, start: int, end: int) -> SpecError:
    """The SpecError for what lark found in the declaration source.text[start:end]."""
    if isinstance(error, UnexpectedCharacters):
        assert error.pos_in_stream is not None
        return foreign(source, start + error.pos_in_stream)
    if not isinstance(error, UnexpectedToken) or error.token.type == "$END":
        return unfinished(source, start, end, getattr(error, "accepts", None) or ())
    at = start + (error.token.start_pos or 0)
    accepted = frozenset(error.accepts or error.expected)
    before = without_comments(source.text[start:at])
    return unexpected(RefusedToken(source, at, str(error.token), before, accepted))


def without_comments(text: str) -> str:
    """The text with blanks for its comments."""
    return COMMENT.sub(lambda comment: " " * len(comment[0]), text)


# ------------------------------------------------------------ what the lexer cannot read


def foreign(source: Source, at: int) -> SpecError:
    """A character that begins nothing in the language."""
    char = source.text[at]
    rest = source.text[at:].partition("\n")[0].rstrip()
    if char == '"':
        hint = "a text ends on the line where it begins, with '\"'"
        return SpecError(Span(source, at, at + len(rest)), "this text is not closed", hint)
    if rest.startswith(".."):
        return SpecError(
            Span(source, at, at + 2), "'..' has no meaning", "a pack is written n..., a range i < n"
        )
    if found := re.match(r"(\d+(?:\.\d+)?)\.?(\w+)", rest):
        message = f"'{found[0]}' is neither a number nor a name"
        hint = f"write {found[1]}*{found[2]} for a product"
        return SpecError(Span(source, at, at + found.end()), message, hint)
    hint = FOREIGN.get(char, "")
    if char.isalpha():
        hint = hint or "names are made of the letters a-z and A-Z, digits and '_'"
    shown = f"'{char}'" if char.isprintable() and char != "'" else ascii(char)
    end = at + 1 + (char in "&|" and rest.startswith(char * 2))
    return SpecError(Span(source, at, end), f"{shown} has no meaning here", hint)


# ------------------------------------------------------------ what stops too early


def unfinished(source: Source, start: int, end: int, accepted: Iterable[str]) -> SpecError:
    """The declaration ends too early: point at the open bracket or at its last character."""
    code = without_comments(source.text[start:end])
    still_open = open_brackets(code)
    if still_open:
        where = "before the end of the file"
        if end < len(source.text):
            where = f"before the declaration in line {source.line_of(end)}"
        return not_closed(source, start + still_open[-1], where)
    return missing_after(source, start + len(code.rstrip()), expected(accepted), "")


def missing_after(source: Source, end: int, names: str, hint: str) -> SpecError:
    """Something is missing after the character before `end`."""
    message = f"{names} is missing after this" if names else "this is not finished"
    return SpecError(Span(source, max(end - 1, 0), end), message, hint)


def open_brackets(code: str) -> list[int]:
    """Offsets of the brackets that are still open at the end of `code`, the innermost last."""
    still_open: list[tuple[str, int]] = []
    for match in BRACKETS.finditer(code):
        sign = match[0]
        if sign[0] == '"':
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


# ------------------------------------------------------------ what cannot stand where it is


def unexpected(fault: RefusedToken) -> SpecError:
    for explain in (item_as_name, first_word, rangeless, brackets, missing):
        found = explain(fault)
        if found is not None:
            return found
    hint = advice(fault)
    names = "" if hint else expected(fault.accepted)
    message = f"'{fault.text}' cannot stand here"
    return SpecError(fault.span, f"{message}; expected {names}" if names else message, hint)


def item_as_name(fault: RefusedToken) -> SpecError | None:
    """A formula that is missing, with an input or an output in the next line, read as a name."""
    found = re.search(rf"\n\s*(?:input|output)\s+{NAME}\s*$", fault.before)
    before = fault.before[: found.start()].rstrip() if found else ""
    if not before or fault.text != ":" or "COLON" in fault.accepted:
        return None
    return missing_after(fault.source, fault.at - len(fault.before) + len(before), "a formula", "")


def first_word(fault: RefusedToken) -> SpecError | None:
    """A word that begins no declaration or no item: `inptu X : …`, `return x`, `a b`."""
    if SORTED.search(fault.before):
        return rangeless(fault)
    if fault.is_name and "DEF" in fault.accepted:
        return begins_nothing(fault.span, fault.text, DECLARATIONS)
    if fault.is_name and "INPUT" in fault.accepted and fault.text not in RESERVED:
        return begins_nothing(fault.span, fault.text, ITEMS)
    place = equation_place(fault)
    if place is None:
        return None
    word = place.text
    line = fault.source.text[: place.start].rpartition("\n")[2].strip()
    if line:
        # In a line with something before it: no equation was meant.
        hint = did_you_mean(word, INNER_WORDS) or "a product is written with '*'"
        if word == "by" or line.endswith("sort"):
            hint = f"a list is sorted by {SELECTION_FORMS['sort']}"
        if word == "empty":
            hint = OR_EMPTY
        if fault.item == "alias":
            hint = "aliases are separated by commas"
        return SpecError(place, f"'{word}' cannot stand here", hint)
    if "EQUAL" in fault.accepted:
        return None
    if fault.text == "=":
        hint = f"write {word}[i] = ..., or {word}[] = ... of no dimensions; 'let' makes a name"
        return SpecError(place, "the left side of an equation is an element of an output", hint)
    return begins_nothing(place, word, ITEMS)


def equation_place(fault: RefusedToken) -> Span | None:
    """The name before the token, where it is read as the beginning of an equation."""
    if fault.text == "==" or not fault.accepted <= {"LSQB", "EQUAL"}:
        return None
    brackets = r"(?:\[(?:[^\[\]]|\[[^\[\]]*\])*\])*" if "EQUAL" in fault.accepted else ""
    found = re.search(rf"({NAME})\s*{brackets}\s*$", fault.before)
    before = fault.before[: found.start()].rstrip() if found else ""
    if found is None or found[1] in RESERVED or before.endswith((":", "let", "def", "operator")):
        return None
    start = fault.at - len(fault.before) + found.start(1)
    return Span(fault.source, start, start + len(found[1]))


def begins_nothing(span: Span, word: str, known: tuple[str, ...]) -> SpecError:
    near = did_you_mean(word, known)
    if known == DECLARATIONS:
        hint = f"a declaration begins with {', '.join(known[:-1])} or {known[-1]}"
        if word in ITEMS:
            hint = f"'{word}' stands inside the block of an operator: operator name {{ ... }}"
        return SpecError(span, f"'{word}' begins no declaration", near or hint)
    hint = f"items are equations and what begins with {', '.join(known[:-1])} or {known[-1]}"
    return SpecError(span, f"'{word}' begins no item", near or hint)


def rangeless(fault: RefusedToken) -> SpecError | None:
    """`sum[i](X[i])`: a reduction whose index has no range."""
    found = re.search(rf"\b({NAME})\s*\[([^\[\]]*)\]\s*$", fault.before)
    found = found or SORTED.search(fault.before)
    if found is None or fault.text != "(":
        return None
    name, index = found[1], found[2].strip()
    start = fault.at - len(fault.before)
    if name not in (*REDUCTIONS, *SELECTIONS):
        hint = did_you_mean(name, REDUCTIONS) or f"reductions are {', '.join(REDUCTIONS)}"
        place = Span(fault.source, start + found.start(1), start + found.end(1))
        return SpecError(place, f"'{name}' is not a reduction", hint)
    at = start + found.start(2)
    span = Span(fault.source, at, at + max(len(found[2]), 1))
    letter = index if re.fullmatch(rf"{NAME}(\.\.\.)?", index) else "i"
    limit = "n..." if letter.endswith("...") else "N"
    what = f"'{name}'" if name in SELECTIONS else f"the reduction '{name}'"
    by = " by " if name == "sort" else ""
    hint = f"write {name}[{letter} < {limit}]{by}(...)"
    return SpecError(span, f"{what} needs a range for its index", hint)


def brackets(fault: RefusedToken) -> SpecError | None:
    """A bracket that closes nothing, or one before the token that is not closed."""
    still_open = open_brackets(fault.before)
    at = fault.at - len(fault.before) + (still_open[-1] if still_open else 0)
    sign = fault.source.text[at] if still_open else ""
    if fault.text in CLOSING.values():
        if not still_open or (sign == "{" and fault.text != "}"):
            return SpecError(fault.span, f"'{fault.text}' closes nothing", "remove it")
        if CLOSING[sign] != fault.text != "}":
            column = Span(fault.source, at, at).column
            hint = f"the '{sign}' in column {column} needs '{CLOSING[sign]}'"
            return SpecError(fault.span, f"'{fault.text}' does not close '{sign}'", hint)
    if sign in ("", "{"):
        return None
    new_item = fault.first_on_line and (fault.is_name or fault.text == "}")
    if not new_item and fault.text not in ITEMS:
        return None
    return not_closed(fault.source, at, f"before '{fault.text}' in line {fault.span.line}")


def missing(fault: RefusedToken) -> SpecError | None:
    """The line before the token ends too early."""
    names = expected(fault.accepted)
    complete = {"INPUT", "DEF"} & fault.accepted
    if not fault.first_on_line or complete or not names or not fault.before.strip():
        return None
    hint = ""
    if fault.item == "require" and names in ("':'", "':' or 'forall'"):
        names = "':'"
        hint = 'write: require condition : "message"'
    if names == "'else'":
        hint = "an 'if' needs its 'else': a if condition else b"
    return missing_after(fault.source, fault.previous_span.end, names, hint)


def advice(fault: RefusedToken) -> str:
    """What mends the slips that are made most."""
    text, accepted = fault.text, fault.accepted
    line = fault.before.rpartition("\n")[2]
    following = fault.source.text[fault.at + len(text) :][:1]
    if text == "=" and following == ">":
        return "write '>='"
    if text == ":" and following == "=":
        return "write '='"
    if text == ">" and fault.before.endswith("<"):
        return "unequal is written '!='"
    if text == "=" and "EQUAL" not in accepted:
        return "equality is written '=='"
    if text == "==" and "EQUAL" in accepted:
        return "what a name or an element is, is written with one '='"
    if text == "*" and fault.before.endswith("*"):
        return "a power is written 2^n"
    if text == "<" and fault.before.endswith("<"):
        return "a shift to the left is written x * 2^n"
    if text == ">" and fault.before.endswith(">"):
        return "a shift to the right is written x div 2^n"
    if "/" in text:
        return "write 'div' (floor) or 'tdiv' (toward zero)"
    if text == "for" and "INPUT" in accepted:
        return "after an equation its ranges follow the word 'forall'"
    if text in (*RELATIONS, "]") and "[" in line and "LESSTHAN" in accepted | {text}:
        return "a range is i < N or a <= i < b; a condition follows the word 'if'"
    if text == "not" and re.match(r"\s*in\b", fault.source.text[fault.at + len(text) :]):
        return "write: not a in S"
    if text == "where" and "[" in line:
        return "inside brackets a condition follows the word 'if'"
    if text == "or" and fault.item in ("input", "output"):
        return OR_EMPTY
    if text in ("desc", "descending"):
        return "the greatest comes first by the key with a minus: -X[i]"
    if accepted == {"PACK"}:
        return "both sides are packs: d... < n..."
    if text == "..." and "PACK" not in accepted:
        return "'...' follows a pack inside brackets"
    if text == "(" and accepted == {"EQUAL", "LBRACE"}:
        return "inputs and attributes are declared inside the block: operator name { ... }"
    if text.startswith('"') and fault.item == "require":
        return 'write: require condition : "message"'
    if text in RESERVED and "NAME" in accepted and "NUMBER" not in accepted:
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
    if "EQUAL" in left:
        left.discard("LSQB")
    words = [*sorted(map(spelling, left)), *words]
    if not words or len(words) > 4:
        return ""
    if len(words) == 1:
        return words[0]
    return f"{', '.join(words[:-1])} or {words[-1]}"
