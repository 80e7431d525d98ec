"""How long each step of a model takes: the model's own text, with a clock around its steps."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass

from cvmgen.build import compile_library
from cvmgen.graph.limits import Array
from cvmgen.memory import zeroed_bytes
from cvmgen.model.emit import Files
from cvmgen.model.kernels import ModelTensor
from cvmgen.model.steps import KernelStep
from cvmgen.model.storage import BYTES

RUNS = 30  # of which the shortest time of each step counts

CLOCK = """
#include <time.h>

/* What the clock said last, and the shortest time of each step so far, in nanoseconds. */
static struct timespec last_time;
double {name}_shortest[{count}];

static void begin(void) {{ timespec_get(&last_time, TIME_UTC); }}

static void end(int step) {{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    const double seconds = difftime(now.tv_sec, last_time.tv_sec);
    const double spent = 1e9 * seconds + (double)(now.tv_nsec - last_time.tv_nsec);
    if ({name}_shortest[step] == 0 || spent < {name}_shortest[step]) {name}_shortest[step] = spent;
}}"""


@dataclass(frozen=True)
class TimedFiles(Files):
    """The files of a model whose steps are timed."""

    def threads(self) -> str:
        return super().threads() + CLOCK.format(name=self.name, count=len(self.steps))

    def call(self, step: KernelStep, pointers: Mapping[str, str]) -> list[str]:
        return ["begin();", *super().call(step, pointers), f"end({self.steps.index(step)});"]


def step_times(files: Files, threads: int = 1) -> dict[str, float]:
    """The shortest time of each step by name, in microseconds, on zeros; BuildError where there is
    no compiler that makes a library."""
    timed = TimedFiles(files.name, files.made, files.plan, files.schedules)
    library = ctypes.CDLL(str(compile_library(timed.all(), name="timed")))
    run, tensors = library[f"{files.name}_run"], files.model.tensors
    arrays = [_zeros(tensors[each]) for each in (*files.model.inputs, *files.model.outputs)]
    state = [zeroed_bytes(files.state_places[1])] * bool(files.model.states)
    library[f"{files.name}_set_threads"](ctypes.c_int(threads))
    for _ in range(RUNS):
        run(*(ctypes.c_void_p(each.ctypes.data) for each in (*arrays, *state)), None)
    found = (ctypes.c_double * len(files.steps)).in_dll(library, f"{files.name}_shortest")
    return {step.name: spent / 1000 for step, spent in zip(files.steps, found, strict=True)}


def _zeros(tensor: ModelTensor) -> Array:
    return zeroed_bytes(tensor.size * BYTES[tensor.stored or "i8"])
