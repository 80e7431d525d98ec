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
from collections.abc import Callable
from dataclasses import asdict, dataclass

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


def rows() -> list[Row]:
    ops = cvmgen.load("c").cvm
    random = np.random.default_rng(7)

    def data(*shape: int, bits: int = 8, dtype: type = np.int32) -> np.ndarray:
        most = (1 << (bits - 1)) - 1
        return random.integers(-most, most, shape, dtype=np.int64, endpoint=True).astype(dtype)

    found = []
    small = data(4)
    out = np.empty_like(small)
    bound = ops.relu.bind(small, out=out, precisions={"X": 8})
    zero = np.zeros_like(small)
    found.append(
        compare(
            "bound call, relu of 4 elements",
            "np.maximum(out=)",
            bound,
            lambda: np.maximum(small, zero, out=out),
        )
    )
    found.append(
        compare(
            "unbound call, relu of 4 elements",
            "np.maximum",
            lambda: ops.relu(small, precisions={"X": 8}),
            lambda: np.maximum(small, 0),
        )
    )
    large = data(1 << 22)
    result = np.empty_like(large)
    run = ops.relu.bind(large, out=result, precisions={"X": 8})
    peer = lambda: np.maximum(large, 0, out=result)  # noqa: E731
    found.append(compare("relu, 4 M int32", "np.maximum(out=)", run, peer))

    a, b = data(64, 256, 256), data(256, 1, bits=6)
    total = np.empty(a.shape, np.int32)
    run = ops.broadcast_add.bind(a, b, out=total, precisions={"A": 8, "B": 6})
    peer = lambda: np.add(a, b, out=total)  # noqa: E731
    found.append(compare("broadcast_add, (64,256,256) + (256,1)", "np.add(out=)", run, peer))

    block = data(16, 64, 64, 64)
    summed = np.empty((16, 64, 64), np.int32)
    run = ops.sum.bind(block, axes=(1,), out=summed, precisions={"X": 8})
    peer = lambda: np.sum(block, axis=1, out=summed)  # noqa: E731
    found.append(compare("sum over axis 1 of (16,64,64,64)", "np.sum(out=)", run, peer))

    left, right = data(64, 512, dtype=np.int8), data(256, 512, dtype=np.int8)
    product = np.empty((64, 256), np.int32)
    run = ops.dense.bind(left, right, out=product, precisions={"X": 8, "W": 8})
    wide_left, wide_right = left.astype(np.int32), right.astype(np.int32).T
    peer = lambda: np.matmul(wide_left, wide_right, out=product)  # noqa: E731
    found.append(compare("dense, 64x512x256 int8", "np.matmul of int32", run, peer))
    return found


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
