"""Elements of tensors for calls that are drawn."""

from __future__ import annotations

import math
from collections.abc import Iterable
from random import Random
from typing import Any

from cvmgen.dtypes import DTYPES, DType, precision_bound
from cvmgen.reference.tensor import Tensor

SPECIAL_REALS = (math.nan, math.inf, -math.inf, -0.0)
Ends = tuple[float, float]


def sampled_elements(tensor: Tensor, pick: Random, ends: Iterable[Ends] = ()) -> list[Any]:
    """Values within the precision, its extremes and 0 often among them; of other types small
    ones, and now and then an end of the type or what only real numbers have. Those beyond `ends`
    give way to others."""
    dtype = DTYPES[tensor.dtype]
    low = max((least for least, _ in ends), default=-math.inf)
    high = min((most for _, most in ends), default=math.inf)
    drawn = drawn_elements(tensor, dtype, pick)
    if not ends or dtype.kind == "bool":
        return drawn
    return [each if low <= each <= high else _between(low, high, dtype, pick) for each in drawn]


def _between(low: float, high: float, dtype: DType, pick: Random) -> Any:
    """A value from `low` to `high`, as far as the type has one."""
    if dtype.kind == "real":
        known = [each for each in (low, high) if math.isfinite(each)]
        return pick.choice([*known, sum(known) / len(known)]) if known else 0.0
    least, most = max(low, dtype.low), min(high, dtype.high)
    return pick.randint(int(least), int(most)) if least <= most else 0


def drawn_elements(tensor: Tensor, dtype: DType, pick: Random) -> list[Any]:
    """Elements of which nothing is required."""
    if dtype.kind == "bool":
        return [pick.random() < 0.5 for _ in range(tensor.size)]
    if dtype.kind == "real":
        return [
            pick.choice(SPECIAL_REALS) if pick.random() < 0.1 else pick.randint(-12, 12) / 4
            for _ in range(tensor.size)
        ]
    if not tensor.precision:
        least, most = max(dtype.low, -9), min(dtype.high, 9)
        return [
            pick.choice((dtype.low, dtype.high))
            if pick.random() < 0.02
            else pick.randint(least, most)
            for _ in range(tensor.size)
        ]
    bound = precision_bound(tensor.precision)
    return [
        pick.choice((-bound, bound, 0)) if pick.random() < 0.3 else pick.randint(-bound, bound)
        for _ in range(tensor.size)
    ]
