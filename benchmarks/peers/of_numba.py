"""numba: the loops that one would write by hand, compiled for this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
from numba import njit, prange

from benchmarks.cases import Array, Call, Problem
from benchmarks.peers import Peer, Ways
from benchmarks.peers.of_numpy import import_time

NAME = "numba"


def peer(threads: int) -> Peer:
    numba.set_num_threads(threads)
    return Peer(NAME, numba.__version__, WAYS)


def parallel(function: Callable[..., None]) -> Any:
    return njit(parallel=True, boundscheck=False)(function)


@parallel
def _abs(x: Array, y: Array) -> None:
    for i in prange(x.size):
        y[i] = abs(x[i])


@parallel
def _clip(x: Array, low: int, high: int, y: Array) -> None:
    for i in prange(x.size):
        y[i] = min(max(x[i], low), high)


@parallel
def _right_shift(x: Array, shift: int, most: int, y: Array) -> None:
    for i in prange(x.size):
        y[i] = min(max(((x[i] >> (shift - np.int32(1))) + np.int32(1)) >> np.int32(1), -most), most)


@parallel
def _precision(x: Array, y: Array) -> None:
    """The place of the highest bit, found by halves."""
    for i in prange(x.size):
        rest, bits = abs(x[i]), np.int32(1)
        for half in (16, 8, 4, 2, 1):
            step = np.int32(half) * np.int32(rest >= (1 << half))
            rest >>= step
            bits += step
        y[i] = bits


@parallel
def _add(x: Array, z: Array, y: Array) -> None:
    for i in prange(x.size):
        y[i] = x[i] + z[i]


@parallel
def _sum_middle(x: Array, y: Array) -> None:
    for n in prange(x.shape[0]):
        y[n] = 0
        for c in range(x.shape[1]):
            for i in range(x.shape[2]):
                y[n, i] += x[n, c, i]


@parallel
def _lut(indices: Array, table: Array, y: Array) -> None:
    last = np.int32(table.size - 1)
    for i in prange(indices.size):
        y[i] = table[min(max(indices[i], np.int32(0)), last)]


@parallel
def _valid_count(x: Array, count: Array, y: Array) -> None:
    for b in prange(x.shape[0]):
        kept = 0
        for i in range(x.shape[1]):
            if x[b, i, 1] > 0:
                for k in range(x.shape[2]):
                    y[b, kept, k] = x[b, i, k]
                kept += 1
        count[b] = kept
        for i in range(kept, x.shape[1]):
            for k in range(x.shape[2]):
                y[b, i, k] = -1


@njit(boundscheck=False)
def _suppress(x: Array, order: Array, kept: Array, threshold: int, y: Array) -> None:
    """`kept` has the corners and the area of each box that stays, by columns."""
    count = 0
    for place in order:
        left, top, right, bottom = x[place, 2], x[place, 3], x[place, 4], x[place, 5]
        area = (right - left) * (bottom - top)
        hidden = False
        for q in range(count):
            w = max(np.int32(0), min(right, kept[2, q]) - max(left, kept[0, q]))
            h = max(np.int32(0), min(bottom, kept[3, q]) - max(top, kept[1, q]))
            if w * h > 0 and 100 * w * h >= threshold * (area + kept[4, q] - w * h):
                hidden = True
                break
        if not hidden:
            kept[0, count], kept[1, count], kept[2, count] = left, top, right
            kept[3, count], kept[4, count] = bottom, area
            for k in range(6):
                y[count, k] = x[place, k]
            count += 1
    y[count:] = -1


def flat(kernel: Any, attributes: Callable[[Problem], tuple[np.int32, ...]]) -> Ways:
    """An elementwise kernel; its attributes stand behind the inputs."""

    def ways(problem: Problem) -> Iterator[Call]:
        out = problem.empty()
        arguments = (
            *(each.reshape(-1) for each in problem.arrays),
            *attributes(problem),
            out.reshape(-1),
        )
        yield Call(NAME, lambda: kernel(*arguments), lambda: out)

    return ways


def none(problem: Problem) -> tuple[np.int32, ...]:
    return ()


def clip_limits(problem: Problem) -> tuple[np.int32, ...]:
    return np.int32(problem.attributes["a_min"]), np.int32(problem.attributes["a_max"])


def shift_limits(problem: Problem) -> tuple[np.int32, ...]:
    most = (1 << (problem.attributes["precision"] - 1)) - 1
    return np.int32(problem.attributes["shift_bit"]), np.int32(most)


def middle_sum(problem: Problem) -> Iterator[Call]:
    """Over axis 1 of several."""
    (x,), out = problem.arrays, problem.empty()
    if problem.attributes["axes"] != (1,) or x.ndim < 3:
        return
    three, two = x.reshape(*x.shape[:2], -1), out.reshape(len(x), -1)
    yield Call(NAME, lambda: _sum_middle(three, two), lambda: out)


def lut(problem: Problem) -> Iterator[Call]:
    (indices, table), out = problem.arrays, problem.empty()
    yield Call(NAME, lambda: _lut(indices, table, out), lambda: out)


def valid_count(problem: Problem) -> Iterator[Call]:
    (x,) = problem.arrays
    count, out = (np.zeros_like(each) for each in problem.expected)
    yield Call(NAME, lambda: _valid_count(x, count, out), lambda: (count, out))


def suppression(problem: Problem) -> Iterator[Call]:
    """One batch of boxes of one class, each against those that were kept."""
    (x, _), out = problem.arrays, problem.empty()
    kept = np.zeros((5, x.shape[1]), np.int32)

    def run() -> None:
        order = np.argsort(-x[0, :, 1], kind="stable")
        _suppress(x[0], order, kept, problem.attributes["iou_threshold"], out[0])

    yield Call(NAME, run, lambda: out)


def loading(problem: Problem) -> Iterator[Call]:
    yield import_time(NAME)


WAYS: dict[str, Ways] = {
    "cvm.abs": flat(_abs, none),
    "cvm.clip": flat(_clip, clip_limits),
    "cvm.cvm_right_shift": flat(_right_shift, shift_limits),
    "cvm.cvm_precision": flat(_precision, none),
    "cvm.elemwise_add": flat(_add, none),
    "cvm.sum": middle_sum,
    "cvm.cvm_lut": lut,
    "cvm.get_valid_count": valid_count,
    "cvm.non_max_suppression": suppression,
    "load": loading,
}
