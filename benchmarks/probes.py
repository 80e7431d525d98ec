"""Probes: the time that a workload would take at the machine's own limit, in the same run."""

from __future__ import annotations

import ctypes
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cases import Array, Call, Problem
from benchmarks.machine import describe, own_copy
from benchmarks.measure import Effort, timings
from cvmgen.build import compile_library
from cvmgen.memory import new_array

SOURCE = Path(__file__).with_name("probes.c")
# What operators share their loops with, and what it includes.
POOL = Path(__file__).resolve().parents[1] / "generated" / "c"
POOLED = ("cvmgen_threads.c", "cvmgen_threads.h", "cvmgen_kernel.h", "cvmgen.h")
STEPS = 200_000  # for each thread
CHUNK = 4096  # elements of the longer side of a stream
STREAMED = 1 << 24  # int32 elements


@dataclass(frozen=True, slots=True)
class Limit:
    """A probe, and how many times as long as one run of it the workload would take."""

    call: Call
    scale: float = 1.0


class Probes:
    """The probes of probes.c, on so many threads."""

    def __init__(self, threads: int) -> None:
        # The machine belongs to what is compiled, since it decides what code is.
        machine = f"#define MACHINE {json.dumps(' '.join(describe().values()))}\n"
        sources = {name: (POOL / name).read_text() for name in POOLED}
        sources |= {"probes.c": SOURCE.read_text(), "machine.h": machine}
        path = compile_library(sources, name="probes", flags=("-march=native",))
        with own_copy(path) as own:
            self.library = ctypes.CDLL(str(own))
        self.library.cvmgen_set_threads(threads)
        self.threads = threads
        self.library.probe_dot_name.restype = ctypes.c_char_p
        for name in ("probe_dot", "probe_multiply_add"):
            getattr(self.library, name).restype = ctypes.c_int64

    @property
    def instruction(self) -> str:
        """What the probe of int8 products is made of."""
        return bytes(self.library.probe_dot_name()).decode()

    def copy(self, elements: int) -> Call:
        x, y = filled(elements), filled(elements)
        arguments = (_pointer(x), _pointer(y), ctypes.c_int64(elements), ctypes.c_uint32(0))

        def run(kept: Any = (x, y)) -> None:
            self.library.probe_copy(*arguments)

        return Call("probe", run)

    def stream(self, read: int, written: int) -> Call:
        """Numbers of int32 elements; as many of both are a copy."""
        if read == written:
            return self.copy(read)
        chunks = -(-max(read, written) // CHUNK)
        x, y, sums = filled(read), filled(written), filled(chunks)
        arguments = (
            _pointer(x), ctypes.c_int64(read), _pointer(y), ctypes.c_int64(written),
            _pointer(sums), ctypes.c_int64(chunks),
        )  # fmt: skip

        def run(kept: Any = (x, y, sums)) -> None:
            self.library.probe_stream(*arguments)

        return Call("probe", run)

    def arithmetic(self, name: str, steps: int = STEPS) -> tuple[Call, int]:
        """A run of `dot` or `multiply_add`, and how many products it makes on all threads."""
        function = getattr(self.library, f"probe_{name}")
        arguments = ctypes.c_int64(steps * self.threads), ctypes.c_uint32(1)
        return Call("probe", lambda: function(*arguments)), function(*arguments)

    def limit(self, problem: Problem) -> Limit | None:
        """What bounds a workload; None where nothing is known to."""
        workload = problem.workload
        written = sum(map(_words, problem.expected))
        if workload.limit == "copy":
            return Limit(self.copy(written))
        if workload.limit == "stream":
            return Limit(self.stream(sum(map(_words, problem.arrays)), written))
        if workload.limit == "dot":
            call, made = self.arithmetic("dot")
            return Limit(call, products(problem) / made)
        return None

    def rates(self, effort: Effort) -> dict[str, float]:
        """What the machine reaches: 10^9 bytes, products or multiply-adds in a second."""
        calls = [self.copy(STREAMED), self.stream(STREAMED, 1)]
        work = [8 * STREAMED, 4 * STREAMED]
        for name in ("dot", "multiply_add"):
            call, made = self.arithmetic(name)
            calls.append(call)
            work.append(made)
        times = [timing.seconds for timing in timings(calls, effort)]
        dot = f"int8 products by {self.instruction} G/s"
        names = ("copy GB/s", "read GB/s", dot, "int32 multiply-adds G/s")
        return {
            name: amount / time / 1e9 for name, amount, time in zip(names, work, times, strict=True)
        }


def products(problem: Problem) -> int:
    """How many int8 products a workload takes."""
    if problem.workload.products is not None:
        return problem.workload.products
    weights = problem.arrays[1]
    return problem.expected[0].size * weights.size // len(weights)


def filled(elements: int) -> Array:
    """Memory that is there: pages that were never written are all one page of zeros."""
    found = new_array((elements,), np.int32)
    found.fill(1)
    return found


def _words(array: Array) -> int:
    return max(1, array.nbytes // 4)


def _pointer(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
