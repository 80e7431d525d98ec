"""Lines of generated code know which part of the formula they compute."""

import json
from pathlib import Path

import pytest

from cvmgen import driver
from cvmgen.cli.command import main
from cvmgen.emit.line_map import CLOSE, OPEN, MappedText, Place, marked
from cvmgen.emit.lines import WIDTH, Comment, Leaving, Valued, indented, wrap_c, wrap_python
from cvmgen.source import Source, Span
from cvmgen.spec.formula import Operator
from tests.emit.cuda_texts import NAMES
from tests.operators import sweeps
from tests.specs import operator as checked

SOURCE = Source("a.cvm", "Y[i] = X[i]")
HERE, INNER = Span(SOURCE, 0, 11), Span(SOURCE, 7, 11)
RELU = """\
  input  X : cvm[n...]
  output Y : cvm[n...] precision p(X)
  Y[d...] = max(0, X[d...])
"""


def places(lines: list[str]) -> tuple[Place | None, ...]:
    return MappedText("\n".join(lines)).places


# Each operator in one of the targets: statements of the others are of the same spans.
@pytest.mark.parametrize(("number", "target"), [*enumerate(driver.TARGETS)])
@pytest.mark.parametrize("names", sweeps(NAMES))
def test_each_store_is_of_the_equation_that_it_computes(
    number: int, target: str, names: list[str], formulas: dict[str, Operator]
) -> None:
    for operator in map(formulas.__getitem__, names[number :: len(driver.TARGETS)]):
        text = driver.emitted(target, operator)
        assert isinstance(text, MappedText)
        assert len(text.places) == len(text.split("\n"))
        blocks = [span for _, span in operator.blocks]
        known = [place for place in text.places if place is not None]
        assert known
        for place in known:
            assert any(
                span.source.name == place.file and span.start <= place.start < place.end <= span.end
                for span in blocks
            ), (operator.full_name, place)


@pytest.mark.parametrize("target", driver.TARGETS)
def test_each_line_leads_to_its_own_equation(target: str) -> None:
    operator = checked(
        "  input X : cvm[n]\n"
        "  output Y : cvm[n] precision p(X) + 1\n"
        "  output Z : cvm[n] precision 32\n"
        "  Y[i] = X[i] + 1\n"
        "  Z[i] = max(X[i], 17)"
    )
    text = driver.emitted(target, operator)
    assert isinstance(text, MappedText)
    found = {
        line.strip(): operator.span.source.text[place.start : place.end]
        for line, place in zip(text.split("\n"), text.places, strict=True)
        if place is not None
    }
    stored = {equation for line, equation in found.items() if "17" in line}
    assert stored == {"Z[i] = max(X[i], 17)"}
    assert any("X[i] + 1" in equation for equation in found.values())


def test_inner_statements_keep_their_places() -> None:
    lines = marked(HERE, ["for (;;) {", *indented(marked(INNER, ["y = x;"])), "}"])
    text = MappedText("\n".join(lines))
    assert text == "for (;;) {\n    y = x;\n}"
    whole, inner = Place("a.cvm", 0, 11), Place("a.cvm", 7, 11)
    assert text.places == (whole, inner, whole)


@pytest.mark.parametrize(
    ("line", "wrap"),
    [
        ("value = " + " + ".join(["something"] * 14) + ";", wrap_c),
        (Comment(["many"] * 40, "   "), wrap_c),
        (Leaving(f"if ({' && '.join(['something'] * 12)})", "return;"), wrap_c),
        (Valued("value =", " + ".join(["something"] * 14)), wrap_python),
    ],
)
def test_marks_take_no_room(line: str, wrap) -> None:  # type: ignore[no-untyped-def]
    plain = wrap(indented([line]))
    found = MappedText("\n".join(wrap(indented(marked(HERE, [line])))))
    assert found.split("\n") == plain
    assert len(plain) > 1
    assert set(found.places) == {Place("a.cvm", 0, 11)}
    just = "x" * WIDTH
    assert MappedText(wrap(marked(HERE, [just]))[0]) == just


def test_lines_without_a_place() -> None:
    assert places(["", "x;", *marked(HERE, [""])]) == (None, None, None)


def test_a_text_of_others_is_not_taken_for_a_mark() -> None:
    operator = checked(
        f'  "{OPEN}1{CLOSE} of nothing"\n'
        "  input X : cvm[n]\n  output Y : cvm[n] precision p(X)\n  Y[i] = X[i]"
    )
    for target in driver.TARGETS:
        text = driver.emitted(target, operator)
        assert OPEN not in text
        assert "\\ufdd0" in text


def test_show_tells_the_places(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "toy").mkdir()
    spec = f'operator relu {{\n  "Test."\n{RELU}}}\n'
    (tmp_path / "toy/nn.cvm").write_text(spec)
    assert main(["show", "relu", "--target", "c", "--json", "--spec", str(tmp_path)]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert len(shown["places"]) == len(shown["text"].split("\n"))
    found = [
        spec[place["start"] : place["end"]]
        for line, place in zip(shown["text"].split("\n"), shown["places"], strict=True)
        if place and " = " in line and line.strip().startswith("Y[")
    ]
    assert found
    assert set(found) == {"Y[d...] = max(0, X[d...])"}
