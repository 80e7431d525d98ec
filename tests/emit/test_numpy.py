"""The numpy target: nests as operations on whole arrays, exact whatever the way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cvmgen
from cvmgen import driver
from cvmgen.api import Operators
from cvmgen.cli.texts import remembered_texts
from cvmgen.spec.formula import Operator
from tests.emit.test_python import ALONE, PRINTED
from tests.operators import product
from tests.specs import operator
from tests.targets import LANGUAGES

LINES = [
    ("cvm.relu", "np.maximum(0, X, out=Y, casting=\"unsafe\")", "one call for the whole tensor"),
    ("cvm.relu", "for X, Y in arrays.blocks([X], [Y], np.int32):", "blocks that fit the cache"),
    (
        "cvm.cvm_right_shift",
        "for X, Y, value, value_2 in arrays.blocks([X], [Y], np.int32, spare=2):",
        "half of a successor fits 32 bits; the same two arrays hold what is on the way",
    ),
    (
        "cvm.cvm_left_shift",
        "for X, Y, value in arrays.blocks([X], [Y], np.int64, spare=1):",
        "the shifted value needs 64",
    ),
    (
        "cvm.clip",
        'np.clip(X, a_min, a_max, out=Y, casting="unsafe")',
        "two choices by ends that the formula requires to be in order",
    ),
    (
        "cvm.broadcast_mul",
        "B = arrays.read(B, *(d[Q - N + j] if n[j] != 1 else 0 for j in range(N)))",
        "views first, then blocks of them",
    ),
    (
        "cvm.repeat",
        "arrays.copy(Y, X, *(d[i] // repeats if i == a else d[i] for i in range(N)))",
        "elements that move keep their type",
    ),
    ("cvm.dense", "i, j = arrays.axes(M, N)", "free indices are axes"),
    ("cvm.dense", "k = arrays.axes(K, inside=2)", "a reduced one stands in front of them"),
    (
        "cvm.dense",
        "np.add(vectors.dot(arrays.read(X, i, k), arrays.read(W, j, k), k), arrays.read(B, j)",
        "a sum of products is a matrix product",
    ),
    (
        "cvm.max_pool2d",
        "arrays.read(X_padded, n, c, y * SH - PH + i, x * SW - PW + j))",
        "a window term by term, the padding made once",
    ),
    (
        "cvm.transpose",
        "arrays.store(Y, X, *(d[R[i]] for i in range(N)))",
        "a store through the axes of the result",
    ),
    ("cvm.batch_flatten", "arrays.copy(Y, arrays.flat(X, 1), i, j)", "a reshape is a view"),
    (
        "cvm.get_valid_count",
        "found = arrays.chosen(arrays.read(X, b, q, 1) > score_threshold, q)",
        "a list is what a mask leaves",
    ),
    (
        "cvm.non_max_suppression",
        "integer = arrays.integers(27, X, valid_count, B, N, iou_threshold, force_suppress, top_k)",
        "areas fit 64 bits below a bound that the call is asked for",
    ),
    ("cvm.non_max_suppression", "right = vectors.maximum(R, R_2)", "once for all candidates"),
    ("mxnet.index_array", "for j in range(len(A)):", "entries of a multi-index, one by one"),
]  # fmt: skip


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    found = {}
    for each in product():
        file = driver.operator_file(each, "numpy")
        found[each.full_name] = remembered_texts(each, LANGUAGES).files[file]
    return found


@pytest.mark.parametrize(("name", "line", "why"), LINES)
def test_lines_of_nests(texts: dict[str, str], name: str, line: str, why: str) -> None:
    assert line in [each.strip() for each in texts[name].splitlines()], why


def test_every_operator_of_the_product_is_made_of_arrays(texts: dict[str, str]) -> None:
    looped = {name for name, text in texts.items() if "arrays.numbers(" in text}
    # Parts of their sums or branches are not operations on whole arrays yet.
    shifts = ("arithmetic_right_shift", "logical_left_shift", "logical_right_shift")
    of_tosa = {f"tosa.{name}" for name in (*shifts, "pad", "rescale")}
    assert looped == {"onnx.gather", "onnx.pad", "tflite.pad", "tflite.svdf_state"} | of_tosa


def test_what_arrays_do_not_express_are_loops(formulas: dict[str, Operator]) -> None:
    text = driver.emitted("numpy", formulas["extra.weighted_edges"])
    assert "arrays.numbers(" in text


def test_the_bits_of_a_number_that_is_written_out() -> None:
    items = "input X : cvm[N]\noutput Y : cvm[N] precision 32\n"
    text = driver.emitted("numpy", operator(items + "Y[i] = X[i] + ceil(log2(abs(255) + 1))"))
    assert "(255).bit_length()" in text


def test_needs_numpy_alone(generated: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", ALONE]
    found = subprocess.run(
        command, cwd=generated / "numpy", capture_output=True, text=True, check=True
    )
    assert found.stdout.startswith(PRINTED)


# ---------------------------------------------------------------- large calls


@pytest.fixture(scope="module")
def ops(generated: Path) -> Operators:
    return cvmgen.load("numpy", folder=generated)


def wild(*shape: int) -> np.ndarray:
    """int32 of all sizes, the ends of the type among them."""
    random = np.random.default_rng(len(shape))
    found = random.integers(-(1 << 31), 1 << 31, shape) >> random.integers(0, 31, shape)
    found.reshape(-1)[:3] = (-(1 << 31), (1 << 31) - 1, 0)
    return found.astype(np.int32)


X, D = wild(70_001), wild(70_001)[::-1].copy()
EXACT, DIVISOR = X.astype(np.int64), D.astype(np.int64)
QUOTIENT = np.sign(EXACT) * np.sign(DIVISOR) * (abs(EXACT) // np.maximum(abs(DIVISOR), 1))
BITS = [max(abs(int(each)).bit_length(), 1) for each in X]
P = {"precisions": {"X": 32}}
LARGE = [
    ("relu", (X,), P, np.maximum(EXACT, 0)),
    ("abs", (X,), P, abs(EXACT)),
    ("clip", (X,), {"a_min": -9, "a_max": 1 << 30, **P}, np.clip(EXACT, -9, 1 << 30)),
    ("cvm_precision", (X,), P, np.array(BITS)),
    ("broadcast_div", (X, D), {"precisions": {"A": 32, "B": 32}}, QUOTIENT),
    ("where", (D, X, D), {"precisions": {"Cond": 32, "A": 32, "B": 32}}, np.where(D != 0, X, D)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "inputs", "attributes", "expected"), LARGE)
def test_large_calls(
    ops: Operators, name: str, inputs: list[np.ndarray], attributes: dict, expected: np.ndarray
) -> None:
    """Beyond the sizes that other tests draw, there are blocks, masks and quotients by binary64."""
    found = getattr(ops.cvm, name)(*inputs, **attributes)
    assert np.array_equal(found, expected.astype(np.int32))


@pytest.mark.parametrize("most", [3, 1 << 8, 1 << 11, 1 << 25, (1 << 31) - 1])
def test_products_of_every_size(ops: Operators, most: int) -> None:
    """binary32, binary64 and integers give the same sums of products."""
    random = np.random.default_rng(most)
    A = random.integers(-most, most, (5, 200), endpoint=True).astype(np.int32)
    W = random.integers(-most, most, (7, 200), endpoint=True).astype(np.int32)
    exact = (A.astype(object) @ W.T.astype(object)) & 0xFFFFFFFF
    found = ops.cvm.dense(A, W, precisions=[1, 1])
    assert np.array_equal(found.view(np.uint32), exact.astype(np.uint32))


def test_real_sums_keep_their_order(ops: Operators) -> None:
    terms = (np.random.default_rng(0).standard_normal((2, 3, 5000)) * 1e8).astype(np.float32)
    for axis in (0, 1, 2):
        found = ops.tosa.reduce_sum(terms, axis=axis)
        rows = np.moveaxis(terms.astype(np.float64), axis, 0)
        expected = np.zeros(rows.shape[1:])
        for row in rows:
            expected = expected + row
        assert np.array_equal(found, np.expand_dims(expected, axis).astype(np.float32))


def test_results_go_to_arrays_with_gaps(ops: Operators) -> None:
    out = np.zeros((300, 600), np.int32)[:, ::2]
    A = wild(300, 300)
    assert ops.cvm.relu(A, precisions=[32], out=out) is out
    assert np.array_equal(out, np.maximum(A, 0))
    ops.cvm.transpose(A, precisions=[32], out=out)
    assert np.array_equal(out, A.T)


def test_what_sorting_needs_is_told_by_its_list_and_not_by_its_name() -> None:
    found = operator(
        "input X_spare : cvm[N]\noutput Y : cvm[N]\n"
        "let V_spare = select[i < N](X_spare[i] > 0)\n"
        "let S = sort[i in V_spare] by (X_spare[i])\n"
        "Y[k] = X_spare[S[k]] if k < count(S) else 0"
    )
    text = driver.emitted("numpy", found)
    assert 'V_spare = support.memory(OPERATOR, "V_spare", plan.V_spare_size' in text, "of the list"
    assert "S_spare = " in text, "the call has it, as programs of other targets do"
    assert "(plan, X_spare, V_spare, V_spare_length" in text, "a nest is given the list"
    assert ", S_spare" not in text, "and what sorting needs no nest"
