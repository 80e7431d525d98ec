"""Lists, sets, boxes and scalars in generated Python operators: what their loops compute with.

The python target carries a copy of this file beside its operators.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import product as _product
from math import prod

from ._rules import MAX_RANK


def ascending(entries: Iterable[int]) -> tuple[int, ...]:
    """A set: each entry once, in ascending order."""
    return tuple(sorted(set(entries)))


def difference(one: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
    return tuple(entry for entry in one if entry not in other)


def union(one: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
    return ascending((*one, *other))


def size(extents: Sequence[int]) -> int:
    return prod(extents)


def strides(extents: Sequence[int]) -> list[int]:
    """Row-major strides, in elements."""
    found = [1] * len(extents)
    for at in range(len(extents) - 2, -1, -1):
        found[at] = found[at + 1] * extents[at + 1]
    return found


def indices(extents: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every multi-index of a box, the last dimension fastest."""
    return _product(*map(range, extents))


def placed(
    slots: Sequence[int], extents: Sequence[int], around: Sequence[int] = ()
) -> Iterator[list[int]]:
    """Every multi-index of a box, its entries at these places of a pack; `around` has others."""
    for index in indices(extents):
        pack = [*around, *[0] * (MAX_RANK - len(around))]
        for slot, entry in zip(slots, index, strict=True):
            pack[slot] = entry
        yield pack


def dot(steps: Sequence[int], index: Sequence[int]) -> int:
    return sum(step * entry for step, entry in zip(steps, index, strict=False))


def flatten_index(index: Sequence[int], extents: Sequence[int]) -> int:
    position = 0
    for entry, extent in zip(index, extents, strict=True):
        position = position * extent + entry
    return position


def unflatten(position: int, extents: Sequence[int]) -> tuple[int, ...]:
    index = []
    for extent in reversed(extents):
        position, entry = divmod(position, extent)
        index.append(entry)
    return tuple(reversed(index))


def among(value: int, values: list[int], start: int, count: int) -> bool:
    """Whether a value is among the `count` ascending ones from `start` on."""
    at = bisect_left(values, value, start, start + count)
    return at < start + count and values[at] == value


def sort(values: list[int], start: int, count: int, keys: list[int], width: int) -> None:
    """Put values[start : start + count] in ascending order of their keys; equal keys keep theirs.

    The key of values[r] is the row keys[r * width : (r + 1) * width], as it stands at the call.
    """
    rows = range(start, start + count)
    if width == 1:
        order = sorted(rows, key=keys.__getitem__)
    else:
        order = sorted(rows, key=lambda row: keys[row * width : (row + 1) * width])
    values[start : start + count] = [values[row] for row in order]


# ---------------------------------------------------------------- scalars


def truncdiv(left: int, right: int) -> int:
    """Quotient toward zero."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def floordiv(value: int, divisor: int) -> int:
    """The quotient rounded down; by 0, of which no element comes, 0."""
    return value // divisor if divisor else 0


def mod(value: int, divisor: int) -> int:
    """What a quotient rounded down leaves."""
    return value % divisor if divisor else 0


def ceildiv(left: int, right: int) -> int:
    return -(-left // right)


def floor_log2(value: int) -> int:
    return value.bit_length() - 1


def isqrt(value: int) -> int:
    """The square root rounded down; of a number below 0, of which no element comes, 0."""
    return math.isqrt(max(value, 0))


def ceil_log2(value: int) -> int:
    return (value - 1).bit_length()
