"""SystemML's matrices: convolution and pooling."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
import sympy

from cvmgen.api import Operators
from cvmgen.errors import OperatorError
from cvmgen.reference import Reference, Tensor
from cvmgen.spec.formula import Operator
from tests.conformance.calls import Call, Conformance
from tests.opsets import systemml_oracles as oracles
from tests.opsets.bits import Array, same_bits
from tests.opsets.systemml_calls import INF, NAN, SPECIAL, TINY, matrix, refusal
from tests.opsets.systemml_oracles import Windows

CONVOLUTIONS = ("conv2d", "conv2d_backward_filter", "conv2d_backward_data")
POOLS = ("max_pool", "max_pool_backward", "avg_pool", "avg_pool_backward")
WINDOWED = (*CONVOLUTIONS, *POOLS)

# Windows of every kind: strides that leave places out, strides beyond the window, padding up to
# the window, images smaller than the window, more than one image, channel and filter.
WINDOWS = [
    Windows(1, 1, 3, 3, 2, 2),
    Windows(1, 1, 1, 1, 1, 1),
    Windows(2, 3, 4, 5, 2, 3, F=2),
    Windows(2, 1, 5, 4, 3, 2, stride=(2, 1), padding=(1, 1), F=3),
    Windows(1, 2, 6, 7, 2, 2, stride=(3, 2), F=2),
    Windows(1, 2, 5, 5, 3, 3, stride=(2, 2), padding=(2, 1), F=2),
    Windows(1, 1, 2, 1, 4, 3, padding=(2, 2), F=2),
    Windows(3, 1, 4, 4, 1, 1, stride=(2, 3), F=2),
    Windows(1, 1, 1, 7, 1, 4, stride=(1, 2), padding=(0, 3)),
    Windows(1, 2, 4, 3, 4, 3, stride=(5, 7), F=2),
]
POOL_WINDOWS = [at for at in WINDOWS if at.padding[0] < at.R and at.padding[1] < at.S]


def whole(rows: int, columns: int, seed: int) -> Array:
    """Small integers: sums of their products are exact in any order."""
    return np.random.default_rng(seed).integers(-9, 10, (rows, columns)).astype(np.float64)


def operands(name: str, at: Windows, make: Any = matrix) -> tuple[Array, ...]:
    """Matrices that an operator takes for these windows."""
    images, filters, convolved, pooled = at.columns
    x, w = make(at.N, images, 1), make(at.F, filters, 2)
    match name:
        case "conv2d":
            return x, w
        case "conv2d_backward_filter":
            return x, make(at.N, convolved, 3)
        case "conv2d_backward_data":
            return w, make(at.N, convolved, 3)
        case "max_pool" | "avg_pool":
            return (x,)
        case _:
            return x, make(at.N, pooled, 4)


def attributes(name: str, at: Windows) -> dict[str, Any]:
    return at.filters if name in CONVOLUTIONS else at.pool


# ---------------------------------------------------------------- windows


@pytest.mark.parametrize("name", WINDOWED)
def test_windows(ops: Operators, name: str) -> None:
    for at in WINDOWS if name in CONVOLUTIONS else POOL_WINDOWS:
        given = operands(name, at)
        expected = getattr(oracles, name)(*given, at)
        same_bits(
            ops[f"systemml.{name}"](*given, **attributes(name, at)), expected, f"{name}: {at}"
        )


@pytest.mark.parametrize("name", ["avg_pool", "avg_pool_backward"])
def test_means_of_windows_in_the_padding(ops: Operators, name: str) -> None:
    """They are 0: the padding counts."""
    at = Windows(1, 1, 2, 2, 2, 2, stride=(2, 2), padding=(2, 2))
    given = operands(name, at)
    expected = getattr(oracles, name)(*given, at)
    same_bits(ops[f"systemml.{name}"](*given, **at.pool), expected)


@pytest.mark.parametrize("name", WINDOWED)
def test_the_reference_gives_the_same(conformance: Conformance, name: str) -> None:
    for at in POOL_WINDOWS[:5]:
        conformance.check(Call(f"systemml.{name}", operands(name, at), attributes(name, at)))


def test_inferred_shapes(ops: Operators) -> None:
    at = Windows(2, 3, 4, 5, 2, 3, F=2)
    images, filters, convolved, pooled = at.columns
    infer = ops.systemml.conv2d.infer
    assert infer([(2, images), (2, filters)], **at.filters).shapes == ((2, convolved),)
    infer = ops.systemml.conv2d_backward_data.infer
    assert infer([(2, filters), (2, convolved)], **at.filters).shapes == ((2, images),)
    infer = ops.systemml.conv2d_backward_filter.infer
    assert infer([(2, images), (2, convolved)], **at.filters).shapes == ((2, filters),)
    assert ops.systemml.avg_pool.infer([(2, images)], **at.pool).shapes == ((2, pooled),)


# ---------------------------------------------------------------- backward against forward


def inner(one: Array, other: Array) -> float:
    return float((one * other).sum())


@pytest.mark.parametrize("at", WINDOWS, ids=str)
def test_convolutions_are_adjoint(ops: Operators, at: Windows) -> None:
    """<dout, conv2d(x, w)> is <dw, w> and <dx, x>: of integers exactly."""
    x, w = operands("conv2d", at, whole)
    dout = whole(at.N, at.columns[2], 5)
    forward = inner(dout, ops.systemml.conv2d(x, w, **at.filters))
    dw = ops.systemml.conv2d_backward_filter(x, dout, **at.filters)
    dx = ops.systemml.conv2d_backward_data(w, dout, **at.filters)
    assert (inner(dw, w), inner(dx, x)) == (forward, forward)


@pytest.mark.parametrize("at", POOL_WINDOWS[:6], ids=str)
def test_gradients_of_pools(ops: Operators, at: Windows) -> None:
    """Differences of the forward operator; no two elements are near each other."""
    columns = at.columns[0]
    x = np.random.default_rng(6).permutation(at.N * columns).reshape(at.N, columns) / 4.0
    dout = whole(at.N, at.columns[3], 7)
    for name in ("max_pool", "avg_pool"):
        forward = ops[f"systemml.{name}"]
        gradient = ops[f"systemml.{name}_backward"](x, dout, **at.pool)
        before = forward(x, **at.pool)
        for index in np.ndindex(*x.shape):
            moved = x.copy()
            moved[index] += 0.0625
            change = forward(moved, **at.pool) - before
            assert math.isclose(inner(dout, change) / 0.0625, gradient[index], abs_tol=1e-9)


# ---------------------------------------------------------------- the worked example

ATTRIBUTES: dict[str, Any] = {
    "stride": [1, 1],
    "padding": [0, 0],
    "input_shape": [1, 1, 3, 3],
    "filter_shape": [1, 1, 2, 2],
}
# Operator, the letters of its operands, the table that the result has.
TABLES: list[tuple[str, tuple[str, str], list[str]]] = [
    (
        "conv2d",
        ("x", "w"),
        [
            "w1*x1 + w2*x2 + w3*x4 + w4*x5",
            "w1*x2 + w2*x3 + w3*x5 + w4*x6",
            "w1*x4 + w2*x5 + w3*x7 + w4*x8",
            "w1*x5 + w2*x6 + w3*x8 + w4*x9",
        ],
    ),
    (
        "conv2d_backward_filter",
        ("x", "y"),
        [
            "y1*x1 + y2*x2 + y3*x4 + y4*x5",
            "y1*x2 + y2*x3 + y3*x5 + y4*x6",
            "y1*x4 + y2*x5 + y3*x7 + y4*x8",
            "y1*x5 + y2*x6 + y3*x8 + y4*x9",
        ],
    ),
    (
        "conv2d_backward_data",
        ("w", "y"),
        [
            "w1*y1",
            "w2*y1 + w1*y2",
            "w2*y2",
            "w3*y1 + w1*y3",
            "w4*y1 + w3*y2 + w2*y3 + w1*y4",
            "w4*y2 + w2*y4",
            "w3*y3",
            "w4*y3 + w3*y4",
            "w4*y4",
        ],
    ),
]
ELEMENTS = {"x": 9, "w": 4, "y": 4}


class Symbolic(Reference):
    """The reference on symbols: a value stays what it is instead of becoming a number."""

    def in_type(self, name: str, output: Tensor, env: dict[str, Any]) -> None:
        pass


@pytest.mark.parametrize(("name", "letters", "table"), TABLES)
def test_the_worked_example_in_symbols(
    formulas: dict[str, Operator], name: str, letters: tuple[str, str], table: list[str]
) -> None:
    """The formula itself, on letters, gives the expressions of the table."""
    operator = formulas[f"systemml.{name}"]
    inputs = {}
    for item, letter in zip(operator.inputs, letters, strict=True):
        symbols = sympy.symbols([f"{letter}{at}" for at in range(1, ELEMENTS[letter] + 1)])
        inputs[item.name] = Tensor((1, len(symbols)), list(symbols), 0, "float64")
    given = {key: tuple(value) for key, value in ATTRIBUTES.items()}
    (result,) = Symbolic(operator).evaluate(inputs, given).outputs.values()
    assert result.shape == (1, len(table))
    assert [sympy.expand(value) for value in result.values] == list(map(sympy.sympify, table))


@pytest.mark.parametrize(("name", "letters", "table"), TABLES)
def test_the_worked_example(
    ops: Operators, name: str, letters: tuple[str, str], table: list[str]
) -> None:
    """What kernels compute is linear in each operand: ones at two places show a coefficient."""
    terms = [set(re.findall(r"(\w)(\d)\*(\w)(\d)", entry)) for entry in table]
    one, other = letters
    for i, j in product(range(ELEMENTS[one]), range(ELEMENTS[other])):
        first, second = np.zeros((1, ELEMENTS[one])), np.zeros((1, ELEMENTS[other]))
        first[0, i] = second[0, j] = 1.0
        pair = {(one, str(i + 1), other, str(j + 1)), (other, str(j + 1), one, str(i + 1))}
        expected = [[float(bool(pair & each)) for each in terms]]
        assert ops[f"systemml.{name}"](first, second, **ATTRIBUTES).tolist() == expected


# ---------------------------------------------------------------- padding by a word


def seeds_padding(word: str, image: int, window: int, stride: int) -> float:
    """The formulas of the document, in its words."""
    match word:
        case "valid":
            return (image - window) * (stride - 1) / 2
        case "same":
            return (image * (stride - 1) + window - stride) / 2
        case _:
            return ((stride - 1) * image + (stride + 1) * window - 2 * stride) / 2


@pytest.mark.parametrize("word", ["valid", "same", "full"])
@pytest.mark.parametrize("name", WINDOWED)
def test_padding_by_a_word(ops: Operators, name: str, word: str) -> None:
    """What the document's formula says, or a refusal where that is a half-integer."""
    halves = 0
    for (height, width), (r, s), stride in product(
        [(4, 5), (5, 3)], [(1, 3), (2, 2), (3, 2)], [(1, 1), (2, 1), (2, 3)]
    ):
        wanted = (
            seeds_padding(word, height, r, stride[0]),
            seeds_padding(word, width, s, stride[1]),
        )
        shown = tuple(int(value) for value in wanted)
        at = Windows(1, 2, height, width, r, s, stride, shown, F=2)
        if shown != wanted:
            halves += 1
            refused_half(ops, name, at, word, wanted)
            continue
        if name in ("max_pool", "max_pool_backward") and not (wanted[0] < r and wanted[1] < s):
            continue
        given = operands(name, at)
        named = attributes(name, at) | {"padding": word}
        expected = ops[f"systemml.{name}"](*given, **attributes(name, at))
        same_bits(ops[f"systemml.{name}"](*given, **named), expected, f"{name}: {word}, {at}")
    assert halves > 0


