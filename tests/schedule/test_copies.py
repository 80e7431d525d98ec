"""Runs: which loops become copies and fills, as text, for int32 and for mixed types."""

from __future__ import annotations

import pytest

from cvmgen.analysis.facts import Facts
from cvmgen.driver import C_LIKE, lower
from cvmgen.dtypes import INT8, INT32, DType
from cvmgen.ir.text import block_lines
from cvmgen.schedule.copies import copy_runs
from cvmgen.typing.types import type_nest
from tests.specs import operator

VECTOR = "input X : cvm[N]\noutput Y : cvm[N] precision p(X)\n"
MATRIX = "input X : cvm[M, K]\noutput Y : cvm[M, K] precision max(p(X), 2)\n"
ANY = "input X : cvm[n...]\nlet N = len(n)\n"

RUNS = [
    (
        "whole tensor",
        ANY + "output Y : cvm[n...] precision p(X)\nY[d...] = X[d...]",
        ["copy n_size: Y@[0] by 1 = X@[0] by 1"],
        "all elements are one run",
    ),
    (
        "rows side by side",
        MATRIX + "Y[i, j] = X[i, j]",
        ["copy M * K: Y@[0] by 1 = X@[0] by 1"],
        "where each row begins where the last one ended, the rows are one run",
    ),
    (
        "rows apart",
        "input X : cvm[M, K]\noutput Y : cvm[M, 2*K] precision p(X)\n"
        "Y[i, j] = X[i, j] forall i < M, j < K\nY[i, K + j] = X[i, j] forall i < M, j < K",
        ["for 0 <= i < M:", "  copy K: Y@[i * (2 * K)] by 1 = X@[i * K] by 1"],
        "a run for each row",
    ),
    (
        "transposed",
        "input X : cvm[M, K]\noutput Y : cvm[K, M] precision p(X)\nY[j, i] = X[i, j]",
        ["for 0 <= j < K:", "  copy M: Y@[j * M] by 1 = X@[j] by K"],
        "elements apart go by steps",
    ),
    (
        "reversed",
        VECTOR + "Y[i] = X[N - 1 - i]",
        ["copy N: Y@[0] by 1 = X@[N - 1] by -1"],
        "a step may be negative",
    ),
    (
        "part",
        "input X : cvm[N]\noutput Y : cvm[N] precision p(X)\nY[i] = X[i] forall 1 <= i < N\n"
        "Y[0] = X[0]",
        ["copy N - 1: Y@[1] by 1 = X@[1] by 1"],
        "a run begins where its loop begins",
    ),
    (
        "one element",
        "input X : cvm[M]\noutput Y : cvm[M, M] precision p(X)\nY[i, j] = X[i]",
        ["for 0 <= i < M:", "  fill M: Y@[i * M] by 1 = X@[i]"],
        "one element over a run",
    ),
    (
        "computed once",
        "input X : cvm[M]\noutput Y : cvm[M, M] precision 32\nY[i, j] = 2 * X[i]",
        ["for 0 <= i < M:", "  fill M: Y@[i * M] by 1 = i32(u32(2) * u32(X@[i]))"],
        "a value that does not vary along the run",
    ),
    (
        "constant",
        MATRIX + "Y[i, j] = 1",
        ["fill M * K: Y@[0] by 1 = 1"],
        "a constant over a whole tensor",
    ),
    (
        "choice of rows",
        MATRIX + "attr c in [0, 9)\nY[i, j] = X[i, j] if i < c else -1",
        [
            "for 0 <= i < M:",
            "  if i < c:",
            "    copy K: Y@[i * K] by 1 = X@[i * K] by 1",
            "  else:",
            "    fill K: Y@[i * K] by 1 = -1",
        ],
        "a test that does not vary along the run stands in front of it",
    ),
    (
        "choice of tensors",
        MATRIX + "attr on : bool\nY[i, j] = X[i, j] if on else 0",
        [
            "if on:",
            "  copy M * K: Y@[0] by 1 = X@[0] by 1",
            "else:",
            "  fill M * K: Y@[0] by 1 = 0",
        ],
        "and in front of all of them where it can",
    ),
    (
        "one branch",
        "input X : cvm[N]\nattr on : bool\noutput Y : cvm[N] precision p(X) + 1\n"
        "Y[i] = 2 * X[i] if on else 0",
        [
            "if on:",
            "  for 0 <= i < N:",
            "    Y@[i] = i32(u32(2) * u32(X@[i]))",
            "else:",
            "  fill N: Y@[0] by 1 = 0",
        ],
        "a branch that computes keeps its loop",
    ),
    (
        "named index",
        "input X : cvm[N]\noutput Y : cvm[N] precision p(X)\nY[i] = X[k] where k = N - 1 - i",
        ["copy N: Y@[0] by 1 = X@[N - 1] by -1"],
        "a name for an index is the index",
    ),
]


