"""Formulas as mathematics: MathML that a page can hold as it is, and LaTeX."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from cvmgen.source import Span
from cvmgen.spec.as_parsed import declared, definitions, read_declaration
from cvmgen.spec.formula import Output, all_items
from cvmgen.spec.mathematics import expression, mathematics, statements
from cvmgen.spec.notation import NAMESPACE, latex, mathml
from tests.operators import product, sweeps

ELEMENTS = {
    *("math", "mi", "mn", "mo", "mtext", "mrow", "msub", "msup", "munder", "mfrac", "msqrt"),
    *("mtable", "mtr", "mtd"),
}


@pytest.mark.parametrize("names", sweeps([each.full_name for each in product()]))
def test_all_operators_are_written(names: list[str]) -> None:
    """From what was parsed with its file, and from their text alone."""
    for operator in (each for each in product() if each.full_name in names):
        found = mathematics(declared(operator))
        assert latex(mathematics(read_declaration(operator.text))) == latex(found)
        found = mathematics(declared(operator), definitions(operator))
        tree = ElementTree.fromstring(mathml(found))
        tags = {each.tag.removeprefix(f"{{{NAMESPACE}}}") for each in tree.iter()}
        assert tags <= ELEMENTS
        text = latex(found)
        assert text.count("{") == text.count("}")
        assert text.count(r"\left") == text.count(r"\right")


def test_what_stands_for_types_and_what_is_used_are_told() -> None:
    own = next(each for each in product() if each.full_name == "onnx.qlinear_conv")
    found = {each.kind: latex(each.shown) for each in statements(declared(own))}
    assert "uint8" in found["type"]
    shown = [latex(each.shown) for each in statements(declared(own)) if each.kind == "input"]
    assert [each for each in shown if "optional" in each] == shown[-1:]
    whole = latex(mathematics(declared(own), definitions(own)))
    assert whole.count(r"\mathit{saturated} \left(") == 2  # where it is used, and what it is


def test_what_was_checked_is_written_too() -> None:
    for operator in product():
        for item in all_items(operator.items):
            if isinstance(item, Output) and item.precision is not None:
                assert latex(expression(item.precision, declared(operator)))


def test_parts_know_their_places() -> None:
    (dense,) = (each for each in product() if each.full_name == "cvm.dense")
    seen: list[str] = []

    def note(span: Span) -> str:
        seen.append(span.text)
        return f'data-a="{span.start}"'

    text = mathml(mathematics(declared(dense)), note)
    assert {"X[i, k] * W[j, k]", "k < K", "B[j]"} <= {*seen}
    assert text.count("data-a=") == len(seen)


def test_statements_are_the_items() -> None:
    (conv2d,) = (each for each in product() if each.full_name == "cvm.conv2d")
    found = [each.kind for each in statements(declared(conv2d))]
    assert found.count("input") == 3
    assert found.count("require") == 2
    messages = [each.text for each in statements(declared(conv2d)) if each.kind == "require"]
    assert messages[0] == "the channels must split into the groups"


WRITTEN = {
    "sum[k < K](X[i, k] * W[k])": r"\mathop{\sum}\limits_{\substack{0 \le k < K}} {X}_{i , k}"
    r" \cdot {W}_{k}",
    "sum[1 <= k < K if k != 2](X[k])": r"\mathop{\sum}\limits_{\substack{1 \le k < K \\ k \ne 2}}"
    " {X}_{k}",
    "-(a + b) * 2^(n - 1)": r"- \left( a + b \right) \cdot {2}^{n - 1}",
    "(a + b) div c": r"\left\lfloor \frac{a + b}{c} \right\rfloor",
    "a tdiv b over 2": r"\frac{\text{trunc} \left( \frac{a}{b} \right)}{2}",
    "a if b > 0 else c if d else e": r"\begin{cases}a & \text{if } b > 0 \\ c & \text{if } d \\"
    r" e & \text{otherwise}\end{cases}",
    "not a and (b or c)": r"\lnot a \land \left( b \lor c \right)",
    "X[d..., n[1]] + size(n[1:])": r"{X}_{\boldsymbol{d} , {n}_{1}} + \prod {n}_{1 : }",
    "ceil(log2(alpha + 1))": r"\left\lceil {\text{log}}_{2} \left( \alpha + 1 \right) \right\rceil",
    "max(p(X), p(min_attr))": r"\max \left( {p}_{X} , {p}_{\mathit{min\_attr}} \right)",
    "{i for i < N} - {a for a in axes}": r"\left\{ i \mid 0 \le i < N \right\} - \left\{ a \mid a"
    r" \in \mathit{axes} \right\}",
    'mode == "A_B" and present(B)': r"\mathit{mode} = \text{“A\_B”} \land B \text{ is given}",
    "not present(B)": r"B \text{ is not given}",
    "select[i < N](X[i] > 0)": r"{\left( i \mid {X}_{i} > 0 \right)}_{0 \le i < N}",
    "sort[i < N] by (-X[i], i)": r"{\text{sort}}_{- {X}_{i} , i} \left( 0 \le i < N \right)",
}


@pytest.mark.parametrize("formula", WRITTEN)
def test_how_expressions_are_written(formula: str) -> None:
    operator = read_declaration(f"operator some {{ let value = {formula} }}")
    (only,) = statements(operator)
    assert latex(only.shown) == rf"\mathit{{value}} = {WRITTEN[formula]}"


def test_what_strangers_write_stays_text() -> None:
    text = 'operator a { let b = mode == "<script>$x$\\\\evil{" }'
    shown = mathml(mathematics(read_declaration(text)))
    assert "<script" not in shown
    ElementTree.fromstring(shown)
    assert re.search(r"(?<!\\)\$|\\evil", latex(mathematics(read_declaration(text)))) is None
