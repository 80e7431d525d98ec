"""Runs every operator of a library of CUDA text in this process: for libraries built with
sanitizers.

python -m tests.emit.run_on_cpu FOLDER LIBRARY
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import cvmgen
from cvmgen.api import Operator
from cvmgen.api.cuda_cpu_backend import CudaCpuBackend
from cvmgen.api.manifest import read_manifest
from cvmgen.errors import OperatorError
from tests.conformance.calls import Array, Call, declared, mapped
from tests.conformance.random_calls import DRAW, call
from tests.conformance.wild import UNBOUNDED, wild

CALLS = 8


def main() -> None:
    folder, library = map(Path, sys.argv[1:])
    operators = cvmgen.load("cuda-cpu", folder=folder, library=library)
    for info in read_manifest(folder).operators:
        if info.full_name in DRAW:
            print(info.full_name, flush=True)  # what a report belongs to
            run(operators[info.full_name])
            if info.opset != "extra":
                reach_all(operators[info.full_name])


def run(operator: Operator, calls: int = CALLS) -> None:
    """Calls in random orders, as launched and on a small grid, with data that keep their precision
    and, in turn, with data that do not. Refusals are left out, but for those of the device."""
    name = operator._info.full_name
    source = Random(name)
    for number in range(calls):
        drawn = call(name, source)
        precisions = declared(operator, drawn.inputs)
        inputs = list(drawn.inputs)
        if number % 2 and name not in UNBOUNDED:
            inputs = mapped(lambda one: wild(source, one), inputs)
        with shaped(operator, *((3, 5) if number % 4 == 2 else (0, 0)), number):
            try:
                operator(*inputs, precisions=precisions, **drawn.attributes)
            except OperatorError as error:
                if error.rule.startswith("CUDA"):
                    raise


# ---------------------------------------------------------------- every kernel

KERNEL = re.compile(r'extern "C" __global__ void __launch_bounds__\([^)]*\)\n(\w+)\(')
MOST_CALLS = 240  # some operators have twenty rows of types
KINDS = (None, np.int8, np.int32)
# Of sizes that random calls seldom have: windows that fill a block and overlap.
PICTURE = {"input_shape": (1, 2, 14, 15), "stride": (1, 1)}
POOL = {**PICTURE, "pool_size": (3, 3), "padding": "valid"}
CONVOLUTION = ((1, 4, 12, 13), (4, 1, 3, 3))
GROUPS = {"group": 4, "pads": (1, 1, 1, 1)}
# Shapes of the inputs, what types these may have, attributes.
LARGE: dict[str, tuple[tuple[tuple[int, ...], ...], tuple[str, ...], dict[str, Any]]] = {
    "cvm.conv2d": (CONVOLUTION, ("int32 int32",), {"groups": 4, "padding": (1, 1)}),
    "cvm.max_pool2d": (((1, 2, 14, 15),), ("int32",), {"pool_size": (3, 3)}),
    "onnx.conv_integer": (CONVOLUTION, ("int8 int8", "uint8 int8", "uint8 uint8"), GROUPS),
    "onnx.qlinear_conv": (
        (*CONVOLUTION, (1,)),
        ("int8 int8 float32", "uint8 int8 float32", "uint8 uint8 float32"),
        GROUPS,
    ),
    "onnx.max_pool": (((1, 2, 14, 15),), ("int8", "uint8", "float32"), {"kernel_shape": (3, 3)}),
    "systemml.conv2d": (
        ((1, 420), (1, 18)),
        ("float64 float64",),
        {**PICTURE, "filter_shape": (1, 2, 3, 3), "padding": "valid"},
    ),
    "systemml.max_pool": (((1, 420),), ("float64",), POOL),
    "systemml.avg_pool": (((1, 420),), ("float64",), POOL),
}


def reach_all(operator: Operator) -> None:
    """Call until every kernel of the operator has been launched.

    This is for those of the product: results of the language's examples may never be narrow.
    """
    backend = operator._backend
    assert isinstance(backend, CudaCpuBackend)
    addresses = {
        ctypes.cast(getattr(backend.library, name), ctypes.c_void_p).value: name
        for name in KERNEL.findall(operator.source("cuda"))
    }
    left, info = set(addresses.values()), operator._info
    kinds = (None,) if info.types[0] else KINDS
    dtypes = KINDS if info.has_precision(operator.outputs[0]) else (None,)

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    def on_launch(kernel: int) -> None:
        left.discard(addresses[kernel])

    state = backend.state
    state.on_launch = ctypes.cast(on_launch, ctypes.c_void_p).value
    try:
        for made in calls(info.full_name):
            if not left:
                break
            for always, kind, dtype in product((0, 1), kinds, dtypes):
                state.always_tiles = state.always_votes = always
                attempt(operator, made, kind, dtype)
    finally:
        state.on_launch = state.always_tiles = state.always_votes = 0
    assert not left, f"never launched: {', '.join(sorted(left))}"


def calls(name: str) -> Iterator[Call]:
    """Calls of an operator, in turn with its data and with few bits, for narrow results."""
    source = Random(name)
    for number in range(MOST_CALLS):
        made = large(name, source) if number % 4 < 2 and name in LARGE else call(name, source)
        yield replace(made, inputs=tuple(mapped(few_bits, made.inputs))) if number % 2 else made


def large(name: str, source: Random) -> Call:
    shapes, types, attributes = LARGE[name]
    inputs = tuple(
        np.array([source.randint(-3, 3) for _ in range(prod(shape))]).astype(dtype).reshape(shape)
        for shape, dtype in zip(shapes, source.choice(types).split(), strict=True)
    )
    return Call(name, inputs, attributes)


def few_bits(array: Array) -> Array:
    return np.sign(array) if array.dtype.kind == "i" else array


def attempt(operator: Operator, made: Call, kind: Any, dtype: Any) -> None:
    """A call with inputs and results of these types."""
    inputs = list(made.inputs)
    if kind is not None:
        inputs = mapped(lambda one: one.astype(kind), inputs)
    try:
        operator(*inputs, dtype=dtype, **made.attributes)
    except OperatorError as error:
        if error.rule.startswith("CUDA"):
            raise


@contextmanager
def shaped(operator: Operator, blocks: int, threads: int, seed: int) -> Iterator[None]:
    """Kernels run on this grid, 0 as launched, in a random order."""
    backend = operator._backend
    assert isinstance(backend, CudaCpuBackend)
    state, before = backend.state, (backend.order, backend.seed)
    state.blocks, state.threads = blocks, threads
    backend.order, backend.seed = 2, seed
    try:
        yield
    finally:
        state.blocks = state.threads = 0
        backend.order, backend.seed = before


if __name__ == "__main__":
    main()