def refused_half(
    ops: Operators, name: str, at: Windows, word: str, wanted: Sequence[float]
) -> None:
    given, named = operands(name, at), attributes(name, at) | {"padding": word}
    with pytest.raises(OperatorError) as caught:
        ops[f"systemml.{name}"](*given, **named)
    twice = ", ".join(
        f"{key} = {2 * value:.0f}" for key, value in zip(("QH", "QW"), wanted, strict=True)
    )
    rule = "the padding would be a half-integer: QH/2 and QW/2"
    assert str(caught.value) == f"systemml.{name}: {rule} ({twice})"


def test_words_at_stride_1(ops: Operators) -> None:
    """The usual ones: no padding, extents that stay, every window that touches the image."""
    at = Windows(1, 1, 5, 4, 3, 3)
    x, w = operands("conv2d", at)
    extents = {"valid": 3 * 2, "same": 5 * 4, "full": 7 * 6}
    for word, columns in extents.items():
        found = ops.systemml.conv2d(x, w, **(at.filters | {"padding": word}))
        assert found.shape == (1, columns)


def test_words_keep_their_extents_at_any_stride(ops: Operators) -> None:
    at = Windows(1, 1, 5, 5, 3, 3, stride=(3, 3))
    x, w = operands("conv2d", at)
    for word, columns in {"valid": 3 * 3, "same": 5 * 5, "full": 7 * 7}.items():
        found = ops.systemml.conv2d(x, w, **(at.filters | {"padding": word}))
        assert found.shape == (1, columns)


