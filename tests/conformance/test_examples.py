"""The examples of the specs and of the documents, on the reference and on every target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cvmgen.errors import OperatorError
from cvmgen.reference.probe import example_arguments, same_result
from cvmgen.reference.tensor import Tensor
from cvmgen.spec.examples import python_value
from cvmgen.spec.formula import Operator
from tests.conformance.calls import Call, Conformance, bits
from tests.operators import extra, product

EXAMPLES = [
    pytest.param(operator.full_name, number, id=f"{operator.full_name}-{number}")
    for operator in (*product(), *extra())
    for number in range(len(operator.examples))
]

SQUARE, CUBE = [[1, 2], [3, 4]], [[[1, 2, 3]], [[4, 5, 6]]]
DATA = [[[1, 2], [2, 3], [1, 3]], [[1, 4], [4, 3], [5, 2]], [[7, 1], [7, 2], [7, 3]]]
ONES, COLUMN = [[1, 1, 1], [1, 1, 1]], [[0], [1]]
# Operator, inputs, attributes, result, where it stands.
DOCUMENTED = [
    ("sum", [DATA], {"axes": (1,)}, [[4, 8], [10, 9], [21, 6]], "reduce, example"),
    ("sum", [DATA], {"axes": (1, 2)}, [12, 19, 27], "reduce, example"),
    ("broadcast_add", [ONES, COLUMN], {}, [[1, 1, 1], [2, 2, 2]], "broadcast, example"),
    ("cvm_precision", [[1, 2, 3]], {}, [1, 2, 2], "'1 takes 1 bit. 2, 3 take 2 bits, etc.'"),
    ("cvm_precision", [[0]], {}, [1], "'0 always takes at least 1 bit'"),
    ("cvm_precision", [[-1, -2, -4]], {}, [1, 2, 3], "log2(abs(x) + 1), not log2(abs(x + 1))"),
    ("cvm_right_shift", [[-3]], {"precision": 8, "shift_bit": 1}, [-1], "'-1.5 rounded to -1'"),
    ("cvm_right_shift", [[3, 1]], {"precision": 8, "shift_bit": 1}, [2, 1], "1.5 to 2, 0.5 to 1"),
    ("clip", [[-19, 10, 9]], {"a_min": -19, "a_max": 10}, [-19, 10, 9], "both ends stay"),
    ("relu", [[[-1, 0], [1, 2]]], {}, [[0, 0], [1, 2]], "max(0, x)"),
    ("max", [[-3, -2, -9]], {}, [-2], "the maximum of negative numbers is negative"),
    ("sum", [DATA], {"exclude": True, "axes": (0, 1, 2)}, DATA, "nothing to reduce: Y = X"),
    ("sum", [[[1, 2], [3, 4]]], {"keepdims": True}, [[10]], "K = N"),
    ("sum", [[[1, 2], [3, 4]]], {}, [10], "K = 1"),
    (
        "sum",
        [[[1, 2], [3, 4]]],
        {"exclude": True},
        [10],
        "axes=() reduces everything, exclude or not",
    ),
    ("broadcast_add", [[[1], [2]], [[10, 20]]], {}, [[11, 21], [12, 22]], "both are widened"),
    ("broadcast_sub", [[1], [[[1, 2]]]], {}, [[[0, -1]]], "aligned on the right"),
    ("broadcast_div", [[-7, 7, 9], [2, -2, 0]], {}, [-3, -3, 0], "toward zero; x / 0 = 0"),
    (
        "max_pool2d",
        [[[[[-5, -7]]]]],
        {"pool_size": (1, 2), "padding": (0, 1)},
        [[[[-5, -5, -7]]]],
        "padding is not 0",
    ),
    ("flatten", [[[1, 2], [3, 4]]], {}, [1, 2, 3, 4], "row-major to one dimension"),
    (
        "upsampling",
        [[[[[1, 2], [3, 4]]]]],
        {"scale": 1},
        [[[[1, 2], [3, 4]]]],
        "scale 1 changes nothing",
    ),
    ("dense", [[[1, 2], [3, 4]], [[5, 6]], [-1]], {}, [[16], [38]], "X W^T + B"),
    (
        "repeat",
        [SQUARE],
        {"axis": 1, "repeats": 2},
        [[1, 1, 2, 2], [3, 3, 4, 4]],
        "'Each element is repeated right after itself'",
    ),
    ("repeat", [[1, 2]], {"axis": -1, "repeats": 2}, [1, 1, 2, 2], "a negative axis counts too"),
    ("tile", [[1, 2]], {"reps": (2,)}, [1, 2, 1, 2], "'the whole data after the whole data'"),
    ("tile", [SQUARE], {"reps": (2,)}, [[1, 2, 1, 2], [3, 4, 3, 4]], "the last dimension too"),
    ("tile", [[1, 2]], {"reps": (2, 1, 1)}, [[[1, 2]], [[1, 2]]], "M > N"),
    ("tile", [SQUARE], {"reps": ()}, SQUARE, "M = 0"),
    ("concatenate", [[SQUARE, [[5, 6]]]], {"axis": 0}, [[1, 2], [3, 4], [5, 6]], "new_idx"),
    ("concatenate", [[SQUARE]], {"axis": 1}, SQUARE, "one input"),
    ("transpose", [CUBE], {}, [[[1, 4]], [[2, 5]], [[3, 6]]], "M = 0: N - 1 - i"),
    ("transpose", [CUBE], {"axes": (-1, 0, 1)}, [[[1], [4]], [[2], [5]], [[3], [6]]], "M = N"),
    ("transpose", [CUBE], {"axes": (1, 0, 2)}, [[[1, 2, 3], [4, 5, 6]]], "M = N"),
    ("slice", [[1, 2, 3]], {}, [1, 2, 3], "the defaults reach the last element"),
    ("slice", [[1, 2, 3]], {"end": (9,)}, [1, 2, 3], "an end beyond the extent is cut to it"),
    ("slice", [[1, 2, 3]], {"begin": (-1,)}, [3], "negative: n_b is added"),
    ("slice", [[1, 2, 3]], {"begin": (-9,), "end": (-1,)}, [1, 2], "below 0 after that: 0"),
    ("slice", [[1, 2, 3]], {"strides": (-2,)}, [3, 1], "backwards from n - 1 to before 0"),
    (
        "slice",
        [[1, 2, 3]],
        {"begin": (1,), "end": (-4,), "strides": (-1,)},
        [2, 1],
        "backwards, an end of -n - 1 or less reaches element 0",
    ),
    (
        "slice",
        [[1, 2, 3]],
        {"begin": (9,), "end": (0,), "strides": (-1,)},
        [3, 2],
        "backwards, a begin beyond the extent is cut to n - 1",
    ),
    ("slice", [SQUARE], {"begin": (0, 1), "end": (1,)}, [[2]], "B, E and S can be different"),
    ("slice", [[1, 2, 3, 4]], {"strides": (3,)}, [1, 4], "the extent is rounded up"),
    ("slice_like", [SQUARE, [[0]]], {}, [[1]], "K = 0: every axis"),
    ("slice_like", [SQUARE, [0]], {"axes": (0,)}, [[1, 2]], "M < N: the others stay the same"),
    ("slice_like", [SQUARE, [[[0]]]], {"axes": (-1,)}, [[1], [3]], "M > N; the others are ignored"),
    ("slice_like", [SQUARE, [[0] * 9]], {"axes": (0,)}, [[1, 2]], "only those axes are sliced"),
    ("take", [SQUARE, [[3, 0]]], {}, [[4, 1]], "axis is None: of the flattened X"),
    ("take", [SQUARE, [-5, 9]], {}, [1, 4], "indices are clipped"),
    ("take", [SQUARE, [[1], [0]]], {"axis": 0}, [[[3, 4]], [[1, 2]]], "rank M + N - 1"),
    ("take", [SQUARE, [-5, 9]], {"axis": -1}, [[1, 2], [3, 4]], "clipped along an axis too"),
    ("cvm_lut", [[3, 0, -1, 9], SQUARE], {}, [4, 1, 1, 4], "take with axis=None, indices first"),
    ("expand_dims", [[1, 2]], {"axis": 0, "num_newaxis": 2}, [[[1, 2]]], "from the given axis on"),
    ("expand_dims", [[1, 2]], {"axis": -1}, [[1], [2]], "N + 1 is added"),
    ("expand_dims", [[1, 2]], {"axis": -2}, [[1, 2]], "N + 1 is added"),
    ("expand_dims", [[1, 2]], {"axis": 1, "num_newaxis": 0}, [1, 2], "none changes nothing"),
    ("reshape", [[1, 2, 3, 4]], {"target_shape": (2, 2)}, SQUARE, "row-major"),
    ("squeeze", [CUBE], {}, [[1, 2, 3], [4, 5, 6]], "M = 0: all of extent 1"),
    ("squeeze", [[[[1, 2]]]], {"axes": (-3,)}, [[1, 2]], "only the named"),
    ("squeeze", [[[7]]], {}, [7], "a tensor has at least one dimension"),
    ("squeeze", [[[7]]], {"axes": (0, 1)}, [7], "named or not"),
    ("where", [[[0, 2], [-1, 0]], SQUARE, [[5, 6], [7, 8]]], {}, [[5, 2], [3, 8]], "!= 0"),
    ("where", [[0, 1], SQUARE, [[5, 6], [7, 8]]], {}, [[5, 6], [3, 4]], "a 1d tensor: whole rows"),
    ("where", [[0, 1], [1, 2], [3, 4]], {}, [3, 2], "a 1d tensor of the same shape"),
]


@pytest.mark.parametrize(("name", "number"), EXAMPLES)
def test_examples_of_the_spec(
    conformance: Conformance, formulas: dict[str, Operator], name: str, number: int
) -> None:
    operator = formulas[name]
    example = operator.examples[number]
    given, attributes = example_arguments(operator, example)
    inputs = tuple(arrays(given.get(item.name)) for item in operator.inputs)
    expected = conformance.check(Call(name, inputs, attributes))
    result = expected.outputs[0]
    stated = Tensor.of(python_value(example.result), dtype=result.dtype)
    assert result.shape == stated.shape
    assert all(map(same_result, result.values, stated.values))


def arrays(operand: Any) -> Any:
    """What an example gives for an input."""
    if isinstance(operand, list):
        return [arrays(one) for one in operand]
    return None if operand is None else bits(operand)


def test_every_operator_has_an_example(formulas: dict[str, Operator]) -> None:
    without = [name for name, operator in formulas.items() if not operator.examples]
    # Their tables have 256 and 513 entries.
    assert without == ["tflite.lookup", "tosa.table", "tosa.table_int16"]


@pytest.mark.parametrize(("name", "inputs", "attributes", "result", "why"), DOCUMENTED)
def test_examples_of_the_documents(
    conformance: Conformance,
    name: str,
    inputs: list[Any],
    attributes: dict[str, Any],
    result: Any,
    why: str,
) -> None:
    declared = conformance.references[f"cvm.{name}"].operator.inputs
    operands = tuple(
        operand(each, item.variadic) for item, each in zip(declared, inputs, strict=False)
    )
    try:
        expected = conformance.check(Call(f"cvm.{name}", operands, attributes))
    except OperatorError as error:
        pytest.fail(f"{why}: {error}")
    assert expected.refusal == ""
    assert expected.outputs[0].nested() == result, why


def operand(value: Any, several: bool) -> Any:
    if value is None:
        return None
    if several:
        return [np.array(each, np.int32) for each in value]
    return np.array(value, np.int32)
