"""numpy, writing into memory that is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.cases import Array, Call, Problem
from benchmarks.ours import seconds_of
from benchmarks.peers import Peer, Ways

NAME = "numpy"


def peer(threads: int) -> Peer:
    del threads  # of OpenBLAS and so set by the environment; all else runs on one
    return Peer(NAME, np.__version__, WAYS)


def into(out: Array, run: Callable[[], object], variant: str = "", exact: bool = True) -> Call:
    return Call(NAME, run, (lambda: out) if exact else None, variant)


def absolute(problem: Problem) -> Iterator[Call]:
    out = problem.empty()
    yield into(out, partial(np.absolute, problem.arrays[0], out=out))


def clip(problem: Problem) -> Iterator[Call]:
    out, given = problem.empty(), problem.attributes
    yield into(out, partial(np.clip, problem.arrays[0], given["a_min"], given["a_max"], out=out))


def right_shift(problem: Problem) -> Iterator[Call]:
    """Rounded to nearest with halves up, then cut: four passes over the result."""
    (x,), out = problem.arrays, problem.empty()
    shift, most = problem.attributes["shift_bit"], (1 << (problem.attributes["precision"] - 1)) - 1

    def run() -> None:
        np.right_shift(x, shift - 1, out=out)
        np.add(out, 1, out=out)
        np.right_shift(out, 1, out=out)
        np.clip(out, -most, most, out=out)

    yield into(out, run)


def precision(problem: Problem) -> Iterator[Call]:
    """The exponent of a magnitude in floating point is how many bits it takes."""
    (x,), out = problem.arrays, problem.empty()
    fraction = np.empty(x.shape)

    def run() -> None:
        np.frexp(x, fraction, out)
        np.maximum(out, 1, out=out)

    yield into(out, run)


def add(problem: Problem) -> Iterator[Call]:
    out = problem.empty()
    yield into(out, partial(np.add, *problem.arrays, out=out))


def reduction(function: Any) -> Ways:
    def ways(problem: Problem) -> Iterator[Call]:
        out, axes = problem.empty(), problem.attributes["axes"]
        x = problem.arrays[0]
        flat = len(axes) == x.ndim
        kept = out.reshape(()) if flat else out
        yield into(out, partial(function, x, axis=axes, out=kept))

    return ways


def real_reduction(function: Any, exact: bool) -> Ways:
    def ways(problem: Problem) -> Iterator[Call]:
        out, axis = problem.empty(), problem.attributes["axis"]
        run = partial(function, problem.arrays[0], axis=axis, keepdims=True, out=out)
        yield into(out, run, exact=exact)

    return ways


def multiply(problem: Problem) -> Iterator[Call]:
    out = problem.empty()
    yield into(out, partial(np.multiply, *problem.arrays, out=out))


def max_pool(problem: Problem) -> Iterator[Call]:
    """The maximum of shifted views of the padded image."""
    (x,), out, given = problem.arrays, problem.empty(), problem.attributes
    (down, right), (sy, sx), (py, px) = given["pool_size"], given["strides"], given["padding"]
    padded = np.full(
        (*x.shape[:2], x.shape[2] + 2 * py, x.shape[3] + 2 * px), np.iinfo(np.int32).min, np.int32
    )
    inside = padded[:, :, py : py + x.shape[2], px : px + x.shape[3]]
    rows, columns = out.shape[2:]
    views = [
        padded[:, :, i : i + sy * (rows - 1) + 1 : sy, j : j + sx * (columns - 1) + 1 : sx]
        for i in range(down)
        for j in range(right)
    ]

    def run() -> None:
        np.copyto(inside, x)
        np.copyto(out, views[0])
        for view in views[1:]:
            np.maximum(out, view, out=out)

    yield into(out, run)


def transpose(problem: Problem) -> Iterator[Call]:
    out = problem.empty()
    view = problem.arrays[0].transpose(problem.attributes["axes"])
    yield into(out, partial(np.copyto, out, view))


def lut(problem: Problem) -> Iterator[Call]:
    (indices, table), out = problem.arrays, problem.empty()
    yield into(out, partial(np.take, table, indices, out=out, mode="clip"))


def take(problem: Problem) -> Iterator[Call]:
    (x, indices), out = problem.arrays, problem.empty()
    axis = problem.attributes["axis"]
    yield into(out, partial(np.take, x, indices, axis=axis, out=out, mode="clip"))


def tile(problem: Problem) -> Iterator[Call]:
    (x,), out, reps = problem.arrays, problem.empty(), problem.attributes["reps"]
    pairs = [extent for pair in zip(reps, x.shape, strict=True) for extent in pair]
    view = x.reshape([extent for length in x.shape for extent in (1, length)])
    yield into(out, partial(np.copyto, out.reshape(pairs), view))


def repeat(problem: Problem) -> Iterator[Call]:
    (x,), out = problem.arrays, problem.empty()
    axis, count = problem.attributes["axis"], problem.attributes["repeats"]
    split = out.reshape(*x.shape[: axis + 1], count, *x.shape[axis + 1 :])
    yield into(out, partial(np.copyto, split, np.expand_dims(x, axis + 1)))


def upsampling(problem: Problem) -> Iterator[Call]:
    (x,), out, scale = problem.arrays, problem.empty(), problem.attributes["scale"]
    n, c, h, w = x.shape
    split = out.reshape(n, c, h, scale, w, scale)
    yield into(out, partial(np.copyto, split, x[:, :, :, None, :, None]))


def concatenate(problem: Problem) -> Iterator[Call]:
    out, axis = problem.empty(), problem.attributes["axis"]
    yield into(out, partial(np.concatenate, problem.arrays, axis=axis, out=out))


def strided_slice(problem: Problem) -> Iterator[Call]:
    out, given = problem.empty(), problem.attributes
    parts = tuple(map(slice, given["begin"], given["end"]))
    yield into(out, partial(np.copyto, out, problem.arrays[0][parts]))


def valid_count(problem: Problem) -> Iterator[Call]:
    """A mask for each batch."""
    (x,) = problem.arrays
    count, out = (np.zeros_like(each) for each in problem.expected)

    def run() -> None:
        for at, (batch, target) in enumerate(zip(x, out, strict=True)):
            kept = batch[batch[:, 1] > 0]
            count[at] = len(kept)
            target[: len(kept)] = kept
            target[len(kept) :] = -1

    yield Call(NAME, run, lambda: (count, out))


def dense(problem: Problem) -> Iterator[Call]:
    """There is no fast product of integers; one of floating-point numbers holds most sums."""
    x, w = (each.astype(np.float32) for each in problem.arrays)
    out = np.zeros(problem.expected[0].shape, np.float32)
    yield into(out, partial(np.matmul, x, w.T, out=out), "float32", exact=False)


def running_sums(problem: Problem) -> Iterator[Call]:
    out = problem.empty()
    yield into(out, partial(np.cumsum, problem.arrays[0], axis=1, dtype=np.int64, out=out))


def reflecting_pad(problem: Problem) -> Iterator[Call]:
    """There is no way to have it in memory that is there."""
    pairs = list(zip(problem.attributes["before"], problem.attributes["behind"], strict=True))
    run = partial(np.pad, problem.arrays[0], pairs, mode="reflect")
    yield Call(NAME, run, run)


def gather_nd(problem: Problem) -> Iterator[Call]:
    x, places = problem.arrays
    run = partial(x.__getitem__, tuple(places))
    yield Call(NAME, run, run)


def lstm_cell(problem: Problem) -> Iterator[Call]:
    """The weights are int32 and turned before, as a user would keep them."""
    x, h, c, w, r, b = problem.arrays
    columns, recurrent = (np.ascontiguousarray(each.T.astype(np.int32)) for each in (w, r))
    size = h.shape[1]

    def run() -> tuple[Array, Array]:
        total = x.astype(np.int32) @ columns + h.astype(np.int32) @ recurrent + b
        gates = np.clip((total[:, : 3 * size] >> 8) + 128, 0, 255)
        news = np.clip(total[:, 3 * size :] >> 7, -127, 127)
        inward, outward, kept = (gates[:, at * size : (at + 1) * size] for at in range(3))
        cell = np.clip((kept * c + 2 * inward * news) >> 8, -32767, 32767)
        result = np.clip(outward * (cell >> 8) >> 8, -128, 127)
        return result.astype(np.int8), cell.astype(np.int16)

    yield Call(NAME, run, run)


def causal_attention(problem: Problem) -> Iterator[Call]:
    """What is later is masked; by BLAS, and by an exponential of 32 bits."""
    q, k, v = problem.arrays
    earlier = np.tril(np.ones((len(q), len(q)), bool))

    def run() -> Array:
        score = np.where(earlier, q @ k.T, np.float32(-np.inf))
        weight = np.exp(np.float32(0.125) * (score - score.max(1, keepdims=True)))
        found: Array = weight @ v / weight.sum(1, keepdims=True)
        return found

    yield Call(NAME, run, None, "float32")


def real_lstm_cell(problem: Problem) -> Iterator[Call]:
    """The weights are turned before, as a user would keep them."""
    x, h, c, w, r, b = problem.arrays
    columns, recurrent = (np.ascontiguousarray(each.T) for each in (w, r))
    size = h.shape[1]

    def bent(values: Array) -> Array:
        found: Array = 1 / (1 + np.exp(-values))
        return found

    def run() -> tuple[Array, Array]:
        total = x @ columns + h @ recurrent + b
        parts = [total[:, at * size : (at + 1) * size] for at in range(4)]
        cell = bent(parts[2]) * c + bent(parts[0]) * np.tanh(parts[3])
        return bent(parts[1]) * np.tanh(cell), cell

    yield Call(NAME, run, None, "float32")


def softmax(problem: Problem) -> Iterator[Call]:
    (x,) = problem.arrays

    def run() -> Array:
        powers = np.exp(x - x.max(1, keepdims=True))
        found: Array = powers / powers.sum(1, keepdims=True)
        return found

    yield Call(NAME, run, None, "float32")


def layer_norm(problem: Problem) -> Iterator[Call]:
    """In int32, the root by one of real numbers."""
    x, g, b = (each.astype(np.int32) for each in problem.arrays)
    narrow, count = problem.arrays[0], x.shape[1]

    def run() -> Array:
        rows = narrow.astype(np.int32)
        rows -= rows.sum(1, keepdims=True) // count
        variance = (rows * rows).sum(1, keepdims=True) // count
        root = np.maximum(1, np.sqrt(variance * 256).astype(np.int32))
        found: Array = np.clip((rows * g * 16 // root + b) >> 1, -128, 127)
        return found.astype(np.int8)

    yield Call(NAME, run, run)


def quantised_dense(problem: Problem) -> Iterator[Call]:
    """Of float32, which holds few sums exactly; as those that do not ask for the same bits."""
    x, w, b = (each.astype(np.float32) for each in problem.arrays)
    turned, given = np.ascontiguousarray(w.T), problem.attributes
    factor = np.float32(given["scale"] / 2**38)

    def run() -> Array:
        total = (x - given["zx"]) @ turned + b
        found: Array = np.clip(given["zy"] + np.rint(total * factor), -128, 127)
        return found.astype(np.int8)

    yield Call(NAME, run, None, "float32")


def top_k(problem: Problem) -> Iterator[Call]:
    """In two steps: which they are, and their order."""
    (x,), count = problem.arrays, problem.attributes["k"]

    def run() -> Array:
        order = np.argsort(-x, axis=1, kind="stable")[:, :count]
        return order.astype(np.int32)

    def parted() -> Array:
        some = np.argpartition(-x, count, axis=1)[:, :count]
        order = np.argsort(-np.take_along_axis(x, some, 1), axis=1, kind="stable")
        return np.take_along_axis(some, order, 1).astype(np.int32)

    yield Call(NAME, run, run, "sorted")
    yield Call(NAME, parted, None, "parted", beside=True)  # of equal ones it takes any


def bound_call(problem: Problem) -> Iterator[Call]:
    (x,), out = problem.arrays, problem.empty()
    yield into(out, partial(np.maximum, x, np.zeros_like(x), out=out))


def free_call(problem: Problem) -> Iterator[Call]:
    run = partial(np.maximum, problem.arrays[0], 0)
    yield Call(NAME, run, run)


def loading(problem: Problem) -> Iterator[Call]:
    yield import_time(NAME)


def import_time(library: str) -> Call:
    """What it takes to import a library, in a process of its own."""
    program = (
        f"import time\nstart = time.perf_counter()\nimport {library}\n"
        "print(time.perf_counter() - start)"
    )
    return Call(library, lambda: None, clock=partial(seconds_of, program))


WAYS: dict[str, Ways] = {
    "cvm.abs": absolute,
    "cvm.clip": clip,
    "cvm.cvm_right_shift": right_shift,
    "cvm.cvm_precision": precision,
    "cvm.elemwise_add": add,
    "cvm.broadcast_add": add,
    "cvm.sum": reduction(np.sum),
    "cvm.max": reduction(np.max),
    "cvm.max_pool2d": max_pool,
    "cvm.transpose": transpose,
    "cvm.cvm_lut": lut,
    "cvm.take": take,
    "cvm.tile": tile,
    "cvm.repeat": repeat,
    "cvm.upsampling": upsampling,
    "cvm.concatenate": concatenate,
    "cvm.slice": strided_slice,
    "cvm.get_valid_count": valid_count,
    "cvm.dense": dense,
    "tosa.reduce_sum": real_reduction(np.sum, exact=False),
    "tosa.reduce_max": real_reduction(np.max, exact=True),
    "systemml.mul": multiply,
    "own.running_sums": running_sums,
    "own.reflecting_pad": reflecting_pad,
    "own.gather_nd": gather_nd,
    "own.lstm_cell": lstm_cell,
    "own.quantised_dense": quantised_dense,
    "own.causal_attention": causal_attention,
    "own.real_lstm_cell": real_lstm_cell,
    "own.softmax": softmax,
    "own.layer_norm": layer_norm,
    "own.top_k": top_k,
    "bound call": bound_call,
    "free call": free_call,
    "load": loading,
}
