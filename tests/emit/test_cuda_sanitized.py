"""CUDA kernels on the CPU under sanitizers and the race detector: ragged shapes, random orders, and
data that break their contract. `make sanitize` runs this alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import cvmgen
from cvmgen.api import Operator
from cvmgen.api.cuda_cpu_backend import PRELUDE
from cvmgen.api.library import library_sources
from cvmgen.api.manifest import read_manifest
from cvmgen.build import compile_library, cpp_compiler, explain_report, sanitizer_environment
from cvmgen.emit import cuda_support
from cvmgen.errors import OperatorError
from cvmgen.paths import MANIFEST
from tests.emit.cuda_texts import NAMES
from tests.emit.on_cpu import library
from tests.emit.processes import ROOT
from tests.emit.run_on_cpu import reach_all, run
from tests.operators import FOLDERS, sample, sampled

ADDRESSES = ("address", "undefined")
# -O0 takes a third of the time to compile; what is wrong in the text shows there too.
QUICK = ("-O0",)

linux = pytest.mark.skipif(sys.platform != "linux", reason="preloads the run-time library")


def report_of(*arguments: str | Path) -> str:
    """What a fresh Python under sanitizers wrote when it failed; nothing when it ended well."""
    environment = sanitizer_environment(ADDRESSES, cpp_compiler)
    if not environment:
        pytest.skip("the compiler has no sanitizers that Python can load")
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "UBSAN_OPTIONS": "print_stacktrace=1",
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if done.returncode == 0 else f"{done.stdout[-200:]}\n{done.stderr}"


# ---------------------------------------------------------------- sanitizers


@linux
@pytest.mark.parametrize("operators", FOLDERS)
def test_sanitizers_have_nothing_to_report(operators: str, request: pytest.FixtureRequest) -> None:
    sanitize(request.getfixturevalue(operators), QUICK)


@linux
@pytest.mark.slow
def test_sanitizers_have_nothing_to_report_when_optimised(
    generated: Path, extra_generated: Path
) -> None:
    for folder in (generated, extra_generated):
        sanitize(folder, ())


def sanitize(folder: Path, flags: Sequence[str]) -> None:
    made = library(folder, flags, ADDRESSES)
    report = report_of("-m", "tests.emit.run_on_cpu", folder, made)
    sources = library_sources(folder, "cuda-cpu")
    assert not report, explain_report(report, sources, manifest=folder / MANIFEST)


# ---------------------------------------------------------------- races


class WithRaces:
    """Operators of a generated folder in a library that looks for races."""

    def __init__(self, folder: Path) -> None:
        self.sources = library_sources(folder, "cuda-cpu")
        self.path, self.manifest = library(folder, QUICK, ("thread",)), folder / MANIFEST
        loaded = cvmgen.load("cuda-cpu", folder=folder, library=self.path)
        names = [info.full_name for info in read_manifest(folder).operators]
        self.operators: dict[str, Operator] = {name: loaded[name] for name in names}


@pytest.fixture(scope="module")
def sample_races(sample_generated: Path) -> WithRaces:
    return WithRaces(sample_generated)


@pytest.fixture(scope="module")
def product_races(generated: Path) -> WithRaces:
    return WithRaces(generated)


@pytest.fixture(scope="module")
def extra_races(extra_generated: Path) -> WithRaces:
    return WithRaces(extra_generated)


@linux
@pytest.mark.parametrize("name", sampled(NAMES))
def test_there_are_no_races(name: str, request: pytest.FixtureRequest) -> None:
    others = "extra_races" if name.startswith("extra.") else "product_races"
    home: WithRaces = request.getfixturevalue("sample_races" if name in sample() else others)
    try:
        run(home.operators[name])
        if not name.startswith("extra."):
            reach_all(home.operators[name])
    except OperatorError as error:
        pytest.fail(explain_report(str(error), home.sources, home.path, home.manifest))


# ---------------------------------------------------------------- reports

BESIDE = """\
#include "cvmgen_cuda.h"
extern "C" __global__ void beside(int64_t *x, int64_t at) {
    __shared__ int64_t kept[5];
    CVMGEN_DYNAMIC_SHARED(bytes);
    /* b line 7: Y[i] = X[i]
       + 1 */
    if (at < 100)
        x[at] = 1;
    else if (at < 200)
        *(kept + at - 100) = 1;
    else if (at < 300)
        ((int64_t *)bytes)[at - 200] = 1;
    else
        *(int4 *)((char *)x + at % 8) = make_int4(1, 2, 3, 4);
    x[0] = kept[0];
}
extern "C" int run_beside(int64_t at) {
    void *memory = NULL;
    cudaError_t status = cudaMallocAsync(&memory, 5 * sizeof(int64_t), NULL);
    void *arguments[] = {&memory, &at};
    if (status == cudaSuccess)
        status = cudaLaunchKernel(beside, 1, 1, arguments, 5 * sizeof(int64_t), NULL);
    return status + cudaFreeAsync(memory, NULL);
}
"""
# What is accessed, and what the report says of it with the line of the text.
REPORTS = [
    (0, "", 0, "an element"),
    (5, "heap-buffer-overflow", 8, "behind device memory"),
    (-1, "heap-buffer-overflow", 8, "in front of device memory"),
    (105, "global-buffer-overflow|insufficient space", 10, "behind static shared memory"),
    (205, "heap-buffer-overflow", 12, "behind dynamic shared memory"),
    (301, "misaligned address", 14, "a vector where none may be"),
]


@linux
@pytest.mark.parametrize(("at", "what", "line", "why"), REPORTS, ids=[row[-1] for row in REPORTS])
def test_reports_name_the_line_and_the_formula(at: int, what: str, line: int, why: str) -> None:
    sources = {**cuda_support.emit_support(), "c/beside.cu": BESIDE}
    made = compile_library(
        sources, name="beside", prelude=PRELUDE, sanitizers=ADDRESSES, flags=QUICK, threads=False
    )
    call = f"import ctypes; ctypes.CDLL({str(made)!r}).run_beside(ctypes.c_int64({at}))"
    report = explain_report(report_of("-c", call), sources)
    assert re.search(what, report), report
    if what:
        assert f"c/beside.cu:{line} (b line 7: Y[i] = X[i] + 1)" in report, report
