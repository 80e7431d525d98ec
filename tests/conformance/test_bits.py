"""Bits and square roots of integers, at the ends of all types, on all targets."""

from __future__ import annotations

from math import isqrt
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.conformance.calls import Call, Conformance

TYPES = ("int8", "uint8", "int16", "uint16", "int32", "int64")
MASKS = (0, 255, -1, -4, 2**31 - 1, -(2**31))


def spread(dtype: str, random: Random, count: int = 48) -> np.ndarray[Any, Any]:
    """Ends of a type, numbers of few and of many bits, of both signs."""
    held = np.iinfo(dtype)
    ends = [held.min, held.max, 0, 1, held.max - 1, held.min + 1]
    drawn = [random.getrandbits(random.randint(1, held.bits - 1)) for _ in range(count - 6)]
    signs = [random.choice((1, -1 if held.min else 1)) for _ in drawn]
    values = [each * sign for each, sign in zip(drawn, signs, strict=True)]
    return np.array(random.sample(ends + values, count), dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_all_types(conformance: Conformance, dtype: str) -> None:
    random = Random(1)
    for mask in MASKS:
        X, Z = spread(dtype, random), spread(dtype, random)
        assert not conformance.check(Call("extra.bits", (X, Z), {"mask": mask})).refusal
    if dtype != "uint16":
        conformance.check(Call("extra.same_bits", (X, Z)))
    assert not conformance.check(Call("extra.roots", (X,))).refusal


def test_precisions(conformance: Conformance) -> None:
    random = Random(2)
    for bits in (1, 3, 7, 14):
        drawn = [random.choice((1, -1)) * random.getrandbits(bits) for _ in range(20)]
        for width in (1, 2, 10):
            X, Z = np.array(drawn[:width], np.int32), np.array(drawn[-width:], np.int32)
            call = Call("extra.bits_of_sums", (X, Z), {"a": random.randint(0, 999)})
            assert not conformance.check(call).refusal


def test_roots_next_to_squares(conformance: Conformance) -> None:
    """Where a double's root may be one too large, or one too small."""
    most = isqrt(2**63 - 1)
    roots = [most - k for k in range(20)] + [2**26 + k for k in range(-3, 4)] + [2**31, 94906267]
    values = [root * root + by for root in roots for by in (-1, 0)]
    call = Call("extra.roots", (np.array([*values, 2**63 - 1, -(2**63)], np.int64),))
    expected = conformance.check(call).outputs[0].values[::2]
    assert expected == [isqrt(max(each, 0)) for each in [*values, 2**63 - 1, -(2**63)]]
