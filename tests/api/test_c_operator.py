"""Calls of the C target like one before: the same results, and the same refusals."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from cvmgen.api.c_operator import COperator
from cvmgen.api.call_kinds import MOST_KINDS
from cvmgen.errors import OperatorError

X = np.arange(-6, 6, dtype=np.int32).reshape(3, 4)


@pytest.fixture(scope="module")
def ops(libraries: dict[str, Operators]) -> Operators:
    return libraries["c"]


def refusal(call: Any) -> str:
    with pytest.raises(OperatorError) as caught:
        call()
    return str(caught.value)


def kinds(operator: Any) -> int:
    assert isinstance(operator, COperator)
    return len(operator._kinds)


def test_other_elements_and_other_arrays(ops: Operators) -> None:
    for factor in (1, -2, 3):
        assert (ops.cvm.abs(X * factor) == abs(X * factor)).all()
        assert (ops.cvm.abs(X=X * factor) == abs(X * factor)).all()
        assert (ops.cvm.concatenate([X, X * factor], axis=0)[3:] == X * factor).all()
        assert (ops.cvm.concatenate(X * factor, X, axis=0)[:3] == X * factor).all()
        assert ops.cvm.sum(X * factor, axes=[0], keepdims=True).tolist() == [
            (X * factor).sum(0).tolist()
        ]


def test_a_result_is_no_other_calls(ops: Operators) -> None:
    first, second = ops.cvm.negative(X), ops.cvm.negative(X + 1)
    assert (first == -X).all()
    assert (second == -X - 1).all()


def test_several_results(ops: Operators) -> None:
    rows = np.array([[[0, 5], [1, 0], [2, 7]]], np.int32)
    for threshold in (1, 5, 1):
        found = ops.cvm.get_valid_count(rows, score_threshold=threshold)
        assert found._fields == ("valid_count", "Y")
        assert found.valid_count.tolist() == [{1: 2, 5: 1}[threshold]]


def test_values_that_are_equal_but_not_alike(ops: Operators) -> None:
    assert ops.cvm.repeat(X, axis=1, repeats=1).tolist() == X.tolist()
    for value in (True, 1.0):
        assert refusal(lambda value=value: ops.cvm.repeat(X, axis=value, repeats=1)) == (
            f"cvm.repeat: axis = {value!r}: an integer is needed"
        )
    assert ops.cvm.transpose(X, axes=(1, 0)).shape == (4, 3)
    assert refusal(lambda: ops.cvm.transpose(X, axes=(True, 0))) == (
        "cvm.transpose: axes = (True, 0): a tuple of integers is needed"
    )
    assert ops.cvm.transpose(X, axes=(1, 0)).shape == (4, 3)
    for scale in (0.0, -0.0, 0.0):
        made = ops.tflite.dequantize(np.array([4, -4], np.int8), scale=scale)
        assert str(made.tolist()) == str([4 * scale, -4 * scale])


def test_precisions_that_another_call_measures(ops: Operators) -> None:
    small, wide, lowest = (np.array([[value]], np.int32) for value in (1, 1 << 30, -(1 << 31)))
    for _ in range(2):
        assert ops.cvm.dense(small, small).tolist() == [[1]]
        for other in (wide, lowest):
            refused = refusal(lambda other=other: ops.cvm.dense(other, other))
            assert refused == refusal(lambda other=other: ops.cvm.dense.bind(other, other))


def test_values_beyond_a_declared_precision(ops: Operators) -> None:
    def call(value: int) -> Any:
        given = np.array([1, value], np.int32)
        return ops.cvm.abs(given, precisions={"X": 4}, check="values")

    assert call(7).tolist() == [1, 7]
    assert refusal(lambda: call(8)) == "cvm.abs: X = 8 at (1,): precision 4 holds [-7, 7]"
    assert call(-7).tolist() == [1, 7]


def test_the_type_of_the_result(ops: Operators) -> None:
    for dtype in (np.int8, "int8", np.dtype(np.int8)):
        for _ in range(2):
            assert ops.cvm.abs(X, dtype=dtype).dtype == np.int8
    assert refusal(lambda: ops.cvm.abs(X * 100, dtype=np.int8)) == (
        "cvm.abs: Y = int8: int8 does not hold precision 11"
    )
    assert refusal(lambda: ops.cvm.abs(X, dtype=[])).startswith("cvm.abs: dtype = []: ")


def test_results_of_the_caller(ops: Operators) -> None:
    memory = np.zeros((2, 3, 4), np.int32)
    memory[0] = X
    for _ in range(2):
        assert ops.cvm.negative(X, out=memory[1]) is not None
        assert (memory[1] == -X).all()
    shared = "cvm.negative: Y: it shares memory with X"
    assert refusal(lambda: ops.cvm.negative(memory[0], out=memory[0])) == shared
    flat = memory.reshape(-1)
    assert refusal(lambda: ops.cvm.negative(flat[:12], out=flat[11:23])) == shared
    assert ops.cvm.negative(flat[:12], out=flat[12:]).tolist() == (-X).reshape(-1).tolist()
    fixed = np.zeros_like(X)
    fixed.setflags(write=False)
    assert refusal(lambda: ops.cvm.negative(X, out=fixed)) == "cvm.negative: Y: it is read-only"
    columns = np.zeros((4, 3), np.int32).T
    for _ in range(2):
        columns[...] = 0
        assert ops.cvm.negative(X, out=columns) is columns
        assert (columns == -X).all()


def test_inputs_that_are_read_only_or_have_gaps(ops: Operators) -> None:
    fixed = X.copy()
    fixed.setflags(write=False)
    for _ in range(2):
        assert (ops.cvm.abs(fixed) == abs(X)).all()
        assert (ops.cvm.abs(X[:, ::2]) == abs(X[:, ::2])).all()
        assert (ops.cvm.abs(X.T) == abs(X.T)).all()
        assert ops.cvm.abs(X.tolist()).tolist() == abs(X).tolist()


def test_tensors_without_elements(ops: Operators) -> None:
    for _ in range(2):
        with pytest.raises(OperatorError):
            ops.cvm.abs(np.zeros((0, 3), np.int32))


def test_refused_arguments(ops: Operators) -> None:
    ops.cvm.abs(X)
    for call in (
        lambda f: f(X, X),
        lambda f: f(X, X=X),
        lambda f: f(X, axis=1),
        lambda f: f(X, check="all"),
        lambda f: f(X, check=[]),
        lambda f: f(X, precisions={"X": 40}),
        lambda f: f(X, precisions={"X": True}),
        lambda f: f(X, precisions="X"),
        lambda f: f([X]),
        lambda f: f(X.astype(np.int64)),
        lambda f: f(X.astype(">i4")),
        lambda f: f(None),
        lambda f: f(),
    ):
        wanted = refusal_or_none(lambda call=call: call(ops.cvm.abs.bind))
        for _ in range(2):
            assert refusal_or_none(lambda call=call: call(ops.cvm.abs)) == wanted


def refusal_or_none(call: Any) -> str | None:
    try:
        call()
    except OperatorError as error:
        return str(error)
    return None


def test_arrays_are_not_kept(ops: Operators) -> None:
    operator = ops.cvm.concatenate
    given = [np.full((1000, 5), at, np.int32) for at in range(3)]
    operator(given, axis=0)
    counts = [len(gc.get_referrers(each)) for each in given]
    assert counts == [1, 1, 1]
    del given
    gc.collect()
    for shift in range(3):  # what the structures point to is still there
        others = [np.full((1000, 5), at + shift, np.int32) for at in range(3)]
        assert (operator(others, axis=0) == np.concatenate(others)).all()


def test_calls_at_the_same_time(ops: Operators) -> None:
    def call(at: int) -> bool:
        given = np.full(20_000, at, np.int32)
        return all((ops.cvm.negative(given) == -at).all() for _ in range(20))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(64)))


def test_kinds_are_not_remembered_without_end(ops: Operators) -> None:
    for size in range(1, MOST_KINDS + 20):
        assert ops.cvm.relu(np.full(size, 3, np.int8)).sum() == 3 * size
        assert kinds(ops.cvm.relu) <= MOST_KINDS
