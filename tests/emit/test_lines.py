"""Where long lines of generated code end, and how branches are put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from cvmgen.emit.c_like import CPrinter
from cvmgen.emit.c_spelling import comment
from cvmgen.emit.line_map import MappedText
from cvmgen.emit.lines import WIDTH, Leaving, Valued, indented, wrap_c, wrap_python
from cvmgen.emit.python_text import comment as python_comment
from cvmgen.ir import nodes as i
from cvmgen.source import Source, Span

SPAN = Span(Source("", ""), 0, 0)
A, B = i.Var("a"), i.Var("b")


def test_a_comment_ends_on_a_line_with_words() -> None:
    for length in range(60, 130):
        text = "word " * 10 + "w" * (length - 50)
        lines = wrap_c(indented([comment(text)]))
        assert all(len(line) <= WIDTH for line in lines)
        assert lines[-1].strip() != "*/"
        assert " ".join(line.strip() for line in lines) == f"/* {text} */"


def test_a_comment_of_python_goes_on_in_comments() -> None:
    lines = wrap_python(indented([python_comment("word " * 30)]))
    assert len(lines) == 2
    assert lines[0].startswith("    # word word")
    assert lines[1].startswith("    #   word")


@pytest.mark.parametrize("text", ["word " * 60, "w" * 120, f"a {'w' * 120} b", r"\" " * 50])
def test_a_long_text_of_c_is_several_that_are_one(text: str) -> None:
    lines = wrap_c([f'    refuse(error, name, "{text}", "b");'])
    texts = [each.strip() for each in lines[1:-1]]
    assert "".join(texts).replace('""', "") == f'"{text}",'
    assert all(len(each) <= WIDTH for each in lines) or "w" * 120 in text


def test_what_leaves_stands_below_a_long_test() -> None:
    line = Leaving(f"if ({'a' * 80})", "return CVMGEN_REFUSED;")
    below = [f"    if ({'a' * 80})", "        return CVMGEN_REFUSED;"]
    assert wrap_c(indented([line])) == below
    assert wrap_c([Leaving("if (a)", "return 1;")]) == ["if (a) return 1;"]


def set_to(value: int) -> i.Stmt:
    return i.SetAt("s", i.Const(0), i.Const(value), SPAN)


BRANCHES = [
    (i.If(A, (set_to(1),), (), SPAN), ["if (a) s.at[0] = 1;"], "one statement stands behind"),
    (
        i.If(A, (set_to(1),), (set_to(2),), SPAN),
        ["if (a) {", "    s.at[0] = 1;", "} else {", "    s.at[0] = 2;", "}"],
        "two branches have braces",
    ),
    (
        i.If(A, (set_to(1),), (i.If(B, (set_to(2),), (), SPAN),), SPAN),
        ["if (a) {", "    s.at[0] = 1;", "} else if (b) {", "    s.at[0] = 2;", "}"],
        "a choice behind else joins it",
    ),
    (
        i.If(A, (set_to(1),), (i.If(B, (set_to(2),), (set_to(3),), SPAN),), SPAN),
        ["if (a) {", "    s.at[0] = 1;", "} else if (b) {", "    s.at[0] = 2;", "} else {",
         "    s.at[0] = 3;", "}"],
        "with its own other branch",
    ),
    (
        i.If(A, (set_to(1),), (i.If(B, (set_to(2),), (), SPAN), set_to(3)), SPAN),
        ["if (a) {", "    s.at[0] = 1;", "} else {", "    if (b) s.at[0] = 2;", "    s.at[0] = 3;",
         "}"],
        "not where more follows",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "lines", "why"), BRANCHES)
def test_branches(statement: i.Stmt, lines: list[str], why: str) -> None:
    found = MappedText("\n".join(CPrinter(host=True).block([statement])))
    assert found.split("\n") == lines, why


STORES = [
    (wrap_c, "Y[{} + j] = X[{}];", ["Y[{} + j] =", "    X[{}];"], "in C"),
    (wrap_python, ("Y[{} + j] =", "X[{}]"), ["Y[{} + j] = (", "    X[{}]", ")"], "in Python"),
    (wrap_c, "Y[j] = X[{}] + X[{}];", ["Y[j] = X[{}]", "    + X[{}];"], "where a value breaks"),
]


@pytest.mark.parametrize(
    ("wrap", "line", "lines"), [row[:3] for row in STORES], ids=[row[3] for row in STORES]
)
def test_what_is_stored_to_stays_whole(
    wrap: Callable[[Iterable[str]], list[str]], line: str | tuple[str, str], lines: list[str]
) -> None:
    place = "((number * channels + channel) * height + row) * width + (x_block + x_lane)"
    parts = [line] if isinstance(line, str) else line
    known = [each.replace("{}", place) for each in parts]
    made = Valued(*known) if len(known) == 2 else known[0]
    assert wrap([made]) == [each.replace("{}", place) for each in lines]
