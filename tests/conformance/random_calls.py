"""Random calls of each operator: any rank, ragged shapes, extents of 1, values at both ends."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np

from tests.conformance import (
    extra_calls,
    onnx_calls,
    opset_calls,
    tflite_calls,
    tosa_calls,
    typed_calls,
)
from tests.conformance.calls import Call, Given, data
from tests.conformance.draws import (
    RANKS,
    Drawn,
    Shape,
    axis,
    one_tensor,
    precision,
    shape,
)


def call(name: str, random: Random) -> Call:
    """A call of the operator `name`, usually one that it accepts."""
    inputs, attributes = DRAW[name](random)
    return Call(name, tuple(inputs), attributes)


# ---------------------------------------------------------------- elementwise


def two_alike(random: Random) -> Drawn:
    extents = shape(random)
    return [data(random, extents, precision(random, 31)) for _ in range(2)], {}


def clip(random: Random) -> Drawn:
    ends = random.sample(
        [-(2**31) + 2, -300, -19, -1, 0, 1, 10, 127, 2**31 - 2, random.randint(-999, 999)], 2
    )
    inputs, _ = one_tensor(random)
    return inputs, {"a_min": min(ends), "a_max": max(ends)}


def cvm_clip(random: Random) -> Drawn:
    return one_tensor(random)[0], {"precision": random.randint(1, 32)}


def cvm_right_shift(random: Random) -> Drawn:
    attributes = {"precision": random.randint(1, 32), "shift_bit": random.randint(1, 32)}
    return one_tensor(random)[0], attributes


def cvm_left_shift(random: Random) -> Drawn:
    shift = random.randint(1, 31)
    inputs: list[Given] = [data(random, shape(random), random.randint(1, 32 - shift))]
    return inputs, {"precision": random.randint(1, 32), "shift_bit": shift}


# ---------------------------------------------------------------- broadcast, reduce


def broadcast(random: Random, high: int) -> Drawn:
    whole = shape(random)
    full = tuple(extent if random.random() < 0.7 else 1 for extent in whole)
    short = whole[random.randrange(len(whole)) :]
    part = tuple(extent if random.random() < 0.6 else 1 for extent in short)
    inputs: list[Given] = [data(random, each, precision(random, high)) for each in (full, part)]
    return random.sample(inputs, 2), {}


def reduce(random: Random) -> Drawn:
    extents = shape(random)
    rank = len(extents)
    some = random.sample(range(rank), random.choice((0, 1, rank, random.randint(0, rank))))
    axes = tuple(each - rank if random.random() < 0.5 else each for each in some)
    flags = {name: random.random() < 0.5 for name in ("keepdims", "exclude")}
    return [data(random, extents, precision(random, 24))], {"axes": axes, **flags}


# ---------------------------------------------------------------- networks


def conv2d(random: Random) -> Drawn:
    groups = random.choice((1, 1, 2, 3))
    inner, outer = random.randint(1, 3), groups * random.randint(1, 2)
    size = [random.randint(1, 6) for _ in range(2)]
    kernel = [random.randint(1, 3) for _ in range(2)]
    high = random.choice((2, 8, 12))
    bias = data(random, (outer,), precision(random, 31)) if random.random() < 0.5 else None
    inputs = [
        data(random, (random.randint(1, 2), inner * groups, *size), precision(random, high)),
        data(random, (outer, inner, *kernel), precision(random, high)),
        bias,
    ]
    pairs = {"padding": (0, 2), "stride": (1, 3), "dilation": (1, 3)}
    attributes = {
        name: (random.randint(low, most), random.randint(low, most))
        for name, (low, most) in pairs.items()
    }
    return inputs, {**attributes, "groups": groups}


def dense(random: Random) -> Drawn:
    rows, columns, inner = (random.choice((1, 2, 3, 5, 8)) for _ in range(3))
    bias = data(random, (columns,), precision(random, 31)) if random.random() < 0.5 else None
    high = random.choice((2, 8, 12))
    matrices = [
        data(random, each, precision(random, high)) for each in ((rows, inner), (columns, inner))
    ]
    return [*matrices, bias], {}


def max_pool2d(random: Random) -> Drawn:
    size = [random.randint(1, 6) for _ in range(2)]
    window = tuple(random.randint(1, 4) for _ in range(2))
    attributes = {
        "pool_size": window,
        "padding": tuple(random.randint(0, each - 1) for each in window),
        "strides": (random.randint(1, 4), random.randint(1, 4)),
        "ceil_mode": random.random() < 0.5,
    }
    return [data(random, (*shape(random, 2, 6), *size), precision(random))], attributes


def upsampling(random: Random) -> Drawn:
    return [data(random, shape(random, 4, 40), precision(random))], {"scale": random.randint(1, 4)}


def batch_flatten(random: Random) -> Drawn:
    rank = random.choice([each for each in RANKS if each > 1])
    return [data(random, shape(random, rank), precision(random))], {}


# ---------------------------------------------------------------- transform


def concatenate(random: Random) -> Drawn:
    extents = shape(random, most=60)
    along = axis(random, len(extents))
    at = along % len(extents)

    def part() -> Shape:
        return (*extents[:at], random.randint(1, 3), *extents[at + 1 :])

    bits = [precision(random) for _ in range(random.randint(1, 4))]
    return [[data(random, part(), each) for each in bits]], {"axis": along}


def transpose(random: Random) -> Drawn:
    extents = shape(random)
    rank = len(extents)
    order = tuple(each - random.choice((0, rank)) for each in random.sample(range(rank), rank))
    axes = order if random.random() < 0.8 else ()
    return [data(random, extents, precision(random))], {"axes": axes}


def repeat(random: Random) -> Drawn:
    extents = shape(random, most=60)
    attributes = {"axis": axis(random, len(extents)), "repeats": random.randint(1, 4)}
    return [data(random, extents, precision(random))], attributes


def tile(random: Random) -> Drawn:
    reps = tuple(random.randint(1, 3) for _ in range(random.randint(0, 4)))
    return [data(random, shape(random, most=20), precision(random))], {"reps": reps}


def slice_of(random: Random) -> Drawn:
    extents = shape(random, random.randint(1, 5))
    begin, end, strides = [], [], []
    for extent in extents:
        step = random.choice((-3, -2, -1, 1, 1, 2, 3))
        low, high = sorted((random.randrange(extent), random.randrange(extent)))
        first, last = (low, high + 1) if step > 0 else (high, low - 1)
        begin.append(first - random.choice((0, extent)))
        end.append(last if last >= 0 else -extent - 1)
        strides.append(step)
    attributes = {"begin": tuple(begin), "end": tuple(end), "strides": tuple(strides)}
    return [data(random, extents, precision(random))], attributes


def take(random: Random) -> Drawn:
    extents = shape(random, random.randint(1, 5), 40)
    indices = data(random, shape(random, random.randint(1, 3), 6), random.choice((2, 4, 32)))
    along = random.choice((None, axis(random, len(extents))))
    attributes = {} if along is None else {"axis": along}
    return [data(random, extents, precision(random)), indices], attributes


def reshape(random: Random) -> Drawn:
    extents = list(shape(random))
    target = random.sample(extents, len(extents))
    if len(target) > 1 and random.random() < 0.7:
        target[:2] = [target[0] * target[1]]
    return [data(random, tuple(extents), precision(random))], {"target_shape": tuple(target)}


def expand_dims(random: Random) -> Drawn:
    extents = shape(random)
    rank = len(extents)
    attributes = {
        "axis": random.randrange(-rank - 1, rank + 1),
        "num_newaxis": random.randint(0, min(3, 16 - rank)),
    }
    if random.random() < 0.2 and rank < 16:
        del attributes["num_newaxis"]
    return [data(random, extents, precision(random))], attributes


def squeeze(random: Random) -> Drawn:
    extents = tuple(each if random.random() < 0.6 else 1 for each in shape(random))
    rank = len(extents)
    ones = [at for at, extent in enumerate(extents) if extent == 1]
    some = random.sample(ones, random.randint(0, len(ones)))
    axes = tuple(each - random.choice((0, rank)) for each in some)
    return [data(random, extents, precision(random))], {"axes": axes}


def slice_like(random: Random) -> Drawn:
    """Axes at random or none; the ranks may differ where axes are named."""
    extents = shape(random)
    rank = len(extents)
    like = [random.randint(1, extent) for extent in extents]
    axes: tuple[int, ...] = ()
    if random.random() < 0.7:
        shared = random.randint(1, rank)
        some = random.sample(range(shared), random.randint(1, shared))
        axes = tuple(each - random.choice((0, rank)) for each in some)
        like = [like[at] if at in some else random.choice((1, 2)) for at in range(shared)]
        like += [1] * random.randint(0, 16 - shared)
    inputs: list[Given] = [
        data(random, extents, precision(random)),
        data(random, tuple(like), random.choice((2, 8, 32))),
    ]
    return inputs, {"axes": axes}


def cvm_lut(random: Random) -> Drawn:
    table = data(random, shape(random), precision(random))
    return [data(random, shape(random), random.choice((2, 4, 8, 32))), table], {}


def where(random: Random) -> Drawn:
    extents = shape(random)
    condition = extents if random.random() < 0.5 else extents[:1]
    shapes = (condition, extents, extents)
    bits = (random.choice((1, 2, 8, 32)), precision(random), precision(random))
    return [data(random, each, most) for each, most in zip(shapes, bits, strict=True)], {}


# ---------------------------------------------------------------- selected lists


def get_valid_count(random: Random) -> Drawn:
    extents = (random.randint(1, 3), random.randint(1, 40), random.randint(2, 5))
    bits = precision(random)
    return [data(random, extents, bits)], {"score_threshold": random.choice((0, -1, 1, 2**31 - 1))}


def non_max_suppression(random: Random) -> Drawn:
    """Few classes and equal scores; boxes of all sizes; counts beyond both ends."""
    batches, number, bits = random.randint(1, 3), random.randint(1, 12), precision(random)
    rows = data(random, (batches, number, 6), bits)
    if bits > 2 and random.random() < 0.7:
        rows[:, :, :2] = data(random, (batches, number, 2), 2, rows.dtype)
    counts = np.array([random.randint(-2, number + 2) for _ in range(batches)], np.int32)
    attributes = {
        "iou_threshold": random.choice((1, 10, 50, 99, 100, 101, 2**31 - 1)),
        "max_output_size": random.choice((-(2**31), -1, 0, 1, 3, 2**31 - 1)),
        "top_k": random.choice((-(2**31), -1, 0, 1, 4, 2**31 - 1)),
        "force_suppress": random.random() < 0.5,
    }
    return [rows, counts], attributes


DRAW: dict[str, Callable[[Random], Drawn]] = {
    **extra_calls.DRAW,
    **opset_calls.DRAW,
    **onnx_calls.DRAW,
    **tflite_calls.DRAW,
    **tosa_calls.DRAW,
    **typed_calls.DRAW,
    "cvm.get_valid_count": get_valid_count,
    "cvm.non_max_suppression": non_max_suppression,
    **dict.fromkeys(
        ("cvm.abs", "cvm.cvm_precision", "cvm.negative", "cvm.relu", "cvm.flatten"), one_tensor
    ),
    **dict.fromkeys(("cvm.elemwise_add", "cvm.elemwise_sub"), two_alike),
    "cvm.clip": clip,
    "cvm.cvm_clip": cvm_clip,
    "cvm.cvm_right_shift": cvm_right_shift,
    "cvm.cvm_left_shift": cvm_left_shift,
    **dict.fromkeys(
        ("cvm.broadcast_add", "cvm.broadcast_sub"), lambda random: broadcast(random, 31)
    ),
    "cvm.broadcast_mul": lambda random: broadcast(random, 16),
    **dict.fromkeys(
        ("cvm.broadcast_div", "cvm.broadcast_max", "cvm.broadcast_greater"),
        lambda random: broadcast(random, 32),
    ),
    **dict.fromkeys(("cvm.sum", "cvm.max"), reduce),
    "cvm.conv2d": conv2d,
    "cvm.dense": dense,
    "cvm.max_pool2d": max_pool2d,
    "cvm.upsampling": upsampling,
    "cvm.batch_flatten": batch_flatten,
    "cvm.repeat": repeat,
    "cvm.tile": tile,
    "cvm.concatenate": concatenate,
    "cvm.transpose": transpose,
    "cvm.slice": slice_of,
    "cvm.slice_like": slice_like,
    "cvm.take": take,
    "cvm.cvm_lut": cvm_lut,
    "cvm.expand_dims": expand_dims,
    "cvm.reshape": reshape,
    "cvm.squeeze": squeeze,
    "cvm.where": where,
}
