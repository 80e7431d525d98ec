"""Choices and quotients that become one operation, and those that must not."""

from __future__ import annotations

import pytest

from cvmgen import driver
from cvmgen.ir import nodes as i
from cvmgen.ir.text import text
from cvmgen.lower.idioms import with_idioms
from cvmgen.lower.widths import Width, host_ranges, nest_width
from tests.specs import operator

HEAD = """input X : cvm[N]
input B : cvm[N]
attr k in [0, 9)
attr a in (-inf, inf)
attr b in (-inf, inf)
require a < b : "in order"
output Y : cvm[N] precision 32
"""
IDIOMS = [
    ("X[i] if X[i] >= B[i] else B[i]", "max(X[i], B[i])", "by a comparison of its branches"),
    ("B[i] if X[i] > B[i] else X[i]", "min(X[i], B[i])", "the other one"),
    ("X[i] if X[i] > 0 else -X[i]", "abs(X[i])", "by the sign"),
    ("-X[i] if X[i] <= 0 else X[i]", "abs(X[i])", "the opposite first"),
    ("X[i] if X[i] > 1 else -X[i]", "X[i] if X[i] > 1 else 0 - X[i]", "not by the sign"),
    ("x if x < k else k where x = X[i]", "min(X[i], k)", "a name that is read once"),
    ("min(max(X[i], a), b)", "clip(X[i], a, b)", "required to be in order"),
    ("max(-k, min(X[i], k))", "clip(X[i], 0 - k, k)", "in order by their ranges"),
    ("min(max(X[i], b), a)", "min(max(X[i], b), a)", "in the other order"),
    ("max(k, min(X[i], a))", "max(k, min(X[i], a))", "in no known order"),
    ("min(max(X[i], B[i]), b)", "min(max(X[i], B[i]), b)", "an end for each element"),
    ("b if X[i] >= b else max(X[i], a)", "clip(X[i], a, b)", "choices by both ends"),
    ("a if X[i] >= a else max(X[i], b)", "a if X[i] >= a else max(X[i], b)", "unlike any clip"),
    ("X[i] div 8", "X[i] >> 3", "a power of two"),
    ("X[i] div 2^k", "X[i] >> k", "one of the call"),
    ("X[i] * 2^k", "X[i] << k", "a product with one"),
    ("X[i] div 2^min(max(X[i], 0), 3)", "X[i] div (1 << clip(X[i], 0, 3))", "of elements"),
    ("X[i] + i div 2", "X[i] + i div 2", "a place stays one"),
    ("(X[i] + 1) div 2", "(let value = X[i] in value - (value >> 1))", "a half rounded up"),
    ("(X[i] + 1) div 4", "X[i] + 1 >> 2", "which is of a half only"),
    ("ceil(log2(abs(X[i]) + 1))", "bit_length(X[i])", "how many bits there are"),
    ("ceil(log2(abs(X[i]) + 1)) if X[i] != 0 else 1", "max(bit_length(X[i]), 1)", "one at least"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "expected", "why"), IDIOMS)
def test_idioms(value: str, expected: str, why: str) -> None:
    program = driver.lower(operator(f'"Test."\n{HEAD}Y[i] = {value}'), driver.WHOLE_ARRAYS[:-1])
    nest = with_idioms(program, program.nests[0], host_ranges(program))
    (loop,) = nest.body
    assert isinstance(loop, i.Loop)
    (store,) = loop.body
    assert isinstance(store, i.Store)
    assert text(store.value) == expected, why


def test_half_of_a_successor_fits() -> None:
    program = driver.lower(
        operator(f'"Test."\n{HEAD}Y[i] = max((X[i] + 1) div 2, 0)'), driver.WHOLE_ARRAYS[:-1]
    )
    (nest,), host = program.nests, host_ranges(program)
    assert nest_width(program, nest, host) == Width("int64")
    assert nest_width(program, with_idioms(program, nest, host), host) == Width("int32")


def test_bits_that_a_store_drops_need_no_room() -> None:
    program = driver.lower(
        operator(f'"Test."\n{HEAD}Y[i] = X[i] * 2^k + 1'), driver.WHOLE_ARRAYS[:-1]
    )
    (nest,), host = program.nests, host_ranges(program)
    assert nest_width(program, with_idioms(program, nest, host), host) == Width("int32")
