"""Greatest and least real numbers as integers: what takes that form, and what does not."""

from __future__ import annotations

import pytest

from cvmgen.driver import emitted
from tests.specs import operator

ROWS = [
    (
        "float32",
        "max[j < M](X[i, j])",
        ["int32_t largest = INT32_MIN;", "cvmgen_max_key_f32(X[", "cvmgen_of_max_key_f32(largest)"],
        "elements of 32 bits need no more",
    ),
    (
        "float32",
        "min[j < M](X[i, j] + 1.0)",
        [
            "int64_t smallest = INT64_MAX;",
            "cvmgen_min_key_f64((double)X[",
            "cvmgen_of_min_key_f64(smallest)",
        ],
        "what is computed has 64 bits",
    ),
    (
        "float64",
        "sum[j < M](X[i, j])",
        ["double total = 0.0;"],
        "a sum is in the order of the formula",
    ),
]


@pytest.mark.parametrize(("kind", "value", "parts", "why"), ROWS, ids=[row[-1] for row in ROWS])
def test_accumulators(kind: str, value: str, parts: list[str], why: str) -> None:
    text = emitted("c", operator(f"input X : {kind}[N, M]\noutput Y : {kind}[N]\nY[i] = {value}"))
    assert all(part in text for part in parts), why
