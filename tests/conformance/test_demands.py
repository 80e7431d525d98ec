"""Requirements on elements: refused alike on every target, by the first element that breaks one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cvmgen.source import CvmgenError, Source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from tests.conformance.calls import Call, Conformance
from tests.conformance.together import CLIP, operator_text, together

MATRIX = "input X : {0}[N, K]\n output Y : {1}[N, K]\n"
VECTOR = "input X : {0}[N]\n output Y : {1}[N]\n"
HALVES = "Y[i, j] = X[i, j] div 2"

# items, inputs, the result or the refusal
ROWS: list[tuple[str, tuple[Any, ...], Any]] = [
    (
        f'{MATRIX.format("cvm", "cvm")} require X[i, j] >= 0 : "no element is negative"\n {HALVES}',
        ([[4, 5], [6, 0]],),
        [[2, 2], [3, 0]],
    ),
    (
        f'{MATRIX.format("cvm", "cvm")} require X[i, j] >= 0 : "no element is negative"\n {HALVES}',
        ([[4, 5, 6], [6, -1, 0], [-1, 0, 0]],),
        "X: no element is negative, at (1, 1)",
    ),
    (
        "input X : int32[N]\n input I : int64[n...]\n output Y : int32[n...]\n"
        'require 0 <= I[d...] < N : "a place is below N"\n Y[d...] = X[I[d...]]',
        (np.array([5, 6], np.int32), np.array([[1, 0], [1, 1]], np.int64)),
        [[6, 5], [6, 6]],
    ),
    (
        "input X : int32[N]\n input I : int64[n...]\n output Y : int32[n...]\n"
        'require 0 <= I[d...] < N : "a place is below N"\n Y[d...] = X[I[d...]]',
        (np.array([5, 6], np.int32), np.array([[1, 0], [2, -1]], np.int64)),
        "I: a place is below N, at (1, 0)",
    ),
    (
        f"{VECTOR.format('int64', 'int64')} let d[i] = X[i] - X[i - 1]\n"
        'require d[i] >= 0 forall 1 <= i < N : "the elements rise"\n Y[i] = X[i]',
        (np.array([1, 2, 2, 1], np.int64),),
        "X: the elements rise",
    ),
    (
        f"{VECTOR.format('int64', 'int64')} let d[i] = X[i + 1] - X[i]\n"
        'require d[i] >= 0 forall i < N - 1 : "the elements rise"\n Y[i] = X[i]',
        (np.array([1, 2, 2, 1], np.int64),),
        "X: the elements rise, at (2,)",
    ),
    (
        f"{VECTOR.format('int64', 'int64')} let d[i] = X[i + 1] - X[i]\n"
        'require d[i] >= 0 forall i < N - 1 : "the elements rise"\n Y[i] = X[i]',
        (np.array([7], np.int64),),
        [7],
    ),
    (
        f'{VECTOR.format("float32", "float32")} require sum[i < N](X[i]) == 1.0 : "they sum to 1"\n'
        "Y[i] = 2.0 * X[i]",
        (np.array([0.5, 0.25], np.float32),),
        "X: they sum to 1",
    ),
    (
        f'{VECTOR.format("float64", "float64")} require not isnan(X[i]) : "no NaN"\n Y[i] = X[i]',
        (np.array([0.5, np.nan, np.nan], np.float64),),
        "X: no NaN, at (1,)",
    ),
    (
        "input each q < Q : X[q] : cvm[m[q]...]\n output Y : cvm[Q] precision 32\n"
        'require X[q][d...] != 3 forall q < Q, d... < m[q]... : "no element is 3"\n'
        "Y[q] = size(m[q])",
        ([[1, 2], [[4], [3]]],),
        "X: no element is 3",
    ),
    (
        "input X : cvm[N]\n input B : cvm[N] optional\n output Y : cvm[N]\n"
        'require not present(B) or B[i] > X[i] : "B is above X"\n Y[i] = X[i]',
        ([1, 2], [2, 2]),
        "B: B is above X, at (1,)",
    ),
    (
        "input X : cvm[N]\n input B : cvm[N] optional\n output Y : cvm[N]\n"
        'require not present(B) or B[i] > X[i] : "B is above X"\n Y[i] = X[i]',
        ([1, 2], None),
        [1, 2],
    ),
    (
        "input X : cvm[N, K]\n output Y : cvm[N]\n within n < N {\n"
        'require X[n, j] > X[n, 0] forall 1 <= j < K if X[n, j] != 5 : "the first is the least"\n'
        "Y[n] = X[n, 0] }",
        ([[1, 2, 3], [4, 5, 4]],),
        "X: the first is the least",
    ),
    (
        f"{VECTOR.format('cvm', 'cvm')} attr up : bool = true\n"
        'case up { require X[i] > 0 : "above 0"\n Y[i] = X[i] }\n'
        "case not up { Y[i] = -X[i] }",
        ([1, 0],),
        "X: above 0, at (1,)",
    ),
    (
        "input X : cvm[n...] or empty\n output Y : cvm[n...] or empty\n"
        'require X[d...] != 7 : "no 7"\n Y[d...] = X[d...]',
        (np.int32(7),),
        "X: no 7",
    ),
    (
        "input X : cvm[n...] or empty\n output Y : cvm[n...] or empty\n"
        'require X[d...] != 7 : "no 7"\n Y[d...] = X[d...]',
        (np.zeros((2, 0), np.int32),),
        [[], []],
    ),
    (
        "input X : cvm[N]\n output Y : cvm[N]\n"
        'require X[X[i]] > 0 : "what is named is above 0"\n Y[i] = X[i]',
        ([1, 9],),
        "X: its formula reads or writes outside of its tensors",
    ),
    (
        "input X : cvm[N]\n output Y : cvm[N]\n let V = select[i < N](X[i] > 0)\n"
        'require count(V) > 1 : "two are above 0"\n'
        'require X[V[k]] < 9 forall k < 2 : "no more than 9"\n Y[i] = X[i]',
        ([1, 0, 3, 9],),
        [1, 0, 3, 9],
    ),
    (
        "input X : cvm[N]\n output Y : cvm[N]\n let V = select[i < N](X[i] > 0)\n"
        'require count(V) > 1 : "two are above 0"\n Y[i] = X[i]',
        ([1, 0, -3],),
        "X: two are above 0",
    ),
]


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    texts = [CLIP, *(operator_text(at, row[0]) for at, row in enumerate(ROWS))]
    return together(tmp_path_factory.mktemp("demands"), texts)


def array(value: Any) -> Any:
    match value:
        case None | np.ndarray() | np.generic():
            return None if value is None else np.asarray(value)
        case [[int(), *_], [[int(), *_], *_]]:
            return [np.array(each, np.int32) for each in value]
        case _:
            return np.array(value, np.int32)


@pytest.mark.parametrize("at", range(len(ROWS)))
def test_requirements(at: int, tried: Conformance) -> None:
    _, inputs, expected = ROWS[at]
    found = tried.check(Call(f"tried.f{at}", tuple(map(array, inputs))))
    if isinstance(expected, str):
        assert found.refusal == f"tried.f{at}: {expected}"
    else:
        assert found.outputs[0].nested() == expected


REFUSED = [
    ("require X[i] > 0 : 'a'", "'"),
    ('require X[k] > i : "a"', "index 'k'"),
]


@pytest.mark.parametrize(
    ("requirement", "message"),
    [
        ('require X[i + 1] > 0 : "above"', "the range of 'i' is not known"),
        ('require X[i] > Q : "above"', "unknown name 'Q'"),
        ('require X[i, j] > 0 : "above"', "'X' has 1 dimension"),
        ('require X[i] : "above"', "this is an integer, but a condition is needed here"),
        ('require X[i] > 0 forall i < X[0] : "above"', "elements of tensors are not known here"),
        ('require Y[i] > 0 : "above"', "'Y' is an output; a formula cannot read it"),
    ],
)
def test_what_is_no_requirement(requirement: str, message: str) -> None:
    block = f"{VECTOR.format('cvm', 'cvm')} {requirement}\n Y[i] = X[i]"
    with pytest.raises(CvmgenError) as caught:
        check_files([SpecFile(Source("f.cvm", operator_text(0, block)), "tried")])
    assert message in str(caught.value)
