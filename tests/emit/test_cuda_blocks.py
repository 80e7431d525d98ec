"""What the threads of a block do together, on the CPU: the same for every block and every order."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cvmgen.api.c_backend import ErrorStruct
from cvmgen.api.cuda_cpu_backend import FORWARD, PRELUDE, RANDOM, REVERSE, State
from cvmgen.build import compile_library, cuda_compiler, cuda_resources
from cvmgen.emit import cuda_support
from cvmgen.errors import BuildError

SOURCE = Path(__file__).with_name("blocks.cu")
BLOCKS = (1, 5, 32, 33, 256)  # threads
TURNS = (FORWARD, REVERSE, RANDOM)  # of threads
ROWS = 4  # one more than blocks: they stride
LENGTHS = (0, 1, 2, 5, 31, 32, 33, 64, 100, 257, 700, 2500)


@dataclass(frozen=True)
class Blocks:
    """The functions of blocks.cu, and the state of the device that they run on."""

    library: ctypes.CDLL
    state: State

    def fix(self, blocks: int = 0, threads: int = 0, order: int = FORWARD) -> None:
        self.state.blocks, self.state.threads, self.state.order = blocks, threads, order

    def run(self, name: str, *arguments: Any) -> None:
        error = ErrorStruct()
        status = self.library[name](ctypes.byref(error), *map(argument, arguments))
        assert status == 0, error.rule

    def scratch(self, count: int, stream: int | None = None) -> tuple[int, bytes]:
        error = ErrorStruct()
        given = (ctypes.c_void_p(stream), ctypes.c_int64(count))
        return self.library["run_scratch"](ctypes.byref(error), *given), error.rule


def argument(value: Any) -> Any:
    return ctypes.c_int64(value) if isinstance(value, int) else ctypes.c_void_p(value.ctypes.data)


@pytest.fixture(scope="module")
def loaded() -> Blocks:
    sources = {**cuda_support.emit_support(), SOURCE.name: SOURCE.read_text()}
    opened = ctypes.CDLL(str(compile_library(sources, name="blocks", prelude=PRELUDE)))
    opened.cvmgen_cpu_this_thread.restype = ctypes.POINTER(State)
    return Blocks(opened, opened.cvmgen_cpu_this_thread().contents)


@pytest.fixture(params=[(threads, order) for threads in BLOCKS for order in TURNS], ids=str)
def blocks(request: pytest.FixtureRequest, loaded: Blocks) -> Iterator[Blocks]:
    loaded.fix(ROWS - 1, *request.param)
    yield loaded
    loaded.fix()
    assert loaded.state.allocations == 0


# ---------------------------------------------------------------- what blocks find


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
def test_ranks_compact_in_order(blocks: Blocks, share: float) -> None:
    source = np.random.default_rng(1)
    for length in LENGTHS:
        holds = (source.random((ROWS, length)) < share).astype(np.int8)
        found, counts = np.full((ROWS, length), -1), np.empty(ROWS, np.int64)
        blocks.run("run_select", holds, ROWS, length, found, counts)
        for row in range(ROWS):
            (expected,) = holds[row].nonzero()
            assert counts[row] == len(expected)
            assert found[row].tolist() == [*expected, *[-1] * (length - len(expected))]


def test_bits_of_all_threads(blocks: Blocks) -> None:
    source = np.random.default_rng(2)
    for length in (1, 33, 300):
        values = np.uint64(1) << source.integers(0, 64, (ROWS, length)).astype(np.uint64)
        joint = np.empty(ROWS, np.uint64)
        blocks.run("run_or", values, ROWS, length, joint)
        assert (joint == np.bitwise_or.reduce(values, axis=1)).all()


@pytest.mark.parametrize("share", [0.0, 0.01, 0.2, 1.0])
def test_keeping_those_that_are_not_ruled_out(blocks: Blocks, share: float) -> None:
    source = np.random.default_rng(4)
    for length in (1, 63, 64, 65, 200):
        pairs = source.random((ROWS, length, length)) < share
        kept = np.empty((ROWS, columns(length)), np.uint64)
        blocks.run("run_keep", mask_of(pairs), ROWS, length, kept)
        for row in range(ROWS):
            assert bits_of(kept[row], length) == keep_in_turn(pairs[row])


def columns(length: int) -> int:
    return (length + 63) // 64


def mask_of(pairs: Any) -> Any:
    """The words by row, column and candidate; those that no one reads are not defined."""
    rows, length, _ = pairs.shape
    places = np.arange(length)
    wide = np.zeros((rows, length, 64 * columns(length)), np.uint64)
    wide[..., :length] = pairs & (places[:, None] <= places)
    words = wide.reshape(rows, length, -1, 64) << np.arange(64, dtype=np.uint64)
    found = np.bitwise_or.reduce(words, axis=3).swapaxes(1, 2).copy()
    found[:, places // 64 > np.arange(columns(length))[:, None]] = 2**64 - 1
    return found


def bits_of(words: Any, length: int) -> list[int]:
    return [at for at in range(length) if int(words[at // 64]) >> at % 64 & 1]


def keep_in_turn(pairs: Any) -> list[int]:
    kept: list[int] = []
    for at in range(len(pairs)):
        if not pairs[at, at] and not pairs[kept, at].any():
            kept.append(at)
    return kept


HOLDS = [
    ([0], "one that does not"),
    ([1], "one that does"),
    ([1, 1, 1, 1, 1], "all"),
    ([0, 0, 0, 0, 0], "none"),
    ([1, 1, 1, 1, 0], "the last not"),
    ([0, 0, 1, 0, 0], "one"),
    ([1] * 32 + [0], "the second warp not"),
    ([0] * 200 + [1], "a late warp alone"),
]


@pytest.mark.parametrize(("row", "why"), HOLDS, ids=[row[-1] for row in HOLDS])
def test_votes_are_of_all_threads(blocks: Blocks, row: list[int], why: str) -> None:
    seen = row[: blocks.state.threads]
    holds, votes = np.array([row] * ROWS, np.int8), np.empty((ROWS, 3), np.int64)
    blocks.run("run_vote", holds, ROWS, len(row), votes)
    assert votes.tolist() == [[sum(seen), all(seen), any(seen)]] * ROWS, why


@pytest.mark.parametrize(("width", "values"), [(1, 5), (1, 10**9), (2, 3), (3, 2), (0, 1)])
def test_sorting_is_stable(blocks: Blocks, width: int, values: int) -> None:
    source = np.random.default_rng(values)
    for length in LENGTHS:
        keys = source.integers(-values, values, (ROWS, length, width))
        compare_sorted(blocks, keys)


ORDERS = [
    (list(range(600)), "ascending"),
    (list(range(600, 0, -1)), "descending"),
    ([7] * 600, "equal"),
    ([i % 2 for i in range(600)], "two values in turn"),
    ([*range(300), *range(300)], "two runs"),
    ([2**63 - 1, -(2**63), 0, -1, 2**63 - 1, -(2**63)], "the ends of 64 bits"),
]


@pytest.mark.parametrize(("row", "why"), ORDERS, ids=[row[-1] for row in ORDERS])
def test_sorting_of_keys_in_some_order(blocks: Blocks, row: list[int], why: str) -> None:
    compare_sorted(blocks, np.array([row] * ROWS, np.int64)[..., None])


def compare_sorted(blocks: Blocks, keys: Any) -> None:
    rows, length, width = keys.shape
    kept, found = keys.copy(), np.empty((rows, length), np.int64)
    blocks.run("run_sort", keys, width, rows, length, found)
    assert (keys == kept).all()
    for row in range(rows):
        order = kept[row].tolist()
        assert found[row].tolist() == sorted(range(length), key=order.__getitem__)


def test_large_lists_sort(loaded: Blocks) -> None:
    keys = np.random.default_rng(3).integers(0, 5000, (2, 20000, 1))
    compare_sorted(loaded, keys)
    assert (loaded.state.ran_blocks, loaded.state.ran_threads) == (2, cuda_support.BLOCK)


# ---------------------------------------------------------------- launching and memory


def test_a_block_for_each_item_as_far_as_the_grid_goes(loaded: Blocks) -> None:
    for rows, blocks in ((1, 1), (300, 300), (cuda_support.BLOCKS + 5, cuda_support.BLOCKS)):
        counts = np.zeros(rows, np.int64)
        loaded.run("run_count", rows, counts)
        assert (loaded.state.ran_blocks, loaded.state.ran_threads) == (blocks, cuda_support.BLOCK)
        assert (counts == cuda_support.BLOCK).all()


def test_nothing_is_launched_for_nothing(loaded: Blocks) -> None:
    before = loaded.state.launches
    loaded.run("run_count", 0, np.empty(0, np.int64))
    assert loaded.state.launches == before


SCRATCH = [
    (0, 0, 0, b"", "no entries are memory too"),
    (1000, 0, 0, b"", "some"),
    (1000, 7999, 3, b"CUDA: out of memory", "more than there is"),
    (-1, 0, 3, b"CUDA: out of memory", "a number that overflowed"),
    (1 << 60, 0, 3, b"CUDA: out of memory", "more than addresses reach"),
    (1 << 61, 0, 3, b"CUDA: out of memory", "bytes that overflow to 0"),
]


@pytest.mark.parametrize(
    ("count", "limit", "status", "rule", "why"), SCRATCH, ids=[row[-1] for row in SCRATCH]
)
def test_scratch_memory(
    count: int, limit: int, status: int, rule: bytes, why: str, loaded: Blocks
) -> None:
    loaded.state.memory = limit
    assert loaded.scratch(count, stream=0x6000) == (status, rule), why
    loaded.state.memory = 0
    assert loaded.state.pending_error == 0
    assert loaded.state.allocations == 0


MASKS = [
    (1, 1, 1, "one word"),
    (3, 65, 3 * 65 * 2, "two columns"),
    (0, 65, 0, "no list"),
    (5, 0, 0, "no candidate"),
    (1, 46336, 46336 * 724, "nearly all that there is memory for"),
    (1, 46400, 0, "too many candidates"),
    (2, 46336, 0, "too many lists"),
    (1 << 62, 1 << 62, 0, "numbers that overflow"),
    (1, 2**63 - 1, 0, "and those that do at once"),
]


@pytest.mark.parametrize(("lists", "most", "words", "why"), MASKS, ids=[row[-1] for row in MASKS])
def test_the_size_of_masks(lists: int, most: int, words: int, why: str, loaded: Blocks) -> None:
    loaded.library.mask_words.restype = ctypes.c_int64
    assert loaded.library.mask_words(ctypes.c_int64(lists), ctypes.c_int64(most)) == words, why


def test_scratch_memory_is_of_the_stream(loaded: Blocks) -> None:
    loaded.scratch(5, stream=0x7000)
    assert loaded.state.stream == 0x7000


# ---------------------------------------------------------------- faults of kernels

FAULTS = [
    (0, "thread 0 waits at blocks.cu:{0} for thread 3, which has ended", "a thread leaves"),
    (1, "thread 0 waits at blocks.cu:{0} for thread 2, which waits at blocks.cu:{1}", "two places"),
    (2, "thread 1 waits at blocks.cu:{0} for thread 0, which has ended", "rounds differ"),
    (3, "thread 1 waits at blocks.cu:{0} for thread 0, which has ended", "a lane of a warp"),
]


@pytest.mark.parametrize("order", TURNS)
@pytest.mark.parametrize(("which", "text", "why"), FAULTS, ids=[row[-1] for row in FAULTS])
def test_a_barrier_that_threads_do_not_reach(
    which: int, text: str, why: str, order: int, loaded: Blocks
) -> None:
    loaded.fix(1, 40, order)
    error, numbers = ErrorStruct(), np.zeros(256, np.int64)
    status = loaded.library.run_fault(ctypes.byref(error), which, argument(numbers))
    loaded.fix()
    assert status == 3, why
    assert error.rule.decode() == f"CUDA: block 0: {text.format(*barriers(which))}", why
    assert loaded.state.pending_error == 0


def barriers(which: int) -> list[int]:
    """The lines of the barriers in the kernel of a fault."""
    lines = SOURCE.read_text().splitlines()
    faults = [at for at, line in enumerate(lines) if line.startswith("KERNEL")][-4:]
    after = [*faults, len(lines)][which + 1]
    marks = ("__syncthreads", "__ballot_sync")
    return [at + 1 for at in range(faults[which], after) if any(m in lines[at] for m in marks)]


# ---------------------------------------------------------------- compilation


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_120"])
def test_kernels_compile_without_spills(architecture: str) -> None:
    try:
        cuda_compiler()
    except BuildError as error:
        pytest.skip(str(error))
    found = cuda_resources(
        SOURCE.read_text(),
        architecture=architecture,
        includes=cuda_support.emit_support(),
        name=SOURCE.name,
    )
    assert len(found) == SOURCE.read_text().count("KERNEL blocks_")
    assert {name: each.spilled for name, each in found.items() if each.spilled} == {}
    most = 65536 // (cuda_support.BLOCK * cuda_support.RESIDENT)
    assert max(each.registers for each in found.values()) <= most
