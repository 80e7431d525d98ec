"""Tensors without elements and without dimensions, on every target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from cvmgen.errors import OperatorError
from tests.conformance.calls import Array, Call, Conformance
from tests.conformance.refused import RANK_17, zeros
from tests.targets import TARGETS


def ones(*shape: int) -> Array:
    return np.ones(shape, np.int32)


# Operator, shapes of inputs (None: not given, a list: several), attributes, the first result.
RESULTS: list[tuple[str, list[Any], dict[str, Any], Any]] = [
    ("indices_of", [(0,)], {}, np.empty((0, 1))),
    ("indices_of", [(2, 0)], {}, np.empty((2, 0, 2))),
    ("indices_of", [()], {}, np.empty((0,))),
    ("indices_of", [(1, 2)], {}, [[[0, 0], [0, 1]]]),
    ("total", [()], {}, [1]),
    ("total", [(0, 5)], {}, [0]),
    ("axis_sums", [(2, 0)], {"axes": (1,)}, [[[0]], [[0]]]),
    ("axis_sums", [(2, 0)], {"axes": (0,)}, np.empty((1, 0, 1))),
    ("axis_sums", [()], {}, [1]),
    ("row_tests", [(0, 3)], {}, np.empty((0,))),
    ("row_tests", [(2, 0)], {}, [2, 2]),
    ("largest_or", [(3, 0)], {"bound": -7}, [-7]),
    ("largest_or", [()], {"bound": -7}, [1]),
    ("joined", [[(2, 0), (2, 1), (2, 0)]], {"axis": 1}, [[1], [1]]),
    ("joined", [[(0, 2), (0, 3)]], {"axis": 1}, np.empty((0, 5))),
    ("largest_first", [(2, 0)], {}, np.empty((2, 0))),
    ("turned_round", [(2, 0, 3)], {"repeats": 2}, np.empty((2, 3, 0, 2))),
    ("turned_round", [()], {"repeats": 2}, [1, 1]),
    ("stretched", [(3, 0)], {"times": 4}, np.empty((0,))),
    ("stretched", [(3, 1)], {"times": 0}, np.empty((0,))),
    ("shifted", [(), ()], {}, [2]),
    ("shifted", [(0, 2), None], {}, np.empty((0, 2, 1))),
    ("weighted_rows", [(2, 1), (2, 0), (2, 0)], {}, [[0], [0]]),
    ("first_extents", [()], {}, [1]),
    ("first_extents", [(1,)], {}, [[2]]),
    ("remainders", [(0,)], {"parts": 2}, [0, 0]),
]


def made(shapes: Any) -> Any:
    """Tensors of ones."""
    if shapes is None:
        return None
    return [ones(*each) for each in shapes] if isinstance(shapes, list) else ones(*shapes)


@pytest.mark.parametrize(("name", "shapes", "attributes", "result"), RESULTS, ids=lambda each: None)
def test_results(
    conformance: Conformance, name: str, shapes: list[Any], attributes: dict[str, Any], result: Any
) -> None:
    count = len(conformance.references[f"extra.{name}"].operator.inputs)
    inputs = (*map(made, shapes), *[None] * (count - len(shapes)))
    call = Call(f"extra.{name}", inputs, attributes)
    for dtype in (np.int8, np.int32):
        found = conformance.check(call.of_type(dtype), dtype=np.int32).outputs[0]
        assert found.shape == np.shape(result)
        assert found.nested() == np.asarray(result).tolist()


REFUSED: list[tuple[str, list[Any], dict[str, Any], str]] = [
    (
        "extra.total",
        [zeros(*RANK_17)],
        {},
        f"X = shape {RANK_17}: this tensor has 0 to 16 dimensions",
    ),
    ("extra.row_tests", [zeros()], {}, "X = shape (): 2 dimensions needed"),
    ("extra.row_tests", [zeros(0)], {}, "X = shape (0,): 2 dimensions needed"),
    ("extra.shifted", [zeros(0), zeros(0, 1)], {}, "Z = shape (0, 1): the shape must be (0,)"),
    ("extra.shifted", [zeros(), zeros(1)], {}, "Z = shape (1,): the shape must be ()"),
    ("extra.joined", [[]], {}, "X: at least one input is needed"),
    ("extra.joined", [[zeros()]], {}, "axis = 0: must be in [0, N) (N = 0)"),
    (
        "extra.joined",
        [[zeros(0, 2), zeros(0, 3)]],
        {},
        "the shapes may differ along the axis only (M = 2, N = 2, n = ((0, 2), (0, 3)), axis = 0)",
    ),
    (
        "extra.indices_of",
        [zeros(*[1] * 16)],
        {},
        "Y = rank 17: this tensor has 0 to 16 dimensions",
    ),
    (
        "extra.weighted_rows",
        [zeros(0, 2), zeros(0, 2)],
        {},
        "X = shape (0, 2): every extent must be at least 1",
    ),
    ("extra.argsort", [zeros(0, 2)], {}, "X = shape (0, 2): every extent must be at least 1"),
    ("extra.reverse", [zeros()], {}, "X = shape (): a tensor has 1 to 16 dimensions"),
    ("cvm.abs", [zeros(0)], {}, "X = shape (0,): every extent must be at least 1"),
    (
        "cvm.concatenate",
        [[zeros(2), zeros(0)]],
        {"axis": 0},
        "I[1] = shape (0,): every extent must be at least 1",
    ),
    ("extra.row_sums", [zeros(0, 3)], {}, "Y = shape (0,): the result would be empty"),
    (
        "extra.stretched",
        [zeros(2, 3)],
        {"times": -1},
        "Y = shape (-6,): an extent of the result would be negative",
    ),
]


@pytest.mark.parametrize(
    ("name", "inputs", "attributes", "message"), REFUSED, ids=lambda each: None
)
def test_refusals(
    conformance: Conformance, name: str, inputs: list[Any], attributes: dict[str, Any], message: str
) -> None:
    count = len(conformance.references[name].operator.inputs)
    operands = (*inputs, *[None] * (count - len(inputs)))
    expected = conformance.check(Call(name, operands, attributes))
    assert expected.refusal == f"{name}: {message}"


@pytest.mark.parametrize("target", TARGETS)
def test_shapes_without_data(libraries: dict[str, Operators], target: str) -> None:
    extra = libraries[target].extra
    assert extra.total.infer([()], [8]) == (((1,),), (8,))
    assert extra.total.infer([(3, 0)]) == (((1,),), (1,)), "the precision of nothing is 1"
    assert extra.turned_round.infer([(2**20, 0, 2**19)], [8]).shapes == ((1, 2**19, 0, 2**20),)
    for shape, rule in (
        ((2, -1), "no extent may be negative"),
        ((2**20, 0, 2**20), "a tensor has less than 2^40 elements"),
        (RANK_17, "this tensor has 0 to 16 dimensions"),
    ):
        with pytest.raises(OperatorError, match=r"X = shape .*: ") as caught:
            extra.total.infer([shape], [8])
        assert caught.value.rule == rule


@pytest.mark.parametrize("target", TARGETS)
def test_arrays_of_rank_0(libraries: dict[str, Operators], target: str) -> None:
    total = libraries[target].extra.total
    assert total(np.array(-5, np.int32)).tolist() == [-5]
    assert total(np.int8(7)).tolist() == [7]
    assert total(np.array([1, 2], np.int32)[1]).tolist() == [2]
    with pytest.raises(OperatorError, match=r"X = 9 at \(\): precision 4 holds \[-7, 7\]"):
        total(np.array(9, np.int32), precisions={"X": 4}, check="values")
    found = np.zeros(1, np.int32)
    step = total.bind(given := np.array(3, np.int32), out=found, precisions={"X": 8})
    for value in (3, -4):
        given[...] = value
        assert step().tolist() == [value]


@pytest.mark.parametrize("target", TARGETS)
def test_arrays_without_elements(libraries: dict[str, Operators], target: str) -> None:
    turned = libraries[target].extra.turned_round
    X = np.zeros((3, 4, 2), np.int32)[:, 2:2].transpose(2, 0, 1)
    assert turned(X, check="values").shape == (1, 0, 3, 2)
    found = np.zeros((1, 0, 3, 2), np.int32)
    assert turned(X, out=found) is found
    memory = np.zeros((2, 3), np.int32)
    assert turned(memory[:, 1:1], out=memory[:0, :2].reshape(1, 0, 2)).shape == (1, 0, 2)
    with pytest.raises(OperatorError, match=r"Y = shape \(1, 0, 2\): the shape must be"):
        turned(X, out=np.zeros((1, 0, 2), np.int32))
