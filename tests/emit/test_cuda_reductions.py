"""Reductions by teams of threads, on the CPU: every way to divide them gives the same bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from cvmgen.api.cuda_cpu_backend import ThreadOrder
from cvmgen.emit import cuda_support
from cvmgen.errors import OperatorError
from tests.emit.cuda_texts import classes, text
from tests.emit.on_cpu import OnCpu

BLOCK = cuda_support.BLOCK
# The shape, the axes, what is launched: how many kernels, blocks and threads of the last; why.
WAYS = [
    ((5,), (0,), (1, 1, BLOCK), "short: a thread for all"),
    ((9, 7), (1,), (1, 1, BLOCK), "short rows: a thread for each"),
    ((700, 100), (1,), (1, 44, BLOCK), "rows: half a warp for each"),
    ((30, 3, 200), (2,), (1, 12, BLOCK), "rows: a warp for each"),
    ((7, 300), (1,), (1, 7, 64), "longer rows: a small block for each"),
    ((1000,), (0,), (1, 1, 128), "one row: a block"),
    ((2, 3000), (1,), (1, 2, BLOCK), "not worth a second kernel"),
    ((17000,), (0,), (2, 1, BLOCK), "long: in parts"),
    ((2, 3, 9001), (0, 2), (2, 1, BLOCK), "rows of a box, in parts"),
    ((5, 7, 3, 11), (1, 3), (1, 1, BLOCK), "dimensions between"),
    ((3, 700), (0,), (1, 3, BLOCK), "short columns: a thread for each"),
    ((300, 7), (0,), (1, 1, BLOCK), "columns side by side"),
    ((300, 70), (0,), (1, 3, BLOCK), "columns: as many as a warp has lanes"),
    ((5, 90, 33), (1,), (1, 6, BLOCK), "columns in the middle"),
    ((2101, 7), (0,), (2, 1, BLOCK), "long columns: in parts"),
    ((600, 41), (0,), (2, 1, BLOCK), "more columns in parts"),
]
ORDERS: tuple[ThreadOrder, ...] = ("forward", "reverse", 7)
GRIDS = ((2, 5), (3, 64))  # blocks and threads that tests set


def values(shape: tuple[int, ...]) -> Any:
    return np.resize(np.arange(-61, 62, dtype=np.int8) * 3 % 127, shape).astype(np.int32)


def orders(on_cpu: OnCpu, run: Callable[[], None]) -> None:
    """Run what is launched in several orders of threads, and other grids."""
    for order in ORDERS:
        on_cpu.fix(order=order)
        run()
    for blocks, threads in GRIDS:
        on_cpu.fix(blocks, threads)
        run()
    on_cpu.free()


def launched(on_cpu: OnCpu, opset: str, run: Callable[[], Any]) -> tuple[int, int, int]:
    """How many kernels are launched; the blocks and the threads of the last."""
    state = on_cpu.backends[opset].state
    before = state.launches
    run()
    return state.launches - before, state.ran_blocks, state.ran_threads


@pytest.mark.parametrize(
    ("shape", "axes", "expected", "why"), WAYS, ids=[row[-1].replace(" ", "-") for row in WAYS]
)
def test_ways_to_divide(
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    expected: tuple[int, int, int],
    why: str,
    on_cpu: OnCpu,
) -> None:
    x = values(shape)
    total, largest = on_cpu.operators.cvm.sum, on_cpu.operators.cvm.max
    assert launched(on_cpu, "cvm", lambda: total(x, axes=axes)) == expected

    def run() -> None:
        for keepdims in (False, True):
            found = total(x, axes=axes, keepdims=keepdims)
            assert found.ravel().tolist() == x.sum(axes).ravel().tolist(), why
            found = largest(x, axes=axes, keepdims=keepdims)
            assert found.ravel().tolist() == x.max(axes).ravel().tolist(), why

    orders(on_cpu, run)


def test_products(on_cpu: OnCpu) -> None:
    x = np.where(np.resize(np.arange(29), (70, 16)) % 3 == 1, -1, 1).astype(np.int32)
    product = on_cpu.operators.extra.product
    orders(on_cpu, lambda: same(product(x), x.prod(1).tolist()))


def same(found: Any, expected: list[Any]) -> None:
    assert found.ravel().tolist() == expected


def test_several_accumulators_in_parts(on_cpu: OnCpu) -> None:
    x = values((1, 2, 17007))
    spread = on_cpu.operators.extra.batched_range
    expected = (x.max(2) - x.min(2)).ravel().tolist()
    assert launched(on_cpu, "extra", lambda: same(spread(x), expected)) == (2, 1, BLOCK)
    orders(on_cpu, lambda: same(spread(x), expected))


@pytest.mark.parametrize("where", [None, 0, 31, 9000, 16999])
def test_decisions(where: int | None, on_cpu: OnCpu) -> None:
    x = np.zeros((2, 17000), bool)
    if where is not None:
        x[1, where] = True
    some, every = on_cpu.operators.tosa.reduce_any, on_cpu.operators.tosa.reduce_all
    expected = [False, where is not None]
    orders(on_cpu, lambda: same(some(x, axis=1, keep_dims=1), expected))
    orders(on_cpu, lambda: same(every(~x, axis=1, keep_dims=1), [not each for each in expected]))


def test_extremes_of_real_numbers(on_cpu: OnCpu) -> None:
    """NaN where one is NaN, and -0 below +0, whichever thread meets it."""
    x = np.full(17000, -0.0)
    x[777] = 0.0
    extremes = on_cpu.operators.extra.extremes

    def run() -> None:
        largest, smallest = extremes(x)
        assert (np.signbit(largest).item(), np.signbit(smallest).item()) == (False, True)
        assert all(np.isnan(each).item() for each in extremes(with_nan))
        assert [each.item() for each in extremes(with_nan, skip=True)] == [3.0, -0.0]

    with_nan = x.copy()
    with_nan[[5, 16999]], with_nan[1] = np.nan, 3.0
    orders(on_cpu, run)


def test_results_that_take_different_branches(on_cpu: OnCpu) -> None:
    """Each is made by a block, or by a thread; the second sweep needs what the first found."""
    x = np.arange(5 * 900, dtype=np.float32).reshape(5, 900)
    x[1] = np.nan
    x[3, ::7] = np.nan
    largest = on_cpu.operators.tosa.reduce_max
    along = partial(largest, x, axis=1, keep_dims=1, nan_mode="IGNORE")
    assert launched(on_cpu, "tosa", along) == (1, 5, 128)

    def run() -> None:
        for axis in (0, 1):
            for mode, function in (("IGNORE", np.fmax.reduce), ("PROPAGATE", np.maximum.reduce)):
                found = largest(x, axis=axis, keep_dims=1, nan_mode=mode)
                expected = function(x, axis, keepdims=True)
                assert np.array_equal(found, expected, equal_nan=True)

    orders(on_cpu, run)


def test_a_total_that_does_not_fit_is_refused(on_cpu: OnCpu) -> None:
    x = np.full((2, 40000), 1 << 14, np.int32)
    total = on_cpu.operators.tosa.reduce_sum
    assert total(x, axis=1, keep_dims=1).ravel().tolist() == [40000 << 14] * 2
    x[1] = 1 << 16
    with pytest.raises(OperatorError, match="output1"):
        total(x, axis=1, keep_dims=1)


def test_real_sums_keep_their_order(on_cpu: OnCpu) -> None:
    kinds = classes("tosa.reduce_sum")
    assert kinds["tosa_reduce_sum_output1_int32"] == "reduction"
    assert kinds["tosa_reduce_sum_output1_float32"] == "grid"


def test_no_memory_for_parts_is_told(on_cpu: OnCpu) -> None:
    x, total = values((17000,)), on_cpu.operators.cvm.sum
    state = on_cpu.backends["cvm"].state
    state.memory = 1
    with pytest.raises(OperatorError, match="CUDA: out of memory"):
        total(x)
    assert on_cpu.allocations == 0
    state.memory = 0
    state.fail = 1
    with pytest.raises(OperatorError, match="CUDA: unspecified launch failure"):
        total(x)
    assert on_cpu.allocations == 0


def test_a_kernel_reads_as_written() -> None:
    source = text("extra.row_sums")
    body = source[source.index("for (int64_t item") : source.index("\n}\n")]
    assert body.split("\n") == [
        "for (int64_t item = blockIdx.x; item < cvmgen_items(teams); item += gridDim.x) {",
        "        const cvmgen_team team = cvmgen_team_of(teams, item);",
        "        const int64_t i = team.result;",
        "        uint32_t total = 0;",
        "        const cvmgen_share share = cvmgen_share_of(team, 1, K);",
        "        CVMGEN_OVERLAP",
        "        for (int64_t k = share.column; k < K; k += share.columns)",
        "            total += (uint32_t)X[i * K + k];",
        "        total = cvmgen_combine<cvmgen_plus>(team, total);",
        "        if (cvmgen_stores(team)) Y[i] = (result_t)total;",
        "    }",
    ]
