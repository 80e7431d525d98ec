"""Kernels that differ in element types alone stand once in a file of C, which includes itself."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cvmgen
from cvmgen.build.files import write_changed
from cvmgen.driver import emitted, generate
from cvmgen.paths import generated_folder
from tests.specs import operator

TYPES = r"(?:bool|u?int(?:8|16|32|64)|float(?:32|64)?|double)"
FUNCTION = re.compile(r"^static .*?^}", re.M | re.S)
SHORT = 30  # lines: what a section of its own would take


def without_types(text: str) -> str:
    bare = re.sub(rf"(?<=_){TYPES}(?=\b|_)|\b{TYPES}(?:_t)?\b", "T", text)
    bare = re.sub(r"\(T\)|/\*.*?\*/", "", bare, flags=re.S)
    return "".join(bare.split())


@pytest.mark.parametrize(
    "path", sorted((generated_folder() / "c").rglob("*/*.c")), ids=lambda path: path.stem
)
def test_no_function_is_said_again(path: Path) -> None:
    functions = FUNCTION.findall(path.read_text(encoding="utf-8"))
    said: dict[str, int] = {}
    for function in functions:
        bare = without_types(function)
        said[bare] = said[bare] + function.count("\n") + 1 if bare in said else 0
    assert [bare for bare, lines in said.items() if lines > SHORT] == []


INVENTED = [
    (
        "type T in int8, int16, int32\ninput X : T[N, K]\noutput Y : T[N]\n"
        "Y[i] = clip(sum[k < K](X[i, k] div 8), least(T), greatest(T))",
        {"X": ("int8", "int16", "int32")},
        3,
        lambda X: (X // 8).sum(axis=1),
        "ends of types are those of a parameter",
    ),
    (
        "type T in int8, uint8, int32\ninput X : T[N, K]\ninput Z : T[N, K]\n"
        "output Y : float32[N]\nY[i] = sum[k < K](real(X[i, k] - Z[i, k]))",
        {"X": ("int8", "int32"), "Z": ("int8", "int32")},
        3,
        lambda X, Z: (X - Z).sum(axis=1),
        "int64 is what int32 could overflow in",
    ),
    (
        "type T in int8, int16, int32, int64\ninput X : T[N, K]\noutput Y : T[N]\n"
        "Y[i] = max[k < K](X[i, k])",
        {"X": ("int8", "int16", "int32", "int64")},
        3,
        lambda X: X.max(axis=1),
        "what int64 is made by differs in more than types",
    ),
    (
        "input X : cvm[element_t, wide_t]\ninput W : cvm[wide_t]\noutput Y : cvm[element_t]\n"
        "Y[result_t] = sum[TYPED < wide_t](X[result_t, TYPED] * W[TYPED]) - 1",
        {"X": ("int8", "int32"), "W": ("int8", "int32")},
        4,
        lambda X, W: X @ W - 1,
        "formulas may use the names of parameters, too",
    ),
    (
        "input X : cvm[N]\noutput Y : cvm[N]\noutput Z : cvm[N] precision p(X)\n"
        "Y[i] = X[i] * X[i] + (X[i] if X[i] > 0 else -X[i])\n"
        "Z[i] = max(X[i], X[max(0, i - 1)])",
        {"X": ("int8", "int32")},
        4,
        lambda X: (X * X + abs(X), np.maximum(X, np.concatenate([X[:1], X[:-1]]))),
        "several nests in one section",
    ),
    (
        "type T in int8, int16, int32\ninput X : cvm[N, K]\ninput Z : T[N, K]\n"
        "output Y : cvm[N] precision p(X)\noutput W : T[N]\n"
        "Y[i] = max[k < K](X[i, k])\nW[i] = min[k < K](Z[i, k])",
        {"X": ("int8", "int32"), "Z": ("int16", "int8")},
        7,
        lambda X, Z: (X.max(axis=1), Z.min(axis=1)),
        "several sections",
    ),
    (
        "input X : cvm[N, K]\noutput Y : cvm[N]\noutput Y_part : cvm[N]\n"
        "output Y_part_2_call : cvm[N]\nY[i] = max[k < K](X[i, k])\n"
        "Y_part[i] = max[k < K](X[i, k]) + 1\nY_part_2_call[i] = max[k < K](X[i, k]) + 2",
        {"X": ("int8", "int32")},
        4,
        lambda X: (X.max(axis=1), X.max(axis=1) + 1, X.max(axis=1) + 2),
        "outputs have the names that functions for threads would have",
    ),
]
SHAPES = {"X": (9, 7), "Z": (9, 7), "W": (7,)}


@pytest.mark.parametrize(
    ("items", "types", "included", "expected", "why"), INVENTED, ids=[row[-1] for row in INVENTED]
)
def test_invented(
    items: str,
    types: dict[str, Sequence[str]],
    included: int,
    expected: Callable[..., Any],
    why: str,
    tmp_path: Path,
) -> None:
    found = operator(items)
    text = emitted("c", found)
    assert text.count('#include "f.c"') == included
    write_changed(tmp_path, generate([found], ("c",)))
    call = cvmgen.load("c", folder=tmp_path).test.f
    random = np.random.default_rng(1)
    for dtypes in zip(*types.values(), strict=True):
        given = [
            random.integers(-100, 100, SHAPES[name] if "sum" in items or "max[" in items else (60,))
            for name in types
        ]
        results = call(*(a.astype(t) for a, t in zip(given, dtypes, strict=True)))
        wanted = expected(*given)
        for one, other in zip(tupled(results), tupled(wanted), strict=True):
            assert np.array_equal(one, other), (why, dtypes)


def tupled(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)


def test_what_differs_in_more_stays_apart() -> None:
    """A shift of int32 is rounded in int64."""
    found = operator("input X : cvm[N]\noutput Y : cvm[N]\nY[i] = (X[i] + 1) div 2")
    assert "TYPED" not in emitted("c", found)