# ---------------------------------------------------------------- special numbers in windows


def test_the_padding_adds_nothing(ops: Operators) -> None:
    """Not even where the filter is infinite or NaN there."""
    at = Windows(1, 1, 1, 1, 3, 3, padding=(1, 1))
    w = np.full((1, 9), INF)
    w[0, 0] = NAN
    w[0, 4] = 2.0
    assert ops.systemml.conv2d(np.array([[3.0]]), w, **at.filters).tolist() == [[6.0]]
    at = Windows(1, 1, 2, 2, 2, 2, stride=(2, 2), padding=(1, 1))
    dout = np.array([[1.0, 2.0, 3.0, INF]])
    dw = ops.systemml.conv2d_backward_filter(np.ones((1, 4)), dout, **at.filters)
    assert dw.tolist() == [[INF, 3.0, 2.0, 1.0]]


def test_zero_times_infinity_within_the_image(ops: Operators) -> None:
    at = Windows(1, 1, 1, 2, 1, 2)
    found = ops.systemml.conv2d(np.array([[0.0, 1.0]]), np.array([[INF, 1.0]]), **at.filters)
    assert np.isnan(found).all()


@pytest.mark.parametrize("name", POOLS)
def test_special_numbers_in_pools(ops: Operators, name: str) -> None:
    for seed, at in product(range(4), POOL_WINDOWS[:6]):
        x, *errors = operands(name, at)
        random = np.random.default_rng(seed)
        x = np.where(random.random(x.shape) < 0.5, random.choice(SPECIAL, x.shape), x)
        with np.errstate(all="ignore"):
            expected = getattr(oracles, name)(x, *errors, at)
        same_bits(ops[f"systemml.{name}"](x, *errors, **at.pool), expected, f"{name}: {at}")


