"""The greatest and the least of integers that are terms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cvmgen.verification.values import terms as t


def maximum(values: Iterable[t.Integer]) -> t.Integer:
    return _extreme("max", values)


def minimum(values: Iterable[t.Integer]) -> t.Integer:
    return _extreme("min", values)


def _extreme(name: str, values: Iterable[t.Integer]) -> t.Integer:
    """The greatest or the least; nested ones are one, those that cannot be it are left out."""
    found: dict[Any, t.Integer] = {}
    for value in values:
        for inner in _members(name, value):
            found[t.key_of(inner)] = inner
    greatest = name == "max"
    pick, side = (max, 0) if greatest else (min, 1)
    for value in found.values():
        if isinstance(value, t.Term):
            t.tighten(value)
    # Every other is beyond this end, or is not needed: one value has it as its own.
    end = pick(t.bounds(value)[side] for value in found.values())
    left = {
        key: value
        for key, value in found.items()
        if (t.bounds(value)[1] > end if greatest else t.bounds(value)[0] < end)
    }
    if not any(t.bounds(value)[side] == end for value in left.values()):
        left[end] = end
    if len(left) == 1:
        return next(iter(left.values()))
    clamp = _clamp(name, left)
    if clamp is not None:
        return clamp
    low = pick(t.bounds(value)[0] for value in left.values())
    high = pick(t.bounds(value)[1] for value in left.values())
    if len(left) == 2 and t.key_of(t.negated(next(iter(left.values())))) in left:
        low, high = (max(low, 0), high) if greatest else (low, min(high, 0))  # a magnitude
    return t.atom((name, frozenset(left)), low, high)


def _members(name: str, value: t.Integer) -> list[t.Integer]:
    inner = t.single(value)
    if inner is not None and inner.key[0] == name:
        return [t.of_key(key) for key in inner.key[1]]
    return [value]


def _clamp(name: str, values: dict[Any, t.Integer]) -> t.Integer | None:
    """max(a, min(b, x)) with a <= b is min(b, max(a, x)): the latter stands for both."""
    if name != "max" or len(values) != 2:
        return None
    fixed = [value for value in values.values() if isinstance(value, int)]
    other = [t.single(value) for value in values.values() if isinstance(value, t.Term)]
    if not fixed or other[0] is None or other[0].key[0] != "min":
        return None
    inner = [t.of_key(key) for key in other[0].key[1]]
    ends = [value for value in inner if isinstance(value, int)]
    if not ends or ends[0] < fixed[0]:
        return None
    rest = minimum([value for value in inner if not isinstance(value, int)])
    return minimum([ends[0], maximum([fixed[0], rest])])
