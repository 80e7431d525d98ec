"""Calls that the Python interface refuses, with the exact message."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from cvmgen.errors import OperatorError
from tests.conformance.refused import zeros
from tests.targets import TARGETS

X4, W4 = zeros(1, 4, 5, 5), zeros(2, 4, 3, 3)

ONE = np.ones(3, np.int32)
READ_ONLY_AND_MORE = np.zeros(6, np.int32)
READ_ONLY = READ_ONLY_AND_MORE[3:]
READ_ONLY.setflags(write=False)


class Elsewhere:
    """An array that cannot be had in the memory of the host."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError("it lies on a device")


# Operator, inputs, keywords, message.
REFUSED: list[tuple[str, list[Any], dict[str, Any], str]] = [
    # Operands.
    ("cvm.abs", [], {}, "X: this input is missing"),
    ("cvm.abs", [ONE, ONE], {}, "1 input at most: X (2 given)"),
    ("cvm.conv2d", [X4, W4, None, ONE], {}, "3 inputs at most: X, W, B (4 given)"),
    ("cvm.abs", [ONE], {"X": ONE}, "X: this input is given twice"),
    ("cvm.abs", [ONE.astype(np.float32)], {}, "X = dtype float32: elements must be int8 or int32"),
    ("cvm.abs", [ONE.astype(np.int64)], {}, "X = dtype int64: elements must be int8 or int32"),
    ("cvm.abs", [ONE.astype(np.int16)], {}, "X = dtype int16: elements must be int8 or int32"),
    ("cvm.abs", [ONE.astype(np.uint8)], {}, "X = dtype uint8: elements must be int8 or int32"),
    ("cvm.abs", [ONE.astype(bool)], {}, "X = dtype bool: elements must be int8 or int32"),
    ("cvm.abs", [ONE.astype(">i4")], {}, "X = dtype >i4: elements must be int8 or int32"),
    ("cvm.abs", [[1, 2**31]], {}, "X = dtype int64: elements must be int8 or int32"),
    ("cvm.abs", [[1.5]], {}, "X = dtype float64: elements must be int8 or int32"),
    ("cvm.abs", [[[1], [2, 3]]], {}, "X = list: its rows differ in length"),
    ("cvm.abs", [7], {}, "X = int: a numpy array, or an object with __dlpack__, is needed"),
    ("cvm.abs", ["text"], {}, "X = str: a numpy array, or an object with __dlpack__, is needed"),
    ("cvm.abs", [Elsewhere()], {}, "X = Elsewhere: numpy does not take it: it lies on a device"),
    ("cvm.concatenate", [], {"axis": 0}, "I: this input is missing"),
    ("cvm.concatenate", [[]], {"axis": 0}, "I: at least one input is needed"),
    ("cvm.concatenate", [[ONE] * 65], {"axis": 0}, "I = 65: at most 64 inputs"),
    (
        "cvm.concatenate",
        [ONE, ONE.astype(float)],
        {"axis": 0},
        "I[1] = dtype float64: elements must be int8 or int32",
    ),
    (
        "cvm.concatenate",
        [ONE, zeros(0)],
        {"axis": 0},
        "I[1] = shape (0,): every extent must be at least 1",
    ),
    ("cvm.concatenate", [], {"axis": 0, "I": ONE}, "I = ndarray: a list of arrays is needed"),
    (
        "cvm.concatenate",
        [ONE, ONE],
        {"axis": 0, "precisions": {"I": [3, 40]}},
        "I[1] = precision 40: a precision is in [1, 32]",
    ),
    (
        "cvm.concatenate",
        [zeros(3), READ_ONLY],
        {"axis": 0, "out": READ_ONLY_AND_MORE},
        "Y: it shares memory with I[1]",
    ),
    # Attributes.
    (
        "cvm.conv2d",
        [X4, W4],
        {"paddin": (1, 1)},
        "paddin = (1, 1): there is no such attribute; did you mean 'padding'?",
    ),
    ("cvm.sum", [ONE], {"axis": 0}, "axis = 0: there is no such attribute; did you mean 'axes'?"),
    (
        "cvm.sum",
        [ONE],
        {"zzz": 0},
        "zzz = 0: there is no such attribute; its attributes: axes, keepdims, exclude; "
        "its inputs: X",
    ),
    (
        "cvm.abs",
        [ONE],
        {"zzz": "a"},
        "zzz = 'a': there is no such attribute; its attributes: none; its inputs: X",
    ),
    ("cvm.cvm_clip", [ONE], {"precision": 2.0}, "precision = 2.0: an integer is needed"),
    ("cvm.cvm_clip", [ONE], {"precision": "8"}, "precision = '8': an integer is needed"),
    ("cvm.cvm_clip", [ONE], {"precision": True}, "precision = True: an integer is needed"),
    (
        "cvm.cvm_clip",
        [ONE],
        {"precision": 2**63},
        f"precision = {2**63}: a number of at most 64 bits is needed",
    ),
    (
        "cvm.cvm_clip",
        [ONE],
        {"precision": 2**63 - 1},
        f"precision = {2**63 - 1}: must be in [1, 33)",
    ),
    ("cvm.sum", [ONE], {"axes": 0}, "axes = 0: a tuple of integers is needed"),
    ("cvm.sum", [ONE], {"axes": (0.0,)}, "axes = (0.0,): a tuple of integers is needed"),
    ("cvm.sum", [ONE], {"axes": (False,)}, "axes = (False,): a tuple of integers is needed"),
    ("cvm.sum", [ONE], {"axes": "0"}, "axes = '0': a tuple of integers is needed"),
    ("cvm.sum", [ONE], {"axes": {0}}, "axes = {0}: a tuple of integers is needed"),
    ("cvm.sum", [ONE], {"axes": {0: 1}}, "axes = {0: 1}: a tuple of integers is needed"),
    (
        "cvm.sum",
        [ONE],
        {"axes": (-(2**70),)},
        f"axes = {-(2**70)}: a number of at most 64 bits is needed",
    ),
    ("cvm.sum", [ONE], {"keepdims": 2}, "keepdims = 2: true or false is needed"),
    ("cvm.sum", [ONE], {"keepdims": "yes"}, "keepdims = 'yes': true or false is needed"),
    ("cvm.conv2d", [X4, W4], {"padding": "1"}, "padding = '1': a tuple of integers is needed"),
    ("cvm.conv2d", [X4, W4], {"padding": -1}, "padding = (-1, -1): must be in [0, 4096)"),
    # Precisions.
    ("cvm.abs", [ONE], {"precisions": {"X": 0}}, "X = precision 0: a precision is in [1, 32]"),
    ("cvm.abs", [ONE], {"precisions": {"X": 33}}, "X = precision 33: a precision is in [1, 32]"),
    ("cvm.abs", [ONE], {"precisions": {"Z": 3}}, "precisions = 'Z': inputs are X"),
    (
        "cvm.abs",
        [ONE],
        {"precisions": {"X": 2.5}},
        "precisions = X: 2.5: a precision is an integer",
    ),
    (
        "cvm.abs",
        [ONE],
        {"precisions": {"X": True}},
        "precisions = X: True: a precision is an integer",
    ),
    (
        "cvm.abs",
        [ONE],
        {"precisions": 8},
        "precisions = 8: precisions by input name, or a list of them, are needed",
    ),
    ("cvm.abs", [ONE], {"precisions": [3, 3]}, "precisions = 2 given: 1 input at most: X"),
    ("cvm.abs", [ONE], {"precisions": {"X": [3]}}, "precisions = X: [3]: one precision needed"),
    (
        "cvm.concatenate",
        [ONE, ONE],
        {"axis": 0, "precisions": {"I": [3]}},
        "precisions = I: [3]: 2 precisions needed",
    ),
    # Results.
    ("cvm.abs", [ONE], {"dtype": np.int64}, "dtype = int64: elements must be int8 or int32"),
    ("cvm.abs", [ONE], {"dtype": float}, "dtype = float64: elements must be int8 or int32"),
    ("cvm.abs", [ONE], {"dtype": "nonsense"}, "dtype = 'nonsense': elements must be int8 or int32"),
    ("cvm.negative", [ONE * 200], {"dtype": np.int8}, "Y = int8: int8 does not hold precision 9"),
    (
        "cvm.negative",
        [ONE * 200],
        {"out": np.zeros(3, np.int8)},
        "Y = int8: int8 does not hold precision 9",
    ),
    (
        "cvm.abs",
        [ONE],
        {"dtype": np.int8, "out": np.zeros(3, np.int32)},
        "dtype = int8: out is of type int32",
    ),
    ("cvm.abs", [ONE], {"out": np.zeros(4, np.int32)}, "Y = shape (4,): the shape must be (3,)"),
    (
        "cvm.abs",
        [ONE],
        {"out": np.zeros((1, 3), np.int32)},
        "Y = shape (1, 3): the shape must be (3,)",
    ),
    (
        "cvm.abs",
        [ONE],
        {"out": np.zeros(3, np.int64)},
        "Y = dtype int64: elements must be int8 or int32",
    ),
    ("cvm.abs", [ONE], {"out": np.zeros(3)}, "Y = dtype float64: elements must be int8 or int32"),
    ("cvm.abs", [ONE], {"out": READ_ONLY}, "Y: it is read-only"),
    ("cvm.abs", [ONE], {"out": [0, 0, 0]}, "Y = list: a numpy array is needed"),
    ("cvm.abs", [ONE], {"out": ONE}, "Y: it shares memory with X"),
    ("cvm.elemwise_add", [zeros(3), ONE], {"out": ONE}, "Y: it shares memory with B"),
    (
        "cvm.concatenate",
        [zeros(2), ONE],
        {"axis": 0, "out": np.zeros(5)},
        "Y = dtype float64: elements must be int8 or int32",
    ),
    (
        "extra.divided",
        [ONE],
        {"divisor": 2, "out": np.zeros(3, np.int32)},
        "out = ndarray: a tuple of 2 arrays is needed",
    ),
    (
        "extra.divided",
        [ONE],
        {"divisor": 2, "out": (np.zeros(3, np.int32),)},
        "out = 1: a tuple of 2 arrays is needed",
    ),
    (
        "extra.divided",
        [ONE],
        {"divisor": 2, "out": (np.zeros(3, np.int32), np.zeros(3, np.int8))},
        "rest = dtype int8: all outputs must have one element type",
    ),
    (
        "extra.last_pair",
        [zeros(3, 4), zeros(3, 5, 2)],
        {},
        "Z = shape (3, 5, 2): the extents from 0 on must be (3, 4)",
    ),
    (
        "extra.last_pair",
        [zeros(3, 4), zeros(3, 4, 7)],
        {},
        "Z = shape (3, 4, 7): extent 2 must be 2",
    ),
    ("extra.last_pair", [ONE, ONE], {}, "Z = shape (3,): 2 dimensions needed"),
    (
        "extra.rotated_add",
        [zeros(3, 4), zeros(1, 4, 5, 5, 9, 2)],
        {"at": 1},
        "Z = shape (1, 4, 5, 5, 9, 2): the extents from 4 on must be (3,)",
    ),
    (
        "extra.rotated_add",
        [zeros(3, 4), zeros(1, 4, 5, 5, 3, 7)],
        {"at": 1},
        "Z = shape (1, 4, 5, 5, 3, 7): extent 5 must be 2",
    ),
    (
        "extra.rotated_add",
        [zeros(3, 4), zeros(1, 4, 3)],
        {"at": 1},
        "Z = shape (1, 4, 3): at least 4 dimensions needed",
    ),
    ("extra.divided", [ONE], {"divisor": 0}, "the divisor must not be 0 (divisor = 0)"),
    ("cvm.abs", [ONE], {"check": "value"}, "check = 'value': None or 'values' is needed"),
]


