"""All values of emitted kernels: equal to the formula as terms, and what is planted is found."""

import functools
from pathlib import Path

import pytest

from cvmgen.reference.tensor import Tensor
from cvmgen.verification.values.calls import ChosenCall
from cvmgen.verification.values.evaluate import UNSET
from cvmgen.verification.values.found import ValidatedCalls
from cvmgen.verification.values.linked import Text
from cvmgen.verification.values.validate import validate, validate_edges
from tests.clang import needs_clang
from tests.operators import product

ROOT = Path(__file__).parents[3]


pytestmark = needs_clang


@functools.cache
def _operators():
    return {each.full_name: each for each in product()}


@functools.cache
def _sources():
    return Text(ROOT / "generated").sources


def _tensor(shape, precision=8, dtype="int8"):
    return Tensor(shape, [], precision, dtype)


def _check(
    name: str, calls: list[ChosenCall], replaced=None, features=frozenset()
) -> ValidatedCalls:
    text = Text(ROOT / "generated", replaced)
    return validate(_operators()[name], text, calls, features)


def _dense(m, n, k, dtype="int8"):
    inputs = {"X": _tensor((m, k), 8, dtype), "W": _tensor((n, k)), "B": _tensor((n,), 20, "int32")}
    return ChosenCall(inputs)


def _images(dtype="int8"):
    inputs = {"X": _tensor((1, 3, 7, 8), 8, dtype), "W": _tensor((4, 3, 3, 3)), "B": None}
    return ChosenCall(inputs, {"stride": (2, 1), "padding": (1, 1), "dilation": (1, 1)})


def _scaled(n):
    return ChosenCall({"X": _tensor((n,), 0)}, {"zx": 0, "zy": 4, "m": 0, "s": 1})


def _pooled(columns):
    attributes = {"pool_size": (3, 4), "padding": (1, 3), "strides": (4, 1), "ceil_mode": False}
    return ChosenCall({"X": _tensor((2, 3, 3, columns))}, attributes)


VNNI = frozenset(["avx512f", "avx512bw", "avx512vl", "avx512vnni"])
EQUAL = [
    ("cvm.dense", [_dense(3, 2, 5), _dense(2, 3, 4, "int32")], frozenset(), "as the text stands"),
    ("cvm.dense", [_dense(17, 17, 33)], frozenset(), "by the tile in plain C"),
    ("cvm.dense", [_dense(17, 17, 33)], VNNI, "by the tile with dot products"),
    ("cvm.dense", [_dense(5, 33, 51)], frozenset(["avx2"]), "by the tile with pairs of products"),
    ("tflite.abs", [_scaled(60)], frozenset(), "ways that part at each element meet behind it"),
    ("cvm.max_pool2d", [_pooled(9)], frozenset(["small thresholds"]), "arrays are as long as ever"),
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


# One after the other of two.
@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=pytest.mark.slow if at % 2 else ()) for at, each in enumerate(DRAWN)],
)
def test_calls_at_edges_are_equal_for_all_values(name):
    result = validate_edges(_operators()[name], Text(ROOT / "generated"), 4)
    assert result.validated, result
    assert sum(result.not_run.values()) < 0.78 * result.blocks, result


def test_what_the_formula_takes_too_long_for_is_not_looked_at(monkeypatch):
    monkeypatch.setattr("cvmgen.verification.values.validate.POINTS", 40)
    result = _check("cvm.dense", [_dense(1, 2, 3, "int32"), _dense(30, 20, 50, "int32")])
    assert result.validated
    assert len(result.calls) == 1


_SMALL = _dense(3, 2, 5, "int32")

