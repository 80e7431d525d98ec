"""Bound calls: shapes first, arrays with each call; constants are packed once."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cvmgen
from cvmgen.api import Operators
from cvmgen.errors import OperatorError

TARGETS = ("c", "python")
RANDOM = np.random.default_rng(3)


@pytest.fixture(scope="module", params=TARGETS)
def ops(request: pytest.FixtureRequest, generated: Path) -> Operators:
    return cvmgen.load(request.param, folder=generated)


def elements(*shape: int, dtype: Any = np.int8) -> Any:
    return RANDOM.integers(-128, 128, shape).astype(dtype)


def product(x: Any, w: Any) -> Any:
    return x.astype(np.int32) @ w.astype(np.int32).T


def test_a_shape_first_and_arrays_with_each_call(ops: Operators) -> None:
    w = elements(20, 33)
    bound = ops.cvm.dense.bind((12, 33), W=w, precisions={"X": 8, "W": 8})
    assert bound.inputs == ("X",)
    assert bound.shapes == ((12, 33),)
    for dtype in (np.int8, np.int32, np.int8):
        x = elements(12, 33, dtype=dtype)
        assert np.array_equal(bound(x), product(x, w))


def test_results_go_where_they_are_wanted(ops: Operators) -> None:
    w = elements(20, 33)
    bound = ops.cvm.dense.bind((12, 33), W=w, precisions={"X": 8, "W": 8})
    x, out = elements(12, 33), np.zeros((12, 20), np.int32)
    assert bound(x, out=out) is out
    assert np.array_equal(out, product(x, w))
    wide = np.zeros((12, 40), np.int32)
    every_other = wide[:, ::2]
    assert bound(x, out=every_other) is every_other
    assert np.array_equal(every_other, out)
    assert not wide[:, 1::2].any()


def test_arrays_of_any_strides(ops: Operators) -> None:
    w = elements(33, 20).T
    bound = ops.cvm.dense.bind((12, 33), W=w, precisions={"X": 8, "W": 8})
    x = elements(33, 12).T
    x.flags.writeable = False
    assert np.array_equal(bound(x), product(x, w))


def test_both_may_come_later(ops: Operators) -> None:
    bound = ops.cvm.dense.bind((12, 33), (20, 33), precisions=[8, 8])
    x, w = elements(12, 33), elements(20, 33)
    for _ in range(2):
        assert np.array_equal(bound(x, w), product(x, w))
        w = elements(20, 33)


@pytest.mark.parametrize(
    ("name", "x", "w"),
    [
        ("dense", (1, 515), (600, 515)),
        ("dense", (3, 150), (601, 150)),
        ("dense", (70, 67), (300, 67)),
        ("conv2d", (3, 16, 9, 9), (40, 16, 3, 3)),
    ],
)
def test_calls_that_follow_each_other(generated: Path, name: str, x: Any, w: Any) -> None:
    """Each thread has a part of every call, with an image of its own."""
    ops, weights = cvmgen.load("c", folder=generated), elements(*w)
    operator = getattr(ops.cvm, name)
    try:
        for threads in (1, 2, 5):
            bound = operator.bind(x, W=weights, precisions={"X": 8, "W": 8})
            for _ in range(3):
                data = elements(*x)
                ops.threads = 1
                expected = operator(data, weights)
                ops.threads = threads
                assert np.array_equal(bound(data), expected)
    finally:
        ops.threads = 0


def test_int32_elements_beyond_int8_are_exact(ops: Operators) -> None:
    w = elements(20, 64, dtype=np.int32)
    bound = ops.cvm.dense.bind((16, 64), W=w, precisions={"X": 8, "W": 8})
    x = elements(16, 64, dtype=np.int32)
    for value in (7, 128, -(2**31), 127):
        x[3, 5] = value
        wanted = (x.astype(np.int64) @ w.astype(np.int64).T).astype(np.int32)
        assert np.array_equal(bound(x), wanted)


def test_a_convolution_with_its_weights_bound(ops: Operators) -> None:
    w, b = elements(24, 4, 3, 3), elements(24, dtype=np.int32)
    given = {"padding": (1, 2), "stride": (2, 1), "groups": 2}
    precisions = {"X": 8, "W": 8, "B": 9}
    bound = ops.cvm.conv2d.bind((2, 8, 9, 11), W=w, B=b, precisions=precisions, **given)
    for _ in range(3):
        x = elements(2, 8, 9, 11)
        assert np.array_equal(bound(x), ops.cvm.conv2d(x, w, b, precisions=precisions, **given))


def test_constants_of_types_of_their_own(ops: Operators) -> None:
    layer, x, w = ops.tflite.xnnpack_fully_connected, elements(3, 17), elements(5, 17)
    for factors in (np.full(5, 0.01, np.float32), [0.01] * 5):
        bound = layer.bind((3, 17), W=w, F=factors, zx=3)
        assert bound.inputs == ("X",)
        assert np.array_equal(bound(x), layer(x, w, factors, zx=3))
    with pytest.raises(OperatorError, match="F = dtype float64: must be float32"):
        layer.bind((3, 17), W=w, F=np.full(5, 0.01))(x)


def test_several_results(ops: Operators) -> None:
    x = elements(2, 5, 6, dtype=np.int32)
    whole = ops.cvm.get_valid_count(x, precisions=[8], score_threshold=0)
    bound = ops.cvm.get_valid_count.bind((2, 5, 6), precisions=[8], score_threshold=0)
    assert all(map(np.array_equal, bound(x), whole))
    outs = tuple(np.zeros_like(each) for each in whole)
    assert all(map(np.array_equal, bound(x, out=outs), whole))


REFUSED = [
    (lambda bound: bound(), "0 arrays", "1 needed: X"),
    (lambda bound: bound(elements(3, 5)), "shape (3, 5)", "the call is bound to shape (2, 5)"),
    (lambda bound: bound(elements(2, 5), out=np.zeros((2, 4), np.int32)), "(2, 4)", "shape"),
    (lambda bound: bound(elements(2, 5, dtype=np.int64)), "dtype int64", "int8 or int32"),
    (lambda bound: bound(X=elements(2, 5)), "X", "this call takes X, in this order, and out"),
    (lambda bound: bound(elements(2, 5), dtype="int32"), "dtype", "this call takes X, in"),
]


@pytest.mark.parametrize(("call", "value", "rule"), REFUSED)
def test_what_a_bound_call_refuses(ops: Operators, call: Any, value: str, rule: str) -> None:
    bound = ops.cvm.dense.bind((2, 5), W=elements(3, 5), precisions=[8, 8])
    with pytest.raises(OperatorError) as caught:
        call(bound)
    assert value in str(caught.value)
    assert rule in str(caught.value)


BINDINGS = [
    (lambda dense: dense.bind((2, 5), W=elements(3, 5)), "X", "its precision must be declared"),
    (lambda dense: dense.bind((2, 5), W=elements(3, 5), precisions=[8], out=0), "out", "come with"),
    (lambda dense: dense.bind((2, 5), precisions=[8, 8]), "W", "missing"),
    (lambda dense: dense.bind((2, 5), W=elements(3, 4), precisions=[8]), "W", "must be K = 5"),
    (lambda dense: dense.bind((2, 0), W=elements(3, 4), precisions=[8]), "X", "at least 1"),
    (lambda dense: dense.bind((2, 5), W=elements(3, 5), precisions=[32]), "Y", "in [1, 32]"),
    (
        lambda dense: dense.bind(elements(2, 5), elements(3, 5), constants=["V"]),
        "constants",
        "there is no such input; inputs: X, W, B",
    ),
    (
        lambda dense: dense.bind(elements(2, 5), elements(3, 5), constants="W"),
        "constants",
        "a list of names of inputs is needed",
    ),
]


@pytest.mark.parametrize(("bind", "argument", "rule"), BINDINGS)
def test_what_cannot_be_bound(ops: Operators, bind: Any, argument: str, rule: str) -> None:
    with pytest.raises(OperatorError) as caught:
        bind(ops.cvm.dense)
    assert caught.value.argument == argument
    assert rule in caught.value.rule


def test_constants_of_a_call_with_all_its_arrays(ops: Operators) -> None:
    x, w = elements(16, 40), elements(24, 40)
    bound = ops.cvm.dense.bind(x, w, precisions=[8, 8], constants=["W"])
    for _ in range(2):
        assert np.array_equal(bound(), product(x, w))
        x[...] = elements(16, 40)


NOTHING_TAKEN = [
    (lambda bound: bound(elements(2, 5)), "", "1 given"),
    (lambda bound: bound(out=np.zeros((2, 3), np.int32)), "out", ""),
    (lambda bound: bound(elements(2, 5), X=1), "", "1 given"),
]


@pytest.mark.parametrize(("call", "argument", "value"), NOTHING_TAKEN)
def test_a_call_with_all_its_arrays_takes_none(
    ops: Operators, call: Any, argument: str, value: str
) -> None:
    bound = ops.cvm.dense.bind(elements(2, 5), elements(3, 5))
    with pytest.raises(OperatorError, match="bind a shape in place of what comes") as caught:
        call(bound)
    assert (caught.value.operator, caught.value.argument) == ("cvm.dense", argument)
    assert caught.value.value == value


def test_threads_take_turns(ops: Operators) -> None:
    w = elements(64, 64)
    bound = ops.cvm.dense.bind((32, 64), W=w, precisions=[8, 8])
    given = [elements(32, 64) for _ in range(4)]
    found: list[Any] = [None] * 4

    def work(at: int) -> None:
        for _ in range(20):
            found[at] = bound(given[at])

    threads = [threading.Thread(target=work, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for x, y in zip(given, found, strict=True):
        assert np.array_equal(y, product(x, w))
