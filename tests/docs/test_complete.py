"""The language reference leaves nothing out: forms of the grammar, words, functions, types."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from lark.grammar import Rule

from cvmgen.dtypes import CVM, DTYPES
from cvmgen.functions import ARITHMETIC, FUNCTIONS, RELATIONS, SPECIAL
from cvmgen.source import Source
from cvmgen.spec import nodes as n
from cvmgen.spec.attributes import TYPES
from cvmgen.spec.checker import REALS
from cvmgen.spec.grammar import grammar
from cvmgen.spec.parse import parse
from cvmgen.spec.words import RESERVED, SELECTION_FORMS
from tests.docs.documents import LANGUAGE, blocks

# Those that are refused do not show what a construct is for.
FORMULAS = [each.formula for each in blocks(LANGUAGE) if each.report is None]
Parts = set[tuple[str, str]]  # names of a form and of what stands in it


def parts(rules: Iterable[Rule]) -> Parts:
    """`("below", "LESSTHAN")`: which rules and terminals stand in each form, once or twice."""
    return {
        (rule.alias or str(rule.origin.name), symbol.name)
        for rule in rules
        for symbol in rule.expansion
        if symbol != rule.origin
    }


def noted(rule: Rule, build: Callable[[Any], Any], found: list[Rule]) -> Callable[[Any], Any]:
    def note(children: Any) -> Any:
        found.append(rule)
        return build(children)

    return note


def reduced(texts: Iterable[str], monkeypatch: pytest.MonkeyPatch) -> list[Rule]:
    """The rules by which the parser reads these texts."""
    found: list[Rule] = []
    builders = grammar()._callbacks
    for rule, build in list(builders.items()):
        monkeypatch.setitem(builders, rule, noted(rule, build, found))
    for text in texts:
        parse(Source("language.cvm", text))
    return found


def test_every_form_of_the_grammar_has_an_example(monkeypatch: pytest.MonkeyPatch) -> None:
    """A form of the grammar that is missing gets an example in docs/language.md."""
    assert parts(grammar().rules) - parts(reduced(FORMULAS, monkeypatch)) == set()


def test_one_formula_does_not_show_the_whole_grammar(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = parts(grammar().rules) - parts(reduced(["const a = 1"], monkeypatch))
    assert {("between", "sum"), ("imports", "FROM"), ("slot", "PACK")} <= missing


WORDS = {
    "words of the language": RESERVED | {"type", "each", "optional", "empty", "precision", "by"},
    "signs and relations": {*ARITHMETIC, *RELATIONS, "..."},
    "functions": {*FUNCTIONS, *SPECIAL, *REALS},
    "reductions": {*n.REDUCTIONS, *SELECTION_FORMS},
    "types of elements": {CVM, *DTYPES},
    "types of attributes": {*TYPES, "list"},
}


@pytest.mark.parametrize("kind", WORDS)
def test_every_word_stands_in_an_example(kind: str) -> None:
    text = "\n".join(line.split("#")[0] for each in FORMULAS for line in each.splitlines())
    code = re.sub(
        r'^  ".*"$', "", text, flags=re.MULTILINE
    )  # without what formulas say of themselves
    shown = {*re.findall(r"\w+|\.\.\.|[=<>!]=|[-+*^<>]", code)}
    assert WORDS[kind] - shown == set()
