"""Runs one operator of a library of CUDA text on calls that reach all ways of its kernels, beside
the C target: for libraries whose text may be wrong.

python -m tests.emit.run_mutant STEP FOLDER LIBRARY OPERATOR ...
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import cvmgen
from cvmgen.api import Operator
from cvmgen.api.cuda_cpu_backend import CudaCpuBackend, ThreadOrder, order_code
from cvmgen.errors import OperatorError

Array = np.ndarray[Any, Any]
Outcome = tuple[Array, ...] | str
ORDERS: dict[str, ThreadOrder] = {"forward": "forward", "reverse": "reverse", "random": 11}
COMPARING = tuple(ORDERS)
"""The steps in which results count; the others look only for what the runtime reports."""

CAUGHT, PASSED = "caught: ", "passed"

TILED = ("cvm.conv2d", "cvm.dense")
GUARD = 64  # bytes in front of an output and behind it


@dataclass(frozen=True)
class Call:
    inputs: Sequence[Array]
    attributes: dict[str, Any] = field(default_factory=dict)
    dtype: str | None = None  # of the result
    precisions: dict[str, int] | None = None  # that are declared, whatever the data are


def drawn(
    *shape: int, dtype: str = "int8", low: int = -127, high: int = 127, beside: int = 0
) -> Array:
    """Values with both ends among them, `beside` elements behind the address of a vector."""
    source = np.random.default_rng([*shape, high - low])
    values = source.integers(low, high + 1, shape)
    values = np.where(source.random(shape) < 0.2, source.choice([low, high], shape), values)
    return placed(values.astype(dtype), beside)


def placed(values: Array, beside: int) -> Array:
    if beside == 0:
        return values
    whole = np.zeros(values.size + 16 + beside, values.dtype)
    first = -whole.ctypes.data % 16 // values.itemsize + beside
    found = whole[first : first + values.size].reshape(values.shape)
    found[...] = values
    return found


wide = partial(drawn, dtype="int32", low=-(2**31) + 1, high=2**31 - 1)
small = partial(drawn, low=-3, high=3)
below = partial(drawn, low=-127, high=-1)


def reductions(make: Callable[..., Array]) -> list[Call]:
    """By a thread, lanes, a block, several blocks for each, side by side and in parts."""
    shapes = [((5,), ()), ((700, 100), (1,)), ((7, 300), (1,)), ((300, 7), (0,))]
    shapes += [((17000,), ()), ((600, 41), (0,))]
    return [Call([make(*shape)], {"axes": axes}) for shape, axes in shapes]


def boxes() -> Call:
    """Candidates of which many overlap, for one list all, for the other some."""
    corners = drawn(2, 90, 2, dtype="int32", low=0, high=30)
    sizes = drawn(2, 90, 2, dtype="int32", low=1, high=12)
    kinds = drawn(2, 90, 1, dtype="int32", low=0, high=1)
    scores = drawn(2, 90, 1, dtype="int32", low=1, high=100)
    x = np.concatenate([kinds, scores, corners, corners + sizes], axis=2).astype(np.int32)
    attributes = {"iou_threshold": 40, "max_output_size": 30, "top_k": 70}
    return Call([x, np.array([90, 55], np.int32)], attributes)


def overflowing() -> Call:
    """Sums of which some do not fit, the first of them far from the first."""
    x = np.zeros((3000, 40), np.int32)
    x[[1500, 2222, 2999], 7] = x[[1500, 2222, 2999], 30] = 2**31 - 1
    return Call([x], {"axis": 1})


BIAS = drawn(90, dtype="int32", low=-(10**6), high=10**6)
FILTERS = {"padding": (1, 2), "stride": (1, 2), "dilation": (2, 1), "groups": 2}
POOLS = {"pool_size": (3, 3), "padding": (1, 1), "strides": (2, 1)}
CALLS: dict[str, list[Call]] = {
    "cvm.relu": [
        Call([drawn(3)], dtype="int8"),
        Call([drawn(9003)], dtype="int8"),
        Call([drawn(777, beside=1)], dtype="int8"),
        Call([drawn(9003)]),
        Call([wide(5000)]),
    ],
    "cvm.cvm_right_shift": [
        Call([make(300)], {"precision": 8, "shift_bit": shift})
        for make in (wide, drawn)
        for shift in (1, 4, 31)
    ],
    "cvm.broadcast_add": [
        Call([drawn(5, 1, 33, low=-60, high=60), drawn(7, 33, low=-60, high=60)], dtype="int8"),
        Call([drawn(4, 37), drawn(4, 1)]),
    ],
    "cvm.take": [
        Call([drawn(50), drawn(90, low=-20, high=70)], dtype="int8"),
        Call([drawn(5, 20, 3), drawn(7, low=-3, high=30)], {"axis": 1}),
    ],
    "cvm.transpose": [Call([drawn(3, 17, 20)], {"axes": (2, 0, 1)}, dtype="int8")],
    "cvm.sum": reductions(small),
    "cvm.max": reductions(below),
    "cvm.max_pool2d": [
        Call([below(2, 3, 19, 23)], POOLS, dtype="int8"),
        Call([wide(1, 2, 40, 40)], POOLS),
        Call([below(1, 1, 40, 40)], {"pool_size": (3, 3)}, dtype="int8"),
    ],
    "cvm.dense": [
        Call([drawn(65, 130), drawn(90, 130), BIAS]),
        Call([drawn(200, 100), drawn(10, 100)]),
        Call([drawn(5, 256), drawn(90, 256)]),
        Call([drawn(3, 7, beside=1), drawn(2, 7, beside=3)]),
        Call([wide(3, 40), wide(2, 40)], precisions={"X": 13, "W": 13}),
        Call([wide(65, 130), wide(9, 130)], precisions={"X": 8, "W": 8}),  # and are not
    ],
    "cvm.conv2d": [
        Call([drawn(1, 6, 9, 11), drawn(4, 3, 3, 3), BIAS[:4]], FILTERS),
        Call([drawn(2, 16, 9, 8), drawn(70, 16, 3, 3)], {"padding": (1, 1)}),
    ],
    "cvm.get_valid_count": [Call([drawn(3, 700, 6)], {"score_threshold": 10})],
    "cvm.non_max_suppression": [boxes()],
    "tosa.reduce_sum": [overflowing()],
}


def main() -> None:
    step, folder, library, *names = sys.argv[1:]
    mutants = cvmgen.load("cuda-cpu", folder=folder, library=Path(library))
    targets = cvmgen.load("c", folder=folder) if step in COMPARING else None
    for name in names:
        print(name, file=sys.stderr)  # what a report below belongs to
        found = fault(step, mutants[name], targets[name] if targets is not None else None)
        if found:
            print(f"{CAUGHT}{name}: {found}")
            return
    print(PASSED)


def fault(step: str, mutant: Operator, target: Operator | None) -> str:
    """The first thing that goes wrong; empty: nothing."""
    backend = mutant._backend
    assert isinstance(backend, CudaCpuBackend)
    backend.order, backend.seed = order_code(ORDERS.get(step, 5))
    for call in CALLS[mutant._info.full_name]:
        wanted = outcome(target, call) if target is not None else None
        for _ in ways(mutant):
            outputs = [Guarded(each) for each in wanted] if isinstance(wanted, tuple) else []
            found = outcome(mutant, call, tuple(each.array for each in outputs))
            if isinstance(found, str) and found.startswith("CUDA"):
                return found
            if wanted is not None and not alike(found, wanted):
                return "wrong results"
            if not all(each.is_whole for each in outputs):
                return "writes beside its output"
    return ""


def outcome(operator: Operator, call: Call, out: tuple[Array, ...] = ()) -> Outcome:
    """The results, or what the call is refused for."""
    given: Any = out if len(out) > 1 else (out[0] if out else None)
    dtype = None if out else call.dtype
    try:
        found = operator(
            *call.inputs, precisions=call.precisions, out=given, dtype=dtype, **call.attributes
        )
    except OperatorError as error:
        return error.rule if error.rule.startswith("CUDA") else str(error)
    return tuple(found) if isinstance(found, tuple) else (found,)


def alike(found: Outcome, wanted: Outcome) -> bool:
    if isinstance(found, str) or isinstance(wanted, str):
        return found == wanted
    return all(map(np.array_equal, found, wanted))


class Guarded:
    """An array like another, with bytes around it that nobody may write."""

    def __init__(self, like: Array) -> None:
        size = like.nbytes + 2 * GUARD
        memory = np.zeros(size + GUARD, np.uint8)
        first = -memory.ctypes.data % GUARD
        self.whole = memory[first : first + size]
        self.whole[...] = 99
        inside = self.whole[GUARD:-GUARD].view(like.dtype)
        self.array = inside.reshape(like.shape)

    @property
    def is_whole(self) -> bool:
        ends = (self.whole[:GUARD], self.whole[-GUARD:])
        return all(bool((end == 99).all()) for end in ends)


def ways(operator: Operator) -> Iterator[None]:
    """Each way to run it: as launched and in two blocks that stride; contractions by tiles."""
    state = operator._backend.state  # type: ignore[attr-defined]
    tiled = operator._info.full_name in TILED
    for blocks in (0, 2):
        for always, cores, late in [(0, 0, 0), (1, 0, 1), (2, 1, 0)] if tiled else [(0, 0, 0)]:
            state.blocks, state.always_tiles = blocks, always
            state.tensor_cores, state.late_copies = cores, late
            yield


if __name__ == "__main__":
    main()
