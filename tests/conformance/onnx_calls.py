"""Random calls of the opset onnx."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

from tests.conformance import tflite_calls
from tests.conformance.calls import Given
from tests.conformance.tflite_calls import aligned, pair, pairs
from tests.conformance.typed_calls import Drawn, elements, small

Draw = Callable[[Random], Drawn]
BYTES = ("int8", "uint8")
NUMBERS = ("int32", "int64", "float32")
MOVED = (*BYTES, *NUMBERS)
ANY = ("bool", *MOVED)
WEIGHTS = (("uint8", "int8"), ("uint8", "uint8"), ("int8", "int8"))
SCALES = (1.0, 0.5, 0.25, 2.0, 0.1, 0.02, 3.0, 0.0078125)  # ties are frequent with powers of two


def scale(random: Random) -> float:
    return float(np.float32(random.choice((*SCALES, random.uniform(0.001, 4)))))


def scales(random: Random, dtype: str, letters: str) -> dict[str, Any]:
    """Scales and zero points of int8 or uint8."""
    ends = np.iinfo(dtype)
    found: dict[str, Any] = {}
    for each in letters.split():
        zero = random.choice((0, ends.min, ends.max, random.randint(ends.min, ends.max)))
        found |= {f"s{each}": scale(random), f"z{each}": int(zero)}
    return found


def row_of_scales(random: Random, count: int) -> Given:
    return np.array([scale(random) for _ in range(count)], np.float32)


def in_a_row(random: Random, *types: str) -> Drawn:
    """Elements, and scales and zero points for all or along an axis."""
    given, dtype = random.choice(types).split()
    shape = small(random)
    axis = random.randrange(len(shape))
    count = random.choice((1, shape[axis]))
    zero = elements(random, (count,), dtype)
    x = elements(random, shape, given)
    return [x, row_of_scales(random, count), zero], {"axis": axis}


def one_linear(random: Random) -> Drawn:
    dtype = random.choice(BYTES)
    return [elements(random, small(random), dtype)], scales(random, dtype, "x y")


def leaky_relu(random: Random) -> Drawn:
    inputs, attributes = one_linear(random)
    return inputs, {**attributes, "alpha": random.choice((0.5, 0.01, -1.0))}


def linear_pairs(random: Random) -> Drawn:
    dtype = random.choice(BYTES)
    inputs: list[Given] = [elements(random, shape, dtype) for shape in aligned(random)]
    random.shuffle(inputs)
    return inputs, scales(random, dtype, "a b y")


def global_average_pool(random: Random) -> Drawn:
    dtype = random.choice(BYTES)
    shape = small(random, random.choice((3, 4)))
    return [elements(random, shape, dtype)], scales(random, dtype, "x y")


# ---------------------------------------------------------------- sums of products


def images(random: Random) -> tuple[list[Given], dict[str, Any], tuple[str, str], int]:
    x, w = random.choice(WEIGHTS)
    group, part, each = (random.choice((1, 1, 2, 3)) for _ in range(3))
    channels, kernel = group * each, pair(random, 1, 2)
    shape = (random.choice((1, 2)), group * part, *pair(random, 2, 3, 5))
    inputs = [elements(random, shape, x), elements(random, (channels, part, *kernel), w)]
    attributes = {
        "pads": tuple(random.choice((0, 0, 1, 2)) for _ in range(4)),
        "strides": pair(random, 1, 1, 2, 3),
        "dilations": pair(random, 1, 1, 2),
        "group": group,
    }
    return inputs, attributes, (x, w), channels


def matrices(random: Random) -> tuple[list[Given], dict[str, Any], tuple[str, str], int]:
    a, b = random.choice(WEIGHTS)
    count, rows, inner, columns = small(random, 4)
    second = (random.choice((1, count)), inner, columns)
    inputs = [elements(random, (count, rows, inner), a), elements(random, second, b)]
    return inputs, {}, (a, b), columns


def to_int32(given: Callable[[Random], Any]) -> Draw:
    """Zero points as tensors, which may be missing."""

    def draw(random: Random) -> Drawn:
        inputs, attributes, types, _ = given(random)
        count = random.choice((0, 1, 2))
        points = [elements(random, (1,), each) for each in types[:count]]
        return [*inputs, *points, *[None] * (2 - count)], attributes

    return draw


def to_bytes(given: Callable[[Random], Any], letters: str) -> Draw:
    """Scales of weights, a bias that may be missing, and all others as attributes."""

    def draw(random: Random) -> Drawn:
        inputs, attributes, types, channels = given(random)
        bias = elements(random, (channels,), "int32") if random.random() < 0.7 else None
        x, w = letters.split()
        points = scales(random, types[0], f"{x} y") | scales(random, types[1], w)
        del points[f"s{w}"]
        weights = row_of_scales(random, random.choice((1, channels)))
        return [*inputs, weights, bias], {**attributes, **points}

    return draw


# ---------------------------------------------------------------- elements, reductions, moves


def single(*types: str) -> Draw:
    return lambda random: ([elements(random, small(random), random.choice(types))], {})


def clip(random: Random) -> Drawn:
    dtype = random.choice(MOVED)
    return [elements(random, shape, dtype) for shape in (small(random), (1,), (1,))], {}


def where(random: Random) -> Drawn:
    dtype, (whole, narrow) = random.choice(ANY), aligned(random)
    shapes = [whole, narrow, narrow]
    random.shuffle(shapes)
    types = ("bool", dtype, dtype)
    return [elements(random, *each) for each in zip(shapes, types, strict=True)], {}


def max_pool(random: Random) -> Drawn:
    kernel = pair(random, 1, 2, 3)
    attributes = {
        "kernel_shape": kernel,
        "pads": tuple(random.randrange(each) for each in (*kernel, *kernel)),
        "strides": pair(random, 1, 2, 3),
    }
    dtype = random.choice((*BYTES, "float32"))
    return [elements(random, small(random, 4), dtype)], attributes


def of_any(draw: Callable[[Random, Sequence[str]], Drawn]) -> Draw:
    """Calls with elements of any type that operators of ONNX move here."""
    return lambda random: draw(random, ANY)


def renamed(draw: Draw, **names: str) -> Draw:
    """Calls whose attributes have other names here."""

    def drawn(random: Random) -> Drawn:
        inputs, attributes = draw(random)
        return inputs, {names.get(name, name): value for name, value in attributes.items()}

    return drawn


def gather(random: Random) -> Drawn:
    (x, indices), attributes = tflite_calls.gather(random, ANY)
    assert isinstance(indices, np.ndarray)
    extent = np.shape(x)[attributes["axis"]]
    signed = indices - extent * (random.random() < 0.3)
    return [x, signed.astype(random.choice(("int32", "int64")))], attributes


def tile(random: Random) -> Drawn:
    shape = small(random)
    repeats = tuple(random.choice((1, 2, 3)) for _ in shape)
    return [elements(random, shape, random.choice(MOVED))], {"repeats": repeats}


SLICES = {"begin": "starts", "end": "ends", "strides": "steps"}

DRAW: dict[str, Draw] = {
    "onnx.quantize_linear": lambda random: in_a_row(random, "float32 int8", "float32 uint8"),
    "onnx.dequantize_linear": lambda random: in_a_row(
        random, "int8 int8", "uint8 uint8", "int32 int32"
    ),
    "onnx.dynamic_quantize_linear": single("float32"),
    "onnx.qlinear_sigmoid": one_linear,
    "onnx.qlinear_leaky_relu": leaky_relu,
    **dict.fromkeys(("onnx.qlinear_add", "onnx.qlinear_mul"), linear_pairs),
    "onnx.qlinear_global_average_pool": global_average_pool,
    "onnx.conv_integer": to_int32(images),
    "onnx.qlinear_conv": to_bytes(images, "x w"),
    "onnx.matmul_integer": to_int32(matrices),
    "onnx.qlinear_matmul": to_bytes(matrices, "a b"),
    **dict.fromkeys(("onnx.add", "onnx.sub", "onnx.mul"), pairs(*NUMBERS)),
    "onnx.div": pairs("float32"),
    **dict.fromkeys(
        ("onnx.max", "onnx.min", "onnx.equal", "onnx.less", "onnx.less_or_equal"), pairs(*MOVED)
    ),
    **dict.fromkeys(("onnx.logical_and", "onnx.logical_or"), pairs("bool")),
    "onnx.logical_not": single("bool"),
    **dict.fromkeys(("onnx.abs", "onnx.neg"), single(*NUMBERS)),
    "onnx.relu": single("int8", "int32", "float32"),
    "onnx.cast": single(*BYTES, "int32", "int64"),
    "onnx.cast_to_float": single(*BYTES, "int32", "int64"),
    "onnx.clip": clip,
    "onnx.where": where,
    "onnx.reduce_sum": tflite_calls.reduction("int32", "int64"),
    **dict.fromkeys(("onnx.reduce_max", "onnx.reduce_min"), tflite_calls.reduction(*MOVED)),
    **dict.fromkeys(("onnx.arg_max", "onnx.arg_min"), tflite_calls.along(*BYTES, "int32")),
    "onnx.max_pool": max_pool,
    "onnx.reshape": renamed(of_any(tflite_calls.reshape), target_shape="shape"),
    "onnx.transpose": of_any(tflite_calls.transpose),
    "onnx.concat": of_any(tflite_calls.concatenation),
    "onnx.slice": renamed(of_any(tflite_calls.strided_slice), **SLICES),
    "onnx.gather": gather,
    "onnx.pad": lambda random: tflite_calls.pad(random, MOVED),
    "onnx.expand": of_any(tflite_calls.broadcast_to),
    "onnx.tile": tile,
}
