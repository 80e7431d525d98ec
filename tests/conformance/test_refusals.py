"""Calls that are refused, with the exact message: the reference and every target say the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from cvmgen.errors import OperatorError
from cvmgen.reference import Reference
from tests.conformance.calls import Call, Conformance, tensors

TARGETS = ["c", "python"]


def zeros(*shape: int) -> np.ndarray[Any, Any]:
    return np.zeros(shape, np.int8)


def wide(bits: int, *shape: int) -> np.ndarray[Any, Any]:
    """A tensor whose data take so many bits."""
    return np.full(shape, (1 << (bits - 1)) - 1, np.int32)


X4, W4 = zeros(1, 4, 5, 5), zeros(2, 4, 3, 3)
RANK_17 = (1,) * 17

# ---------------------------------------------------------------- what the formula refuses

# Operator, inputs, attributes, message; each for the reference, c and python.
CALLS: list[tuple[str, list[Any], dict[str, Any], str]] = [
    # Inputs that are missing, of the wrong rank, or that disagree.
    ("conv2d", [X4], {}, "W: this input is missing"),
    ("abs", [None], {}, "X: this input is missing"),
    ("conv2d", [X4[0], W4], {}, "X = shape (4, 5, 5): 4 dimensions needed"),
    ("conv2d", [X4, W4[0]], {}, "W = shape (4, 3, 3): 4 dimensions needed"),
    ("conv2d", [X4, W4, zeros(2, 1)], {}, "B = shape (2, 1): 1 dimension needed"),
    ("conv2d", [X4, W4, zeros(3)], {}, "B = shape (3,): extent 0 must be OC = 2"),
    ("dense", [zeros(2, 3), zeros(4, 5)], {}, "W = shape (4, 5): extent 1 must be K = 3"),
    ("dense", [zeros(2, 3), zeros(4, 3), zeros(5)], {}, "B = shape (5,): extent 0 must be N = 4"),
    ("dense", [zeros(2), zeros(4, 3)], {}, "X = shape (2,): 2 dimensions needed"),
    ("elemwise_add", [zeros(2), zeros(3)], {}, "B = shape (3,): the shape must be (2,)"),
    ("elemwise_sub", [zeros(2, 3), zeros(2)], {}, "B = shape (2,): the shape must be (2, 3)"),
    ("elemwise_sub", [zeros(2), zeros(1, 2)], {}, "B = shape (1, 2): the shape must be (2,)"),
    ("max_pool2d", [zeros(3)], {"pool_size": (1, 1)}, "X = shape (3,): 4 dimensions needed"),
    ("upsampling", [zeros(1, 2)], {"scale": 2}, "X = shape (1, 2): 4 dimensions needed"),
    ("batch_flatten", [zeros(0)], {}, "X = shape (0,): every extent must be at least 1"),
    ("abs", [zeros()], {}, "X = shape (): a tensor has 1 to 16 dimensions"),
    ("abs", [zeros(*RANK_17)], {}, f"X = shape {RANK_17}: a tensor has 1 to 16 dimensions"),
    ("abs", [zeros(2, 0, 3)], {}, "X = shape (2, 0, 3): every extent must be at least 1"),
    ("elemwise_add", [zeros(2), zeros(0)], {}, "B = shape (0,): every extent must be at least 1"),
    # Shapes that do not broadcast: aligned on the right.
    *(
        (
            f"broadcast_{name}",
            [zeros(2, 3), zeros(2)],
            {},
            "the shapes do not broadcast (Q = 2, em = (2, 3), en = (1, 2))",
        )
        for name in ("add", "sub", "mul", "div", "max", "greater")
    ),
    (
        "broadcast_add",
        [zeros(4), zeros(2, 1, 3)],
        {},
        "the shapes do not broadcast (Q = 3, em = (1, 1, 4), en = (2, 1, 3))",
    ),
    # Attributes that are missing or out of range.
    ("clip", [zeros(2)], {"a_max": 3}, "a_min: this attribute is missing"),
    ("clip", [zeros(2)], {"a_min": 3}, "a_max: this attribute is missing"),
    ("cvm_clip", [zeros(2)], {}, "precision: this attribute is missing"),
    ("max_pool2d", [X4], {}, "pool_size: this attribute is missing"),
    ("upsampling", [X4], {}, "scale: this attribute is missing"),
    ("cvm_right_shift", [zeros(2)], {"precision": 8}, "shift_bit: this attribute is missing"),
    (
        "clip",
        [zeros(2)],
        {"a_min": 3, "a_max": 3},
        "a_min must be below a_max (a_min = 3, a_max = 3)",
    ),
    (
        "clip",
        [zeros(2)],
        {"a_min": 4, "a_max": -3},
        "a_min must be below a_max (a_min = 4, a_max = -3)",
    ),
    ("cvm_clip", [zeros(2)], {"precision": 0}, "precision = 0: must be in [1, 33)"),
    ("cvm_clip", [zeros(2)], {"precision": 33}, "precision = 33: must be in [1, 33)"),
    ("cvm_clip", [zeros(2)], {"precision": -1}, "precision = -1: must be in [1, 33)"),
    *(
        (
            name,
            [zeros(2)],
            {"precision": 8, "shift_bit": shift},
            f"shift_bit = {shift}: must be in [1, 33)",
        )
        for name in ("cvm_right_shift", "cvm_left_shift")
        for shift in (0, 33)
    ),
    *(
        (
            name,
            [zeros(2)],
            {"precision": bits, "shift_bit": 1},
            f"precision = {bits}: must be in [1, 33)",
        )
        for name in ("cvm_right_shift", "cvm_left_shift")
        for bits in (0, 33)
    ),
    (
        "cvm_left_shift",
        [wide(20, 2)],
        {"precision": 8, "shift_bit": 13},
        "the shifted value must fit 32 bits (p(X) = 20, shift_bit = 13)",
    ),
    (
        "conv2d",
        [X4, W4],
        {"padding": (4096, 0)},
        "padding = (4096, 0): must be in [min_attr, max_attr)",
    ),
    (
        "conv2d",
        [X4, W4],
        {"padding": (0, -1)},
        "padding = (0, -1): must be in [min_attr, max_attr)",
    ),
    ("conv2d", [X4, W4], {"stride": (1, 0)}, "stride = (1, 0): must be in [1, max_attr)"),
    ("conv2d", [X4, W4], {"stride": (4096, 1)}, "stride = (4096, 1): must be in [1, max_attr)"),
    ("conv2d", [X4, W4], {"dilation": (0, 0)}, "dilation = (0, 0): must be in [1, max_attr)"),
    ("conv2d", [X4, W4], {"dilation": (1, 4096)}, "dilation = (1, 4096): must be in [1, max_attr)"),
    ("conv2d", [X4, W4], {"groups": 0}, "groups = 0: must be in [1, C] (C = 4)"),
    ("conv2d", [X4, W4], {"groups": 5}, "groups = 5: must be in [1, C] (C = 4)"),
    ("max_pool2d", [X4], {"pool_size": (0, 1)}, "pool_size = (0, 1): must be in [1, inf)"),
    (
        "max_pool2d",
        [X4],
        {"pool_size": (1, 1), "strides": (0, 1)},
        "strides = (0, 1): must be in [1, max_attr)",
    ),
    (
        "max_pool2d",
        [X4],
        {"pool_size": (1, 1), "padding": (0, 4096)},
        "padding = (0, 4096): must be in [min_attr, max_attr)",
    ),
    ("upsampling", [X4], {"scale": 0}, "scale = 0: must be in [1, max_attr)"),
    ("upsampling", [X4], {"scale": 4096}, "scale = 4096: must be in [1, max_attr)"),
    # Lists of the wrong length.
    ("conv2d", [X4, W4], {"padding": (1,)}, "padding = (1,): 2 entries needed"),
    ("conv2d", [X4, W4], {"stride": (1, 1, 1)}, "stride = (1, 1, 1): 2 entries needed"),
    ("max_pool2d", [X4], {"pool_size": ()}, "pool_size = (): 2 entries needed"),
    ("sum", [zeros(2)], {"axes": (0,) * 17}, "axes = 17 entries: at most 16 entries"),
    # Axes.
    ("sum", [zeros(2, 3)], {"axes": (2,)}, "axes = (2,): must be in [-N, N) (N = 2)"),
    ("max", [zeros(2, 3)], {"axes": (0, -3)}, "axes = (0, -3): must be in [-N, N) (N = 2)"),
    ("sum", [zeros(2, 3)], {"axes": (1, 1)}, "axes must be different (axes = (1, 1))"),
    (
        "max",
        [zeros(2, 3)],
        {"axes": (-1, 1), "exclude": True},
        "axes must be different (axes = (-1, 1))",
    ),
    # Groups, kernels and windows that do not fit.
    (
        "conv2d",
        [X4, W4],
        {"groups": 2},
        "the channels must split into the groups (C = 4, IC = 4, groups = 2, OC = 2)",
    ),
    (
        "conv2d",
        [X4, zeros(3, 2, 1, 1)],
        {"groups": 2},
        "the channels must split into the groups (C = 4, IC = 2, groups = 2, OC = 3)",
    ),
    (
        "conv2d",
        [X4, zeros(1, 4, 6, 5)],
        {},
        "the kernel is larger than the padded input (YH = 0, YW = 1)",
    ),
    (
        "conv2d",
        [X4, zeros(1, 4, 1, 3)],
        {"dilation": (1, 4095)},
        "the kernel is larger than the padded input (YH = 5, YW = -8185)",
    ),
    (
        "max_pool2d",
        [X4],
        {"pool_size": (6, 1)},
        "the window is larger than the padded input "
        "(PSH = 6, H = 5, PH = 0, PSW = 1, W = 5, PW = 0)",
    ),
    (
        "max_pool2d",
        [X4],
        {"pool_size": (2, 2), "padding": (2, 1)},
        "the padding must be smaller than the window (PSH = 2, PH = 2, PSW = 2, PW = 1)",
    ),
    (
        "max_pool2d",
        [X4],
        {"pool_size": (1, 1), "strides": (6, 1), "ceil_mode": True},
        "ceil_mode leaves a window without an element "
        "(YH = 2, SH = 6, PH = 0, H = 5, YW = 5, SW = 1, PW = 0, W = 5)",
    ),
    # Output precisions above 32 name the rule and its terms.
    (
        "elemwise_add",
        [wide(32, 2), wide(3, 2)],
        {},
        "Y = precision 33 (p(A) = 32, p(B) = 3): "
        "its precision wider(p(A), p(B)) must be in [1, 32]",
    ),
    (
        "broadcast_mul",
        [wide(16, 2), wide(17, 2)],
        {},
        "Y = precision 33 (p(A) = 16, p(B) = 17): "
        "its precision product_precision(p(A), p(B)) must be in [1, 32]",
    ),
    (
        "sum",
        [wide(31, 2)],
        {},
        "Y = precision 33 (p(X) = 31, Z = 2): "
        "its precision sum_precision(p(X), Z) must be in [1, 32]",
    ),
    (
        "dense",
        [wide(14, 1, 16), wide(14, 1, 16)],
        {},
        "Y = precision 33 (p(X) = 14, p(W) = 14, K = 16): its precision "
        "wider(p(X) + p(W) + bits(K), p(B)) if present(B) else p(X) + p(W) + bits(K) "
        "must be in [1, 32]",
    ),
    (
        "dense",
        [wide(2, 1, 1), wide(2, 1, 1), wide(32, 1)],
        {},
        "Y = precision 33 (p(X) = 2, p(W) = 2, K = 1, p(B) = 32): its precision "
        "wider(p(X) + p(W) + bits(K), p(B)) if present(B) else p(X) + p(W) + bits(K) "
        "must be in [1, 32]",
    ),
    (
        "clip",
        [zeros(2)],
        {"a_min": -5, "a_max": 2**31 - 1},
        "Y = precision 33 (a_min = -5, a_max = 2147483647): its precision "
        "bits(max(abs(a_min), abs(a_max)) + 1) + 1 must be in [1, 32]",
    ),
]


@pytest.mark.parametrize(("name", "inputs", "attributes", "message"), CALLS, ids=lambda each: None)
def test_refused_calls(
    conformance: Conformance, name: str, inputs: list[Any], attributes: dict[str, Any], message: str
) -> None:
    operator = conformance.references[f"cvm.{name}"].operator
    operands = (*inputs, *[None] * (len(operator.inputs) - len(inputs)))
    expected = conformance.check(Call(f"cvm.{name}", operands, attributes))
    assert expected.refusal == f"cvm.{name}: {message}"


# ---------------------------------------------------------------- what infer refuses

# Operator, shapes, precisions, attributes, message; so large shapes need no data here.
INFERRED: list[tuple[str, list[Any], list[Any], dict[str, Any], str]] = [
    (
        "abs",
        [(2**40,)],
        [8],
        {},
        "X = shape (1099511627776,): a tensor has less than 2^40 elements",
    ),
    (
        "abs",
        [(2**20, 2**20)],
        [8],
        {},
        "X = shape (1048576, 1048576): a tensor has less than 2^40 elements",
    ),
    (
        "abs",
        [(2**62, 8, 8)],
        [8],
        {},
        f"X = shape ({2**62}, 8, 8): a tensor has less than 2^40 elements",
    ),
    (
        "abs",
        [(2**64 + 3,)],
        [8],
        {},
        f"X = shape ({2**64 + 3},): a tensor has less than 2^40 elements",
    ),
    ("abs", [RANK_17], [8], {}, f"X = shape {RANK_17}: a tensor has 1 to 16 dimensions"),
    ("abs", [(2, -1)], [8], {}, "X = shape (2, -1): every extent must be at least 1"),
    ("abs", [(2,)], [0], {}, "X = precision 0: a precision is in [1, 32]"),
    ("abs", [(2,)], [33], {}, "X = precision 33: a precision is in [1, 32]"),
    ("abs", [(2,)], [-1], {}, "X = precision -1: a precision is in [1, 32]"),
    (
        "elemwise_add",
        [(2,), (2,)],
        [32, 32],
        {},
        "Y = precision 33 (p(A) = 32, p(B) = 32): "
        "its precision wider(p(A), p(B)) must be in [1, 32]",
    ),
    (
        "broadcast_add",
        [(2**20, 1), (1, 2**20)],
        [8, 8],
        {},
        "Y = shape (1048576, 1048576): a tensor has less than 2^40 elements",
    ),
    (
        "upsampling",
        [(1, 1, 2**20, 2**18)],
        [8],
        {"scale": 4095},
        f"Y = shape (1, 1, {2**20 * 4095}, {2**18 * 4095}): a tensor has less than 2^40 elements",
    ),
    (
        "sum",
        [(2**26, 2**5)],
        [1],
        {},
        "Y = precision 33 (p(X) = 1, Z = 2147483648): "
        "its precision sum_precision(p(X), Z) must be in [1, 32]",
    ),
    (
        "conv2d",
        [(1, 2**13, 2**13, 1), (1, 2**13, 2**13, 1)],
        [3, 3],
        {},
        "Y = precision 33 (p(X) = 3, p(W) = 3, IC = 8192, KH = 8192, KW = 1): its precision "
        "wider(p(X) + p(W) + bits(IC*KH*KW), p(B)) if present(B) else p(X) + p(W) + bits(IC*KH*KW) "
        "must be in [1, 32]",
    ),
]


@pytest.mark.parametrize(
    ("name", "shapes", "precisions", "attributes", "message"), INFERRED, ids=lambda each: None
)
@pytest.mark.parametrize("target", ["reference", *TARGETS])
def test_refused_shapes(
    references: dict[str, Reference],
    libraries: dict[str, Operators],
    target: str,
    name: str,
    shapes: list[Any],
    precisions: list[Any],
    attributes: dict[str, Any],
    message: str,
) -> None:
    def infer() -> None:
        if target == "reference":
            infer_with(references[f"cvm.{name}"], shapes, precisions, attributes)
        else:
            libraries[target][f"cvm.{name}"].infer(shapes, precisions, **attributes)

    with pytest.raises(OperatorError) as caught:
        infer()
    assert str(caught.value) == f"cvm.{name}: {message}"


def infer_with(
    reference: Reference, shapes: list[Any], precisions: list[Any], attributes: dict[str, Any]
) -> None:
    names = [item.name for item in reference.operator.inputs]
    empty = np.zeros(0, np.int32)
    inputs = {}
    for name, shape, precision in zip(names, shapes, precisions, strict=False):
        operand = tensors(empty, precision)
        operand.shape = shape
        inputs[name] = operand
    reference.infer(inputs, attributes)


@pytest.mark.parametrize("target", TARGETS)
def test_the_largest_shapes_that_are_accepted(libraries: dict[str, Operators], target: str) -> None:
    cvm = libraries[target].cvm
    assert cvm.abs.infer([(2**40 - 1,)], [8]).shapes == ((2**40 - 1,),)
    assert cvm.abs.infer([(2,) * 15 + (2**24,)], [8]).shapes == ((2,) * 15 + (2**24,),)
    assert cvm.flatten.infer([(2**20, 2**19)], [8]).shapes == ((2**39,),)
    assert cvm.sum.infer([(2**30, 2)], [1], axes=(0,)) == (((2,),), (32,))


# ---------------------------------------------------------------- what the interface refuses

ONE = np.ones(3, np.int32)
READ_ONLY_AND_MORE = np.zeros(6, np.int32)
READ_ONLY = READ_ONLY_AND_MORE[3:]
READ_ONLY.setflags(write=False)

# Operator, inputs, keywords, message; c and python, where the reference takes no such thing.
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
        "zzz = 0: there is no such attribute; its attributes: axes, keepdims, exclude",
    ),
    ("cvm.abs", [ONE], {"zzz": "a"}, "zzz = 'a': there is no such attribute; its attributes: none"),
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
    (
        "cvm.sum",
        [ONE],
        {"axes": (-(2**70),)},
        f"axes = {-(2**70)}: a number of at most 64 bits is needed",
    ),
    ("cvm.sum", [ONE], {"keepdims": 2}, "keepdims = 2: true or false is needed"),
    ("cvm.sum", [ONE], {"keepdims": "yes"}, "keepdims = 'yes': true or false is needed"),
    ("cvm.conv2d", [X4, W4], {"padding": 1}, "padding = 1: a tuple of integers is needed"),
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
    ("extra.divided", [ONE], {"divisor": 0}, "the divisor must not be 0 (divisor = 0)"),
    ("cvm.abs", [ONE], {"check": "value"}, "check = 'value': None or 'values' is needed"),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("name", "inputs", "keywords", "message"), REFUSED, ids=lambda each: None)
def test_refused_by_the_interface(
    libraries: dict[str, Operators],
    target: str,
    name: str,
    inputs: list[Any],
    keywords: dict[str, Any],
    message: str,
) -> None:
    with pytest.raises(OperatorError) as caught:
        libraries[target][name](*inputs, **keywords)
    assert str(caught.value) == f"{name}: {message}"


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
