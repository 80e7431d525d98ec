"""Which banks of shared memory the lanes of a warp meet in, by the formulas of the header.

A warp moves 128 bytes of shared memory at once, 4 from each bank: of accesses of 16 bytes those of
8 lanes, of 8 bytes those of 16, of 4 bytes those of all; of ldmatrix the 8 lines of a matrix. Where
two of these want other words of one bank, they take turns.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import pytest

from cvmgen.api.cuda_cpu_backend import PRELUDE
from cvmgen.build import compile_library
from cvmgen.emit import cuda_support

SOURCE = """
#include "cvmgen_tiles.h"
#define BOTH(name, value)                                                     \\
    template <int SIDE>                                                       \\
    static uint32_t name([[maybe_unused]] uint32_t i, [[maybe_unused]] uint32_t j) { \\
        return value;                                                         \\
    }                                                                         \\
    extern "C" uint32_t name##_128(uint32_t thread, uint32_t i, uint32_t j) { \\
        threadIdx.x = thread;                                                 \\
        return name<128>(i, j);                                               \\
    }                                                                         \\
    extern "C" uint32_t name##_64(uint32_t thread, uint32_t i, uint32_t j) {  \\
        threadIdx.x = thread;                                                 \\
        return name<64>(i, j);                                                \\
    }
BOTH(lane_row, (cvmgen_lane_row<SIDE>() ^ 32 * j) + 16 * i * CVMGEN_SLICE)
BOTH(lane_column, (cvmgen_lane_column<SIDE>() ^ 32 * j) + 16 * i * CVMGEN_SLICE)
BOTH(staged_row, cvmgen_chunk(threadIdx.x / 4 + 64 * i, threadIdx.x % 4))
BOTH(staged_elements, cvmgen_chunk(threadIdx.x % SIDE, threadIdx.x / SIDE * (SIDE / 64) + i))
BOTH(dp4a_row, cvmgen_chunk(cvmgen_sums<SIDE>::first_row() + threadIdx.x % 32 / 4 + 8 * i, j))
BOTH(dp4a_column,
     cvmgen_chunk(cvmgen_sums<SIDE>::first_column() + threadIdx.x % 4 * 2 + i % 2 + i / 2 * 8, j))
BOTH(total_written, 4 * (cvmgen_first_total<SIDE>() + cvmgen_total<SIDE>(8 * i, 8 * j)))
BOTH(total_read, 4 * cvmgen_total<SIDE>(threadIdx.x / SIDE + 256 / SIDE * i, threadIdx.x % SIDE))
"""


@dataclass(frozen=True)
class Access:
    """What each lane moves: so many bytes, for each i and j below these."""

    name: str
    bytes: int
    counts: Callable[[int], tuple[int, int]]  # by the side of a tile


ACCESSES = [
    Access("lane_row", 16, lambda side: (side // 32, 2)),
    Access("lane_column", 16, lambda side: (side // 64, 2)),
    Access("staged_row", 16, lambda side: (side // 64, 1)),
    Access("staged_elements", 16, lambda side: (side // 64, 1)),
    Access("dp4a_row", 16, lambda side: (side // 16, 4)),
    Access("dp4a_column", 16, lambda side: (side // 16, 4)),
    Access("total_written", 8, lambda side: (4, side // 32)),
    Access("total_read", 4, lambda side: (side // 4, 1)),
]


@cache
def formulas() -> ctypes.CDLL:
    sources = {**cuda_support.emit_support(), "banks.cu": SOURCE}
    return ctypes.CDLL(str(compile_library(sources, name="banks", prelude=PRELUDE)))


def turns(places: Sequence[int], size: int) -> int:
    """How often a bank is wanted for another word, at most, by lanes that go together."""
    words = {place // 4 + word for place in places for word in range(size // 4)}
    banks = [word % 32 for word in words]
    return max(map(banks.count, set(banks)))


@pytest.mark.parametrize("side", [128, 64])
@pytest.mark.parametrize("access", ACCESSES, ids=lambda each: each.name)
def test_no_lanes_take_turns(access: Access, side: int) -> None:
    place = getattr(formulas(), f"{access.name}_{side}")
    group = 128 // access.bytes
    for i in range(access.counts(side)[0]):
        for j in range(access.counts(side)[1]):
            for first in range(0, 256, group):
                places = [place(thread, i, j) for thread in range(first, first + group)]
                assert all(each % access.bytes == 0 for each in places)
                assert turns(places, access.bytes) == 1, (i, j, first)


def test_turns_are_counted() -> None:
    assert turns([0, 4, 8], 4) == 1
    assert turns([0, 0, 0], 4) == 1  # one word for all
    assert turns([0, 128, 256], 4) == 3
    assert turns([0, 64, 128], 16) == 2


@pytest.mark.parametrize("side", [128, 64])
def test_totals_fill_sectors(side: int) -> None:
    """A warp takes 32 neighbouring totals of a row: of int8 a sector of 32 bytes, of int32 four."""
    for warp in range(8):
        lanes = range(32 * warp, 32 * warp + 32)
        assert len({lane // side for lane in lanes}) == 1
        assert [lane % side for lane in lanes] == list(range(lanes[0] % side, lanes[0] % side + 32))
