"""Lists that are sorted, of which the first entries alone are read: in C no others are sorted."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cvmgen.driver import C, lower
from cvmgen.ir import nodes as i
from cvmgen.ir.text import text
from cvmgen.ir.uses import nodes_in
from cvmgen.source import Source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from tests.conformance.calls import Call, Conformance, data
from tests.conformance.together import CLIP, operator_text, together

INPUT = "input X : int32[N, K]\n attr k in [1, K]\n "
TOP = INPUT + "output Y : int32[N, k]\n "

# What, its block, how many entries are put where they belong.
ROWS = [
    ("the greatest", TOP + "let L[n] = sort[i < K] by (-X[n, i])\n Y[n, i] = L[n][i]", "k"),
    (
        "the least of two keys",
        TOP + "let L[n] = sort[i < K] by (X[n, i] mod 3, -X[n, i])\n Y[n, i] = X[n, L[n][i]]",
        "k",
    ),
    (
        "of those that pass a test",
        TOP + "let P[n] = select[i < K](X[n, i] > 0)\n let L[n] = sort[i in P[n]] by (X[n, i])\n"
        "Y[n, i] = X[n, L[n][i]] if i < count(L[n]) else -1",
        "k",
    ),
    (
        "two ends",
        INPUT + "output Y : int32[N, k]\n output Z : int32[N, 2]\n require K > 1 : 'two'\n"
        "let L[n] = sort[i < K] by (X[n, i])\n Y[n, i] = L[n][i]\n Z[n, i] = L[n][i]",
        "max(k, 2)",
    ),
    ("another entry", TOP + "let L[n] = sort[i < K] by (X[n, i])\n Y[n, i] = L[n][K - 1 - i]", ""),
    (
        "whether there is an entry",
        TOP + "let P[n] = select[i < K](X[n, i] > 0)\n let L[n] = sort[i in P[n]] by (X[n, i])\n"
        "Y[n, i] = 1 if i in L[n] else 0",
        "",
    ),
]


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    return together(tmp_path_factory.mktemp("first"), texts())


def texts() -> list[str]:
    blocks = (block.replace("'", '"') for _, block, _ in ROWS)
    return [CLIP, *(operator_text(at, block) for at, block in enumerate(blocks))]


@pytest.mark.parametrize("at", range(len(ROWS)), ids=[why for why, *_ in ROWS])
def test_first_entries(at: int, tried: Conformance) -> None:
    random = Random(at)
    for rows, count, most in ((1, 2, 1), (3, 40, 1), (2, 41, 3), (2, 64, 15), (2, 30, 30)):
        for bits in (2, 5, 16):
            inputs = (data(random, (rows, count), bits, np.int32),)
            assert tried.check(Call(f"tried.f{at}", inputs, {"k": most})).refusal == ""


def test_how_many_are_sorted() -> None:
    operators = check_files([SpecFile(Source("tried.cvm", "\n".join(texts())), "tried")])
    for operator, (why, _, most) in zip(operators, ROWS, strict=True):
        nests = lower(operator, C).nests
        (sort,) = (each for nest in nests for each in nodes_in(nest.body, i.Sort))
        assert ("" if sort.most is None else text(sort.most)) == most, why
