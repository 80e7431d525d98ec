"""All values of emitted kernels: equal to the formula as terms, and what is planted is found."""

import functools
from pathlib import Path

import pytest

from cvmgen.driver import read_operators
from cvmgen.errors import BuildError
from cvmgen.reference.tensor import Tensor
from cvmgen.verification.values import program
from cvmgen.verification.values.calls import Call
from cvmgen.verification.values.shapes import edge_calls
from cvmgen.verification.values.validate import Result, Text, validate

ROOT = Path(__file__).parents[3]


def _has_clang() -> bool:
    try:
        return bool(program.clang())
    except BuildError:
        return False


pytestmark = pytest.mark.skipif(not _has_clang(), reason="no clang: cvmgen[zig] brings one")


@functools.cache
def _operators():
    return {each.full_name: each for each in read_operators(ROOT / "spec")}


@functools.cache
def _sources():
    return Text(ROOT / "generated").sources


def _tensor(shape, precision=8, dtype="int8"):
    return Tensor(shape, [], precision, dtype)


def _check(name: str, calls: list[Call], replaced=None, features=frozenset()) -> Result:
    text = Text(ROOT / "generated", replaced)
    return validate(_operators()[name], text, calls, features)


def _dense(m, n, k, dtype="int8"):
    inputs = {"X": _tensor((m, k), 8, dtype), "W": _tensor((n, k)), "B": _tensor((n,), 20, "int32")}
    return Call(inputs)


def _images(dtype="int8"):
    inputs = {"X": _tensor((1, 3, 7, 8), 8, dtype), "W": _tensor((4, 3, 3, 3)), "B": None}
    return Call(inputs, {"stride": (2, 1), "padding": (1, 1), "dilation": (1, 1)})


VNNI = frozenset(["avx512f", "avx512bw", "avx512vl", "avx512vnni"])
EQUAL = [
    ("cvm.dense", [_dense(3, 2, 5), _dense(2, 3, 4, "int32")], frozenset(), "as the text stands"),
    ("cvm.dense", [_dense(17, 17, 33)], frozenset(), "by the tile in plain C"),
    ("cvm.dense", [_dense(17, 17, 33)], VNNI, "by the tile with dot products"),
    ("cvm.dense", [_dense(5, 33, 51)], frozenset(["avx2"]), "by the tile with pairs of products"),
]
DRAWN = [
    "cvm.broadcast_div",
    "cvm.clip",
    "cvm.concatenate",
    "cvm.conv2d",
    "cvm.cvm_right_shift",
    "cvm.max_pool2d",
    "cvm.sum",
    "cvm.take",
    "cvm.transpose",
    "cvm.where",
]


@pytest.mark.parametrize(("name", "calls", "features", "why"), EQUAL)
def test_equal_for_all_values(name, calls, features, why):
    result = _check(name, calls, features=features)
    assert result.validated, (why, result)


@pytest.mark.parametrize("name", DRAWN)
def test_calls_at_edges_are_equal_for_all_values(name):
    info = name.replace(".", "/")
    calls = edge_calls(_operators()[name], _sources()[f"c/{info}.c".removeprefix("c/")], 4)
    result = _check(name, calls)
    assert result.validated, result


# The file, a piece of its text, what stands there instead, and what that is.
PLANTED = [
    ("cvm.dense", "cvm/dense.c", "k < K; ++k", "k < K - 1; ++k", "the last product is left out"),
    ("cvm.dense", "cvm/dense.c", "W[j * K + k]", "W[j * K + K - 1 - k]", "a stride backwards"),
    ("cvm.dense", "cvm/dense.c", "uint32_t total = 0", "uint32_t total = 1", "a wrong start"),
    ("cvm.dense", "cvm/dense.c", "X[i * K + k]", "X[i * K + k + 1]", "reads beside the input"),
    ("cvm.dense", "cvm/dense.c", "+ (uint32_t)(B", "- (uint32_t)(B", "the bias is taken away"),
]


def _planted(file: str, before: str, after: str) -> dict[str, str]:
    text = _sources()[file]
    at = text.rindex(before)
    return {file: text[:at] + after + text[at + len(before) :]}


@pytest.mark.parametrize(("name", "file", "before", "after", "why"), PLANTED)
def test_a_planted_fault_is_found_with_numbers(name, file, before, after, why):
    calls = [Call({**_dense(3, 2, 5, "int32").inputs})]
    result = _check(name, calls, _planted(file, before, after))
    assert result.refuted, why
    if result.difference is not None:
        found, wanted = result.difference.numbers
        assert found != wanted, why