# A call, a file, a piece of its text, what stands there instead, and what that is.
PLANTED = [
    (_SMALL, "cvm/dense.c", "k < K; ++k", "k < K - 1; ++k", "the last product is left out"),
    (_SMALL, "cvm/dense.c", "W[j * K + k]", "W[j * K + K - 1 - k]", "a stride backwards"),
    (_SMALL, "cvm/dense.c", "uint32_t total = 0", "uint32_t total = 1", "a wrong start"),
    (_SMALL, "cvm/dense.c", "X[i * K + k]", "X[i * K + k + 1]", "reads beside the input"),
    (_SMALL, "cvm/dense.c", "+ (uint32_t)(B", "- (uint32_t)(B", "the bias is taken away"),
    (_SMALL, "cvm/dense.c", "at < high", "at < high - 1", "an element is not written"),
    (_SMALL, "cvm/dense.c", "Y[i * N + j]", "Y[i + j]", "written where another one belongs"),
    (_SMALL, "cvm/dense.c", "B[j]", "B[i]", "another bias"),
    (_dense(17, 17, 36), "cvmgen_tile_generic.h", "k < end; ++k) to[k]", "k < end - 1; ++k) to[k]",
     "the last byte of a row is not laid"),
    (_dense(17, 17, 33), "cvmgen_tile_generic.c", "= above * sums[c]", "= (above + 1) * sums[c]",
     "a wrong correction of bytes"),
    (_dense(17, 17, 33), "cvmgen_tile_generic.h", "w[c * DEPTH + k]", "w[c * DEPTH + k + 1]",
     "columns that are one byte off"),
]  # fmt: skip


def _planted(file: str, before: str, after: str) -> dict[str, str]:
    text = _sources()[file]
    # Kernels stand in front of what goes by tiles, for which these calls of an operator are small.
    at = text.rindex(before, 0, f"{text}#elif SECTION == 2".index("#elif SECTION == 2"))
    return {file: text[:at] + after + text[at + len(before) :]}


@pytest.mark.parametrize(("call", "file", "before", "after", "why"), PLANTED)
def test_a_planted_fault_is_found_with_numbers(call, file, before, after, why):
    result = _check("cvm.dense", [call], _planted(file, before, after))
    assert result.refuted, why
    if result.difference is not None:
        assert result.difference.numbers is not None, why
        found, wanted = result.difference.numbers
        assert found != wanted, why
        # what is not written depends on threads, and which tile runs on the processor
        if file == "cvm/dense.c" and found != UNSET:
            assert result.difference.compiled in (found, None), why


def test_what_large_calls_alone_do_is_found_in_small_ones():
    """A sum that threads share is made of streams, from 262,144 steps on."""
    planted = _planted("cvm/sum.c", "d_R_stream + 3 * d_R_share", "d_R_stream + 2 * d_R_share")
    result = validate_edges(_operators()["cvm.sum"], Text(ROOT / "generated", planted), 24)
    assert result.refuted
    assert result.difference.numbers[0] != result.difference.numbers[1]


def _divided(shape):
    return ChosenCall({"A": _tensor(shape), "B": _tensor(shape)})


# A call, a file, a text everywhere in it, what stands there instead, and what is said then.
UNDEFINED = [
    ("cvm.dense", _dense(2, 2, 3), "uint32_t total = 0;", "int32_t cube = X[i * K]; "
     "cube *= cube * cube; cube *= cube; uint32_t total = (uint32_t)(cube - cube);",
     "a trap for X[", "six times a byte"),
    ("cvm.broadcast_div", _divided((3,)), "cvmgen_quotient_or_0(A[A_row + d], b)",
     "A[A_row + d] / b", "a division by 0 for B[", "a quotient that is 0 where the divisor is"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "call", "before", "after", "said", "why"), UNDEFINED)
def test_what_is_not_defined_for_some_elements_is_told_with_them(
    name, call, before, after, said, why
):
    pytest.importorskip("z3")
    file = f"{name.replace('.', '/')}.c"
    result = _check(name, [call], {file: _sources()[file].replace(before, after)})
    assert result.refuted, why
    assert said in result.faults[0], why


def test_a_call_that_the_formula_refuses_for_some_elements_is_refused():
    pytest.importorskip("z3")
    call = ChosenCall({"input1": _tensor((3,), 0, "int32")}, {"axis": 0, "keep_dims": 1})
    assert _check("tosa.reduce_sum", [call]).validated
