"""The integers of a nest as a whole: what holds every value on the way."""

from __future__ import annotations

import pytest

from cvmgen import driver
from cvmgen.lower.widths import Width, host_ranges, nest_width
from tests.specs import operator

HEAD = "input X : cvm[N]\ninput B : cvm[N]\nattr k in [0, 9)\noutput Y : cvm[N] precision 32\n"
WIDTHS = [
    ("X[i]", Width("int32"), "a move"),
    ("X[i] * B[i] + 7", Width("int32"), "the store keeps the lowest bits"),
    ("-X[i]", Width("int32"), "the least integer stays what it is"),
    ("max(X[i] + B[i], 0)", Width("int64"), "a maximum needs the sum itself"),
    ("max(X[i], k)", Width("int32"), "an attribute of few bits"),
    ("(X[i] * B[i]) div 3", Width("int64"), "62 bits and a sign"),
    ("(X[i] * B[i] * B[i]) div 3", Width("checked", 20), "twenty bits each, or Python's integers"),
    ("sum[j < N](X[j] * B[j])", Width("int32"), "a sum into a store wraps"),
    ("sum[j < N](X[j]) div 3", Width("int64"), "below 2^31 terms of 32 bits"),
    ("X[i] + i", Width("int64"), "an index beside elements has its own bits"),
    ("X[i] if i + N < 3*N else 0", Width("int32"), "places are of 64 bits by themselves"),
]


@pytest.mark.parametrize(("value", "expected", "why"), WIDTHS)
def test_widths(value: str, expected: Width, why: str) -> None:
    program = driver.lower(operator(f'"Test."\n{HEAD}Y[i] = {value}'), driver.WHOLE_ARRAYS[:-1])
    assert nest_width(program, program.nests[0], host_ranges(program)) == expected, why
