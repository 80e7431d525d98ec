"""Scopes side by side may use the same names; one inside of another may not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cvmgen.reference.probe import check_operators
from cvmgen.source import Source, SpecErrors
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from tests.targets import load_own

# The items of an operator for X = [1, 2, 3], W = [[1, 2, 3], [0, 1, 0], [5, 0, 5]], and Y.
BESIDE = [
    ("Y[i] = sum[k < N](X[k]) + max[k < N](X[k])", [9, 9, 9], "two reductions"),
    ("let s[k] = X[k] Y[k] = s[k]", [1, 2, 3], "a let and an equation"),
    ("Y[i] = sum[k < N](X[k] + t) where t = max[k < N](X[k])", [15, 15, 15], "a where and its use"),
    ("Y[i] = t + sum[k < N](t) where t = max[k < N](X[k])", [12, 12, 12], "used in and out of it"),
    ("Y[i] = sum[k < N](t(k)) where t(k) = X[k] * 2", [12, 12, 12], "a parameter"),
    (
        "Y[i] = sum[k < N](t(N - 1 - k)) where t(k) = X[k] * k",
        [8, 8, 8],
        "a parameter given another",
    ),
    (
        "Y[i] = sum[k < N](t) where t = sum[k < N](W[i, k]) - X[k]",
        [12, -3, 24],
        "a name that is its own in one place alone",
    ),
    (
        "Y[i] = sum[k < N](t) where t = sum[j < N](X[k] * u), u = max[k < N](X[k] - X[j])",
        [18, 18, 18],
        "one within another where",
    ),
    (
        "Y[i] = t(i, 0) where t(a, b) = u(a) + b, u(a) = sum[b < N](W[a, b])",
        [6, 1, 10],
        "parameters of two wheres",
    ),
    (
        "Y[i] = sum[k_2 < N](sum[k < N](t)) where t = max[k < N](X[k] * X[k_2])",
        [54, 54, 54],
        "a name that another one would get is taken",
    ),
    ("within b < N { let s = X[b] Y[b] = s } within b < N { let s = 2 Z[b] = s }", [1, 2, 3], ""),
    (
        "case N == 1 { let s[i] = X[i] Y[i] = s[i] } "
        "case N != 1 { let s[i, j] = W[i, j] let t[i] = s[i, 0] Y[i] = t[i] + s[i, 1] }",
        [3, 1, 5],
        "lets of cases",
    ),
]
INSIDE = [
    ("Y[i] = sum[k < N](sum[k < N](X[k]))", "index 'k' is bound twice"),
    ("Y[i] = sum[i < N](X[i])", "index 'i' is bound twice"),
    ("Y[i] = t where t = sum[i < N](X[i])", "index 'i' is bound twice"),
    ("Y[i] = t(1) where t(i) = X[i]", "'i' is already an index"),
    ("let s[i] = X[i] let s[j] = X[j] Y[i] = s[i]", "'s' is already a let with indices"),
    ("let s[i] = X[i] within b < N { let s = X[b] Y[b] = s }", "'s' is already a let with indices"),
    ("within b < N { let s = X[b] Y[b] = s let s = 3 }", "'s' is already a let with indices"),
]
DATA = "[1, 2, 3], [[1, 2, 3], [0, 1, 0], [5, 0, 5]]"


def text(items: str, number: int = 0, result: object = None) -> str:
    outputs = "output Y : int64[N] " + "output Z : int64[N] " * ("Z[" in items)
    example = f"example f{number}({DATA}) == {result}" if result else ""
    inputs = "input X : int8[N] input W : int8[N, N]"
    return f"operator f{number} {{ {inputs} {outputs} {items} {example} }}"


def test_names_of_what_stands_side_by_side(tmp_path: Path) -> None:
    """The reference gives what is stated, and so does each target."""
    formulas = [text(items, at, result) for at, (items, result, _) in enumerate(BESIDE)]
    source = Source("t.cvm", "\n".join(formulas))
    operators = check_files([SpecFile(source, "t")])
    check_operators(operators)
    given = np.array([1, 2, 3], np.int8), np.array([[1, 2, 3], [0, 1, 0], [5, 0, 5]], np.int8)
    for target, loaded in load_own(operators, tmp_path, ("python", "numpy", "c")).items():
        for at, (items, result, why) in enumerate(BESIDE):
            found = loaded[f"t.f{at}"](*given)
            first = found[0] if isinstance(found, tuple) else found
            assert first.tolist() == result, (target, items, why)


@pytest.mark.parametrize(("items", "message"), INSIDE)
def test_names_of_what_stands_inside(items: str, message: str) -> None:
    with pytest.raises(SpecErrors) as caught:
        check_files([SpecFile(Source("t.cvm", text(items)), "t")])
    assert message in str(caught.value)
