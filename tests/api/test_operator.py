"""Operators as objects: description, inference, bound calls, results, threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Inferred, Operators
from cvmgen.errors import CvmgenError, OperatorError
from cvmgen.spec.formula import Operator
from tests.targets import TARGETS

X = np.arange(9, dtype=np.int32).reshape(1, 1, 3, 3)
W = np.array([[[[1, 2], [3, 4]]]], np.int32)


@pytest.fixture(params=TARGETS)
def ops(request: pytest.FixtureRequest, libraries: dict[str, Operators]) -> Operators:
    return libraries[request.param]


# ---------------------------------------------------------------- description

SIGNATURES = {
    "cvm.abs": "abs(X)",
    "cvm.clip": "clip(X, *, a_min, a_max)",
    "cvm.conv2d": "conv2d(X, W, B=None, *, "
    "padding=(0, 0), stride=(1, 1), dilation=(1, 1), groups=1)",
    "cvm.dense": "dense(X, W, B=None)",
    "cvm.max_pool2d": "max_pool2d(X, *, "
    "pool_size, padding=(0, 0), strides=(1, 1), ceil_mode=False)",
    "cvm.sum": "sum(X, *, axes=(), keepdims=False, exclude=False)",
    "cvm.concatenate": "concatenate(*I, axis)",
    "cvm.take": "take(X, indices, *, axis=None)",
}


def test_signatures(ops: Operators) -> None:
    assert {name: ops[name].signature for name in SIGNATURES} == SIGNATURES
    assert repr(ops.cvm.abs) == "<operator cvm.abs(X)>"
    assert (ops.cvm.abs.variadic, ops.cvm.concatenate.variadic) == (None, "I")


def test_description(ops: Operators, formulas: dict[str, Operator]) -> None:
    for name, formula in formulas.items():
        operator = ops[name]
        assert operator.name == name
        assert operator.__name__ == formula.name
        assert operator.formula == formula.text
        assert operator.place == formula.span.place
        assert operator.inputs == tuple(item.name for item in formula.inputs)
        assert operator.attributes == tuple(item.name for item in formula.attributes)
        assert operator.outputs == formula.output_names
        assert formula.doc in (operator.__doc__ or "")
        assert formula.text in (operator.__doc__ or "")
        assert operator.signature in (operator.__doc__ or "")


def test_formula_of_an_operator(ops: Operators) -> None:
    lines = ops.cvm.relu.formula.splitlines()
    assert lines[0] == "operator relu {"
    assert "  Y[d...] = max(0, X[d...])" in lines


def test_sources(ops: Operators, generated: Path) -> None:
    paths = {target: f"{target}/cvm/relu.py" for target in ("python", "numpy")}
    for target, path in {**paths, "c": "c/cvm/relu.c"}.items():
        assert ops.cvm.relu.source(target) == (generated / path).read_text()
    rule = "unknown target 'rust'; targets are python, numpy, c, cuda"
    with pytest.raises(CvmgenError, match=rule):
        ops.cvm.relu.source("rust")


# ---------------------------------------------------------------- inference


def test_inferred_shapes_and_precisions(ops: Operators) -> None:
    conv2d = ops.cvm.conv2d
    shapes = [(1, 3, 8, 8), (4, 3, 3, 3), None]
    found = conv2d.infer(shapes=shapes, precisions=[8, 8, None], padding=(1, 1))
    assert found == Inferred(((1, 4, 8, 8),), (21,))
    assert (found.shapes, found.precisions) == found
    assert conv2d.infer(shapes[:2], [8, 8], padding=(1, 1)) == found
    assert conv2d.infer(shapes[:2], {"W": 8, "X": 8}, padding=(1, 1)) == found
    assert conv2d.infer([*shapes[:2], (4,)], [8, 8, 30], padding=(1, 1)).precisions == (31,)
    assert ops.cvm.concatenate.infer([[(2, 3), (2, 4)]], [[3, 9]], axis=1) == (((2, 7),), (9,))
    assert ops.cvm.concatenate.infer([[(2,), (3,)]], [5], axis=0) == (((5,),), (5,))
    assert ops.extra.divided.infer([(2, 3)], [9], divisor=5) == (((2, 3), (2, 3)), (9, 8))
    assert ops.cvm.take.infer([(4, 5), (2, 3)], [9, 4], axis=-1) == (((4, 2, 3),), (9,))
    assert ops.cvm.take.infer([(4, 5), (2, 3)], [9, 4]) == (((2, 3),), (9,))


MISSING: list[tuple[str, list[Any], dict[str, Any], str]] = [
    ("cvm.relu", [], {}, "cvm.relu: X: this input is missing"),
    ("cvm.dense", [(2, 3)], {}, "cvm.dense: W: this input is missing"),
    ("cvm.dense", [None, (2, 3)], {}, "cvm.dense: X: this input is missing"),
    ("cvm.clip", [], {}, "cvm.clip: X: this input is missing"),
    ("cvm.concatenate", [], {"axis": 0}, "cvm.concatenate: I: this input is missing"),
    ("cvm.concatenate", [None], {"axis": 0}, "cvm.concatenate: I: this input is missing"),
    ("cvm.concatenate", [[]], {"axis": 0}, "cvm.concatenate: I: at least one input is needed"),
]


@pytest.mark.parametrize(("name", "shapes", "attributes", "message"), MISSING)
def test_inference_without_an_input(
    ops: Operators, name: str, shapes: list[Any], attributes: dict[str, Any], message: str
) -> None:
    with pytest.raises(OperatorError) as caught:
        ops[name].infer(shapes, [8] * len(shapes), **attributes)
    assert str(caught.value) == message


@pytest.mark.parametrize("shapes", [3, None, "relu"])
def test_inference_of_what_is_no_list(ops: Operators, shapes: Any) -> None:
    with pytest.raises(OperatorError, match=r"shapes = .*: a list with a shape for each input"):
        ops.cvm.relu.infer(shapes)


def test_numbers_of_numpy(ops: Operators) -> None:
    """Attributes, shapes and precisions may be numpy's integers."""
    one = np.int64(1)
    shapes = [np.array([1, 3, 8, 8]), np.array([4, 3, 3, 3])]
    found = ops.cvm.conv2d.infer(shapes, np.array([8, 8]).tolist(), padding=(one, one), groups=one)
    assert found.shapes == ((1, 4, 8, 8),)
    assert ops.cvm.sum(X, axes=np.array([2, 3]), keepdims=np.True_).tolist() == [[[[36]]]]
    assert ops.cvm.sum(X, axes=[2, 3], keepdims=1).tolist() == [[[[36]]]]
    assert ops.cvm.abs.infer([(3,)], [np.int32(8)]).precisions == (8,)


