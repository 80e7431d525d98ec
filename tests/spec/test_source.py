"""Places in a text, and how an error shows them."""

from __future__ import annotations

import pytest

from cvmgen.source import Source, Span, SpecError, SpecErrors, did_you_mean, similar_names

TEXT = "first\n\tsecond line\nthird"
SOURCE = Source("a.cvm", TEXT)


def span(piece: str, source: Source = SOURCE) -> Span:
    start = source.text.index(piece)
    return Span(source, start, start + len(piece))


PLACES = [("first", 1, 1), ("\tsecond", 2, 1), ("second", 2, 2), ("line", 2, 9), ("third", 3, 1)]


@pytest.mark.parametrize(("piece", "line", "column"), PLACES)
def test_place(piece: str, line: int, column: int) -> None:
    found = span(piece)
    assert (found.line, found.column, found.text) == (line, column, piece)
    assert found.place == f"a.cvm:{line}"


def test_from_one_span_to_another() -> None:
    assert span("second").to(span("line")).text == "second line"
    assert span("second line").to(span("second")).text == "second line"


SECOND = "a.cvm:2:9: error: no|  ||2 |  second line|  |         ^^^^|  = hint: try"
REPORTS = [
    (SOURCE, "line", SECOND, "a tab is one column"),
    (SOURCE, "line\nthird", SECOND, "carets stay in the first line"),
    (Source("b.cvm", "one\r\ntwo\r\n"), "two",
     "b.cvm:2:1: error: no|  ||2 | two|  | ^^^|  = hint: try", "a carriage return is not shown"),
    (Source("c.cvm", "\n" * 9 + "x"), "x",
     "c.cvm:10:1: error: no|   ||10 | x|   | ^|   = hint: try", "the margin is as wide as needed"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "piece", "report", "why"), REPORTS)
def test_report(source: Source, piece: str, report: str, why: str) -> None:
    lines = str(SpecError(span(piece, source), "no", "try")).split("\n")
    assert "|".join(lines) == report, why


LONG = "operator f { " + "x" * 500 + " y " + "z" * 300


@pytest.mark.parametrize(
    ("piece", "shown", "marked"),
    [
        ("operator", "operator f { xxx", "operator"),
        (" y ", "...xxx", " y "),
        ("x" * 500, "operator f { xxx", "x" * 107),
        ("z" * 300, "...xxx", "z" * 60),
        ("z", "...xxx", "z"),
    ],
)
def test_of_a_long_line_what_is_around_the_place_is_shown(
    piece: str, shown: str, marked: str
) -> None:
    report = str(SpecError(span(piece, Source("d.cvm", LONG)), "no")).split("\n")
    line, carets = (each[len("1 | ") :] for each in report[2:])
    assert len(line) <= 126
    assert line.startswith(shown)
    first = len(carets) - len(carets.lstrip())
    assert line[first : len(carets)].rstrip(".") == marked


def test_an_empty_span_has_a_caret_too() -> None:
    assert str(SpecError(Span(SOURCE, 5, 5), "no")).endswith("1 | first\n  |      ^")


def test_errors_are_ordered_and_each_is_said_once() -> None:
    errors = [SpecError(span(piece), "no") for piece in ("third", "first", "third")]
    found = SpecErrors(errors)
    assert [error.span.text for error in found.errors] == ["first", "third"]
    assert str(found) == "\n\n".join(str(error) for error in found.errors)


NEAREST = [
    ("paddin", ["padding", "stride"], ("padding",)),
    ("cmv", ["cvm", "int8"], ("cvm",)),
    ("n", ["N", "M"], ("N",)),
    ("round", ["count", "floor"], ()),
    ("q", ["p", "r"], ()),
    ("axs", ["axis", "axes", "max"], ("axis", "axes")),
]


@pytest.mark.parametrize(("word", "known", "found"), NEAREST)
def test_nearest(word: str, known: list[str], found: tuple[str, ...]) -> None:
    assert set(similar_names(word, known)) == set(found)


def test_did_you_mean() -> None:
    assert did_you_mean("axs", ["axis"]) == "did you mean 'axis'?"
    assert did_you_mean("axs", ["axis", "axes"]) == "did you mean 'axis' or 'axes'?"
    assert did_you_mean("axs", []) == ""
