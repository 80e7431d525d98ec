"""Speed of the C target beside numpy, in one run: ratios, not seconds, are the result.

    python benchmarks/run.py [--json]

Each workload and its peer run interleaved on the same data; the medians of several rounds
are compared. A ratio above 1 means that the generated kernel is faster than its peer.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

import cvmgen

ROUNDS = 9


@dataclass(frozen=True)
class Row:
    """Microseconds of the two, medians of the rounds, and peer / ours."""

    workload: str
    peer: str
    ours_us: float
    peer_us: float
    ratio: float


def seconds(function: Callable[[], object], repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        function()
    return (time.perf_counter() - start) / repeats


def compare(
    workload: str, peer: str, ours: Callable[[], object], theirs: Callable[[], object]
) -> Row:
    """Interleaved rounds; each round repeats a call until it takes long enough to time."""
    repeats = max(1, int(0.01 / max(seconds(ours, 1), 1e-7)))
    repeats_peer = max(1, int(0.01 / max(seconds(theirs, 1), 1e-7)))
    mine, others = [], []
    for _ in range(ROUNDS):
        mine.append(seconds(ours, repeats))
        others.append(seconds(theirs, repeats_peer))
    a, b = statistics.median(mine) * 1e6, statistics.median(others) * 1e6
    return Row(workload, peer, a, b, b / a)


RANDOM = np.random.default_rng(7)
LIBRARY = cvmgen.load("c")
OPS = LIBRARY.cvm
LARGE = (1024, 4096)


def data(*shape: int, bits: int = 8, dtype: type = np.int32) -> np.ndarray:
    most = (1 << (bits - 1)) - 1
    return RANDOM.integers(-most, most, shape, dtype=np.int64, endpoint=True).astype(dtype)


def overhead() -> Iterator[Row]:
    """What a call costs around its kernel."""
    small = data(4)
    out, zero = np.empty_like(small), np.zeros_like(small)
    bound = OPS.relu.bind(small, out=out, precisions=[8])
    peer = partial(np.maximum, small, zero, out=out)
    yield compare("bound call, relu of 4 elements", "np.maximum(out=)", bound, peer)
    free = partial(OPS.relu, small, precisions=[8])
    peer = partial(np.maximum, small, 0)
    yield compare("unbound call, relu of 4 elements", "np.maximum", free, peer)


def arithmetic() -> Iterator[Row]:
    large = data(1 << 22)
    result = np.empty_like(large)
    run = OPS.relu.bind(large, out=result, precisions=[8])
    peer = partial(np.maximum, large, 0, out=result)
    yield compare("relu, 4 M int32", "np.maximum(out=)", run, peer)

    a, b = data(64, 256, 256), data(256, 1, bits=6)
    total = np.empty(a.shape, np.int32)
    run = OPS.broadcast_add.bind(a, b, out=total, precisions=[8, 6])
    peer = partial(np.add, a, b, out=total)
    yield compare("broadcast_add, (64,256,256) + (256,1)", "np.add(out=)", run, peer)

    block = data(16, 64, 64, 64)
    summed = np.empty((16, 64, 64), np.int32)
    run = OPS.sum.bind(block, axes=(1,), out=summed, precisions=[8])
    peer = partial(np.sum, block, axis=1, out=summed)
    yield compare("sum over axis 1 of (16,64,64,64)", "np.sum(out=)", run, peer)

    left, right = data(64, 512, dtype=np.int8), data(256, 512, dtype=np.int8)
    product = np.empty((64, 256), np.int32)
    run = OPS.dense.bind(left, right, out=product, precisions=[8, 8])
    peer = partial(np.matmul, left.astype(np.int32), right.astype(np.int32).T, out=product)
    yield compare("dense, 64x512x256 int8", "np.matmul of int32", run, peer)


def movement() -> Iterator[Row]:
    """Operators that move 4 M int32 elements, against numpy writing into the same memory."""
    x, picture = data(*LARGE), data(16, 64, 32, 32)
    half, at = data(512, 4096), data(1024, bits=11)
    large, places = np.empty(LARGE, np.int32), np.abs(at)
    parts, pixels = [half, half[:, ::-1].copy()], np.empty((16, 64, 64, 64), np.int32)
    turned, kept = np.empty(LARGE[::-1], np.int32), np.empty((1024, 4000), np.int32)

    def upsampled() -> None:
        np.copyto(pixels.reshape(16, 64, 32, 2, 32, 2), picture[:, :, :, None, :, None])

    cases: list[tuple[str, Callable[..., Any], list[Any], dict[str, Any], Any, Any]] = [
        ("copy probe: reshape", OPS.reshape, [x], {"target_shape": (4096, 1024)},
         large.reshape(4096, 1024), partial(np.copyto, large, x)),
        ("repeat 4 times, axis 1", OPS.repeat, [x[:, :1024].copy()], {"axis": 1, "repeats": 4},
         large, lambda: np.copyto(large.reshape(1024, 1024, 4), x[:, :1024, None])),
        ("tile (2, 2)", OPS.tile, [half[:, :2048].copy()], {"reps": (2, 2)}, large,
         lambda: np.copyto(large.reshape(2, 512, 2, 2048), half[None, :, None, :2048])),
        ("concatenate, axis 0", OPS.concatenate, [parts], {"axis": 0}, large,
         partial(np.concatenate, parts, axis=0, out=large)),
        ("transpose (4096, 1024)", OPS.transpose, [x], {}, turned,
         lambda: np.copyto(turned, x.T)),
        ("slice [:, 8:4008]", OPS.slice, [x], {"begin": (0, 8), "end": (1024, 4008)}, kept,
         lambda: np.copyto(kept, x[:, 8:4008])),
        ("take 1024 rows", OPS.take, [x, places], {"axis": 0}, large,
         partial(np.take, x, places, axis=0, out=large, mode="clip")),
        ("upsampling by 2", OPS.upsampling, [picture], {"scale": 2}, pixels, upsampled),
    ]  # fmt: skip
    for name, operator, inputs, attributes, out, peer in cases:
        run = operator.bind(*inputs, out=out, **attributes)
        yield compare(f"{name}, 4 M int32", "numpy", run, peer)


def lists() -> Iterator[Row]:
    """Selections, against what numpy has nearest."""
    rows = data(8, 20_000, 6, bits=16)
    found, count = np.empty_like(rows), np.empty(8, np.int32)
    run = OPS.get_valid_count.bind(rows, out=(count, found), precisions=[16])

    def selected() -> None:
        for batch, target in zip(rows, found, strict=True):
            kept = batch[batch[:, 1] > 0]
            target[: len(kept)] = kept
            target[len(kept) :] = -1

    yield compare("get_valid_count, 8 x 20000 x 6", "numpy, mask by batch", run, selected)


def real_numbers() -> Iterator[Row]:
    """Floating point, summed in order and in 64 bits; numpy adds in pairs and in 32."""
    tosa, systemml = LIBRARY.tosa, LIBRARY.systemml
    x = RANDOM.normal(size=(1024, 4096)).astype(np.float32)
    across, down = np.empty((1024, 1), np.float32), np.empty((1, 4096), np.float32)
    run = tosa.reduce_sum.bind(x, axis=1, out=across)
    peer = partial(np.sum, x, axis=1, keepdims=True, out=across)
    yield compare("tosa.reduce_sum, rows of 4 M float32", "np.sum(out=)", run, peer)
    run = tosa.reduce_sum.bind(x, axis=0, out=down)
    peer = partial(np.sum, x, axis=0, keepdims=True, out=down)
    yield compare("tosa.reduce_sum, columns of 4 M float32", "np.sum(out=)", run, peer)
    run = tosa.reduce_max.bind(x, axis=1, out=across)
    peer = partial(np.max, x, axis=1, keepdims=True, out=across)
    yield compare("tosa.reduce_max, rows of 4 M float32", "np.max(out=)", run, peer)

    a, b = RANDOM.normal(size=(2, 1024, 1024))
    out = np.empty_like(a)
    run = systemml.mul.bind(a, b, out=out)
    yield compare(
        "systemml.mul, 1 M float64", "np.multiply(out=)", run, partial(np.multiply, a, b, out=out)
    )

    images, filters = RANDOM.normal(size=(8, 16 * 28 * 28)), RANDOM.normal(size=(32, 16 * 9))
    shapes = {"input_shape": (8, 16, 28, 28), "filter_shape": (32, 16, 3, 3)}
    result = np.empty((8, 32 * 28 * 28))
    run = systemml.conv2d.bind(images, filters, stride=1, padding="same", out=result, **shapes)

    def by_columns() -> None:
        padded = np.pad(images.reshape(8, 16, 28, 28), ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        columns = windows.transpose(0, 1, 4, 5, 2, 3).reshape(8, 144, 784)
        np.matmul(filters, columns, out=result.reshape(8, 32, 784))

    yield compare("systemml.conv2d, 3x3, 8x16x28x28 to 32", "numpy, im2col", run, by_columns)


def cuda_text() -> Iterator[Row]:
    """The CUDA text on the CPU, thread by thread on one core, against the C target on all."""
    cvm = cvmgen.load("cuda-cpu").cvm
    large, image, filters = data(1 << 22), data(1, 16, 32, 32), data(16, 16, 3, 3)
    picture, result = np.empty((1, 16, 32, 32), np.int32), np.empty_like(large)
    ours, theirs = (ops.relu.bind(large, out=result, precisions=[8]) for ops in (cvm, OPS))
    yield compare("cuda-cpu: relu, 4 M int32", "the C target", ours, theirs)
    ours, theirs = (
        ops.conv2d.bind(image, filters, padding=(1, 1), out=picture, precisions=[8, 8, None])
        for ops in (cvm, OPS)
    )
    yield compare("cuda-cpu: conv2d, 3x3, 16x32x32 to 16", "the C target", ours, theirs)
    boxes, count = data(1, 20_000, 6, bits=16), np.empty(1, np.int32)
    out = (count, np.empty_like(boxes))
    ours, theirs = (ops.get_valid_count.bind(boxes, out=out, precisions=[16]) for ops in (cvm, OPS))
    yield compare("cuda-cpu: get_valid_count, 20000 x 6", "the C target", ours, theirs)


def rows() -> list[Row]:
    groups = (overhead, arithmetic, movement, lists, real_numbers, cuda_text)
    return [row for group in groups for row in group()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    found = rows() if (given := parser.parse_args()) else []
    if given.json:
        json.dump([asdict(row) for row in found], sys.stdout, indent=2)
        print()
        return 0
    print(f"{'workload':44} {'peer':20} {'ours us':>10} {'peer us':>10} {'peer/ours':>10}")
    for row in found:
        print(
            f"{row.workload:44} {row.peer:20} {row.ours_us:10.2f} {row.peer_us:10.2f} "
            f"{row.ratio:10.2f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
