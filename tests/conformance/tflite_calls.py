"""Random calls of the opset tflite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

from tests.conformance.calls import Given
from tests.conformance.typed_calls import Drawn, Shape, elements, small

Draw = Callable[[Random], Drawn]
MOVED = ("int8", "uint8", "int32", "float32")


def zero_points(random: Random, names: str) -> dict[str, Any]:
    return {
        each: random.choice((0, -128, 127, random.randint(-128, 127))) for each in names.split()
    }


def multiplier(random: Random) -> int:
    """A fraction of 31 bits, from a half on; seldom less, which no scale gives."""
    often = (2**30, 2**31 - 1, *(random.randrange(2**30, 2**31) for _ in range(4)))
    return random.choice((*often, random.randrange(2**31)))


def shift(random: Random) -> int:
    return random.choice((-31, 30, *(random.randint(-9, 4) for _ in range(6))))


def scales(random: Random, names: str) -> dict[str, Any]:
    """Multipliers and shifts, by pairs of names."""
    found: dict[str, Any] = {}
    for one, other in zip(*[iter(names.split())] * 2, strict=True):
        found |= {one: multiplier(random), other: shift(random)}
    return found


def ends(random: Random) -> dict[str, Any]:
    """What a fused activation leaves."""
    low, high = sorted(random.randint(-128, 127) for _ in range(2))
    return random.choice(({"low": -128, "high": 127}, {"low": low, "high": high}))


def of_channels(random: Random, channels: int) -> list[Given]:
    """Multipliers, shifts and a bias, which may be missing."""
    rows = [[draw(random) for _ in range(channels)] for draw in (multiplier, shift)]
    bias = elements(random, (channels,), "int32") if random.random() < 0.7 else None
    return [*(np.array(row, np.int32) for row in rows), bias]


def bytes_of(random: Random, *shapes: Sequence[int]) -> list[Given]:
    return [elements(random, shape, "int8") for shape in shapes]


# ---------------------------------------------------------------- sums of products


def image(random: Random, channels: int) -> Shape:
    return (random.choice((1, 2)), random.choice((2, 3, 5)), random.choice((1, 3, 4)), channels)


def pair(random: Random, *choices: int) -> tuple[int, int]:
    return (random.choice(choices), random.choice(choices))


def of_sums(random: Random, *more: str) -> dict[str, Any]:
    """The attributes that sums of products of images have in common, and which others."""
    all_of_them = {
        "padding": tuple(random.choice((0, 0, 1, 2)) for _ in range(4)),
        "dilation": pair(random, 1, 1, 2),
    }
    strides = {"stride": pair(random, 1, 1, 2, 3)}
    return {
        **strides,
        **{name: all_of_them[name] for name in more},
        **zero_points(random, "zx zy"),
        **ends(random),
    }


def conv_2d(random: Random) -> Drawn:
    groups, part, per_group = (random.choice((1, 1, 2, 3)) for _ in range(3))
    kernel, channels = pair(random, 1, 2), groups * per_group
    inputs = bytes_of(random, image(random, groups * part), (channels, *kernel, part))
    attributes = of_sums(random, "padding", "dilation")
    return [*inputs, *of_channels(random, channels)], {**attributes, "groups": groups}


def depthwise_conv_2d(random: Random) -> Drawn:
    given, filters = random.choice((1, 2, 3)), random.choice((1, 1, 2))
    channels = given * filters
    inputs = bytes_of(random, image(random, given), (1, *pair(random, 1, 2), channels))
    return [*inputs, *of_channels(random, channels)], of_sums(random, "padding", "dilation")


def transpose_conv(random: Random) -> Drawn:
    given, channels = pair(random, 1, 2, 3)
    inputs = bytes_of(random, image(random, given), (channels, *pair(random, 1, 2, 3), given))
    attributes = {**of_sums(random), "extent": pair(random, 1, 3, 6), "padding": pair(random, 0, 1)}
    return [*inputs, *of_channels(random, channels)], attributes


def fully_connected(random: Random) -> Drawn:
    rows, inner, columns = small(random, 3)
    inputs = bytes_of(random, (rows, inner), (columns, inner))
    attributes = {**zero_points(random, "zx zy"), **ends(random)}
    return [*inputs, *of_channels(random, columns)], attributes


def svdf_state(random: Random) -> Drawn:
    batches, filters, inner = small(random, 3)
    kept = elements(random, (batches, filters, random.choice((1, 2, 5))), of_state(random))
    inputs = bytes_of(random, (batches, inner), (filters, inner))
    return [kept, *inputs], {**zero_points(random, "zx zs"), **scales(random, "m s")}


def svdf(random: Random) -> Drawn:
    batches, units, rank = small(random, 3)
    filters, memory, kind = units * rank, random.choice((1, 2, 5)), of_state(random)
    inputs = [
        elements(random, each, kind) for each in ((batches, filters, memory), (filters, memory))
    ]
    bias = elements(random, (units,), "int32") if random.random() < 0.7 else None
    attributes = {**zero_points(random, "zs zy"), **scales(random, "m s")}
    return [*inputs, bias], {**attributes, "rank": rank}


def of_state(random: Random) -> str:
    return random.choice(("int8", "int16"))


def batch_matmul(random: Random) -> Drawn:
    batches, rows, columns = small(random, 3)
    inner = random.choice((1, 2, 5))
    turned = {f"transpose_{each}": random.random() < 0.5 for each in "ab"}
    one, other = (rows, inner), (inner, columns)
    shapes = (
        (batches, *(one[::-1] if turned["transpose_a"] else one)),
        (batches, *(other[::-1] if turned["transpose_b"] else other)),
    )
    attributes = {**turned, **zero_points(random, "za zb zy"), **scales(random, "m s")}
    return bytes_of(random, *shapes), attributes


# ---------------------------------------------------------------- elements


def aligned(random: Random) -> tuple[Shape, Shape]:
    """A shape, and one that broadcasts to it."""
    whole = small(random)
    narrow = tuple(1 if random.random() < 0.3 else extent for extent in whole)
    return whole, narrow[random.randrange(len(narrow)) :]


def pairs(*types: str, points: str = "", factors: str = "", cut: bool = False) -> Draw:
    """Two tensors that broadcast, and zero points, scales and ends."""

    def draw(random: Random) -> Drawn:
        dtype, shapes = random.choice(types or ("int8",)), list(aligned(random))
        random.shuffle(shapes)
        attributes = {**zero_points(random, points), **scales(random, factors)}
        inputs: list[Given] = [elements(random, shape, dtype) for shape in shapes]
        return inputs, {**attributes, **(ends(random) if cut else {})}

    return draw


def prelu(random: Random) -> Drawn:
    attributes = {**zero_points(random, "zx za zy"), **scales(random, "m1 s1 m2 s2")}
    return bytes_of(random, *aligned(random)), attributes


def single(points: str = "", factors: str = "", **more: Callable[[Random], Any]) -> Draw:
    """One tensor, zero points, scales, and other attributes."""

    def draw(random: Random) -> Drawn:
        attributes = {**zero_points(random, points), **scales(random, factors)}
        others = {name: given(random) for name, given in more.items()}
        return bytes_of(random, small(random)), {**attributes, **others}

    return draw


def cut(points: str = "", factors: str = "") -> Draw:
    """The same, and ends."""

    def draw(random: Random) -> Drawn:
        inputs, attributes = single(points, factors)(random)
        return inputs, {**attributes, **ends(random)}

    return draw


def lookup(random: Random) -> Drawn:
    return bytes_of(random, small(random), (256,)), {}


def real_scale(random: Random) -> float:
    return random.choice((0.5, 1.0, 0.1, 3.7, 2.0**-20, random.random() + 0.01))


def quantize(random: Random) -> Drawn:
    attributes = {"scale": real_scale(random), **zero_points(random, "zy")}
    shape = small(random)
    return [np.array(elements(random, shape, "int8") / 3, np.float32)], attributes


CURVES = {"radius": lambda random: random.choice((0, 20, 255))}


def softmax(random: Random) -> Drawn:
    attributes = {"m": multiplier(random), "s": random.choice((0, 20, 24, 27, 30))}
    return bytes_of(random, small(random)), {**attributes, "diff_min": -random.choice((0, 31, 255))}


# ---------------------------------------------------------------- images, windows, reductions


def resize_bilinear(random: Random) -> Drawn:
    flags = ("align_corners", "half_pixel_centers")
    attributes = {each: random.random() < 0.5 for each in flags}
    inputs = bytes_of(random, image(random, random.choice((1, 2))))
    return inputs, {**attributes, "extent": pair(random, 1, 2, 4, 7)}


def along(
    *types: str, least: int = 1, more: Callable[[Random], dict[str, Any]] = lambda _: {}
) -> Draw:
    """A tensor and one of its axes."""

    def draw(random: Random) -> Drawn:
        shape = small(random, random.randint(least, 4))
        attributes = {"axis": random.randrange(len(shape)), **more(random)}
        return [elements(random, shape, random.choice(types))], attributes

    return draw


def of_cumsum(random: Random) -> dict[str, Any]:
    flags = {each: random.random() < 0.5 for each in ("exclusive", "reverse")}
    return {**flags, **zero_points(random, "zx zy"), **scales(random, "mx sx my sy")}


def pooling(random: Random) -> Drawn:
    window = pair(random, 1, 2, 3)
    attributes = {
        "window": window,
        "padding": tuple(random.randrange(each) for each in (*window, *window)),
        "stride": pair(random, 1, 2, 3),
    }
    return bytes_of(random, image(random, random.choice((1, 3)))), {**attributes, **ends(random)}


def reduction(*types: str, points: str = "", factors: str = "") -> Draw:
    def draw(random: Random) -> Drawn:
        shape = small(random)
        axes = tuple(random.sample(range(len(shape)), random.randint(1, len(shape))))
        more = {**zero_points(random, points), **scales(random, factors)}
        return [elements(random, shape, random.choice(types))], {"axes": axes, **more}

    return draw


# ---------------------------------------------------------------- moves


def pad(random: Random, types: Sequence[str] = MOVED) -> Drawn:
    shape, dtype = small(random), random.choice(types)
    widths = {each: tuple(random.randint(0, 2) for _ in shape) for each in ("before", "after")}
    return [elements(random, shape, dtype), elements(random, (1,), dtype)], widths


def mirror_pad(random: Random) -> Drawn:
    shape, mode = small(random), random.choice(("REFLECT", "SYMMETRIC"))
    most = [extent - (mode == "REFLECT") for extent in shape]
    widths = {each: tuple(random.randint(0, high) for high in most) for each in ("before", "after")}
    return [elements(random, shape, random.choice(MOVED))], {**widths, "mode": mode}


def reshape(random: Random, types: Sequence[str] = ("bool", "int16", *MOVED)) -> Drawn:
    shape = small(random)
    target = random.sample(shape, len(shape))
    if len(target) > 1 and random.random() < 0.7:
        target[:2] = [target[0] * target[1]]
    dtype = random.choice(types)
    return [elements(random, shape, dtype)], {"target_shape": tuple(target)}


def transpose(random: Random, types: Sequence[str] = MOVED) -> Drawn:
    shape = small(random)
    order = random.sample(range(len(shape)), len(shape))
    return [elements(random, shape, random.choice(types))], {"perm": tuple(order)}


def concatenation(random: Random, types: Sequence[str] = MOVED) -> Drawn:
    shape, dtype = small(random), random.choice(types)
    axis = random.randrange(len(shape))
    parts: Given = [
        elements(random, (*shape[:axis], random.randint(1, 3), *shape[axis + 1 :]), dtype)
        for _ in range(random.randint(1, 3))
    ]
    return [parts], {"axis": axis}


def pack(random: Random) -> Drawn:
    shape, dtype = small(random), random.choice(MOVED)
    parts: Given = [elements(random, shape, dtype) for _ in range(random.randint(1, 3))]
    return [parts], {"axis": random.randint(0, len(shape))}


def one_part(random: Random, *, stays: bool) -> Drawn:
    """One of the parts of an axis, which stays or goes."""
    shape = small(random, random.randint(2, 4))
    axis = random.randrange(len(shape))
    splits = random.choice(
        [n for n in (1, 2, 3, 5) if shape[axis] % n == 0] if stays else shape[axis : axis + 1]
    )
    attributes = {"axis": axis, "part": random.randrange(splits)}
    return [elements(random, shape, random.choice(MOVED))], {
        **attributes,
        **({"splits": splits} if stays else {}),
    }


def strided_slice(random: Random, types: Sequence[str] = MOVED) -> Drawn:
    shape = small(random)
    rows = []
    for extent in shape:
        low, high = sorted(random.randrange(extent) for _ in range(2))
        step = random.choice((1, 1, 2, 3, -1, -2))
        rows.append((low, high + 1, step) if step > 0 else (high, low - 1, step))
    begin, end, strides = zip(*rows, strict=True)
    attributes = {"begin": begin, "end": end, "strides": strides}
    return [elements(random, shape, random.choice(types))], attributes


def gather(random: Random, types: Sequence[str] = MOVED) -> Drawn:
    shape = small(random)
    axis = random.randrange(len(shape))
    most = shape[axis] - (random.random() < 0.9)
    indices = np.random.default_rng(random.randrange(2**32)).integers(
        0, most, small(random, 1), endpoint=True
    )
    return [elements(random, shape, random.choice(types)), indices.astype(np.int32)], {"axis": axis}


def squares(random: Random, *, deep: bool) -> Drawn:
    block, (n, h, w, c) = random.choice((2, 3)), small(random, 4)
    shape = (n, h, w, c * block**2) if deep else (n, h * block, w * block, c)
    dtype = random.choice(("int8", "int32", "float32"))
    return [elements(random, shape, dtype)], {"block": block}


def space_to_batch_nd(random: Random) -> Drawn:
    block, dtype = pair(random, 1, 2, 3), random.choice(("int8", "float32"))
    n, h, w, c = small(random, 4)
    top, left = pair(random, 0, 1, 2)
    padding = (top, -(h + top) % block[0], left, -(w + left) % block[1])
    inputs: list[Given] = [elements(random, (n, h, w, c), dtype), elements(random, (1,), dtype)]
    return inputs, {"block": block, "padding": padding}


def batch_to_space_nd(random: Random) -> Drawn:
    block, (n, h, w, c) = pair(random, 1, 2, 3), small(random, 4)
    crops = tuple(random.choice((0, 0, 1)) for _ in range(4))
    shape = (n * block[0] * block[1], h, w, c)
    attributes = {"block": block, "crops": crops}
    return [elements(random, shape, random.choice(("int8", "float32")))], attributes


def broadcast_to(random: Random, types: Sequence[str] = ("int8", "int32", "float32")) -> Drawn:
    whole, narrow = aligned(random)
    dtype = random.choice(types)
    return [elements(random, narrow, dtype)], {"shape": whole}


def by_factors(draw: Draw) -> Draw:
    """The same sums with one factor of float32 for each channel, not a multiplier and a shift."""

    def found(random: Random) -> Drawn:
        (x, w, multipliers, _, bias), attributes = draw(random)
        assert isinstance(multipliers, np.ndarray)
        factors = [random.choice((real_scale(random), 2.0**-9, 255.0)) for _ in multipliers]
        return [x, w, np.array(factors, np.float32), bias], attributes

    return found


def with_factor(draw: Draw) -> Draw:
    def found(random: Random) -> Drawn:
        inputs, attributes = draw(random)
        return inputs, {**attributes, "factor": real_scale(random)}

    return found


def fractions(random: Random) -> Drawn:
    """Two scales with as many bits behind the point as one of them needs."""
    inputs, attributes = pairs(points="za zb zy", cut=True)(random)
    places = {each: random.choice((0, 2**20, random.randrange(2**21 + 1))) for each in ("ma", "mb")}
    return inputs, {**attributes, **places, "s": random.choice((12, 20, 22, 30))}


def of_256(least: int) -> Callable[[Random], int]:
    return lambda random: random.choice((least, 1, 32768, random.randint(1, 600)))


COMPARED = pairs(points="za zb", factors="ma sa mb sb")
SCALED = pairs(points="za zb zy", factors="ma sa mb sb my sy", cut=True)

DRAW: dict[str, Draw] = {
    "tflite.conv_2d": conv_2d,
    "tflite.depthwise_conv_2d": depthwise_conv_2d,
    "tflite.transpose_conv": transpose_conv,
    "tflite.fully_connected": fully_connected,
    "tflite.fully_connected_once": fully_connected,
    "tflite.svdf": svdf,
    "tflite.svdf_state": svdf_state,
    "tflite.batch_matmul": batch_matmul,
    **dict.fromkeys(("tflite.maximum", "tflite.minimum"), pairs("int8", "int32")),
    **dict.fromkeys(("tflite.add", "tflite.sub", "tflite.squared_difference"), SCALED),
    "tflite.mul": pairs(points="za zb zy", factors="my sy", cut=True),
    "tflite.prelu": prelu,
    "tflite.requantize": cut("zx zy", "m s"),
    "tflite.requantize_unsigned": single(
        "zx zy", "m s", zu=lambda random: random.choice((0, 128, 255))
    ),
    "tflite.leaky_relu": single("zx zy", "m s ma sa"),
    "tflite.abs": single("zx zy", "m s"),
    "tflite.clamp": cut(),
    "tflite.hard_swish": single(
        "zx zy",
        m=lambda random: random.randrange(2**15),
        s=lambda random: -random.randint(0, 31),
        relu_m=lambda random: random.randrange(2**15),
        relu_s=lambda random: random.randint(-31, 15),
    ),
    "tflite.lookup": lookup,
    **dict.fromkeys(("tflite.equal", "tflite.less", "tflite.less_equal"), COMPARED),
    "tflite.quantize": quantize,
    "tflite.dequantize": single("zx", scale=real_scale),
    "tflite.resize_bilinear": resize_bilinear,
    "tflite.cumsum": along("int8", more=of_cumsum),
    **dict.fromkeys(("tflite.max_pool_2d", "tflite.average_pool_2d"), pooling),
    "tflite.mean": reduction("int8", points="zx zy", factors="m s"),
    **dict.fromkeys(("tflite.reduce_max", "tflite.reduce_min"), reduction("int8", "int32")),
    **dict.fromkeys(("tflite.arg_max", "tflite.arg_min"), along("int8", least=2)),
    **dict.fromkeys(("tflite.logistic", "tflite.tanh"), single("zx", "m s", **CURVES)),
    "tflite.softmax": softmax,
    "tflite.pad": pad,
    "tflite.mirror_pad": mirror_pad,
    "tflite.reshape": reshape,
    "tflite.transpose": transpose,
    "tflite.concatenation": concatenation,
    "tflite.pack": pack,
    "tflite.unpack": lambda random: one_part(random, stays=False),
    "tflite.split": lambda random: one_part(random, stays=True),
    "tflite.strided_slice": strided_slice,
    "tflite.gather": gather,
    "tflite.space_to_depth": lambda random: squares(random, deep=False),
    "tflite.depth_to_space": lambda random: squares(random, deep=True),
    "tflite.space_to_batch_nd": space_to_batch_nd,
    "tflite.batch_to_space_nd": batch_to_space_nd,
    "tflite.broadcast_to": broadcast_to,
    "tflite.xnnpack_conv_2d": by_factors(conv_2d),
    "tflite.xnnpack_depthwise_conv_2d": by_factors(depthwise_conv_2d),
    "tflite.xnnpack_transpose_conv": by_factors(transpose_conv),
    "tflite.xnnpack_fully_connected": by_factors(fully_connected),
    "tflite.xnnpack_mul": with_factor(pairs(points="za zb zy", cut=True)),
    **dict.fromkeys(("tflite.xnnpack_add", "tflite.xnnpack_sub"), fractions),
    "tflite.xnnpack_requantize": single("zx zy", m=of_256(1)),
    "tflite.xnnpack_leaky_relu": single("zx zy", m=of_256(1), ma=of_256(-32767)),
    "tflite.xnnpack_mean": with_factor(reduction("int8", points="zx zy")),
    "tflite.xnnpack_resize_bilinear": resize_bilinear,
}
