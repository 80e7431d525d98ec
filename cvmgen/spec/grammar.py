"""The LALR parser of the language, and how its terminals are spelled."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from lark import Lark
from lark.lexer import PatternStr

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
    """The LALR parser; if `strict`, which takes long and needs a package of its own, every conflict
    of the grammar is an error."""
    text = files("cvmgen.spec").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(text, parser="lalr", strict=strict, propagate_positions=True)


def spelling(terminal: str) -> str:
    """A terminal as an author knows it: `']'`, `'let'`, `a name`."""
    if terminal in SPELLED:
        return SPELLED[terminal]
    pattern = grammar().get_terminal(terminal).pattern
    assert isinstance(pattern, PatternStr), f"{terminal} needs a row in SPELLED"
    return f"'{pattern.value}'"
