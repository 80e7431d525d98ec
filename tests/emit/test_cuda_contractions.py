"""Contractions by tiles, on the CPU: every path of the kernels, with ragged shapes."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operator
from cvmgen.api.cuda_cpu_backend import PRELUDE, State, ThreadOrder
from cvmgen.build import compile_library, cuda_compiler, cuda_instructions, disassembler
from cvmgen.emit import cuda_support
from cvmgen.errors import BuildError
from cvmgen.schedule.gpu.choice import all_settings
from cvmgen.schedule.schedules import packaged
from tests.emit.cuda_texts import TILED, classes, headers, text
from tests.emit.on_cpu import OnCpu

# Dynamic shared memory of a block of tiles: three slices of 64 bytes a line of large ones.
TILES = all_settings(packaged())["tensor_tiles"]
TILE_BYTES = 3 * 64 * 2 * TILES["large"]


# What the oldest has, and what came with another one.
@pytest.mark.parametrize(
    "architecture",
    [
        "sm_75",
        "sm_80",
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("sm_90", "sm_120")),
    ],
)
def test_what_kernels_are_made_of(architecture: str) -> None:
    try:
        cuda_compiler()
    except BuildError as error:
        pytest.skip(str(error))
    compiled: Any = {"architecture": architecture, "includes": headers(), "name": "dense.cu"}
    made = cuda_instructions(text("cvm.dense"), **compiled)
    for kernel, kind in classes("cvm.dense").items():
        found, tiles = made[kernel], kind == "contraction"
        tensor_cores = tiles and architecture != "sm_75"
        assert (found.matrix_products > 0) == tensor_cores
        assert found.dot_products > 0 or tensor_cores or not tiles
        # What is packed passes through registers.
        copied = tensor_cores and "int8_int" in kernel
        assert (found.async_copies > 0) == copied
        assert tiles == (found.loads.wide > 0)
        loop = found.product_loop
        assert (loop is not None) == (tensor_cores and disassembler() is not None)
        # Staging 4 chunks, 12 ldmatrix and 32 mma; addresses come to as many.
        assert loop is None or loop.products == 32
        assert loop is None or not copied or loop.cost <= 5


# ---------------------------------------------------------------- how kernels run


@dataclass(frozen=True)
class Way:
    """How a contraction is run: by which multiplication, when copies land, in which order, and
    by which tiles."""

    tensor_cores: bool
    late_copies: bool
    order: ThreadOrder
    large: bool

    def __str__(self) -> str:
        parts = ["mma" if self.tensor_cores else "dp4a", "late" if self.late_copies else "eager"]
        return "-".join([*parts, "large" if self.large else "small", str(self.order)])


WAYS = [
    Way(False, False, "forward", True),
    Way(False, True, "reverse", False),
    Way(True, True, 5, True),
    Way(True, False, "reverse", False),
]


def states(on_cpu: OnCpu) -> list[State]:
    return [backend.state for backend in on_cpu.backends.values()]


def operator(on_cpu: OnCpu, name: str) -> Operator:
    opset, _, short = name.partition(".")
    found: Operator = getattr(getattr(on_cpu.operators, opset), short)
    return found


@pytest.fixture(params=WAYS, ids=str)
def tiles(request: pytest.FixtureRequest, on_cpu: OnCpu) -> Iterator[OnCpu]:
    """The operators, by tiles whatever the size; of two blocks, so that they stride."""
    way: Way = request.param
    on_cpu.fix(blocks=2, order=way.order)
    for state in states(on_cpu):
        state.always_tiles, state.ran_dynamic = 2 if way.large else 1, 0
        state.tensor_cores, state.late_copies = way.tensor_cores, way.late_copies
    yield on_cpu
    assert any(state.ran_dynamic == TILE_BYTES for state in states(on_cpu))


def drawn(shape: tuple[int, ...], kind: Any, most: int = 127, seed: int = 0) -> Any:
    """Values of which many are at the ends, int8 down to -128; they do not begin at an address
    that is aligned, nor do they end so."""
    source = np.random.default_rng([seed, *shape])
    low = -128 if kind == np.int8 and most == 127 else -most
    values = source.integers(low, most + 1, size=shape)
    values = np.where(source.random(shape) < 0.3, source.choice([low, most], size=shape), values)
    return aligned(values.astype(kind), 16)


def aligned(values: Any, bytes_: int) -> Any:
    """The same values at an address that is a multiple of so many bytes."""
    memory = np.zeros(values.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64 + bytes_
    found = memory[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    found[...] = values
    return found


def wrapped(values: Any) -> Any:
    return (values & 0xFFFFFFFF).astype(np.uint32).view(np.int32)


# ---------------------------------------------------------------- products of matrices

DENSE = [
    (1, 1, 1, "one product"),
    (5, 3, 7, "less than a tile, less than a slice"),
    (64, 128, 64, "exactly two tiles, exactly a slice"),
    (65, 129, 80, "one more row and column; whole chunks, not whole slices"),
    (3, 260, 208, "more slices than there is memory for"),
    (130, 5, 131, "a depth that is not of chunks: rows that are not aligned"),
]


@pytest.mark.parametrize("kind", [np.int8, np.int32], ids=["int8", "int32"])
@pytest.mark.parametrize(("m", "n", "k", "why"), DENSE, ids=[row[-1] for row in DENSE])
def test_products_of_matrices(m: int, n: int, k: int, why: str, kind: Any, tiles: OnCpu) -> None:
    x, w = drawn((m, k), kind), drawn((n, k), kind, seed=1)
    # With the greatest bias the sums leave int32.
    b = np.full(n, 2**31 - 1, np.int32) if kind == np.int8 else drawn((n,), np.int32)
    wide = x.astype(np.int64) @ w.astype(np.int64).T + b
    declared = {"X": 8, "W": 8, "B": 8}
    found = operator(tiles, "cvm.dense")(x, w, b, precisions=declared)
    assert (found == wrapped(wide)).all(), why
    without = operator(tiles, "cvm.dense")(x, w, precisions=declared)
    assert (without == wrapped(wide - b)).all(), why


@pytest.mark.parametrize("kind", [np.int8, np.int32], ids=["int8", "int32"])
@pytest.mark.parametrize("offset", [1, 4, 8], ids=str)
def test_tensors_that_are_not_aligned(offset: int, kind: Any, tiles: OnCpu) -> None:
    offset = max(offset, np.dtype(kind).itemsize)
    x, w = aligned(drawn((6, 64), kind), offset), aligned(drawn((9, 64), kind, seed=1), offset)
    found = operator(tiles, "cvm.dense")(x, w, precisions={"X": 8, "W": 8})
    assert (found == x.astype(np.int64) @ w.astype(np.int64).T).all()


@pytest.mark.parametrize("kind", [np.int8, np.int32], ids=["int8", "int32"])
def test_results_of_int8(kind: Any, tiles: OnCpu) -> None:
    x, w = drawn((9, 7), kind, 1), drawn((11, 7), kind, 1, seed=1)
    run = operator(tiles, "cvm.dense")
    found = run(x, w, precisions={"X": 2, "W": 2}, dtype=np.int8)
    assert found.dtype == np.int8
    assert (found == x.astype(np.int64) @ w.astype(np.int64).T).all()


def test_exact_sums(tiles: OnCpu) -> None:
    a, b = drawn((7, 90), np.int8), drawn((90, 30), np.int8, seed=1)
    found = operator(tiles, "extra.scaled_product")(a, b, shift=3)
    assert (found == (a.astype(np.int64) @ b.astype(np.int64)) >> 3).all()


@pytest.mark.parametrize("kind", [np.int8, np.int32], ids=["int8", "int32"])
def test_batches_and_conditions_on_the_sum(kind: Any, tiles: OnCpu) -> None:
    a, b = drawn((3, 5, 11, 7), kind), drawn((3, 11, 4, 7), kind, seed=1)
    kept = np.add.outer(np.arange(11), np.arange(7)) < 9
    products = np.einsum("nikl,nkjl->nij", a.astype(np.int64) * kept, b.astype(np.int64))
    run = operator(tiles, "extra.batched_product")
    assert (run(a, b, reach=9, precisions={"A": 8, "B": 8}) == products).all()


# ---------------------------------------------------------------- beyond the declared precision


def lying(values: Any, at: int | None, wild: int) -> Any:
    """Values with one at a place that int8 does not hold, or all of them any bits."""
    if at is None:
        source = np.random.default_rng(wild)
        return source.integers(-(2**31), 2**31, values.shape).astype(np.int32)
    found = values.astype(np.int32)
    found.flat[at] = wild
    return found


LIES = [
    (0, 128, "one more than fits, in the first chunk"),
    (-1, -129, "one less, at the end, beside the last whole chunk"),
    (70 * 131 + 130, 256, "its low byte is 0, in the second row of tiles"),
    (5, -(2**31), "the lowest of all"),
    (None, 3, "all of them"),
]


@pytest.mark.parametrize(("at", "value", "why"), LIES, ids=[row[-1] for row in LIES])
def test_elements_that_do_not_fit(at: int | None, value: int, why: str, tiles: OnCpu) -> None:
    """A tile with such an element is made of the elements as they are, modulo 2^32."""
    x, w = drawn((130, 131), np.int32), drawn((5, 131), np.int32, seed=1)
    run, declared = operator(tiles, "cvm.dense"), {"X": 8, "W": 8}
    for one, other in ((lying(x, at, value), w), (w, lying(x, at, value))):
        expected = wrapped(one.astype(np.int64) @ other.astype(np.int64).T)
        assert (run(one, other, precisions=declared) == expected).all(), why


def test_exact_sums_of_elements_that_do_not_fit(tiles: OnCpu) -> None:
    a, b = lying(np.empty((7, 90)), None, 5), lying(drawn((90, 30), np.int32), 77, 2**31 - 1)
    found = operator(tiles, "extra.scaled_product")(a, b, shift=3, precisions={"A": 8, "B": 8})
    exact = (a.astype(object) @ b.astype(object)) >> 3
    assert (found == np.clip(exact, 1 - 2**31, 2**31 - 1)).all()


@pytest.mark.parametrize("at", [0, 77, -1], ids=str)
def test_convolutions_of_elements_that_do_not_fit(at: int, tiles: OnCpu) -> None:
    x, w = drawn((2, 6, 5, 4), np.int32), drawn((9, 2, 3, 3), np.int32, seed=1)
    whole = {"padding": (1, 1), "stride": (1, 1), "dilation": (1, 1), "groups": 3}
    for one, other in ((lying(x, at, -200), w), (x, lying(w, at, 1 << 30))):
        expected = wrapped(convolved(one, other, **whole))
        found = operator(tiles, "cvm.conv2d")(one, other, precisions={"X": 8, "W": 8}, **whole)
        assert (found == expected).all()


# ---------------------------------------------------------------- convolutions

CONVOLUTIONS = [
    ((1, 3, 9, 8), (8, 3, 3, 3), {"padding": (1, 1)}, "padding"),
    ((2, 16, 7, 5), (40, 16, 1, 1), {}, "a point: rows of W are chunks"),
    ((1, 16, 6, 12), (5, 16, 3, 2), {"padding": (2, 0)}, "rows of W are aligned"),
    ((2, 4, 11, 13), (6, 4, 3, 3), {"stride": (2, 3)}, "strides"),
    ((1, 5, 9, 10), (7, 5, 2, 3), {"dilation": (3, 2), "padding": (1, 4)}, "dilation"),
    ((2, 6, 5, 4), (9, 2, 3, 3), {"groups": 3, "padding": (1, 1)}, "groups"),
    ((1, 4, 6, 6), (4, 1, 3, 3), {"groups": 4}, "a channel by itself"),
    ((1, 4, 5, 5), (70, 2, 3, 3), {"groups": 2, "padding": (4, 4)}, "all around is padding"),
    ((3, 1, 8, 9), (1, 1, 8, 9), {}, "one place for each image"),
]


def convolved(x: Any, w: Any, padding: Any, stride: Any, dilation: Any, groups: int) -> Any:
    """The convolution in int64."""
    ph, pw = padding
    x = np.pad(x.astype(np.int64), ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    (sh, sw), (dh, dw) = stride, dilation
    oc, ic, kh, kw = w.shape
    yh = (x.shape[2] - dh * (kh - 1) - 1) // sh + 1
    yw = (x.shape[3] - dw * (kw - 1) - 1) // sw + 1
    y = np.zeros((x.shape[0], oc, yh, yw), np.int64)
    for each in range(oc):
        first = each // (oc // groups) * ic
        for i in range(kh):
            for j in range(kw):
                part = x[:, first : first + ic, i * dh :, j * dw :][..., ::sh, ::sw][..., :yh, :yw]
                y[:, each] += np.einsum("ncyx,c->nyx", part, w[each, :, i, j].astype(np.int64))
    return y


@pytest.mark.parametrize("kind", [np.int8, np.int32], ids=["int8", "int32"])
@pytest.mark.parametrize("row", CONVOLUTIONS, ids=[row[-1] for row in CONVOLUTIONS])
def test_convolutions(row: Any, kind: Any, tiles: OnCpu) -> None:
    x_shape, w_shape, attributes, why = row
    whole = {"padding": (0, 0), "stride": (1, 1), "dilation": (1, 1), "groups": 1} | attributes
    x, w = drawn(x_shape, kind), drawn(w_shape, kind, seed=1)
    b = drawn(w_shape[:1], np.int32, 2**30)
    expected = convolved(x, w, **whole)
    run = operator(tiles, "cvm.conv2d")
    found = run(x, w, precisions={"X": 8, "W": 8}, **attributes)
    assert (found == expected).all(), why
    found = run(x, w, b, precisions={"X": 8, "W": 8, "B": 31}, **attributes)
    assert (found == expected + b[:, None, None]).all(), why


# ---------------------------------------------------------------- what runs otherwise


def launched(on_cpu: OnCpu, name: str, *inputs: Any, **given: Any) -> tuple[bool, int]:
    """Whether a call is made by tiles, and of how many blocks."""
    operator(on_cpu, name)(*inputs, **given)
    state = on_cpu.backends[name.partition(".")[0]].state
    return state.ran_dynamic == TILE_BYTES, state.ran_blocks


def tiled(on_cpu: OnCpu, name: str, *inputs: Any, **given: Any) -> bool:
    return launched(on_cpu, name, *inputs, **given)[0]


def test_small_tiles_do_not_pay(on_cpu: OnCpu) -> None:
    x, w = np.ones((2, 3, 8, 8), np.int8), np.ones((3, 1, 3, 3), np.int8)
    assert not tiled(on_cpu, "cvm.conv2d", x, w, groups=3)
    assert not tiled(on_cpu, "cvm.dense", np.ones((1, 64), np.int8), np.ones((32, 64), np.int8))
    one = np.ones((64, 64), np.int8)
    assert launched(on_cpu, "cvm.dense", one, one) == (True, 1)
    x, w = np.ones((65, 40), np.int8), np.ones((129, 40), np.int8)
    assert launched(on_cpu, "cvm.dense", x, w) == (True, 6)


@pytest.mark.parametrize("wide", ["X", "W"])
def test_wider_integers_are_not_packed(wide: str, on_cpu: OnCpu) -> None:
    on_cpu.backends["cvm"].state.always_tiles = 1
    x, w = np.full((4, 9), 100, np.int32), np.full((5, 9), -100, np.int32)
    declared = {"X": 8, "W": 8}
    assert tiled(on_cpu, "cvm.dense", x, w, precisions=declared)
    assert not tiled(on_cpu, "cvm.dense", x, w, precisions=declared | {wide: 9})


def test_sums_beyond_int32_are_not_made_of_bytes(on_cpu: OnCpu) -> None:
    on_cpu.backends["extra"].state.always_tiles = 1
    for depth, expected in ((131071, True), (131072, False)):
        a, b = np.full((1, depth), -128, np.int8), np.full((depth, 1), -128, np.int8)
        y = np.empty((1, 1), np.int32)
        assert tiled(on_cpu, "extra.scaled_product", a, b, shift=1, out=y) == expected
        assert y[0, 0] == depth << 13


ASK = """
#include "cvmgen_tiles.h"
extern "C" int64_t ask(int64_t batches, int64_t rows, int64_t columns, int64_t depth, double most) {
    return cvmgen_worthwhile_tiles(batches, rows, columns, depth, {1.0, most});
}
"""
ASKED = [
    ((1, 64, 64, 64, 1e6), 1, "a small tile"),
    ((3, 65, 129, 64, 1e6), 18, "six small ones for each batch"),
    ((1, 1024, 2048, 64, 1e6), 128, "large ones, as many as fill a device"),
    ((1, 1024, 1920, 64, 1e6), 480, "large ones would leave some of it idle"),
    ((2, 64, 1 << 20, 64, 1e6), 1 << 15, "a half of each large one would be empty"),
    ((1, 192, 16384, 64, 1e6), 256, "a quarter of the large ones would be empty"),
    ((1, 1, 64, 64, 1e6), 1, "a row costs no more than its columns"),
    ((1, 1, 32, 64, 1e6), 0, "a row of half a tile"),
    ((9, 1, 10000, 9, 1e6), 0, "a channel by itself"),
    ((1, 64, 128, 64, 2.0**31 - 65537), 0, "the ends of tiles would leave int32"),
    ((1, 64, 64, 64, 2.0**31 - 65538), 1, "they would not"),
    ((1, 64, 128, 64, 1e30), 0, "beyond int64"),
    ((1, 64, 128, 64, float("nan")), 0, "no bound"),
    ((1, 1 << 30, 1 << 30, 64, 1e6), 1 << 46, "as many as there are"),
    ((1, 1 << 31, 64, 64, 1e6), 0, "more rows than int32 has"),
    ((0, 64, 128, 64, 1e6), 0, "no batches"),
    ((1, 0, 128, 64, 1e6), 0, "no rows"),
    ((1, 64, 0, 64, 1e6), 0, "no columns"),
    ((1, 64, 128, 0, 1e6), 0, "nothing to sum"),
]


def test_when_tiles_pay() -> None:
    sources = {**cuda_support.emit_support(), "ask.cu": ASK}
    library = ctypes.CDLL(str(compile_library(sources, name="ask", prelude=PRELUDE)))
    library.ask.restype = ctypes.c_int64
    for (*sizes, most), expected, why in ASKED:
        given = (*map(ctypes.c_int64, sizes), ctypes.c_double(most))
        assert library.ask(*given) == expected, why


@pytest.mark.parametrize("name", TILED)
def test_direct_kernels_stand_beside(name: str) -> None:
    for kernel, kind in classes(name).items():
        assert (kind == "contraction") == ("_direct" not in kernel)
    assert '#include "cvmgen_tiles.h"' in text(name)