# ---------------------------------------------------------------- declared precisions


def test_one_number_for_all_entries(ops: Operators) -> None:
    x = np.arange(9, dtype=np.int8).reshape(1, 1, 3, 3)
    pooled = ops.cvm.max_pool2d(x, pool_size=2, padding=1, strides=2)
    assert pooled.tolist() == [[[[0, 2], [6, 8]]]]
    pairs = {"pool_size": (2, 2), "padding": (1, 1), "strides": (2, 2)}
    assert (ops.cvm.max_pool2d(x, **pairs) == pooled).all()


def test_precisions_by_name_or_in_order(ops: Operators) -> None:
    conv2d = ops.cvm.conv2d
    for precisions in ({"X": 8, "W": 7}, [8, 7], (8, 7, None), {"W": 7, "X": 8, "B": None}):
        assert conv2d.bind(X, W, precisions=precisions).inferred.precisions == (18,)
    assert conv2d.bind(X, W, precisions={"X": 8}).inferred.precisions == (15,)
    assert conv2d.bind(X, W).inferred.precisions == (12,)
    assert conv2d.bind(X, W, precisions={"B": 99}).inferred.precisions == (12,)


def test_precisions_of_several_tensors(ops: Operators) -> None:
    concatenate = ops.cvm.concatenate
    A, B = np.array([1], np.int32), np.array([100], np.int32)
    for precisions, wanted in (
        (None, 8),
        ({"I": 9}, 9),
        ({"I": [3, 10]}, 10),
        ({"I": (3, None)}, 8),
        ([[3, 10]], 10),
    ):
        assert concatenate.bind(A, B, axis=0, precisions=precisions).inferred.precisions == (
            wanted,
        )


# ---------------------------------------------------------------- results


def test_several_results(ops: Operators) -> None:
    found = ops.extra.divided(np.array([7, -7], np.int32), divisor=2)
    quotient, rest = found
    assert type(found).__name__ == "divided_result"
    assert found.quotient is quotient
    assert (quotient.tolist(), rest.tolist()) == ([3, -4], [1, 1])
    outs = np.empty(2, np.int8), np.empty(2, np.int8)
    written = ops.extra.divided(np.array([7, -7], np.int32), divisor=2, out=outs)
    assert written.quotient is outs[0]
    assert written.rest is outs[1]
    assert [one.tolist() for one in outs] == [[3, -4], [1, 1]]


