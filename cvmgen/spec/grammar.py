"""The LALR parser of the language, and how its terminals are spelled."""

from __future__ import annotations

from functools import cache

from lark import Lark
from lark.lexer import PatternStr

from cvmgen.spec.tables import parser

SPELLED = {
    "NAME": "a name",
    "NUMBER": "a number",
    "TEXT": "a text in double quotes",
    "PACK": "'...'",
    "SUM_SIGN": "'+' or '-'",
    "PRODUCT_SIGN": "'*', 'div', 'tdiv' or 'mod'",
    "$END": "the end of the file",
}


@cache
def grammar(*, strict: bool = False) -> Lark:
    """The LALR parser of formulas; `strict` as of `parser`."""
    return parser("grammar.lark", strict=strict)


def spelling(terminal: str) -> str:
    """A terminal as an author knows it: `']'`, `'let'`, `a name`."""
    if terminal in SPELLED:
        return SPELLED[terminal]
    pattern = grammar().get_terminal(terminal).pattern
    assert isinstance(pattern, PatternStr), f"{terminal} needs a row in SPELLED"
    return f"'{pattern.value}'"