# Elements of one 2 x 2 window, its maximum, and the place of the first one.
MAXIMA = [
    ([5.0, 5.0, 5.0, 5.0], 5.0, 0),
    ([1.0, 5.0, 5.0, 2.0], 5.0, 1),
    ([1.0, NAN, 5.0, NAN], NAN, 1),
    ([NAN, INF, NAN, 1.0], NAN, 0),
    ([1.0, 2.0, INF, NAN], NAN, 3),
    ([-INF, -INF, -INF, -INF], -INF, 0),
    ([-0.0, 0.0, -0.0, 0.0], 0.0, 0),
    ([-1.0, -0.0, -TINY, -0.0], -0.0, 1),
    ([-TINY, TINY, 0.0, TINY], TINY, 1),
]


@pytest.mark.parametrize(("row", "greatest", "place"), MAXIMA, ids=lambda each: None)
def test_the_first_maximum(ops: Operators, row: list[float], greatest: float, place: int) -> None:
    """-0 and 0 are equal when the first one is looked for, though 0 is the maximum."""
    at = Windows(1, 1, 2, 2, 2, 2)
    x = np.array([row])
    same_bits(ops.systemml.max_pool(x, **at.pool), np.array([[greatest]]))
    error = ops.systemml.max_pool_backward(x, np.array([[3.0]]), **at.pool)
    assert error.tolist() == [[3.0 * (k == place) for k in range(4)]]


def test_overlapping_errors_add_up(ops: Operators) -> None:
    at = Windows(1, 1, 3, 3, 2, 2)
    x = np.array([[1.0, 2.0, 3.0, 4.0, 9.0, 5.0, 6.0, 7.0, 8.0]])
    dout = np.array([[1.0, 2.0, 3.0, 4.0]])
    found = ops.systemml.max_pool_backward(x, dout, **at.pool)
    assert found.tolist() == [[0.0] * 4 + [10.0] + [0.0] * 4]


def test_the_padding_is_never_the_maximum(ops: Operators) -> None:
    at = Windows(1, 1, 2, 2, 2, 2, stride=(2, 2), padding=(1, 1))
    x = np.array([[-1.0, -INF, -3.0, -TINY]])
    same_bits(ops.systemml.max_pool(x, **at.pool), x)


# ---------------------------------------------------------------- refusals

AT = Windows(2, 3, 4, 5, 2, 3, F=2)
HALF = "the padding would be a half-integer: QH/2 and QW/2"


