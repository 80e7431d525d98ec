"""Random calls of the opsets tosa, mxnet and systemml."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from tests.conformance.calls import Given
from tests.conformance.typed_calls import INTEGERS, REALS, Drawn, elements, small

MODES = ("PROPAGATE", "IGNORE")
EVERY_TYPE = ("bool", *INTEGERS, *REALS)
PADDINGS = ("valid", "same", "full")


def reduction(*types: str, modes: bool = False) -> Callable[[Random], Drawn]:
    """A tensor of rank 1 to 6, and the axes in one of the two ways."""

    def draw(random: Random) -> Drawn:
        shape = small(random, random.choice((1, 2, 2, 3, 4, 6)))
        rank = len(shape)
        attributes: dict[str, Any] = {"keep_dims": random.choice((0, 1))}
        if random.random() < 0.3:
            attributes["axis"] = random.randrange(rank)
        else:
            attributes["axes"] = tuple(random.sample(range(rank), random.randint(1, rank)))
        if modes:
            attributes["nan_mode"] = random.choice(MODES)
        return [elements(random, shape, random.choice(types))], attributes

    return draw


def index_array(random: Random) -> Drawn:
    shape = tuple(random.choice((0, 1, 2, 3)) for _ in range(random.choice((0, 1, 2, 3, 4))))
    axes = None
    if shape and random.random() < 0.7:
        axes = tuple(random.randrange(-len(shape), len(shape)) for _ in range(random.randint(0, 5)))
    return [elements(random, shape, random.choice(EVERY_TYPE))], {"axes": axes}


def broadcast(random: Random) -> Drawn:
    whole = small(random)
    narrow = tuple(1 if random.random() < 0.3 else extent for extent in whole)
    shapes = [whole, narrow[random.randint(0, len(narrow) - 1) :]]
    random.shuffle(shapes)
    return [elements(random, shape, "float64") for shape in shapes], {}


def negated(random: Random) -> Drawn:
    return [elements(random, small(random), "float64")], {}


def repeated(random: Random) -> Drawn:
    return [elements(random, small(random, 2), "float64")], {"C": random.choice((1, 2, 5))}


def with_bias(random: Random) -> Drawn:
    rows, channels, columns = small(random, 3)
    x = elements(random, (rows, channels * columns), "float64")
    return [x, elements(random, (channels, 1), "float64")], {}


def windowed(random: Random, operands: str, *, filters: bool) -> Drawn:
    """Operands of convolution and pooling: x images, w filters, y errors of a result."""
    n, c = random.choice((1, 2)), random.choice((1, 2, 3))
    h, w = random.choice((1, 3, 4, 6)), random.choice((1, 2, 5))
    r, s = random.randint(1, min(h, 3)), random.randint(1, min(w, 3))
    f = random.choice((1, 2, 4)) if filters else c
    strides = (random.choice((1, 1, 2, 3)), random.choice((1, 1, 2)))
    padding: Any = (random.randrange(r), random.randrange(s))
    paddings = padding
    if random.random() < 0.3:
        padding = random.choice(PADDINGS)
        sizes = ((h, r, strides[0]), (w, s, strides[1]))
        paddings = tuple(stated(padding, *size) // 2 for size in sizes)
    outputs = [
        max((extent + 2 * pad - window) // stride + 1, 1)
        for extent, window, stride, pad in zip((h, w), (r, s), strides, paddings, strict=True)
    ]
    shapes = {"x": (n, c * h * w), "w": (f, c * r * s), "y": (n, f * outputs[0] * outputs[1])}
    sizes_of = {"filter_shape": (f, c, r, s)} if filters else {"pool_size": (r, s)}
    attributes = {"input_shape": (n, c, h, w), "stride": strides, "padding": padding, **sizes_of}
    given: list[Given] = [elements(random, shapes[each], "float64") for each in operands]
    return given, attributes


def stated(word: str, extent: int, window: int, stride: int) -> int:
    """Twice the padding that a word stands for, by SystemML's formulas."""
    return {
        "valid": (extent - window) * (stride - 1),
        "same": extent * (stride - 1) + window - stride,
        "full": (stride - 1) * extent + (stride + 1) * window - 2 * stride,
    }[word]


def convolution(operands: str) -> Callable[[Random], Drawn]:
    return lambda random: windowed(random, operands, filters=True)


def pooling(operands: str) -> Callable[[Random], Drawn]:
    return lambda random: windowed(random, operands, filters=False)


def unary(random: Random) -> Drawn:
    shape = tuple(random.choice((1, 2, 3, 70)) for _ in range(random.randint(1, 2)))
    return [elements(random, shape, random.choice(("float16", "float32")))], {}


DRAW: dict[str, Callable[[Random], Drawn]] = {
    **dict.fromkeys(("tosa.exp", "tosa.sigmoid", "tosa.tanh"), unary),
    "tosa.reduce_any": reduction("bool"),
    "tosa.reduce_all": reduction("bool"),
    "tosa.reduce_max": reduction("int8", "int16", "int32", "float32", modes=True),
    "tosa.reduce_min": reduction("int8", "int16", "int32", "float32", modes=True),
    "tosa.reduce_product": reduction("float32"),
    "tosa.reduce_sum": reduction("int32", "float32"),
    "mxnet.index_array": index_array,
    **dict.fromkeys(
        (f"systemml.{name}" for name in ("add", "sub", "mul", "div", "intdiv", "mod", "pow")),
        broadcast,
    ),
    "systemml.neg": negated,
    "systemml.rep": repeated,
    "systemml.bias_add": with_bias,
    "systemml.bias_multiply": with_bias,
    "systemml.conv2d": convolution("xw"),
    "systemml.conv2d_backward_filter": convolution("xy"),
    "systemml.conv2d_backward_data": convolution("wy"),
    "systemml.max_pool": pooling("x"),
    "systemml.max_pool_backward": pooling("xy"),
    "systemml.avg_pool": pooling("x"),
    "systemml.avg_pool_backward": pooling("xy"),
}
