"""What nothing reads is told, with its place."""

from __future__ import annotations

import pytest

from cvmgen.source import Source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.spec.unread import unread
from tests.operators import product

OPERATOR = "operator f {{ input X : cvm[N] {} output Y : cvm[N] precision 32 {} }}"
# What stands in front of the output and behind it, and what nothing reads.
ROWS = [
    ("", "Y[i] = X[i]", [], "all is read"),
    ("input Z : cvm[N]", "Y[i] = X[i]", ["input 'Z'"], "an input of a known shape"),
    ("input Z : cvm[M]", "Y[i] = X[i] + M", [], "its extent is read"),
    ("input Z : cvm[m...]", "Y[i] = X[i] + len(m)", [], "its extents are"),
    ("input Z : cvm[N] optional", "Y[i] = 1 if present(Z) else X[i]", [], "whether it is there"),
    ("input Z : cvm[N]", "Y[i] = X[i] + p(Z)", [], "its precision"),
    ("input each i < M : Z[i] : cvm[n[i]...]", "Y[i] = X[i]", ["input 'Z'"], "several inputs"),
    ("input each i < M : Z[i] : cvm[n[i]...]", "Y[i] = X[i] + M", [], "their number"),
    ("attr k = 3", "Y[i] = X[i]", ["attribute 'k'"], "an attribute"),
    ("attr k (a, b) = (1, 2)", "Y[i] = X[i] + b", [], "an entry of one"),
    ('attr k = 1 in [0, 3) or {"x"}', 'Y[i] = X[i] if k == "x" else 0', [], "its word"),
    ("attr k = 3 attr l = 0 in [0, k)", "Y[i] = X[i] + l", [], "in the range of another"),
    ("attr k = 3 require k > 0 : 'k'", "Y[i] = X[i]", [], "in a requirement"),
    ("let k = N", "Y[i] = X[i]", ["let 'k'"], "a let"),
    (
        "let k = N let l = k",
        "Y[i] = X[i]",
        ["let 'k'", "let 'l'"],
        "a let for another that is none",
    ),
    ("let k = N let l = k", "Y[i] = X[i] + l", [], "a let by way of another"),
    ("let k[j] = X[j]", "Y[i] = X[i]", ["let 'k'"], "a let with indices"),
    ("let a[k] = X[k] let k = N", "Y[i] = a[i]", ["let 'k'"], "an index had that name before"),
    ("let V = select[j < N](X[j] > 0)", "Y[i] = X[i]", ["let 'V'"], "a list of chosen elements"),
    ("let k = N", "Y[i] = t where t = X[i] + k", [], "read by a where"),
    ("attr k = 3", "case k > 0 { Y[i] = X[i] } case k <= 0 { Y[i] = 0 }", [], "by a case"),
    (
        "attr k = 3",
        "case N > 1 { let a = k Y[i] = X[i] } case N <= 1 { Y[i] = 0 }",
        ["attribute 'k'", "let 'a'"],
        "inside a case",
    ),
    ("input Z : cvm[N] although 'others give it'", "Y[i] = X[i]", [], "it is there for callers"),
    ("let k = N although 'others'", "Y[i] = X[i]", ["let 'k'"], "a let is not"),
]


@pytest.mark.parametrize(("front", "behind", "names", "why"), ROWS, ids=[row[-1] for row in ROWS])
def test_unread(front: str, behind: str, names: list[str], why: str) -> None:
    text = OPERATOR.format(front, behind).replace("'", '"')
    found = list(unread(check_files([SpecFile(Source("t.cvm", text), "t")])))
    assert [each.message for each in found] == [f"nothing reads the {name}" for name in names], why
    for each in found:
        word, name = each.message.split()[-2:]
        assert each.span.text.startswith(word[:4]), why
        assert name.strip("'") in each.span.text, why


FAMILY = """
family one(F) { input X : cvm[N] let a = N output Y : cvm[N] precision 32 Y[i] = F(X[i], a) }
def first(x, a) = x
def both(x, a) = x + a
"""


def test_what_one_operator_of_a_family_reads_is_read() -> None:
    files = [
        SpecFile(Source("t.cvm", f"{FAMILY} operator f = one(first) operator g = one(both)"), "t")
    ]
    assert list(unread(check_files(files))) == []


def test_formulas_of_the_project_read_all_that_they_declare() -> None:
    assert list(unread(product())) == []