@pytest.mark.parametrize(
    ("items", "expected"), [pytest.param(*row[1:3], id=row[0]) for row in RUNS]
)
def test_runs(items: str, expected: list[str]) -> None:
    assert typed_lines(items, INT32, INT32, 0) == expected


LOOPS = [
    (VECTOR + "Y[i] = X[i * i mod N]", "the places are not affine"),
    (VECTOR + "Y[i] = X[i] if i > 0 else 1", "the test varies along the loop"),
    (
        "input X : cvm[N]\ninput Z : cvm[M]\noutput Y : cvm[N] precision p(X)\n"
        "Y[i] = X[i] forall i < 1\nY[i] = Z[N] if Z[N] > 0 else 0 forall 1 <= i < N",
        "an element that is not there when nothing is stored",
    ),
    (
        "input X : cvm[N]\noutput Y : cvm[N] precision 32\nY[i] = sum[j < N](X[j] * X[i])",
        "a reduction",
    ),
]


@pytest.mark.parametrize(("items", "why"), LOOPS, ids=[why for _, why in LOOPS])
def test_loops_that_stay(items: str, why: str) -> None:
    lines = "\n".join(typed_lines(items, INT32, INT32, -1))
    assert "copy" not in lines, why
    assert "fill" not in lines, why


TYPES = [
    (INT8, INT8, ["copy N: Y@[0] by 1 = X@[0] by 1"], "bytes move as they are"),
    (INT32, INT32, ["copy N: Y@[0] by 1 = X@[0] by 1"], "so do words"),
    (INT8, INT32, ["for 0 <= i < N:", "  Y@[i] = X@[i]"], "each is widened"),
    (INT32, INT8, ["for 0 <= i < N:", "  Y@[i] = i8(X@[i])"], "each is narrowed"),
]


@pytest.mark.parametrize(("source", "stored", "expected", "why"), TYPES, ids=[r[-1] for r in TYPES])
def test_types(source: DType, stored: DType, expected: list[str], why: str) -> None:
    assert typed_lines(VECTOR + "Y[i] = X[i]", source, stored) == expected, why


def test_a_constant_takes_the_type_of_the_elements() -> None:
    items = MATRIX + "attr c in [0, 9)\nY[i, j] = X[i, j] if i < c else -1"
    lines = typed_lines(items, INT8, INT8)
    assert lines[-1].strip() == "fill K: Y@[i * K] by 1 = -1"
    assert lines[2].strip() == "copy K: Y@[i * K] by 1 = X@[i * K] by 1"


def typed_lines(items: str, source: DType, stored: DType, nest: int = 0) -> list[str]:
    program = lower(operator(items), C_LIKE)
    chosen = program.nests[nest]
    dtypes = dict.fromkeys((each.name for each in program.operator.inputs), source) | {"Y": stored}
    body = type_nest(program, chosen, dtypes).body
    return block_lines(copy_runs(body, dtypes, Facts.of(program, chosen)))
