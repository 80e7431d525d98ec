"""What random calls are made of: shapes of any rank, precisions, tensors."""

from __future__ import annotations

from math import prod
from random import Random
from typing import Any

from tests.conformance.calls import Given, data

MOST_ELEMENTS = 240
RANKS = (1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 16)
EXTENTS = (1, 1, 2, 2, 3, 4, 5, 7)

Shape = tuple[int, ...]
Drawn = tuple[list[Given], dict[str, Any]]


def shape(random: Random, rank: int | None = None, most: int = MOST_ELEMENTS) -> Shape:
    """A shape of few elements; of a high rank, most extents are 1."""
    extents = [1] * (random.choice(RANKS) if rank is None else rank)
    for at in random.sample(range(len(extents)), len(extents)):
        room = most // prod(extents)
        extents[at] = random.choice([each for each in EXTENTS if each <= max(room, 1)])
    return tuple(extents)


def precision(random: Random, high: int = 32) -> int:
    return random.choice((1, 2, 7, 8, 9, high, random.randint(1, high)))


def axis(random: Random, rank: int) -> int:
    return random.randrange(-rank, rank)


def one_tensor(random: Random) -> Drawn:
    return [data(random, shape(random), precision(random))], {}
