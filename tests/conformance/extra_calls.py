"""Random calls of the operators of tests/data/extra."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from tests.conformance.calls import Given, data
from tests.conformance.draws import (
    MOST_ELEMENTS,
    RANKS,
    Drawn,
    Shape,
    one_tensor,
    precision,
    shape,
)


def depth_to_space(random: Random) -> Drawn:
    block = random.randint(1, 3)
    batch, channels, *size = shape(random, 4, 20)
    extents = (batch, channels * block * block, *size)
    return [data(random, extents, precision(random))], {"block": block}


def vectors(random: Random) -> Drawn:
    extents = shape(random, 1)
    return [data(random, extents, precision(random)) for _ in range(2)], {}


def choose(random: Random) -> Drawn:
    extents = shape(random)
    bits = (random.choice((2, 8, 32)), precision(random), precision(random))
    return [data(random, extents, each) for each in bits], {}


def lead_add(random: Random) -> Drawn:
    extents = shape(random)
    axis = random.randint(0, len(extents) - 1)
    shapes = (extents, extents[axis:])
    return [data(random, each, precision(random, 31)) for each in shapes], {"axis": axis}


def last_pair(random: Random) -> Drawn:
    extents = shape(random, random.choice([each for each in RANKS if each < 16]))
    shapes = (extents, (*extents, 2))
    return [data(random, each, precision(random, 15)) for each in shapes], {}


def rotated_add(random: Random) -> Drawn:
    extents = shape(random, random.randint(1, 5), 24)
    others = shape(random, random.randint(0, 3), 8)
    at = random.randint(0, len(extents))
    packed = (random.randint(1, 2), *extents[at:], *others, *extents[:at], 2)
    return [data(random, each, precision(random, 31)) for each in (extents, packed)], {"at": at}


def local_names(random: Random) -> Drawn:
    names = ("from_", "support", "names", "max", "error")
    bits = random.choice((1, 2, 5, 29))
    inputs: list[Given] = [data(random, shape(random), bits) for _ in range(4)]
    return inputs, {name: random.randrange(2) for name in names if random.random() < 0.7}


def more_locals(random: Random) -> Drawn:
    alike, others = shape(random), (shape(random), shape(random))
    shapes = (others[0], alike, alike, others[1])
    return [data(random, each, precision(random, 29)) for each in shapes], {}


def list_where(random: Random) -> Drawn:
    extents = shape(random, most=24)
    return [data(random, extents, precision(random, 12)) for _ in range(2)], {}


def of_rank(rank: int, high: int = 32, most: int = MOST_ELEMENTS) -> Callable[[Random], Drawn]:
    """One tensor of a rank."""
    return lambda random: ([data(random, shape(random, rank, most), precision(random, high))], {})


def least_rank_two(random: Random) -> Drawn:
    rank = random.choice([each for each in RANKS if each > 1])
    return [data(random, shape(random, rank), precision(random, 16))], {}


def scaled_product(random: Random) -> Drawn:
    rows, columns, inner = (random.choice((1, 2, 3, 5)) for _ in range(3))
    matrices: list[Given] = [
        data(random, each, precision(random)) for each in ((rows, inner), (inner, columns))
    ]
    return matrices, {"shift": random.choice((0, 1, 31, 32, 62))}


def batched_product(random: Random) -> Drawn:
    batches, rows, columns, *inner = (random.choice((1, 2, 3, 5)) for _ in range(5))
    shapes = (batches, rows, *inner), (batches, inner[0], columns, inner[1])
    matrices: list[Given] = [data(random, each, random.randint(1, 13)) for each in shapes]
    return matrices, {"reach": random.randint(1, 10)}


def product(random: Random) -> Drawn:
    inner = random.choice((1, 2, 3, 4, 8))
    return [data(random, (random.randint(1, 4), inner), random.randint(1, 32 // inner))], {}


def divided(random: Random) -> Drawn:
    divisor = random.choice((-100, -7, -1, 1, 2, 3, 64, 100))
    return one_tensor(random)[0], {"divisor": divisor}


def signs(random: Random) -> Drawn:
    bits = precision(random)
    return [data(random, shape(random, 2), bits)], {
        "bound": random.choice((-1, 0, 1, 100, -(2**31)))
    }


def smoothed(random: Random) -> Drawn:
    return [data(random, shape(random, 1), precision(random, 24))], {
        "reach": random.choice((0, 1, 2, 63))
    }


def histogram(random: Random) -> Drawn:
    return [data(random, shape(random), random.choice((2, 3, 4)))], {
        "bins": random.choice((1, 3, 8, 256))
    }


def truncated_mean(random: Random) -> Drawn:
    extents = shape(random)
    axes = tuple(random.sample(range(len(extents)), random.randint(0, len(extents))))
    attributes = {"axes": axes} if random.random() < 0.7 else {}
    return [data(random, extents, precision(random, 24))], attributes


def polynomial(random: Random) -> Drawn:
    coefficients = data(random, (random.randint(1, 3),), precision(random, 20))
    return [data(random, shape(random), precision(random, 20)), coefficients], {}


def row_extreme(random: Random) -> Drawn:
    sides = ({}, {"side": "MAX"}, {"side": "MIN"})
    return [data(random, shape(random, 2), precision(random))], random.choice(sides)


def padded_sums(random: Random) -> Drawn:
    window = (random.randint(1, 4), random.randint(1, 4))
    numbers = tuple(random.randint(0, each - 1) for each in window)
    attributes: dict[str, Any] = {"window": window}
    if random.random() < 0.9:
        attributes["padding"] = random.choice(("valid", "same", "full", numbers))
    return [data(random, shape(random, 2), precision(random, 24))], attributes


def totals(random: Random) -> Drawn:
    extents = shape(random)
    some = tuple(random.sample(range(len(extents)), random.randint(0, len(extents))))
    choices = {"axes": ("all", "last", some), "sign": ("positive", "negative")}
    attributes = {
        name: random.choice(values) for name, values in choices.items() if random.random() < 0.7
    }
    return [data(random, extents, precision(random, 20))], attributes


def limited(random: Random) -> Drawn:
    choices = {"limit": (0, 1, 7, 99), "sign": ("drop", "keep")}
    attributes = {
        name: random.choice(values) for name, values in choices.items() if random.random() < 0.6
    }
    return one_tensor(random)[0], attributes


def turned(random: Random) -> Drawn:
    choices = {"by": ("half", "whole", random.randint(1, 7)), "direction": ("left", "right")}
    attributes = {name: random.choice(values) for name, values in choices.items()}
    return [data(random, shape(random), precision(random))], attributes


def with_vector(random: Random, dimension: int) -> Drawn:
    """A tensor, and a vector with an entry for each index of a dimension."""
    rank = random.choice([each for each in RANKS if each > dimension])
    extents = shape(random, rank)
    vector = data(random, extents[dimension : dimension + 1], random.choice((1, 2, 8)))
    return [data(random, extents, precision(random, 16)), vector], {}


# ---------------------------------------------------------------- selected lists


def few_values(random: Random, extents: Shape, high: int = 32) -> Given:
    """Values of which many are equal."""
    bits = random.choice((1, 2, 2, 3, high))
    return data(random, extents, bits)


def listed(rank: int, high: int = 32, **choices: Any) -> Callable[[Random], Drawn]:
    """A tensor of the rank, long in its last dimension at times; attributes of these choices."""

    def draw(random: Random) -> Drawn:
        outer = tuple(random.randint(1, 3) for _ in range(rank - 1))
        inputs = [few_values(random, (*outer, random.choice((1, 2, 3, 7, 20, 40))), high)]
        return inputs, {name: random.choice(values) for name, values in choices.items()}

    return draw


# ---------------------------------------------------------------- tensors that may be empty


def with_zeros(random: Random, extents: Shape) -> Shape:
    """The shape with an extent of 0, or several, half of the time; at times none is left."""
    if random.random() < 0.1:
        return ()
    share = random.choice((0.0, 0.0, 0.2, 0.5))
    return tuple(0 if random.random() < share else extent for extent in extents)


def maybe_empty(
    rank: int | None = None, high: int = 32, most: int = MOST_ELEMENTS, **choices: Any
) -> Callable[[Random], Drawn]:
    """One tensor that may be empty, of any rank or of this one; attributes of these choices."""

    def draw(random: Random) -> Drawn:
        extents = shape(random, rank, most)
        found = with_zeros(random, extents)
        found = found if rank is None or found else (0,) * rank
        inputs: list[Given] = [data(random, found, precision(random, high))]
        return inputs, {name: random.choice(values) for name, values in choices.items()}

    return draw


def axis_sums(random: Random) -> Drawn:
    (tensor,), _ = maybe_empty(high=20)(random)
    assert isinstance(tensor, np.ndarray)
    axes = random.sample(range(tensor.ndim), random.randint(0, tensor.ndim))
    return [tensor], {"axes": tuple(axes)}


def joined(random: Random) -> Drawn:
    extents = list(shape(random, most=60))
    at = random.randrange(len(extents))
    if random.random() < 0.3:
        extents[random.randrange(len(extents))] = 0

    def part() -> Shape:
        return (*extents[:at], random.choice((0, 0, 1, 2, 3)), *extents[at + 1 :])

    bits = [precision(random) for _ in range(random.randint(1, 4))]
    return [[data(random, part(), each) for each in bits]], {"axis": at}


def weighted_rows(random: Random) -> Drawn:
    rows, columns, inner = random.randint(1, 3), random.randint(1, 3), random.choice((0, 0, 1, 5))
    weights = [data(random, (rows, inner), precision(random, 12)) for _ in range(2)]
    given = weights if random.random() < 0.5 else [weights[0], None]
    return [data(random, (rows, columns), precision(random, 24)), *given], {}


def shifted(random: Random) -> Drawn:
    extents = with_zeros(random, shape(random))
    other = data(random, extents, precision(random, 31)) if random.random() < 0.5 else None
    return [data(random, extents, precision(random, 31)), other], {}


def spread_maxima(random: Random) -> Drawn:
    size, stride, dilation = (random.choice((1, 2, 3)) for _ in range(3))
    length = (size - 1) * dilation + random.choice((1, 2, 7, 40))
    attributes = {"size": size, "stride": stride, "dilation": dilation}
    return [data(random, (random.choice((1, 3)), length), precision(random))], attributes


DRAW: dict[str, Callable[[Random], Drawn]] = {
    "extra.indices_of": maybe_empty(),
    "extra.total": maybe_empty(high=20),
    "extra.axis_sums": axis_sums,
    "extra.row_sums": maybe_empty(2, 20),
    "extra.row_tests": maybe_empty(2, bound=(-1, 0, 1)),
    "extra.largest_or": maybe_empty(bound=(-100, 0, 100)),
    "extra.joined": joined,
    "extra.largest_first": maybe_empty(2),
    "extra.turned_round": maybe_empty(repeats=(1, 2, 5)),
    "extra.stretched": maybe_empty(2, most=40, times=(-1, 0, 1, 2, 3)),
    "extra.spread_maxima": spread_maxima,
    "extra.shifted": shifted,
    "extra.weighted_rows": weighted_rows,
    "extra.first_extents": maybe_empty(high=24),
    "extra.remainders": maybe_empty(1, parts=(1, 2, 8)),
    "extra.argsort": listed(2),
    "extra.unique": listed(1),
    "extra.thinned": listed(1, distance=(0, 1, 2, 5)),
    "extra.crowded": listed(2, limit=(1, 2, 5)),
    "extra.best_rows": listed(3, 24, limit=(1, 2, 2**31 - 1)),
    "extra.partitioned": listed(1),
    "extra.chosen_sum": listed(2, 20, bound=(-1, 0, 1), least=(True, False), number=(0, 1, 3)),
    "extra.ascents": listed(1),
    "extra.ranks": listed(1),
    "extra.positive_in_order": listed(3),
    "extra.median": listed(2, columns=(True, False)),
    "extra.every_other": listed(1),
    "extra.masked_rows": lambda random: with_vector(random, 0),
    "extra.weighted_diagonal": lambda random: with_vector(random, 1),
    "extra.depth_to_space": depth_to_space,
    "extra.interleave": vectors,
    "extra.swap_ends": least_rank_two,
    "extra.choose": choose,
    **dict.fromkeys(
        (
            "extra.reverse",
            "extra.fourth_power",
            "extra.sign_and_size",
            "extra.magnitude_steps",
            "extra.weighted_edges",
        ),
        one_tensor,
    ),
    "extra.lead_add": lead_add,
    "extra.last_pair": last_pair,
    "extra.rotated_add": rotated_add,
    "extra.locals": local_names,
    "extra.more_locals": more_locals,
    "extra.list_where": list_where,
    "extra.scaled_product": scaled_product,
    "extra.batched_product": batched_product,
    "extra.mean_of_squares": least_rank_two,
    "extra.product": product,
    "extra.least": of_rank(1),
    "extra.divided": divided,
    "extra.signs": signs,
    "extra.running_sum": of_rank(1, 24),
    "extra.smoothed": smoothed,
    "extra.local_maximum": of_rank(2),
    "extra.alternating": of_rank(2),
    "extra.histogram": histogram,
    "extra.batched_range": of_rank(3, 31),
    "extra.truncated_mean": truncated_mean,
    "extra.polynomial": polynomial,
    "extra.row_extreme": row_extreme,
    "extra.padded_sums": padded_sums,
    "extra.totals": totals,
    "extra.turned": turned,
    "extra.limited": limited,
}
