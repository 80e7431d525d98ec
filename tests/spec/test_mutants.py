"""Specs with random damage: every outcome is generated files or a report in our own words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from cvmgen import driver
from cvmgen.reference.probe import probe
from cvmgen.source import Source, SpecError, SpecErrors
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile, read_folder
from cvmgen.spec.formula import Operator
from cvmgen.spec.parse import declaration_spans
from tests.fuzz import EFFORT

SPECS = read_folder(Path(__file__).parents[2] / "spec")
SHARED = [each for each in SPECS if not each.opset]
EXTRA = Path(__file__).parents[1] / "data" / "extra"
LISTS = SpecFile(Source("lists.cvm", (EXTRA / "lists.cvm").read_text(encoding="utf-8")), "extra")
TOKEN = re.compile(r'"[^"\n]*"|#[^\n]*|\.\.\.|[<>=!]=|\w+|\s+|.')
# What no message may show: names of terminals, of rules, of Python.
FOREIGN = re.compile(
    r"__|ANON|Token\(|Tree\(|None|Traceback|\bEND\b|_SIGN"
    r"|\b(?:[LR](?:PAR|SQB|BRACE)|COMMA|COLON|EQUAL|LESSTHAN|MORETHAN|CIRCUMFLEX|NUMBER|PACK)\b"
)
MUTANTS = 8 * EFFORT
PROBED = 3 * EFFORT


def parts(file: SpecFile) -> tuple[str, list[str]]:
    """The families and definitions of a file, and its operators one by one."""
    text = file.source.text
    pieces = [text[start:end] for start, end in declaration_spans(text)]
    operators = [piece for piece in pieces if piece.startswith("operator")]
    common = "".join(piece for piece in pieces if piece.startswith(("def", "family", "const")))
    return common, operators


def damaged(text: str, pick: Random) -> str:
    """The text with one or two tokens left out, doubled, exchanged or replaced by another."""
    tokens = TOKEN.findall(text)
    places = [at for at, token in enumerate(tokens) if token.strip() and token[0] != "#"]
    for _ in range(pick.choice((1, 1, 2))):
        first, second = pick.choice(places), pick.choice(places)
        match pick.choice(("leave out", "double", "exchange", "replace", "alike", "alike")):
            case "leave out":
                tokens[first] = ""
            case "double":
                tokens[first] = f"{tokens[first]} {tokens[first]}"
            case "exchange":
                tokens[first], tokens[second] = tokens[second], tokens[first]
            case "replace":
                tokens[first] = tokens[second]
            case _:
                alike = [at for at in places if kind(tokens[at]) == kind(tokens[first])]
                tokens[first] = tokens[pick.choice(alike)]
    return "".join(tokens)


def kind(token: str) -> str:
    if token.isdigit():
        return "number"
    if token[:1].isalpha():
        return "word"
    return "sign" if token in ("+", "-", "*", "<", "<=", ">", ">=", "==", "!=") else token


def errors_of(text: str, *, probed: bool) -> list[SpecError]:
    try:
        operators = check_files([*SHARED, SpecFile(Source("mutant.cvm", text), "cvm")])
    except SpecErrors as found:
        return found.errors
    if not probed:
        return []
    errors = [error for each in operators for error in probe(each)]
    return errors or unbuilt(operators)


def unbuilt(operators: Sequence[Operator]) -> list[SpecError]:
    """What the targets say of operators; a fault of ours comes through."""
    try:
        driver.generate(operators)
    except SpecError as error:
        return [error]
    except SpecErrors as found:
        return found.errors
    return []


def check_error(error: SpecError) -> None:
    words = f"{error.message}\n{error.hint}"
    assert not FOREIGN.search(words), words
    assert 0 <= error.span.start < error.span.end <= len(error.span.source.text), str(error)
    lines = str(error).split("\n")
    line, carets = lines[2].partition("| ")[2], lines[3].partition("| ")[2]
    assert len(carets) <= max(len(line), 1), str(error)


@pytest.mark.parametrize(
    "file",
    [*(each for each in SPECS if each.opset and parts(each)[1]), LISTS],
    ids=lambda each: Path(each.source.name).stem,
)
def test_damage_is_reported(file: SpecFile) -> None:
    pick = Random(file.source.name)
    common, operators = parts(file)
    for number in range(MUTANTS):
        text = common + damaged(pick.choice(operators), pick)
        for error in errors_of(text, probed=number < PROBED):
            check_error(error)


def test_a_damaged_family_is_reported() -> None:
    pick = Random(7)
    for file in SPECS:
        common, operators = parts(file)
        if "family" not in common:
            continue
        for _ in range(MUTANTS):
            for error in errors_of(damaged(common, pick) + operators[0], probed=False):
                check_error(error)


@pytest.mark.parametrize("cut", range(0, 400, 7))
def test_a_file_that_ends_anywhere(cut: int) -> None:
    """Every beginning of an operator is a fault, and the report points into the text."""
    _, operators = parts(next(each for each in SPECS if each.source.name.endswith("nn.cvm")))
    text = operators[0][: cut + 1]
    errors = errors_of(text, probed=False)
    assert errors
    for error in errors:
        check_error(error)
