"""How notebooks show operators, networks and errors: mathematics and tables, of which nothing that
strangers wrote is read as markup."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import cvmgen
from cvmgen.api.notebook import operator_html, operator_latex
from cvmgen.graph import load
from cvmgen.source import Source, Span, SpecError
from tests.operators import ROOT

HOSTILE = '<script>alert("$x$")</script>\\evil{'


@pytest.fixture(scope="module")
def ops() -> cvmgen.api.Operators:
    return cvmgen.load("python")


def texts(page: str) -> str:
    """The page is well formed; what it says."""
    return "".join(ElementTree.fromstring(f"<div>{page}</div>").itertext())


def latex_of(shown: Any) -> str:
    """A block of LaTeX in which nothing ends what begun outside of it."""
    text: str = shown._repr_latex_()
    inside = text.removeprefix("$$\n").removesuffix("\n$$")
    assert "$" not in re.sub(r"\\\$", "", inside)
    bare = re.sub(r"\\[{}]", "", inside)
    assert bare.count("{") == bare.count("}")
    return text


def test_every_operator_is_shown(ops: cvmgen.api.Operators) -> None:
    for opset in (ops.cvm, ops.tosa, ops.mxnet, ops.systemml):
        for each in opset:
            page = each._repr_html_()
            assert each.name in texts(page)
            assert "<math" in page
            assert each._repr_latex_().startswith("$$\n\\begin{aligned}")
        assert f"{next(iter(opset)).signature}" in texts(opset._repr_html_())


def test_what_is_shown_is_the_formula(ops: cvmgen.api.Operators) -> None:
    assert r"\mathop{\sum}\limits_{\substack{0 \le k < K}}" in ops.cvm.dense._repr_latex_()
    assert "padding: 2 integers" in texts(ops.cvm.conv2d._repr_html_())


def test_what_cannot_be_read_is_shown_as_it_is(ops: cvmgen.api.Operators) -> None:
    info = replace(ops.cvm.relu._info, formula=HOSTILE, doc=HOSTILE)
    page = operator_html(info, "relu(X)")
    assert "<script" not in page
    assert HOSTILE in texts(page)
    assert operator_latex(info) is None


def test_networks(ops: cvmgen.api.Operators) -> None:
    folder = ROOT / "examples" / "digits"
    network = load(folder / "digits.json", folder / "digits.bin", operators=ops)
    said = texts(network._repr_html_())
    assert all(each.node in said for each in network.nodes)
    assert str(network.output_shapes[0]) in said
    assert r"\mathtt{conv2d}" in latex_of(network)


def test_errors(ops: cvmgen.api.Operators) -> None:
    with pytest.raises(cvmgen.OperatorError) as refused:
        ops.cvm.clip(np.array([1], np.int32), a_min=3, a_max=1)
    assert "a_min must be below a_max" in texts(refused.value._repr_html_())
    assert r"a\_min\ must\ be\ below\ a\_max" in latex_of(refused.value)
    fault = SpecError(Span(Source("a.cvm", HOSTILE), 0, 3), "nothing")
    assert "<script" not in fault._repr_html_()
    assert "^^^" in texts(fault._repr_html_())
    assert r"\wedge{}\wedge{}\wedge{}" in latex_of(fault)
    assert r"\evil" not in latex_of(fault)
