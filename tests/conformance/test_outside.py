"""What reads or writes outside of its tensors is refused alike on every target, and nothing else.

Each row: items of a formula, a call, and the result or the refusal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cvmgen.errors import OperatorError
from cvmgen.reference import Reference
from cvmgen.reference.tensor import Tensor
from cvmgen.spec.formula import Operator
from tests.specs import operator
from tests.targets import TARGETS, load_own

X = "input X : cvm[N]\n"
LIST = f"{X}attr L : int list = ()\nattr a = 0\n"
Y = "output Y : cvm[N] precision 32\n"
SEVERAL = "input each q < Q : X[q] : cvm[m[q]...]\noutput Y : cvm[Q] precision 32\n"
WIDE = "input X : cvm[A, B, C, D]\noutput Y : cvm[A, B, C, D] precision 32\n"
SORTED = f"{X}{Y}let V = sort[q < N] by (-X[q])\n"

# items, X, attributes, the elements or what a refusal says, why
ROWS: list[tuple[str, Any, dict[str, Any], Any, str]] = [
    (
        f"{SORTED}Y[i] = X[(i if V[i] == i else i + 1000000)]",
        [1, 2],
        {},
        "element (0,)",
        "a sort moves entries",
    ),
    (
        f"{X}{Y}let V = select[q < N](X[q + X[q]] > 0)\nY[i] = count(V)",
        [1, 9],
        {},
        "V: its formula",
        "the filter of a list",
    ),
    (
        f"{X}{Y}let V = select[q < N](X[q] > 0)\nlet W = select[q < N](X[q] <= 0)\n"
        "Y[k] = X[V[k]]  forall k < count(V)\nY[count(V) + k] = X[W[k]]  forall k < count(W)",
        [1, 2],
        {},
        [1, 2],
        "an equation over an empty list writes nothing",
    ),
    (
        f"{X}{Y}Y[(i + X[i]) mod (N + 1)] = 1  forall i < N",
        [1, 1],
        {},
        "Y: its formula",
        "a store outside",
    ),
    (
        f"{X}{Y}Y[i] = X[i]  forall i < 1\nY[i] = X[i + 1]  forall 1 <= i < N",
        [1, 2, 3],
        {},
        "Y: its formula",
        "a loop that begins behind 0",
    ),
    (
        f"{X}{Y}Y[i] = X[i]  forall i < 1\nY[i] = X[i + 1]  forall 1 <= i < N",
        [7],
        {},
        [7],
        "a loop that does not begin",
    ),
    (
        f"{WIDE}Y[i, j, k, l] = X[i, j, X[i, j, k, l], l]",
        [[[[0, 0], [0, 1]]]],
        {},
        [0, 0, 0, 1],
        "positions of many dimensions",
    ),
    (
        f"{WIDE}Y[i, j, k, l] = X[i, j, X[i, j, k, l], l]",
        [[[[0, 0], [0, 2]]]],
        {},
        "element (0, 0, 1, 1)",
        "the position of many dimensions",
    ),
    (
        f"{X}attr c : int optional in [0, 9)\n{Y}Y[i] = X[i] if X[i] > 0 else c",
        [1, 2],
        {},
        [1, 2],
        "what is left away is not asked for",
    ),
    (
        f"{X}attr c : int optional in [0, 9)\n{Y}Y[i] = X[i] if X[i] > 0 else c",
        [1, -2],
        {},
        "element (1,)",
        "what is left away is asked for",
    ),
    (
        f"{X}attr w : word optional in {{'up', 'down'}}\n{Y}Y[i] = -X[i] if w == 'down' else X[i]",
        [3],
        {},
        [3],
        "a word that is left away is none",
    ),
    (f"{LIST}{Y}Y[i] = X[i] * L[a]", [3], {"a": 10**9}, "element (0,)", "an entry far outside"),
    (
        f"{LIST}{Y}Y[i] = X[i] + sum[k < a](L[k])",
        [3],
        {"a": 99},
        "element (0,)",
        "a sum of entries",
    ),
    (
        f"{LIST}{Y}Y[i] = X[i] + (L[a] if i < 2 and 0 <= a < len(L) else 0)",
        [3, 4, 5],
        {"a": 10**9},
        [3, 4, 5],
        "an entry behind a condition that the host cannot ask",
    ),
    (
        f"{X}attr a = 0\ninput Z : cvm[m...]\n{Y}Y[i] = X[i] + sum[d... < m[a:]...](1)",
        [3],
        {"a": 10**9},
        "element (0,)",
        "a part of a shape, as the box of a loop",
    ),
    (f"{SEVERAL}Y[q] = m[q][1]", [[[1]], [[2, 3]]], {}, [1, 2], "shapes of several tensors"),
    (f"{SEVERAL}Y[q] = m[q][1]", [[[1]], [2]], {}, "element (1,)", "a shape of several tensors"),
    (
        f"{SEVERAL}Y[q] = X[q][unflatten(1, m[q])...]",
        [[1, 2], [3]],
        {},
        "element (1,)",
        "an element of several tensors",
    ),
]


def named(number: int) -> str:
    return f"f{number}"


@pytest.fixture(scope="module")
def operators() -> list[Operator]:
    return [operator(row[0].replace("'", '"'), named(at)) for at, row in enumerate(ROWS)]


@pytest.fixture(scope="module")
def loaded(operators: list[Operator], tmp_path_factory: pytest.TempPathFactory) -> Any:
    return load_own(operators, tmp_path_factory.mktemp("outside"))


@pytest.mark.parametrize("number", range(len(ROWS)), ids=[row[-1] for row in ROWS])
def test_refused_alike(number: int, operators: list[Operator], loaded: Any) -> None:
    _, data, attributes, wanted, _ = ROWS[number]
    several = operators[number].inputs[0].variadic
    arrays = {"X": [np.array(each, np.int32) for each in (data if several else [data])]}
    if "input Z" in ROWS[number][0]:
        arrays["Z"] = [np.ones((2, 2), np.int32)]
    given = [each if several else each[0] for each in arrays.values()]
    found = {
        name: called(ops[f"test.{named(number)}"], given, attributes)
        for name, ops in loaded.items()
    }
    expected = by_reference(operators[number], arrays, several, attributes)
    assert set(found) == set(TARGETS)
    assert all(each == expected for each in found.values()), found
    assert expected == wanted or (isinstance(wanted, str) and wanted in expected)


def called(run: Any, given: list[Any], attributes: dict[str, Any]) -> Any:
    try:
        return run(*given, **attributes).ravel().tolist()
    except OperatorError as error:
        return str(error)


def by_reference(
    found: Operator, arrays: dict[str, list[Any]], several: bool, attributes: dict[str, Any]
) -> Any:
    tensors = {name: [Tensor.of(a.tolist()) for a in each] for name, each in arrays.items()}
    given: Any = tensors if several else {name: each[0] for name, each in tensors.items()}
    try:
        return Reference(found).evaluate(given, attributes).outputs["Y"].values
    except OperatorError as error:
        return str(error)
