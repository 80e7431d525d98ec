"""The last or the first of what names a place: one walk for all, and the same as for each."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cvmgen.driver import COMMON, CUDA, WHOLE_ARRAYS, C, lower
from cvmgen.source import Source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from tests.conformance.calls import Call, Conformance
from tests.conformance.together import drawn, operator_text, together

TEXT = "input I : int8[{0}K]\n input X : int8[{0}K]\n"
TEXT += "attr N = 7 in [1, 300]\n output Y : int16[{0}N]\n"
ROW, ROWS = TEXT.format(""), TEXT.format("M, ")
LAST = ROW + "Y[i] = X[j] if j >= 0 else 300\n where j = max[k < K]({} if {} else -1)"
FIRST = ROW + "Y[i] = X[j] if j < K else 300\n where j = min[k < K](k if {} else K)"
IN_ROWS = ROWS + "Y[m, i] = X[m, j] if j >= 0 else m\n where j = max[k < K](k if {} else -1)"

WALKED = {
    "the last": LAST.format("k", "I[k] == i"),
    "the first": FIRST.format("I[k] == i"),
    "the other side": LAST.format("k", "i == I[k]"),
    "one place further": LAST.format("k", "I[k] == i + 1"),
    "from the end": LAST.format("k", "3 * I[k] == 2 - i"),
    "in a circle": FIRST.format("I[k] mod N == i"),
    "tests around": LAST.format("k", "X[k] > 0 and I[k] == i and X[k] mod 3 == 1"),
    "where one may read": LAST.format("k", "0 <= I[k] < K and X[I[k]] mod 16 == i and X[I[k]] > 3"),
    "of the index alone": LAST.format("k", "k div 2 == i"),
    "in rows": IN_ROWS.format("I[m, k] == i"),
    "by rows": IN_ROWS.format("X[m, k] != m and I[m, k] - m == i"),
    "the index itself": ROW + "Y[i] = max[k < K](k if I[k] == i else -1) * 2",
    "twice": ROW
    + "Y[i] = max[k < K](k if I[k] == i else -1) - min[k < K](k if X[k] == i else K + 2)",
    "as great as the least": ROW + "Y[i] = max[k < K](k if I[k] == i else 0)",
    "as little as the last": ROW + "Y[i] = min[k < K](k if I[k] == i else K - 1)",
}
FOR_EACH = {
    "another value": LAST.format("k div 2 * 2", "I[k] == i"),
    "less than the place": LAST.format("k", "I[k] < i"),
    "twice the place": LAST.format("k", "I[k] == 2 * i"),
    "more than an index": ROW + "Y[i] = max[k < K](k if I[k] == i else 3)",
    "less than an index": ROW + "Y[i] = min[k < K](k if I[k] == i else K - 2)",
    "more or less": ROW + "Y[i] = min[k < K](k if I[k] == i else 100)",
    "the place again": LAST.format("k", "I[k] == i and X[k] > i"),
    "no element is asked": ROW + "Y[i] = 0 if i > 3 else max[k < K](k if I[k] == i else -1)",
}
TEXTS = {**WALKED, **FOR_EACH}


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    texts = [operator_text(at, block) for at, block in enumerate(TEXTS.values())]
    return together(tmp_path_factory.mktemp("winners"), texts)


@pytest.mark.parametrize("why", TEXTS)
def test_winners(why: str, tried: Conformance) -> None:
    random, at = Random(why), list(TEXTS).index(why)
    rows = ((1,), (3,)) if "int8[M, K]" in TEXTS[why] else ((),)
    for shape in (((*each, k)) for each in rows for k in (1, 5, 90)):
        inputs = tuple(drawn(random, shape, np.int8) for _ in range(2))
        for few in (inputs, tuple((each % 9).astype(np.int8) for each in inputs)):
            for count in (1, 7, 100):
                assert tried.check(Call(f"tried.f{at}", few, {"N": count})).refusal == ""


@pytest.mark.parametrize("why", TEXTS)
def test_which_are_walked(why: str) -> None:
    (operator,) = check_files([SpecFile(Source("f.cvm", operator_text(0, TEXTS[why])), "tried")])
    for passes in (C, COMMON, WHOLE_ARRAYS):
        kept = lower(operator, passes).lets.values()
        assert any(each.in_turn for each in kept) == (why in WALKED)
    assert not lower(operator, CUDA).lets