@pytest.mark.parametrize(("name", "inputs", "keywords", "message"), REFUSED, ids=lambda each: None)
def test_refused_by_the_interface(
    libraries: dict[str, Operators],
    name: str,
    inputs: list[Any],
    keywords: dict[str, Any],
    message: str,
) -> None:
    for target in TARGETS:
        with pytest.raises(OperatorError) as caught:
            libraries[target][name](*inputs, **keywords)
        assert str(caught.value) == f"{name}: {message}", target


# Shapes and precisions given to infer, message; c and python.
MISDESCRIBED: list[tuple[Any, Any, str]] = [
    ([], [], "X: this input is missing"),
    ([(1,), (2,)], [8], "shapes = 2 given: 1 input at most: X"),
    ([(1,)], [8, 8], "precisions = 2 given: 1 input at most: X"),
    ([(2.5,)], [8], "X = shape (2.5,): a shape is a tuple of integers"),
    ([3], [8], "X = shape 3: a shape is a tuple of integers"),
    ([(3,)], None, "X: its precision is neither declared nor measurable"),
    ([(3,)], ["8"], "precisions = X: '8': a precision is an integer"),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("shapes", "precisions", "message"), MISDESCRIBED, ids=lambda each: None)
def test_misdescribed_operands(
    libraries: dict[str, Operators], target: str, shapes: Any, precisions: Any, message: str
) -> None:
    with pytest.raises(OperatorError) as caught:
        libraries[target].cvm.abs.infer(shapes, precisions)
    assert str(caught.value) == f"cvm.abs: {message}"