@pytest.mark.parametrize("name", WINDOWED)
def test_attributes_that_are_missing_or_out_of_range(ops: Operators, name: str) -> None:
    given, named = operands(name, AT), attributes(name, AT)
    for key in named:
        left = {other: value for other, value in named.items() if other != key}
        assert refusal(ops, name, given, left) == f"{key}: this attribute is missing"
    size = "filter_shape" if name in CONVOLUTIONS else "pool_size"
    words = 'a tuple of integers, "valid", "same" or "full" is needed'
    for changed, message in [
        ({"stride": (0, 1)}, "stride = (0, 1): must be in [1, 4096)"),
        ({"stride": (1, 4096)}, "stride = (1, 4096): must be in [1, 4096)"),
        ({"stride": (1,)}, "stride = (1,): 2 entries needed"),
        ({"padding": (-1, 0)}, "padding = (-1, 0): must be in [0, 4096)"),
        ({"padding": (0, 4096)}, "padding = (0, 4096): must be in [0, 4096)"),
        ({"padding": "Same"}, f"padding = 'Same': {words}"),
        ({"padding": (0.5, 0)}, f"padding = (0.5, 0): {words}"),
        ({"input_shape": (2, 3, 4)}, "input_shape = (2, 3, 4): 4 entries needed"),
        ({"input_shape": (2, 0, 4, 5)}, "input_shape = (2, 0, 4, 5): must be in [1, 2147483648)"),
        ({size: 0}, f"{size} = {(0,) * len(named[size])}: must be in [1, 2147483648)"),
        (
            {"strides": (1, 1)},
            "strides = (1, 1): there is no such attribute; did you mean 'stride'?",
        ),
    ]:
        assert refusal(ops, name, given, named | changed) == message


@pytest.mark.parametrize("name", WINDOWED)
def test_operands_of_other_shapes(ops: Operators, name: str) -> None:
    given, named = operands(name, AT), attributes(name, AT)
    images, filters, convolved, pooled = AT.columns
    terms = {
        "x": ("N", AT.N, "C*H*W", images),
        "w": ("F", AT.F, "C*R*S", filters),
        "dout": ("N", AT.N, "F*YH*YW", convolved)
        if name in CONVOLUTIONS
        else ("N", AT.N, "C*YH*YW", pooled),
    }
    names = ops[f"systemml.{name}"].inputs
    for at, key in enumerate(names):
        rows, count, columns, width = terms[key]
        for shape, rule in [
            ((count + 1, width), f"extent 0 must be {rows} = {count}"),
            ((count, width + 1), f"extent 1 must be {columns} = {width}"),
            ((count, 1, width), "2 dimensions needed"),
        ]:
            wrong = [*given[:at], np.zeros(shape), *given[at + 1 :]]
            assert refusal(ops, name, wrong, named) == f"{key} = shape {shape}: {rule}"
        missing = [*given[:at], None, *given[at + 1 :]]
        assert refusal(ops, name, missing, named) == f"{key}: this input is missing"


@pytest.mark.parametrize("name", WINDOWED)
def test_windows_larger_than_the_image(ops: Operators, name: str) -> None:
    what = "filter" if name in CONVOLUTIONS else "window"
    for r, s in ((5, 3), (2, 6), (7, 9)):
        at = Windows(2, 3, 4, 5, r, s, F=2)
        x, w, error = np.zeros((2, 60)), np.zeros((2, 3 * r * s)), np.zeros((2, 2))
        first = w if name == "conv2d_backward_data" else x
        second = {"conv2d": [w], "max_pool": [], "avg_pool": []}.get(name, [error])
        shown = f"H = 4, PH = 0, R = {r}, W = 5, PW = 0, S = {s}"
        message = f"the {what} is larger than the padded image ({shown})"
        assert refusal(ops, name, [first, *second], attributes(name, at)) == message


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_filters_for_other_channels(ops: Operators, name: str) -> None:
    named = AT.filters | {"filter_shape": (2, 4, 2, 3)}
    message = "the filters must have the channels of the images (D = 4, C = 3)"
    assert refusal(ops, name, operands(name, AT), named) == message


@pytest.mark.parametrize("name", ["max_pool", "max_pool_backward"])
def test_padding_as_large_as_the_window(ops: Operators, name: str) -> None:
    """A window could lie in it wholly, and would have no maximum."""
    for padding in ((2, 0), (0, 3), (3, 3)):
        named = AT.pool | {"padding": padding}
        shown = f"PH = {padding[0]}, R = 2, PW = {padding[1]}, S = 3"
        message = f"the padding must be smaller than the window ({shown})"
        assert refusal(ops, name, operands(name, AT), named) == message


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "int64", "float32", "float16"])
def test_other_types_are_refused(ops: Operators, dtype: str) -> None:
    for name in dir(ops.systemml):
        operator = ops[f"systemml.{name}"]
        given: list[Any] = [np.ones((1, 1)) for _ in operator.inputs]
        one = Windows(1, 1, 1, 1, 1, 1)
        for at, key in enumerate(operator.inputs):
            wrong = [*given[:at], given[at].astype(dtype), *given[at + 1 :]]
            every = one.filters | one.pool | {"C": 1}
            named = {name: every[name] for name in operator.attributes}
            message = f"{key} = dtype {dtype}: must be float64"
            assert refusal(ops, name, wrong, named) == message
