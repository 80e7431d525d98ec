"""Machine types: the narrowest that holds every value, modular where only a store reads."""

import re

import pytest

from cvmgen.driver import C, lower, typed_kernels
from cvmgen.source import SpecError
from tests.each_kernel import each_kernel
from tests.specs import operator

VECTOR = "input X : cvm[N]\nattr k = 1 in [0, 128)\noutput Y : cvm[N]\n"


def kernel(items: str, variant: str) -> str:
    """The C text of one kernel, with the parts that threads share."""
    text = each_kernel(operator(items))
    found = re.findall(rf"static void f_Y(?:_part)?_{variant}\(.*?\n}}\n", text, re.DOTALL)
    assert found
    return "\n".join(found)


@pytest.mark.parametrize(
    ("formula", "variant", "line", "why"),
    [
        ("Y[i] = X[i] + 1", "int8_int32", "Y[i] = X[i] + 1;", "fits int32"),
        (
            "Y[i] = X[i] + 1",
            "int32_int32",
            "Y[i] = (int32_t)((uint32_t)X[i] + 1u);",
            "modulo 2^32: the store keeps the same bits, and no overflow is undefined",
        ),
        (
            "Y[i] = max(0, X[i] + 1)",
            "int32_int32",
            "Y[i] = (int32_t)cvmgen_max_i64(0, (int64_t)X[i] + 1);",
            "a comparison needs the exact value",
        ),
        ("Y[i] = X[i] div 4", "int32_int32", "Y[i] = X[i] >> 2;", "floor division is a shift"),
        (
            "Y[i] = -X[i]",
            "int32_int32",
            "Y[i] = (int32_t)(0u - (uint32_t)X[i]);",
            "-INT32_MIN wraps like the exact value",
        ),
        (
            "Y[i] = X[i] tdiv x if x != 0 else 0 where x = X[i] + 1",
            "int32_int32",
            "Y[i] = (int32_t)(x != 0 ? X[i] / x : 0);",
            "INT32_MIN / -1 fits int64",
        ),
        (
            "Y[i] = X[max(0, min(X[i], N - 1))]",
            "int32_int32",
            "cvmgen_min_i32(X[i_block + i_lane], (int32_t)cvmgen_min_i64(N - 1, INT32_MAX))",
            "beside an element that is an index, a number of the call is cut to its type",
        ),
        (
            "Y[i] = min(max(0, min(X[i], N - 1)), 7)",
            "int32_int32",
            "cvmgen_max_i64(0, cvmgen_min_i64((int64_t)X[i], N - 1))",
            "a constant does not make an int64 value narrower",
        ),
        (
            "Y[i] = max(-k, min(X[i], k))",
            "int32_int32",
            "Y[i] = cvmgen_max_i32((int32_t)-k, cvmgen_min_i32(X[i], (int32_t)k));",
            "an attribute is narrowed beside an int32 element",
        ),
        ("Y[i] = X[i]", "int8_int8", "cvmgen_copy_i8(Y, X, N);", "a run that only moves"),
        ("Y[i] = X[i]", "int32_int8", "Y[i] = (int8_t)X[i];", "narrowed as the caller asked"),
    ],
)
def test_store(formula: str, variant: str, line: str, why: str) -> None:
    assert line in kernel(VECTOR + formula, variant), why


def test_a_sum_that_only_a_store_reads_is_modular() -> None:
    text = kernel(
        "input X : cvm[N, K]\noutput Y : cvm[N]\nY[i] = sum[k < K](X[i, k])", "int32_int32"
    )
    assert "uint32_t total = 0;" in text


def test_a_sum_that_is_compared_is_exact() -> None:
    items = "input X : cvm[N, K]\noutput Y : cvm[N]\nY[i] = max(0, sum[k < K](X[i, k]))"
    text = kernel(items, "int32_int32")
    assert "int64_t total = 0;" in text


def test_host_products_do_not_overflow() -> None:
    items = (
        "input X : cvm[N]\nattr k in [1, inf)\nattr m in [1, inf)\n"
        "output Y : cvm[N * k * m] precision p(X)\nY[i] = X[0]"
    )
    text = each_kernel(operator(items))
    assert "cvmgen_saturate((__int128)N * k * m)" in text


@pytest.mark.parametrize(
    ("body", "type_name"), [("X[i, k]", "int32_t"), ("X[i, k] + k", "int64_t")]
)
def test_an_extreme_is_as_wide_as_its_values(body: str, type_name: str) -> None:
    items = f"input X : cvm[N, K]\noutput Y : cvm[N]\nY[i] = max[k < K]({body})"
    assert f"{type_name} largest = " in kernel(items, "int32_int32")


LARGE = "can be larger than a kernel can compute"
LIMIT = re.compile(r"can come to 2\^\d+, and 2\^(127|104) is the limit")
TOO_LARGE = [
    ("clip(X[i]*X[i]*X[i]*X[i]*X[i], -9, 9)", f"a value of this formula {LARGE}", "155 bits"),
    ("prod[j < N](X[j]) mod 7", f"a product of this formula {LARGE}", "any number of factors"),
    ("clip(sum[j < N](X[j]*X[j]*X[j]), -9, 9)", f"a sum of this formula {LARGE}", "93 + 40 bits"),
    ("prod[j < 3](clip(X[j], -9, 9)) mod 7", None, "three small factors"),
    ("prod[j < N](clip(X[j], -1, 1)) mod 7", None, "no factor beyond 1"),
    ("prod[j < N](X[j])", None, "only the bits that are stored matter"),
    ("X[i]*X[i]*X[i]*X[i]*X[i]", None, "only the bits that are stored matter"),
    ("clip(sum[j < N](X[j]*X[j]), -9, 9)", None, "62 + 40 bits"),
]


@pytest.mark.parametrize(("value", "error", "why"), TOO_LARGE, ids=[row[0] for row in TOO_LARGE])
def test_what_no_type_holds_is_refused(value: str, error: str | None, why: str) -> None:
    items = f"input X : cvm[N]\noutput Y : cvm[N] precision 32\nY[i] = {value}"
    made = lower(operator(items), C)
    if error is None:
        typed_kernels(made)
        return
    with pytest.raises(SpecError) as caught:
        typed_kernels(made)
    assert caught.value.message == error, why
    assert LIMIT.search(caught.value.hint), why
