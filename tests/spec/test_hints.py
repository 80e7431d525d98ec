"""Hints that propose a text: what they propose compiles, and means what was meant."""

from __future__ import annotations

import re

import pytest

from cvmgen.reference.probe import check_operators
from cvmgen.source import Source, SpecError, SpecErrors
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from tests.spec.test_errors import ROWS, Row, sources

STEPS = 4  # a text that is put in may have a fault of its own, with a hint
PROPOSED = re.compile(r"write:? '?([^'\"]*?)'?(?:: toward zero| for the nearest| for a product)?")
# Those show a form, with names that are no names of the formula, leave a choice, or speak of a
# sign that is marked in part.
FORMS = re.compile(
    r"select\[i < N\].*|sort\[i < N\].*|i < N|a if condition else b|require condition : .*"
    r"|not a in S|cvm\[1\] for .*|attribute == .*|p\(X\[i\]\)|\(1, 2\), .*|q in .*|.*\.\.\..*"
    r"|=|>=|.*, for example|true or false|floor\(log2\(.*"
)
# What stands in other rules than those that the hint is about.
OTHERS = re.compile("the precision rule gives|this set may have more than")


def proposed(error: SpecError) -> str | None:
    """The text that a hint proposes in the place of the span, if it does."""
    found = PROPOSED.fullmatch(error.hint)
    return None if found is None or FORMS.fullmatch(found[1]) else found[1]


def errors_of(files: list[SpecFile]) -> list[SpecError]:
    try:
        check_operators(check_files(files))
    except SpecErrors as errors:
        return list(errors.errors)
    return []


def mended(files: list[SpecFile], error: SpecError, text: str) -> list[SpecFile]:
    """The files with another text in the place of an error."""
    source = error.span.source
    whole = source.text[: error.span.start] + text + source.text[error.span.end :]
    return [
        SpecFile(Source(source.name, whole), each.opset)
        if each.source.name == source.name
        else each
        for each in files
    ]


def followed(files: list[SpecFile]) -> list[SpecError]:
    """The errors that are left after hints were followed, one after the other."""
    for _ in range(STEPS):
        left = errors_of(files)
        found = [(each, text) for each in left if (text := proposed(each)) is not None]
        if not found:
            return left
        files = mended(files, *found[0])
    return errors_of(files)


# Which of them have a proposal is found when they are tried, not by each process that runs tests.
HINTED = [row for row in ROWS if "write" in row.report]


@pytest.mark.parametrize("row", [pytest.param(each, id=each.title) for each in HINTED])
def test_what_hints_propose_compiles(row: Row) -> None:
    """No error is left but those that the file had before."""
    errors = errors_of(sources(row))
    if not any(map(proposed, errors)):
        return
    before = {each.message for each in errors if not proposed(each)}
    left = [each for each in followed(sources(row)) if each.message not in before]
    assert [each for each in left if not OTHERS.match(each.message)] == []


HEAD = "operator f { input X : int32[N] input R : float64[N] "
# Items with a fault, and what they give, hints followed, for X = [3, -3] and R = [2.5, -2.5].
MEANT = [
    ("output Y : float64[N] Y[i] = X[i] * 0.5", "[1.5, -1.5]", "an integer beside a real number"),
    ("output Y : float64[N] Y[i] = X[i] over 2.0", "[1.5, -1.5]", "a quotient"),
    ("output Y : int32[N] Y[i] = R[i]", "[2, -2]", "a real number is stored, toward zero"),
    ("output Y : int32[N] Y[i] = X[i] + 2.0", "[5, -1]", "a number that is whole"),
    ("output Y : int32[N] Y[i] = X[i]^2.0", "[9, 9]", "one as an exponent"),
    ("output Y : float64[N] Y[i] = R[i] div 2", "[1, -2]", "div is rounded down"),
    ("output Y : float64[N] Y[i] = R[i] tdiv 2", "[1, -1]", "tdiv toward zero"),
    ("output Y : float64[N] Y[i] = R[i] mod 2", "[0.5, 1.5]", "mod is never negative"),
    ("output Y : float64[N] Y[i] = 7 * R[i] mod 2 * 2", "[3.0, 1.0]", "between other products"),
    ("output Y : float64[N] Y[i] = (R[i] + 1) mod (2 - 4)", "[-0.5, -1.5]", "of sums"),
    ("output Y : int32[N] Y[i] = X[i] + 2e0", "[5, -1]", "a whole number with an exponent"),
    ("output Y : int32[N] Y[i] = 2X[i]", "[6, -6]", "a product without a sign"),
    ("output Y : int32[N] Y[i] = 0 if X[i] ≤ 0 else 3", "[3, 0]", "a sign of mathematics"),
    (
        "let a = (N, 2) let b = (2,) output Y : int32[N] Y[i] = 1 if a == b else 0",
        "[0, 0]",
        "lists of two lengths are not equal",
    ),
    (
        "let a = (N, 2) let b = (2, 2) output Y : int32[N] Y[k] = 1 if a != b and N == 2 else 5",
        "[5, 5]",
        "nor unequal where all entries are equal",
    ),
    (
        "let a = {i for i < N} let b = {2 - i for i < N} output Y : int32[N] "
        "Y[k] = 1 if a == b else 0",
        "[0, 0]",
        "sets",
    ),
]


@pytest.mark.parametrize(("items", "result", "why"), MEANT)
def test_what_hints_propose_means_what_was_meant(items: str, result: str, why: str) -> None:
    text = f"{HEAD}{items} example f([3, -3], [2.5, -2.5]) == {result} }}"
    files = [SpecFile(Source("t.cvm", text), "t")]
    assert any(map(proposed, errors_of(files))), why
    assert followed(files) == [], why


NO_TEXT = [
    ("output Y : int32[N] let y = 0.00001 Y[i] = (0.00001 if X[i] > 0 else 0.5)", "a fraction"),
    ("attr k : int = 0.5 output Y : int32[N] Y[i] = X[i] + k", "a default"),
    ("output Y : int32[N] Y[i] = nan", "no number"),
    ("output Y : int32[N] Y[i] = -0.25", "with a sign"),
    ("output Y : int32[N] Y[i] = 1.0 over 3.0", "made of numbers alone"),
]


@pytest.mark.parametrize(("items", "why"), NO_TEXT)
def test_no_integer_is_proposed_for_a_fraction(items: str, why: str) -> None:
    """`int(0.00001)` is 0, which nobody means."""
    (error, *_) = errors_of([SpecFile(Source("t.cvm", f"{HEAD}{items} }}"), "t")])
    assert proposed(error) is None, why
    assert "int(" not in error.hint, why
