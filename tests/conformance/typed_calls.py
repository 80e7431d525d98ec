"""Random calls of operators whose elements have types of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import prod
from random import Random
from typing import Any

import numpy as np

from tests.conformance.calls import Array, Given

Shape = tuple[int, ...]
Drawn = tuple[list[Given], dict[str, Any]]
INTEGERS = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16")
REALS = ("float32", "float64")
# What only real numbers have, a denormal of each size, and neighbours of rounding.
SPECIAL = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-40, -5e-324, 1.5, 2.5, 1 / 3, 3.4028236e38)


def elements(random: Random, shape: Sequence[int], dtype: str) -> Array:
    """Elements of a type, its ends and special values among them."""
    size = prod(shape)
    if dtype == "bool":
        values: list[Any] = [random.random() < 0.7 for _ in range(size)]
    elif np.dtype(dtype).kind == "f":
        values = [
            random.choice(SPECIAL)
            if random.random() < 0.15
            else random.choice((random.gauss(0, 10), float(random.randint(-4, 4))))
            for _ in range(size)
        ]
    else:
        ends = np.iinfo(dtype)
        # Mostly small: sums of ends fit no type.
        often = random.choice((0.0, 0.05, 0.5))
        values = [
            random.choice((ends.min, ends.max))
            if random.random() < often
            else random.randint(max(-9, ends.min), 9)
            for _ in range(size)
        ]
    with np.errstate(over="ignore"):
        return np.array(values, dtype=dtype).reshape(tuple(shape))


def small(random: Random, rank: int | None = None) -> Shape:
    ranks = (1, 1, 2, 2, 3, 4)
    return tuple(
        random.choice((1, 2, 3, 5)) for _ in range(random.choice(ranks) if rank is None else rank)
    )


def alike(*types: str, count: int = 1, rank: int | None = None) -> Callable[[Random], Drawn]:
    """Tensors of one shape and one of the types."""

    def draw(random: Random) -> Drawn:
        shape, dtype = small(random, rank), random.choice(types)
        return [elements(random, shape, dtype) for _ in range(count)], {}

    return draw


def extremes(random: Random) -> Drawn:
    inputs, _ = alike(*INTEGERS, *REALS)(random)
    return inputs, {"skip": random.random() < 0.5}


def distances(random: Random) -> Drawn:
    dtype, (n, m, k) = random.choice(REALS), small(random, 3)
    return [elements(random, (n, k), dtype), elements(random, (m, k), dtype)], {}


def dequantised(random: Random) -> Drawn:
    shape = small(random)
    values = elements(random, shape, random.choice(("int8", "int32")))
    ends = np.iinfo(values.dtype)
    return [np.maximum(values, ends.min + 1), elements(random, (1,), "float32")], {}


def quantised(random: Random) -> Drawn:
    inputs, _ = alike("float32")(random)
    return inputs, {"scale": random.choice((1, 16, 100))}


def compared(random: Random) -> Drawn:
    shape, kind = small(random), random.choice(("int16", "float64"))
    choice = random.choice(("bool", "int8", "int32", "float32"))
    pair: list[Given] = [elements(random, shape, kind) for _ in range(2)]
    if random.random() < 0.5:
        pair[1] = pair[0]
    return [*pair, elements(random, shape, choice)], {}


def stacked(random: Random) -> Drawn:
    dtype, shape = random.choice(("int32", "float64")), small(random, 1)
    rows: Given = [elements(random, shape, dtype) for _ in range(random.randint(1, 4))]
    weight = elements(random, (1,), dtype) if random.random() < 0.6 else None
    return [rows, weight], {}


def narrowed(random: Random) -> Drawn:
    one, other = random.choice(
        (("int8", "int16"), ("int16", "int8"), ("int32", "int64"), ("int64", "int64"))
    )
    shape = small(random)
    return [elements(random, shape, one), elements(random, shape, other)], {}


def merged(random: Random) -> Drawn:
    shape, dtype = small(random, 1), random.choice(("bool", "int16", "float32"))
    return [elements(random, shape, each) for each in ("int32", dtype, dtype)], {}


def row_totals(random: Random) -> Drawn:
    shape = tuple(random.choice((0, 1, 2, 5)) for _ in range(2))
    return [elements(random, shape, random.choice(("int8", "int64", "float32")))], {}


def chosen_rows(random: Random) -> Drawn:
    dtype = random.choice(("int32", "float64"))
    return [elements(random, small(random, 2), dtype), elements(random, (1,), dtype)], {}


def scores(random: Random) -> Drawn:
    """Small ones, and some that are worth tiles."""
    b, h, m = small(random, 3)
    n, k = random.choice(((2, 3), (5, 1), (17, 70)))
    return [elements(random, (b, h, m, k), "int8"), elements(random, (b, h, n, k), "int8")], {}


def unsigned_matrix(random: Random) -> Drawn:
    dtype, (m, k, n) = random.choice(UNSIGNED), small(random, 3)
    return [elements(random, (m, k), dtype), elements(random, (k, n), dtype)], {}


def unsigned_copies(random: Random) -> Drawn:
    """Mostly what the other type has too."""
    values = elements(random, small(random, 1), random.choice(("int8", "uint8", "int16")))
    return [values if random.random() < 0.2 else np.clip(values, 0, 127)], {}


def unsigned_quantised(random: Random) -> Drawn:
    return [elements(random, small(random, 1), "float32")], {"zero": random.choice((0, 128, 255))}


def bits(random: Random) -> Drawn:
    inputs, _ = alike(*INTEGERS, *UNSIGNED, count=2, rank=1)(random)
    return inputs, {"mask": random.choice((0, 255, -1, -4, 2**31 - 1))}


def bits_of_sums(random: Random) -> Drawn:
    (n,) = small(random, 1)
    dtypes = [random.choice(("int8", "int32")) for _ in range(2)]
    inputs = [np.array([random.randint(-99, 99) for _ in range(n)], each) for each in dtypes]
    return list(inputs), {"a": random.randrange(1000)}


DRAW: dict[str, Callable[[Random], Drawn]] = {
    "extra.bits": bits,
    "extra.same_bits": alike("int8", "uint8", "int16", "int32", "int64", count=2, rank=1),
    "extra.bits_of_sums": bits_of_sums,
    "extra.roots": alike(*INTEGERS, *UNSIGNED, rank=1),
    "extra.unsigned_sums": alike(*UNSIGNED, "int8", "int16", count=2, rank=1),
    "extra.unsigned_products": alike(*UNSIGNED, count=2, rank=1),
    "extra.unsigned_less": alike(*UNSIGNED, count=2, rank=1),
    "extra.unsigned_moves": alike(*UNSIGNED, rank=2),
    "extra.unsigned_matrix": unsigned_matrix,
    "extra.unsigned_copies": unsigned_copies,
    "extra.unsigned_quantised": unsigned_quantised,
    "extra.exact_totals": alike("int8", "int32", "int64", *REALS, rank=2),
    "extra.extremes": extremes,
    "extra.verdicts": alike("bool", rank=2),
    "extra.reversed_types": alike("bool", *INTEGERS, *REALS),
    "extra.floor_quotient": alike("float64", count=2),
    "extra.converted": alike("bool", "int8", "int64", *REALS),
    "extra.squares_and_roots": alike(*REALS),
    "extra.distances": distances,
    "extra.products": alike(*REALS),
    "extra.dequantised": dequantised,
    "extra.quantised": quantised,
    "extra.compared": compared,
    "extra.stacked": stacked,
    "extra.scores": scores,
    "extra.positive_places": alike("float64", rank=1),
    "extra.narrowed": narrowed,
    "extra.merged": merged,
    "extra.widened": alike("bool", *INTEGERS, *REALS),
    "extra.rounded_once": alike("float64"),
    "extra.product_and_sum": alike(*REALS, count=3),
    "extra.dot_products": distances,
    "extra.cut_parts": alike(*REALS, rank=1),
    "extra.running_sums": alike("int16", *REALS, rank=1),
    "extra.row_totals": row_totals,
    "extra.chosen_rows": chosen_rows,
}
