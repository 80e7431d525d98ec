"""Powers of invented numbers: Python, both ways of C, and an independent library."""

from __future__ import annotations

import math
import struct
from random import Random

import numpy as np
import pytest

from tests.fuzz import seeds
from tests.test_powers import Many, all_ways, bits, compiled, nearest


@pytest.fixture(scope="module")
def in_c() -> Many:
    return compiled()


@pytest.fixture(scope="module")
def in_c_again() -> Many:
    return compiled("-DCVMGEN_POWER_AGAIN=true", "-O1")


def drawn(random: Random) -> tuple[float, float]:
    """A base and an exponent whose power is, most often, a finite number."""
    match random.randrange(6):
        case 0:  # any base, any exponent that it can have
            x = number(random)
            return x, random.uniform(-1100, 1100) / (math.log2(x) or 1)
        case 1:  # results without all bits
            x = number(random)
            return x, random.uniform(-1080, -1015) / (math.log2(x) or 1)
        case 2:  # near 1
            x = 1 + random.choice((1, 2, 3, 5, -1, -2, -7, 50)) * 2.0**-53
            return x, random.uniform(-1, 1) * 2.0 ** random.randrange(-8, 62)
        case 3:  # powers and roots with few digits
            root = random.randrange(1, 1 << random.randrange(2, 27))
            x = float(root * root) * 4.0 ** random.randrange(-20, 20)
            return x, random.choice((0.5, 1.5, -0.5, 2.5, 3.0, 0.25, -2.0))
        case 4:
            return random.uniform(0.5, 2), random.choice((3.0, 1.5, 0.5, 4.0, -1.0, 1 / 3))
        case _:
            return random.uniform(-10, 10), float(random.randrange(-30, 30))


def number(random: Random) -> float:
    """Any finite number above 0."""
    found: float = struct.unpack("d", struct.pack("Q", random.randrange(1, 0x7FF << 52)))[0]
    return found


@pytest.mark.parametrize("seed", seeds(6))
def test_powers_of_any_numbers(seed: int, in_c: Many, in_c_again: Many) -> None:
    random = Random(seed)
    pairs = [drawn(random) for _ in range(1000)]
    x, y = map(list, zip(*pairs, strict=True))
    exact, *others = all_ways(x, y, in_c, in_c_again)
    for found in others:
        assert bits(found) == bits(exact)
    for at in range(0, 1000, 20):
        if x[at] > 0:
            assert exact[at] == nearest(x[at], y[at]), (x[at].hex(), y[at].hex())


@pytest.mark.parametrize("seed", seeds(2))
def test_both_ways_of_c_decide_alike(seed: int, in_c: Many, in_c_again: Many) -> None:
    source = np.random.default_rng(seed)
    x, y = np.exp2(source.uniform(-60, 60, 4000)), source.uniform(-30, 30, 4000)
    assert bits(in_c(x, y)) == bits(in_c_again(x, y))