# ---------------------------------------------------------------- shared memory


@pytest.mark.parametrize("target", TARGETS)
def test_results_apart_from_operands(libraries: dict[str, Operators], target: str) -> None:
    """Overlaps are refused, in part and for operands with gaps too; neighbours are not."""
    cvm = libraries[target].cvm
    memory = np.arange(12, dtype=np.int32)
    for operand, out in [
        (memory[:6], memory[5:11]),
        (memory[::2], memory[:6]),
        (memory[5::-1], memory[:6]),
        (memory[:6], memory[::2]),
    ]:
        with pytest.raises(OperatorError, match="Y: it shares memory with X"):
            cvm.negative(operand, out=out)
    assert memory.tolist() == list(range(12))
    cvm.negative(memory[:6], out=memory[6:])
    assert memory[6:].tolist() == [0, -1, -2, -3, -4, -5]


@pytest.mark.parametrize("target", TARGETS)
def test_results_apart_from_each_other(libraries: dict[str, Operators], target: str) -> None:
    memory = np.zeros(4, np.int32)
    with pytest.raises(OperatorError, match="rest: it shares memory with quotient"):
        libraries[target].extra.divided(ONE, divisor=2, out=(memory[:3], memory[1:]))


@pytest.mark.parametrize("target", TARGETS)
def test_the_parts_of_a_refusal(libraries: dict[str, Operators], target: str) -> None:
    with pytest.raises(OperatorError) as caught:
        libraries[target].cvm.conv2d(X4, W4, groups=5)
    error = caught.value
    assert (error.operator, error.argument, error.value, error.rule) == (
        "cvm.conv2d",
        "groups",
        "5",
        "must be in [1, C] (C = 4)",
    )
    assert isinstance(error, ValueError)
