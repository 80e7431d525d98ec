"""The CUDA target on the CPU: its kernels run thread by thread, in an order of choice."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cvmgen import rules, support
from cvmgen.api.c_backend import NO_OVERFLOW, CBackend, Refused
from cvmgen.api.calls import Array, CheckedCall, Described, Given, Inferred, Pairs, several
from cvmgen.api.manifest import Manifest, OperatorInfo
from cvmgen.errors import CvmgenError, OperatorError

ThreadOrder = Literal["forward", "reverse"] | int
"""The order of blocks, and of threads in each: a number is the seed of a random one."""

PRELUDE = "cpu/cvmgen_cpu.h"
"""The file of the CUDA target that stands in front of each unit."""

UNDECLARED = "its precision must be declared: device memory is not measured"
FORWARD, REVERSE, RANDOM = range(3)


class State(ctypes.Structure):
    """cvmgen_cpu_state."""

    _fields_ = tuple(
        (name, ctypes.c_uint64 if name == "seed" else ctypes.c_int64)
        for name in (
            "order",
            "seed",
            "blocks",
            "threads",
            "fail",
            "memory",
            "late_copies",
            "tensor_cores",
            "always_tiles",
            "always_votes",
            "on_launch",
            "launches",
            "ran_blocks",
            "ran_threads",
            "ran_dynamic",
            "allocations",
            "pending_error",
            "stream",
        )
    )


class CudaCpuBackend(CBackend):
    """Calls the functions of a library of CUDA files that were compiled for the CPU."""

    stream: int | None = None

    def __init__(
        self,
        path: Path,
        manifest: Manifest,
        folder: Path,
        order: ThreadOrder = "forward",
        refused: Refused | None = None,
    ) -> None:
        super().__init__(path, manifest, folder, refused)
        self.order, self.seed = order_code(order)
        self._this_thread = super().function("cvmgen_cpu_this_thread")
        self._this_thread.restype = ctypes.POINTER(State)
        self._words = {info.function: len(info.outputs) for info in manifest.operators}

    @property
    def state(self) -> State:
        """What the calling thread sets for its kernels, and sees of them."""
        found: State = self._this_thread().contents
        return found

    def function(self, name: str) -> Any:
        if name.endswith("_infer"):
            return super().function(f"{name.removesuffix('_infer')}_cuda_infer")
        call = super().function(f"{name}_cuda")
        refused = super().function(f"{name}_cuda_refused") if notes(self.library, name) else None

        def run(args: Any, error: Any) -> Any:
            # Each time: other callers of the library may have other wishes.
            state, stream = self.state, ctypes.c_void_p(self.stream)
            state.order, state.seed = self.order, self.seed
            if refused is None:
                return call(args, stream, error)
            count = self._words[name]
            words = (ctypes.c_int64 * count)(*[NO_OVERFLOW] * count)
            return call(args, stream, words, error) or refused(args, words, error)

        return run

    def infer(self, info: OperatorInfo, described: Described) -> Inferred:
        with measuring(info):
            return super().infer(info, described)

    def bind(self, info: OperatorInfo, call: CheckedCall) -> Callable[[], None]:
        there, prepare = of_kernels(info, call)
        start = super().bind(info, there)

        def run() -> None:
            prepare()
            start()

        return run


def notes(library: Any, function: str) -> bool:
    """Whether kernels of an operator note what does not fit its type."""
    return hasattr(library, f"{function}_cuda_refused")


@contextlib.contextmanager
def measuring(info: OperatorInfo) -> Iterator[None]:
    """Where arrays of the host are measured, a missing precision is told as on the host."""
    try:
        yield
    except OperatorError as error:
        if error.rule != UNDECLARED:
            raise
        raise OperatorError(
            info.full_name, error.argument, error.value, rules.NO_PRECISION
        ) from None


def order_code(order: ThreadOrder) -> tuple[int, int]:
    """An order and a seed as the library takes them; CvmgenError for another value."""
    match order:
        case "forward":
            return FORWARD, 0
        case "reverse":
            return REVERSE, 0
        case int() if not isinstance(order, bool) and 0 <= order < 1 << 64:
            return RANDOM, order
    raise CvmgenError(f"order={order!r}: 'forward', 'reverse' or a seed in [0, 2^64) is needed")


def of_kernels(info: OperatorInfo, call: CheckedCall) -> tuple[CheckedCall, Callable[[], None]]:
    """The call with inputs of the element types that kernels read, and what is to be done before
    each: elements are checked if that is asked for, and copied where their types are others.

    Kernels convert nothing: inputs of type `cvm` are int8 when all are, but for those that a
    kernel reads as int32 always.
    """
    pairs: Pairs = []
    checked = call_operands(info, call) if call.check_values else []
    free = [
        array
        for item, given in zip(info.inputs, call.given, strict=True)
        if info.has_precision(item.name) and not item.int32
        for array in several(given)
    ]
    narrow = all(array.dtype == np.int8 for array in free)

    def one(array: Array, dtype: Any) -> Array:
        if array.dtype == dtype:
            return array
        pairs.append((array.astype(dtype), array))
        return pairs[-1][0]

    def prepare() -> None:
        for operand in checked:
            operand.check_values()
        for copy, array in pairs:
            copy[...] = array

    found: list[Given] = []
    for item, given in zip(info.inputs, call.given, strict=True):
        if given is None or not info.has_precision(item.name):
            found.append(given)
            continue
        dtype = np.int8 if narrow and not item.int32 else np.int32
        arrays = [one(array, dtype) for array in several(given)]
        found.append(arrays if isinstance(given, list) else arrays[0])
    return call._replace(given=found, check_values=False), prepare


def call_operands(info: OperatorInfo, call: CheckedCall) -> list[support.Operand]:
    """Inputs with the precisions that hold them."""
    found = []
    for item, given, known in zip(info.inputs, call.given, call.precisions, strict=True):
        arrays = several(given)
        each = known if isinstance(known, list) else [known] * len(arrays)
        found += [
            support.Operand(info.full_name, item.name, array.shape, precision, array)
            for array, precision in zip(arrays, each, strict=True)
        ]
    return found
