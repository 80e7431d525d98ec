"""Intervals of integers, which tell whether a target may saturate in them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cvmgen import ranges
from cvmgen.ranges import Range
from cvmgen.rules import MOST_NAMED

COMPUTED = (1 << 126) - 1  # the largest value of an operation
KEPT = (1 << 63) - 1  # of an entry of a list, a sum or a product on the way, an index
BEYOND = 1 << 200  # as good as no bound


@dataclass(frozen=True, slots=True)
class Bounds(Range):
    """All integers low <= value <= high. A `far` one may be saturated."""

    far: bool = False

    def join(self, other: Range) -> Bounds:
        far = self.far or (isinstance(other, Bounds) and other.far)
        return bounds(Range.join(self, other), far=far)

    def holds(self, value: int) -> bool:
        return self.low <= value <= self.high

    def within(self, most: int) -> bool:
        return -most <= self.low and self.high <= most

    def cut(self, most: int) -> Bounds:
        low, high = (min(max(end, -most), most) for end in (self.low, self.high))
        return Bounds(low, high, self.far)

    def held(self, most: int, *parts: Bounds) -> Bounds:
        """What is made of `parts`, where a target holds no more than `most`."""
        far = not self.within(most) or any(part.far for part in parts)
        return replace(self.cut(BEYOND), far=far and not self.within(MOST_NAMED))

    @property
    def negative(self) -> Bounds:
        return bounds(ranges.negative(self), far=self.far)


def bounds(found: Range, *, far: bool = False) -> Bounds:
    return Bounds(found.low, found.high, far)


def hull_of(found: list[Bounds]) -> Bounds:
    result = found[0] if found else Bounds(0, 0)
    for each in found[1:]:
        result = result.join(each)
    return result


def power_bounds(base: Bounds, exponent: Bounds) -> Bounds:
    return bounds(ranges.power(base.cut(BEYOND), exponent))


def repeated_bounds(function: str, body: Bounds, often: int) -> Bounds:
    match function:
        case "sum":
            return Bounds(min(body.low, 0) * often, max(body.high, 0) * often)
        case "prod":
            return power_bounds(body.join(Bounds(1, 1)), Bounds(0, often))
        case _:
            return body