def test_out_is_what_is_returned(ops: Operators) -> None:
    out = np.empty((1, 1, 2, 2), np.int32)
    assert ops.cvm.conv2d(X, W, out=out) is out
    assert out.tolist() == [[[[27, 37], [57, 67]]]]


def test_inputs_by_name(ops: Operators) -> None:
    by_name = ops.cvm.conv2d(W=W, X=X)
    assert np.array_equal(by_name, ops.cvm.conv2d(X, W))
    assert np.array_equal(by_name, ops.cvm.conv2d(X, W, B=None))
    assert np.array_equal(by_name, ops.cvm.conv2d(X, W, None, padding=None))


def test_several_tensors_listed_or_not(ops: Operators) -> None:
    A, B = np.array([1], np.int32), np.array([2, 3], np.int32)
    concatenate = ops.cvm.concatenate
    for found in (
        concatenate(A, B, axis=0),
        concatenate([A, B], axis=0),
        concatenate((A, B), axis=0),
        concatenate(I=[A, B], axis=0),
    ):
        assert found.tolist() == [1, 2, 3]
    assert concatenate(A, axis=0).tolist() == [1]


def test_each_call_has_a_result_of_its_own(ops: Operators) -> None:
    first = ops.cvm.abs(X)
    second = ops.cvm.abs(X)
    assert not np.shares_memory(first, second)
    assert not np.shares_memory(ops.cvm.flatten(X), X)


# ---------------------------------------------------------------- bound calls

LAYOUTS = {
    "contiguous": lambda array: array,
    "reversed": lambda array: array[::-1],
    "gaps": lambda array: np.repeat(array, 2)[::2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_bound_call_reads_its_arrays_anew(ops: Operators, layout: str) -> None:
    A = LAYOUTS[layout](np.array([1, 2, 3], np.int32))
    B = np.array([10, 20, 30], np.int8)
    bound = ops.cvm.elemwise_add.bind(A, B, precisions={"A": 16, "B": 8})
    first = bound()
    assert first.tolist() == [a + b for a, b in zip(A.tolist(), B.tolist(), strict=True)]
    A[:], B[1] = (-1, -2, 1000), -20
    second = bound()
    assert second is first
    assert second.tolist() == [9, -22, 1030]
    assert bound.result is second


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_bound_call_writes_into_out(ops: Operators, layout: str) -> None:
    A = np.array([1, -2, 3], np.int32)
    out = LAYOUTS[layout](np.zeros(3, np.int32))
    bound = ops.cvm.negative.bind(A, precisions=(8,), out=out)
    assert out.tolist() == [0, 0, 0]
    assert bound() is out
    assert out.tolist() == [-1, 2, -3]
    A[0] = 7
    bound()
    assert out.tolist() == [-7, 2, -3]


def test_a_bound_call_of_several_tensors(ops: Operators) -> None:
    A, B = np.array([[1, 2]], np.int32), np.array([[1, 2], [3, 4]], np.int32).T
    bound = ops.cvm.concatenate.bind(A, B, axis=0, precisions={"I": 8})
    assert bound().tolist() == [[1, 2], [1, 3], [2, 4]]
    A[0, 0], B[0, 1] = 9, 8
    assert bound().tolist() == [[9, 2], [1, 8], [2, 4]]


def test_a_bound_call_keeps_its_arrays(ops: Operators) -> None:
    """What only the bound call holds is not freed under it."""
    bound = [ops.cvm.negative.bind(np.full(500, at, np.int32)) for at in range(20)]
    garbage = [np.full(500, 12345, np.int32) for _ in range(20)]
    assert [int(each()[0]) for each in bound] == [-at for at in range(20)]
    del garbage


def test_a_refusal_comes_when_binding(ops: Operators) -> None:
    with pytest.raises(OperatorError, match="the kernel is larger"):
        ops.cvm.conv2d.bind(W, X)


# ---------------------------------------------------------------- threads


def test_threads_call_the_same_operators(ops: Operators) -> None:
    def work(seed: int) -> list[Any]:
        generator = np.random.default_rng(seed)
        found = []
        for _ in range(20):
            A = generator.integers(-100, 100, (1, 2, 6, 6)).astype(np.int32)
            K = generator.integers(-100, 100, (3, 2, 3, 3)).astype(np.int8)
            found.append(ops.cvm.conv2d(A, K, padding=(1, 0)).tolist())
            found.append(ops.cvm.sum(A, axes=(1, 3)).tolist())
            with pytest.raises(OperatorError, match=f"groups = {seed + 3}: must be in"):
                ops.cvm.conv2d(A, K, groups=seed + 3)
        return found

    alone = [work(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(work, range(4)))
    assert together == alone
    assert all(one != other for one, other in pairwise(alone))
