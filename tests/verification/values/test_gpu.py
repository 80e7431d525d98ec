"""All values of CUDA's text, run thread by thread: equal to the formula as terms, and what is
planted is found."""

import functools
from pathlib import Path

import pytest

from cvmgen.reference.tensor import Tensor
from cvmgen.verification.values import gpu
from cvmgen.verification.values.calls import ChosenCall
from cvmgen.verification.values.found import ValidatedCalls
from cvmgen.verification.values.linked import Text
from cvmgen.verification.values.validate import PLAIN, validate
from tests.clang import needs_clang
from tests.operators import product

ROOT = Path(__file__).parents[3]


@functools.cache
def _operators():
    return {each.full_name: each for each in product()}


@functools.cache
def _text():
    return Text(ROOT / "generated", target="cuda")


def _tensor(shape, precision=8, dtype="int8"):
    return Tensor(shape, [], precision, dtype)


def _check(name: str, call: ChosenCall, text: Text | None = None, features=PLAIN) -> ValidatedCalls:
    return validate(_operators()[name], text or _text(), [call], features)


def _dense(m, n, k, dtype="int8"):
    inputs = {
        "X": _tensor((m, k), 8, dtype),
        "W": _tensor((n, k), 8, dtype),
        "B": _tensor((n,), 20, "int32"),
    }
    return ChosenCall(inputs)


_ROWS = ChosenCall({"X": _tensor((3, 7))}, {"axes": (1,)})
_ODD = ChosenCall({"X": _tensor((37,))})
_LONG = ChosenCall({"X": _tensor((1, 70))}, {"axes": (1,)})
_QUOTIENTS = ChosenCall({"A": _tensor((2, 3)), "B": _tensor((3,))})
TILES, CORES = frozenset(["tiles"]), frozenset(["tiles", "tensor cores"])
EQUAL = [
    (
        "cvm.abs",
        ChosenCall({"X": _tensor((37,), 20, "int32")}),
        PLAIN,
        "vectors, and a part of one",
    ),
    ("cvm.dense", _dense(3, 2, 5), PLAIN, "a thread for each element"),
    ("cvm.dense", _dense(2, 3, 4, "int32"), PLAIN, "products of 32 bits"),
    ("cvm.broadcast_div", _QUOTIENTS, PLAIN, "threads that divide where it is allowed"),
    ("cvm.sum", _ROWS, PLAIN, "a row of threads together"),
    pytest.param("cvm.dense", _dense(1, 1, 2), TILES, "bytes in words", marks=pytest.mark.slow),
    pytest.param("cvm.dense", _dense(1, 1, 2), CORES, "warps multiply", marks=pytest.mark.slow),
]


@needs_clang
@pytest.mark.parametrize(("name", "call", "features", "why"), EQUAL)
def test_equal_for_all_values(name, call, features, why):
    result = _check(name, call, features=features)
    assert result.validated, (why, result)


_SMALL = _dense(3, 2, 5)

# An operator, a call, a file, a piece of its text, what stands there instead, and what that is.
PLANTED = [
    (_SMALL, "cvm.dense", "cvm/dense.cu", "k < K; ++k", "k < K - 1; ++k", "a product is left out"),
    (_SMALL, "cvm.dense", "cvm/dense.cu", "W[j * K + k]", "W[j * K + K - 1 - k]", "backwards"),
    (_SMALL, "cvm.dense", "cvm/dense.cu", "at < elements", "at < elements - 1", "one is lost"),
    (_SMALL, "cvm.dense", "cvm/dense.cu", "X[i * K + k]", "X[i * K + k + 1]", "beside the input"),
    (_ODD, "cvm.abs", "cvm/abs.cu", "at * 16", "at * 8", "lanes overlap"),
    (_LONG, "cvm.sum", "cvmgen_reduce.h", "__syncthreads();\n    const uint32_t count",
     "const uint32_t count", "no barrier before others' totals are read"),
    (_LONG, "cvm.sum", "cvmgen_reduce.h", "    __syncthreads();\n    const uint32_t count",
     "    if (threadIdx.x == 3) return value;\n    __syncthreads();\n    const uint32_t count",
     "a thread leaves that a barrier is for"),
]  # fmt: skip


@needs_clang
@pytest.mark.parametrize(("call", "name", "file", "before", "after", "why"), PLANTED)
def test_a_planted_fault_is_found(call, name, file, before, after, why):
    text = _text().sources[file]
    assert before in text
    planted = Text(ROOT / "generated", {file: text.replace(before, after)}, "cuda")
    result = _check(name, call, planted)
    assert result.refuted, (why, result)


@needs_clang
def test_a_long_row_is_equal_where_threads_meet():
    assert _check("cvm.sum", _LONG).validated


def test_a_fiber_is_left_and_gone_on_with():
    said = []

    def work():
        said.append("first")
        fiber.pause()
        said.append("second")

    fiber = gpu.Fiber(work)
    fiber.resume()
    assert said == ["first"]
    fiber.resume()
    fiber.leave()
    assert said == ["first", "second"]


def test_what_goes_wrong_in_a_fiber_is_told_outside():
    def work():
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        gpu.Fiber(work).resume()


# What the threads of a barrier bring, and what all of them find.
FOUND = [
    (gpu.Operation.COUNT, [0, 4, 1], 2),
    (gpu.Operation.BALLOT, [0, 4, 1], 0b110),
    (gpu.Operation.ADD, [1, -2, 8], 7),
    (gpu.Operation.AND, [7, 6, -1], 6),
    (gpu.Operation.OR, [1, 2, 0], 3),
    (gpu.Operation.XOR, [1, 3, 8], 10),
    (gpu.Operation.MIN, [1, -3, 8], -3),
    (gpu.Operation.MAX, [1, -3, 8], 8),
    (gpu.Operation.MEMORY, [1, 2, 3], 0),
]


@pytest.mark.parametrize(("operation", "values", "wanted"), FOUND)
def test_what_threads_find_together(operation, values, wanted):
    assert gpu.together(operation, [32, 33, 34], values) == wanted
