"""Indices of formulas as axes of arrays: affine arithmetic that computes nothing.

An index of a formula is an axis. All free indices of a nest make one box: the last index is axis
0, the one before it axis 1, and so on, as numpy aligns shapes when it broadcasts; the indices of a
reduction are axes in front of the box around it.

The numpy target carries a copy of this file beside its operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Digit = tuple[int, int, int]  # (axis, unit, extent): the place on an axis in units, cut by a count
Term = tuple[int | Digit, int, int]  # axis or digit of one, step, count
BEYOND = 1 << 10  # the axes of boxes are below


class Index:
    """The integers start + step * k + ..., for k below the count of each axis.

    A term may also go by a digit of the place k on an axis: k // unit % count.
    """

    __slots__ = ("start", "terms")
    __array_priority__ = 1000  # numpy leaves operators to this class

    def __init__(self, start: int, terms: tuple[Term, ...]) -> None:
        self.start = start
        self.terms = terms

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the greatest value."""
        low = high = self.start
        for _, step, count in self.terms:
            reach = step * (count - 1)
            low, high = low + min(reach, 0), high + max(reach, 0)
        return low, high

    @property
    def empty(self) -> bool:
        return any(count == 0 for _, _, count in self.terms)

    def array(self) -> Array:
        """The values along their axes."""
        low, high = self.ends
        beyond = low < -(1 << 63) or high >= 1 << 63
        found: Any = np.asarray(self.start, object) if beyond else np.int64(self.start)
        for at, step, count in self.terms:
            axis, unit, extent = at if isinstance(at, tuple) else (at, 1, count)
            digits = np.arange(extent) // unit % max(count, 1)
            digits = digits.reshape(extent, *[1] * axis)
            found = found + step * (digits.astype(object) if beyond else digits)
        return np.asarray(found)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.array() if dtype is None else self.array().astype(dtype)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Index):
            steps = {(at, count): step for at, step, count in self.terms}
            for at, step, count in other.terms:
                steps[at, count] = steps.get((at, count), 0) + step
            terms = tuple((at, step, count) for (at, count), step in steps.items())
            return Index(self.start + other.start, terms)
        if is_integer(other):
            return Index(self.start + int(other), self.terms)
        return self.array() + other

    def __mul__(self, other: Any) -> Any:
        if is_integer(other):
            factor = int(other)
            terms = tuple((axis, step * factor, count) for axis, step, count in self.terms)
            return Index(self.start * factor, terms)
        return self.array() * np.asarray(other)

    def __neg__(self) -> Any:
        return self * -1

    def __abs__(self) -> Array:
        return np.abs(self.array())

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    __radd__ = __add__
    __rmul__ = __mul__

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def digits(self, divisor: Any) -> tuple[Any, Any] | None:
        """Quotient and remainder where both are affine: the steps that the divisor divides make
        the quotient, if what is left stays in one run of `divisor` numbers. Those of the place on
        an axis are digits of it, if the divisor divides its extent."""
        if not is_integer(divisor) or divisor <= 0:
            return None
        divisor = int(divisor)
        match self.start, self.terms:
            case 0, ((int() as axis, 1, count),) if 1 < divisor < count and count % divisor == 0:
                quotient = ((axis, divisor, count), 1, count // divisor)
                return Index(0, (quotient,)), Index(0, (((axis, 1, count), 1, divisor),))
            case _:
                pass
        upper = tuple((a, step // divisor, n) for a, step, n in self.terms if step % divisor == 0)
        rest = Index(self.start, tuple(each for each in self.terms if each[1] % divisor))
        low, high = rest.ends
        if low // divisor != high // divisor:
            return None
        return Index(low // divisor, upper), rest - low // divisor * divisor

    def __floordiv__(self, other: Any) -> Any:
        found = self.digits(other)
        return found[0] if found else self.array() // np.asarray(other)

    def __mod__(self, other: Any) -> Any:
        found = self.digits(other)
        return found[1] if found else self.array() % np.asarray(other)

    def __rfloordiv__(self, other: Any) -> Any:
        return other // self.array()

    def __rmod__(self, other: Any) -> Any:
        return other % self.array()

    def __rshift__(self, other: Any) -> Any:
        return self // (1 << int(other)) if is_integer(other) else self.array() >> other

    def __lshift__(self, other: Any) -> Any:
        return self * (1 << int(other)) if is_integer(other) else self.array() << other

    def __and__(self, other: Any) -> Any:
        return self.array() & np.asarray(other)

    def __or__(self, other: Any) -> Any:
        return self.array() | np.asarray(other)

    def __xor__(self, other: Any) -> Any:
        return self.array() ^ np.asarray(other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> Any:
        return -1 - self

    def __pow__(self, other: Any) -> Any:
        return self.array() ** np.asarray(other)

    def __rrshift__(self, other: Any) -> Any:
        return other >> self.array()

    def __rlshift__(self, other: Any) -> Any:
        return other << self.array()

    def __rpow__(self, other: Any) -> Any:
        return other ** self.array()

    def __lt__(self, other: Any) -> Any:
        """Known for all values at once, or one by one; so are the other comparisons."""
        if is_integer(other):
            low, high = self.ends
            if high < other or low >= other:
                return bool(high < other)
        return self.array() < np.asarray(other)

    def __ge__(self, other: Any) -> Any:
        return np.logical_not(self < other)

    def __le__(self, other: Any) -> Any:
        return self < other + 1

    def __gt__(self, other: Any) -> Any:
        return np.logical_not(self <= other)

    def __eq__(self, other: Any) -> Any:
        return self.array() == np.asarray(other)

    def __ne__(self, other: Any) -> Any:
        return self.array() != np.asarray(other)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Split:
    """An extent of two axes, of quotients and remainders; if there is a remainder of all, it is
    that of the first one."""

    extent: int
    divisor: int

    @property
    def extents(self) -> tuple[int, int]:
        whole = self.divisor > 0 and self.extent % self.divisor == 0
        return (self.extent // self.divisor, self.divisor) if whole else (self.extent, 1)


def is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer))


def axes(*extents: Any, inside: int = 0) -> Any:
    """Indices that run over these extents, a tuple of them for a list of extents.

    `inside` is how many axes the box has that they stand in front of.
    """
    axis = inside + sum(map(axis_count, extents))
    found: list[Any] = []
    for each in extents:
        axis -= axis_count(each)
        if is_integer(each):
            found.append(along(axis, each))
        elif isinstance(each, Split):
            quotients, remainders = each.extents
            found.append(along(axis + 1, quotients) * remainders + along(axis, remainders))
        else:
            last = axis + len(each) - 1
            found.append(tuple(along(last - at, extent) for at, extent in enumerate(each)))
    return found[0] if len(found) == 1 else tuple(found)


def axis_count(extent: Any) -> int:
    return 1 if is_integer(extent) else 2 if isinstance(extent, Split) else len(extent)


def along(axis: int, extent: Any) -> Index:
    return Index(0, ((axis, 1, max(int(extent), 0)),))


def span(low: int, high: int, number: int) -> Index:
    """An index over a range, on an axis that no box has."""
    return Index(low, ((BEYOND + number, 1, max(high - low, 0)),))


def placed(slots: Sequence[int], entries: Sequence[Any], around: Sequence[Any] = ()) -> list[Any]:
    """A multi-index with these entries at some of its places; `around` has the others."""
    found = [*around, *[0] * (max(slots, default=-1) + 1 - len(around))]
    for slot, entry in zip(slots, entries, strict=True):
        found[slot] = entry
    return found


def axis_counts(indices: Sequence[Index]) -> dict[int, int]:
    """The axes that plain indices run along, and how far."""
    return {at: count for each in indices for at, _, count in each.terms if isinstance(at, int)}


def longest(low: Any, high: Any) -> int:
    """How many numbers the longest of some ranges has."""
    lengths = np.asarray(high) - np.asarray(low)
    return max(int(lengths.max()), 0) if lengths.size else 0
