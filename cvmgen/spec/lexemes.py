"""A spec as the words and signs that stand in it, comments among them: what a layout goes by."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from cvmgen.spec.words import FORMULA_WORDS

LEXEME = re.compile(
    r"""(?P<comment>\#[^\n]*)
    |(?P<text>"[^"\n]*")
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    |(?P<word>[A-Za-z_]\w*)
    |(?P<sign>\.\.\.|[=!<>]=|\S)""",
    re.VERBOSE,
)
OPENING, CLOSING = frozenset("([{"), frozenset(")]}")
NAMING = ("operator", "example", "alias")
"""Words behind which any word is a name: operators may be called `where` or `div`."""


class LexemeKind(Enum):
    COMMENT = "comment"
    TEXT = "text"
    NUMBER = "number"
    WORD = "word"
    SIGN = "sign"


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A word, a sign or a comment: its place, and what blank there is in front of it."""

    kind: LexemeKind
    text: str
    start: int
    lines: int
    """How many line ends stand in front."""
    gap: int
    """How many blanks stand in front in its line."""
    keyword: bool = False
    """Whether it is a word of formulas, such as `if`, and no name."""

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def is_comment(self) -> bool:
        return self.kind is LexemeKind.COMMENT

    @property
    def ends_operand(self) -> bool:
        """Whether a formula may end with it, so that a sign behind it joins two operands."""
        if self.kind is LexemeKind.SIGN:
            return self.text in CLOSING or self.text == "..."
        return not self.is_comment and not self.keyword


def lexemes(text: str) -> tuple[Lexeme, ...]:
    """All of a text that can be parsed as declarations."""
    found: list[Lexeme] = []
    at = 0
    for match in LEXEME.finditer(text):
        blank = text[at : match.start()]
        kind = LexemeKind(match.lastgroup)
        word = match[0].rstrip() if kind is LexemeKind.COMMENT else match[0]
        before = [each for each in found[-2:] if not each.is_comment]
        keyword = kind is LexemeKind.WORD and _is_keyword(word, before)
        *ended, beside = blank.split("\n")
        found.append(Lexeme(kind, word, match.start(), len(ended), len(beside), keyword))
        at = match.end()
    return tuple(found)


def _is_keyword(word: str, before: Sequence[Lexeme]) -> bool:
    last = before[-1].text if before else ""
    if last in NAMING:
        return False
    if word in ("precision", "by"):
        return last in ("]", "empty")
    return word in FORMULA_WORDS and word not in ("true", "false")


def comments(text: str) -> Iterator[str]:
    """What the comments of a text say, in their order."""
    return (each.text for each in lexemes(text) if each.is_comment)
