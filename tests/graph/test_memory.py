"""Memory planning: no two tensors that are alive together share a byte."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from cvmgen.graph.memory import Lifetime, MemoryPlan, cache_aligned, plan_memory
from cvmgen.memory import ALIGNMENT


def assert_disjoint(lifetimes: list[Lifetime], layout: MemoryPlan) -> None:
    for one, other in combinations(lifetimes, 2):
        if not one.meets(other):
            continue
        first, second = sorted((one, other), key=lambda item: layout.offsets[item.tensor])
        end = layout.offsets[first.tensor] + first.size
        assert end <= layout.offsets[second.tensor], (one, other)


def busiest(lifetimes: list[Lifetime]) -> int:
    """The most bytes alive at one step: no layout can do with less."""
    steps = {one.first for one in lifetimes}
    return max(
        sum(cache_aligned(one.size) for one in lifetimes if one.first <= step <= one.last)
        for step in steps
    )


@given(
    st.lists(
        st.tuples(st.integers(1, 2000), st.integers(0, 12), st.integers(0, 4)),
        min_size=1,
        max_size=20,
    )
)
def test_live_tensors_never_overlap(rows: list[tuple[int, int, int]]) -> None:
    lifetimes = [
        Lifetime(index, size, first, first + length)
        for index, (size, first, length) in enumerate(rows)
    ]
    layout = plan_memory(lifetimes)
    assert_disjoint(lifetimes, layout)
    assert all(offset % ALIGNMENT == 0 for offset in layout.offsets.values())
    ends = [layout.offsets[one.tensor] + cache_aligned(one.size) for one in lifetimes]
    assert layout.peak_bytes == max(ends)
    assert layout.total_bytes == sum(cache_aligned(one.size) for one in lifetimes)
    assert busiest(lifetimes) <= layout.peak_bytes <= layout.total_bytes


def test_a_chain_takes_two_buffers() -> None:
    layout = plan_memory([Lifetime(index, 640, index, index + 1) for index in range(20)])
    assert layout.peak_bytes == 2 * 640
    assert layout.total_bytes == 20 * 640


def test_the_tightest_gap_is_taken() -> None:
    """Gaps of 192 and of 64 bytes are free at step 1; the small tensor fits the second."""
    rows = [
        Lifetime(0, 1024, 0, 9),
        Lifetime(1, 192, 0, 0),
        Lifetime(2, 128, 0, 9),
        Lifetime(3, 64, 0, 0),
        Lifetime(4, 64, 0, 9),
        Lifetime(5, 64, 1, 1),
    ]
    layout = plan_memory(rows)
    assert_disjoint(rows, layout)
    assert layout.peak_bytes == sum(row.size for row in rows[:5])


def test_nothing_takes_nothing() -> None:
    assert plan_memory([]) == MemoryPlan({}, 0, 0)
