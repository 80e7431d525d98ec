"""Random calls of the operators of TOSA that work on integers."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from tests.conformance.calls import Given
from tests.conformance.typed_calls import Drawn, Shape, elements, small

Draw = Callable[[Random], Drawn]
MOVED = ("bool", "int8", "int16", "int32")
WIDE = {"int8": "int32", "int16": "int64"}
RESCALED = (
    *((one, other) for one in ("int8", "int16", "int32") for other in ("int8", "int16", "int32")),
    *(("int64", other) for other in ("int8", "int16", "int32")),
    *((one, other) for one in ("uint8", "uint16") for other in ("int8", "int16")),
    *((one, other) for one in ("int8", "int16") for other in ("uint8", "uint16")),
)


def shape_of(random: Random) -> Shape:
    """Seldom no dimensions."""
    return () if random.random() < 0.1 else small(random)


def broadcast(random: Random, shape: Shape) -> Shape:
    return tuple(1 if random.random() < 0.25 else extent for extent in shape)


def zero_point(random: Random, dtype: str) -> Given:
    """One that the type may have."""
    ends = np.iinfo(dtype)
    choices = (ends.min, ends.max, 3) if ends.bits == 8 else (0, 32768) if ends.min == 0 else (0,)
    return np.array([random.choice(choices)], dtype)


def single(*types: str, **more: Callable[[Random], Any]) -> Draw:
    def draw(random: Random) -> Drawn:
        inputs: list[Given] = [elements(random, shape_of(random), random.choice(types))]
        return inputs, {name: given(random) for name, given in more.items()}

    return draw


def pairs(*types: str, **more: Callable[[Random], Any]) -> Draw:
    """Two tensors that broadcast."""

    def draw(random: Random) -> Drawn:
        shape, dtype = shape_of(random), random.choice(types)
        inputs: list[Given] = [elements(random, broadcast(random, shape), dtype) for _ in range(2)]
        return inputs, {name: given(random) for name, given in more.items()}

    return draw


def intdiv(random: Random) -> Drawn:
    (first, second), _ = pairs("int32")(random)
    kept = random.random() < 0.1
    return [first, second if kept else np.where(second == 0, np.int32(7), second)], {}


def shifted(random: Random, **attributes: bool) -> Drawn:
    dtype = random.choice(("int8", "int16", "int32"))
    (first, second), _ = pairs(dtype)(random)
    most = np.iinfo(dtype).bits
    return [first, np.array(second % most, dtype).reshape(second.shape)], dict(attributes)


def mul(random: Random) -> Drawn:
    dtype = random.choice(("int8", "int16", "int32"))
    inputs, _ = pairs(dtype)(random)
    shift = random.choice((0, 1, 31, 62, 63)) if dtype == "int32" else 0
    return [*inputs, np.array([shift], np.int8)], {}


def select(random: Random) -> Drawn:
    shape, dtype = shape_of(random), random.choice(MOVED)
    types = ("bool", dtype, dtype)
    return [elements(random, broadcast(random, shape), each) for each in types], {}


def negate(random: Random) -> Drawn:
    dtype = random.choice(("int8", "int16", "int32"))
    points = [zero_point(random, dtype) for _ in range(2)]
    return [elements(random, shape_of(random), dtype), *points], {}


def clamp(random: Random) -> Drawn:
    dtype = random.choice(("int8", "int16"))
    low, high = sorted(random.randint(-128, 127) for _ in range(2))
    return [elements(random, shape_of(random), dtype)], {"min_val": low, "max_val": high}


def table(random: Random) -> Drawn:
    return [elements(random, shape_of(random), "int8"), elements(random, (256,), "int8")], {}


def table_int16(random: Random) -> Drawn:
    entries = [random.randint(-16384, 16383) for _ in range(513)]
    return [elements(random, shape_of(random), "int16"), np.array(entries, np.int16)], {}


def rescale(random: Random) -> Drawn:
    """Shifts that leave room for what the elements are."""
    one, other = random.choice(RESCALED)
    scale32, shape = one != "int64" and random.random() < 0.7, shape_of(random)
    per_channel = shape != () and random.random() < 0.5
    channels = shape[-1] if per_channel else 1
    most = 2**31 - 1 if scale32 else 2**15 - 1
    often = (most, 2**30 if scale32 else 2**14)
    factors = [random.choice((*often, random.randint(0, most))) for _ in range(channels)]
    least = np.iinfo(one).bits + 2 if scale32 else 20
    shifts = [random.randint(min(least, 33), 46) for _ in range(channels)]
    rounding = ("SINGLE_ROUND", "DOUBLE_ROUND") if scale32 else ("SINGLE_ROUND",)
    inputs: list[Given] = [
        elements(random, shape, one) // (2**17 if one == "int64" else 1),
        np.array(factors, np.int32),
        np.array(shifts, np.int8),
        zero_point(random, one),
        zero_point(random, other),
    ]
    return inputs, {
        "scale32": scale32,
        "rounding_mode": random.choice(rounding),
        "per_channel": per_channel,
    }


# ---------------------------------------------------------------- sums of products, windows


def extents(random: Random, count: int) -> tuple[int, ...]:
    return tuple(random.choice((2, 3, 5)) for _ in range(count))


def fitting(
    random: Random, extent: int, kernel: int, dilation: int, least: int
) -> tuple[int, int, int]:
    """A padding before and behind, and a stride that fills what they leave."""
    window = (kernel - 1) * dilation + 1
    before, behind = (random.randint(0, least) for _ in range(2))
    behind += max(0, window - extent - before - behind)
    places = extent + before + behind - window
    return before, behind, random.choice([n for n in (1, 2, 3) if places % n == 0])


def convolution(random: Random, dimensions: int, *, depthwise: bool = False) -> Drawn:
    dtype = random.choice(("int8", "int16"))
    spatial, kernel = extents(random, dimensions), extents(random, dimensions)
    kernel = tuple(random.randint(1, min(each, 3)) for each in kernel)
    dilation = tuple(random.choice((1, 1, 2)) for _ in kernel)
    rows = [
        fitting(random, *each, 2 if dimensions == 2 else 1)
        for each in zip(spatial, kernel, dilation, strict=True)
    ]
    batch, channels, filters = (random.choice((1, 1, 2, 3)) for _ in range(3))
    weight = (*kernel, channels, filters) if depthwise else (filters, *kernel, channels)
    results = channels * filters if depthwise else filters
    inputs: list[Given] = [
        elements(random, (batch, *spatial, channels), dtype),
        elements(random, weight, "int8"),
        elements(random, (random.choice((1, results)),), "int32").astype(WIDE[dtype]),
        zero_point(random, dtype),
        zero_point(random, "int8"),
    ]
    return inputs, {
        "pad": tuple(each for row in rows for each in row[:2]),
        "stride": tuple(row[2] for row in rows),
        "dilation": dilation,
    }


def transpose_conv2d(random: Random) -> Drawn:
    inputs, _ = convolution(random, 2)
    kernel = np.shape(inputs[1])[1:3]
    pad = tuple(random.randint(1 - each, 2) for each in kernel for _ in range(2))
    stride = tuple(random.choice((1, 2, 3)) for _ in kernel)
    return inputs, {"out_pad": pad, "stride": stride}


def matmul(random: Random) -> Drawn:
    dtype, (n, h, c, w) = random.choice(("int8", "int16")), small(random, 4)
    points = [zero_point(random, dtype) for _ in range(2)]
    shapes = ((n, h, c), (n, c, w))
    return [*(elements(random, shape, dtype) for shape in shapes), *points], {}


def pooling(random: Random, *, zero_points: bool) -> Drawn:
    dtype, spatial = random.choice(("int8", "int16")), extents(random, 2)
    kernel = tuple(random.randint(1, 3) for _ in spatial)
    rows = []
    for extent, window in zip(spatial, kernel, strict=True):
        before, behind = (random.randrange(window) for _ in range(2))
        places = max(extent + before + behind - window, 0)
        rows.append((before, behind, random.choice([n for n in (1, 2, 3) if places % n == 0])))
    shape = (random.choice((1, 2)), *spatial, random.choice((1, 3)))
    points = [zero_point(random, dtype) for _ in range(2)] if zero_points else []
    return [elements(random, shape, dtype), *points], {
        "kernel": kernel,
        "stride": tuple(row[2] for row in rows),
        "pad": tuple(each for row in rows for each in row[:2]),
    }


def along(*types: str, least: int = 1) -> Draw:
    """A tensor and one of its axes."""

    def draw(random: Random) -> Drawn:
        shape = small(random, random.randint(least, 4))
        axis = random.randrange(len(shape))
        return [elements(random, shape, random.choice(types))], {"axis": axis}

    return draw


def resize(random: Random) -> Drawn:
    """Scales, and a border that they divide."""
    spatial = extents(random, 2)
    scale, offset, border = [], [], []
    for extent in spatial:
        up, down = random.choice(((1, 1), (2, 1), (4, 2), (3, 2), (16, 6), (5, 7)))
        start = random.randint(-up, min(up, (extent - 1) * up))
        scale += [up, down]
        offset.append(start)
        border.append(-(((extent - 1) * up - start) % down))
    shape = (random.choice((1, 2)), *spatial, random.choice((1, 3)))
    given: list[Given] = [elements(random, shape, random.choice(("int8", "int16")))]
    return given, {"scale": tuple(scale), "offset": tuple(offset), "border": tuple(border)}


# ---------------------------------------------------------------- moves


def concat(random: Random) -> Drawn:
    shape, dtype = small(random), random.choice(MOVED)
    axis = random.randrange(len(shape))
    parts: Given = [
        elements(random, (*shape[:axis], random.randint(1, 3), *shape[axis + 1 :]), dtype)
        for _ in range(random.randint(1, 3))
    ]
    return [parts], {"axis": axis}


def pad(random: Random) -> Drawn:
    shape, dtype = small(random), random.choice(MOVED)
    padding = tuple(random.randint(0, 2) for _ in shape for _ in range(2))
    return [elements(random, shape, dtype), elements(random, (1,), dtype)], {"padding": padding}


def reshape(random: Random) -> Drawn:
    shape = shape_of(random)
    target = random.sample(shape, len(shape))
    if len(target) > 1 and random.random() < 0.7:
        target[:2] = [target[0] * target[1]]
    return [elements(random, shape, random.choice(MOVED))], {"shape": tuple(target)}


def slices(random: Random) -> Drawn:
    shape = small(random)
    size = tuple(random.randint(1, extent) for extent in shape)
    start = tuple(
        random.randint(0, extent - part) for extent, part in zip(shape, size, strict=True)
    )
    return [elements(random, shape, random.choice(MOVED))], {"start": start, "size": size}


def tile(random: Random) -> Drawn:
    shape = small(random)
    multiples = tuple(random.randint(1, 3) for _ in shape)
    return [elements(random, shape, random.choice(MOVED))], {"multiples": multiples}


def transpose(random: Random) -> Drawn:
    shape = small(random)
    perms = tuple(random.sample(range(len(shape)), len(shape)))
    return [elements(random, shape, random.choice(MOVED))], {"perms": perms}


def rows(random: Random, *, scattered: bool) -> Drawn:
    """Rows by indices, which are different where they are written to; seldom one that is none."""
    n, k, c = small(random, 3)
    dtype = random.choice(("int8", "int16", "int32"))
    w = random.randint(1, k) if scattered else random.choice((1, 2, 4))
    most = k - (random.random() < 0.9)
    draw = [
        random.sample(range(k), w) if scattered else [random.randint(0, most) for _ in range(w)]
        for _ in range(n)
    ]
    inputs: list[Given] = [elements(random, (n, k, c), dtype), np.array(draw, np.int32)]
    return [*inputs, *([elements(random, (n, w, c), dtype)] if scattered else [])], {}


BITS = ("int8", "int16", "int32")

DRAW: dict[str, Draw] = {
    "tosa.argmax": along("int8", "int16"),
    "tosa.avg_pool2d": lambda random: pooling(random, zero_points=True),
    "tosa.conv2d": lambda random: convolution(random, 2),
    "tosa.conv3d": lambda random: convolution(random, 3),
    "tosa.depthwise_conv2d": lambda random: convolution(random, 2, depthwise=True),
    "tosa.matmul": matmul,
    "tosa.max_pool2d": lambda random: pooling(random, zero_points=False),
    "tosa.transpose_conv2d": transpose_conv2d,
    "tosa.clamp": clamp,
    **dict.fromkeys((f"tosa.{name}" for name in ("add", "sub")), pairs("int32")),
    **dict.fromkeys((f"tosa.{name}" for name in ("maximum", "minimum")), pairs("int32")),
    **dict.fromkeys(("tosa.equal", "tosa.greater", "tosa.greater_equal"), pairs("int32")),
    **dict.fromkeys((f"tosa.bitwise_{name}" for name in ("and", "or", "xor")), pairs(*BITS)),
    **dict.fromkeys((f"tosa.logical_{name}" for name in ("and", "or", "xor")), pairs("bool")),
    "tosa.intdiv": intdiv,
    "tosa.logical_left_shift": shifted,
    "tosa.logical_right_shift": shifted,
    "tosa.arithmetic_right_shift": lambda random: shifted(random, round=random.random() < 0.5),
    "tosa.mul": mul,
    "tosa.select": select,
    "tosa.table": table,
    "tosa.table_int16": table_int16,
    "tosa.abs": single("int32"),
    "tosa.bitwise_not": single(*BITS),
    "tosa.clz": single("int32"),
    "tosa.logical_not": single("bool"),
    "tosa.identity": single(*MOVED, "int64"),
    "tosa.negate": negate,
    "tosa.cast_bool": single(*BITS),
    "tosa.cast_int8": single("bool", "int16", "int32"),
    "tosa.cast_int16": single("bool", "int8", "int32"),
    "tosa.cast_int32": single("bool", "int8", "int16"),
    "tosa.rescale": rescale,
    "tosa.resize_nearest": resize,
    "tosa.resize_bilinear": resize,
    "tosa.concat": concat,
    "tosa.pad": pad,
    "tosa.reshape": reshape,
    "tosa.reverse": along(*MOVED),
    "tosa.slice": slices,
    "tosa.tile": tile,
    "tosa.transpose": transpose,
    "tosa.gather": lambda random: rows(random, scattered=False),
    "tosa.scatter": lambda random: rows(random, scattered=True),
}
