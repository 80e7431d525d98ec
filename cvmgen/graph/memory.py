"""Memory planning: tensors that are never needed at the same time may share bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cvmgen.memory import ALIGNMENT


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A tensor of `size` bytes that must stay as it is from step `first` to step `last`."""

    tensor: int
    size: int
    first: int
    last: int

    def meets(self, other: Lifetime) -> bool:
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Where each tensor starts in one block of memory.

    `peak_bytes` is the size of the block, `total_bytes` what it would be without sharing.
    """

    offsets: Mapping[int, int]
    peak_bytes: int
    total_bytes: int


def plan_memory(lifetimes: Iterable[Lifetime]) -> MemoryPlan:
    """Give each tensor an aligned offset that no tensor alive at the same time touches.

    The largest tensors come first, each into the tightest gap that holds it: the classic greedy
    rule, which is close to the optimum for the chains that networks are.
    """
    ordered = sorted(lifetimes, key=lambda one: (-one.size, one.first, one.tensor))
    offsets: dict[int, int] = {}
    placed: list[Lifetime] = []
    for lifetime in ordered:
        taken = sorted(
            (offsets[other.tensor], offsets[other.tensor] + cache_aligned(other.size))
            for other in placed
            if lifetime.meets(other)
        )
        offsets[lifetime.tensor] = _tightest_gap(taken, cache_aligned(lifetime.size))
        placed.append(lifetime)
    ends = (offsets[one.tensor] + cache_aligned(one.size) for one in ordered)
    return MemoryPlan(
        offsets, max(ends, default=0), sum(cache_aligned(one.size) for one in ordered)
    )


def cache_aligned(size: int) -> int:
    """`size` rounded up to whole cache lines."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def _tightest_gap(taken: list[tuple[int, int]], size: int) -> int:
    """The start of the smallest gap that holds `size` bytes, or the end of all that is taken."""
    best: tuple[int, int] | None = None
    end = 0
    for start, stop in taken:
        gap = start - end
        if gap >= size and (best is None or gap < best[0]):
            best = gap, end
        end = max(end, stop)
    return end if best is None else best[1]
