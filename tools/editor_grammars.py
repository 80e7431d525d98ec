"""TextMate grammars of formulas and schedules, for editors: made of the grammars that parse them,
and of the names that the language has. `python tools/editor_grammars.py` writes them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lark import Lark
from lark.lexer import PatternStr

import cvmgen.spec
from cvmgen.dtypes import CVM, DTYPES
from cvmgen.functions import FUNCTIONS
from cvmgen.schedule.actions import ACTIONS
from cvmgen.schedule.classes import CLASSES
from cvmgen.schedule.mappings import MAPPINGS
from cvmgen.spec.nodes import REDUCTIONS

FOLDER = Path(__file__).parent.parent / "editors" / "vscode" / "syntaxes"
CONTROL = {"if", "else", "for", "forall", "where", "in", "by"}
OPERATORS = {"and", "or", "not", "div", "tdiv", "mod", "over"}
TRUTHS = {"true", "false"}
TENSORS = {"input", "output"}  # what declares them may be their name too
WORD = r"[A-Za-z_]\w*"


def main() -> None:
    for name, text in texts().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


def texts() -> dict[str, str]:
    """The files of grammars by their names."""
    return {
        f"{made['name']}.tmLanguage.json": json.dumps(made, indent=2) + "\n"
        for made in (of_formulas(), of_schedules())
    }


def of_formulas() -> dict[str, Any]:
    """The grammar of .cvm files."""
    terminals = terminals_of("grammar.lark")
    reserved = reserved_words(terminals["NAME"])
    # Words that are names where they are not expected: `type` may name an attribute.
    others = {each for each in literals("grammar.lark") if each.isalpha()} - reserved - TENSORS
    behind = words(CONTROL | OPERATORS)
    declaring = reserved - CONTROL - OPERATORS - TRUTHS
    return language(
        "cvm",
        [
            rule("comment.line.number-sign", terminals["COMMENT"]),
            rule("string.quoted.double", terminals["TEXT"]),
            rule("constant.numeric", rf"\b{terminals['NUMBER']}"),
            {
                "match": rf"\b(operator|family|def|let)\s+({WORD})",
                "captures": {
                    "1": {"name": "keyword.declaration.cvm"},
                    "2": {"name": "entity.name.function.cvm"},
                },
            },
            rule("keyword.declaration", words(declaring)),
            rule("keyword.declaration", rf"{words(TENSORS)}(?=\s+(?!{behind})[A-Za-z_])"),
            rule("keyword.control", words(CONTROL & reserved)),
            rule("keyword.operator.word", words(OPERATORS)),
            rule("constant.language", words(TRUTHS)),
            rule("keyword.other", words(others) + r"(?!\s*[\[(=:])"),
            rule("support.function.reduction", words(REDUCTIONS) + r"(?=\s*\[)"),
            rule("support.function", words(FUNCTIONS) + r"(?=\s*\()"),
            rule("support.type", words((*DTYPES, CVM))),
            rule("variable.other", WORD),
            rule("keyword.operator", r"\.\.\.|[=!<>]=|[-+*/^<>=]"),
            rule("punctuation", r"[\[\](){},:]"),
        ],
    )


def of_schedules() -> dict[str, Any]:
    """The grammar of .sched files."""
    terminals = terminals_of("schedule.lark")
    reserved = reserved_words(terminals["NAME"])
    prepositions = set(re.findall(r"[a-z]+", terminals["PREPOSITION"].partition(")")[0]))
    return language(
        "cvm-schedule",
        [
            rule("comment.line.number-sign", terminals["COMMENT"]),
            {"name": "string.quoted.double.cvm-schedule", "begin": '"', "end": '"'},
            rule("constant.numeric", rf"\b{terminals['NUMBER']}"),
            rule("keyword.declaration", words(reserved - prepositions)),
            rule("keyword.control", words(prepositions)),
            rule("support.function", rf"^\s*{words((*ACTIONS, *MAPPINGS))}"),
            rule("support.type", words((*CLASSES, *DTYPES))),
            rule("variable.other", WORD),
            rule("keyword.operator", r"[=<>]=|[-+*/^<>=]"),
            rule("punctuation", r"[\[\](){},:]"),
        ],
    )


def language(name: str, rules: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """A grammar whose scopes end with its name."""
    rules = [
        each
        if "captures" in each or "begin" in each
        else {**each, "name": f"{each['name']}.{name}"}
        for each in rules
    ]
    return {"name": name, "scopeName": f"source.{name}", "patterns": rules}


def rule(scope: str, pattern: str) -> dict[str, Any]:
    return {"name": scope, "match": pattern}


def words(names: Iterable[str]) -> str:
    """A pattern of any of these words."""
    return rf"\b(?:{'|'.join(sorted(names))})\b"


def parser(grammar: str) -> Lark:
    (folder,) = cvmgen.spec.__path__
    return Lark((Path(folder) / grammar).read_text(encoding="utf-8"), parser="lalr")


def terminals_of(grammar: str) -> dict[str, str]:
    """The patterns of a grammar's terminals."""
    return {each.name: each.pattern.value for each in parser(grammar).terminals}


def literals(grammar: str) -> set[str]:
    """What a grammar has as it is written."""
    found = (each.pattern for each in parser(grammar).terminals)
    return {each.value for each in found if isinstance(each, PatternStr)}


def reserved_words(name: str) -> set[str]:
    """The words that the pattern of names leaves out."""
    inside = re.match(r"\(\?!\(\?:([a-z|]+)\)", name)
    assert inside is not None, name
    return set(inside[1].split("|"))


if __name__ == "__main__":
    main()
