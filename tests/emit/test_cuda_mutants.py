"""Bugs put into CUDA text, and the steps that catch them: whether those steps still do.

The usual run looks at one bug for each step; `make mutants` at all of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from cvmgen.api.cuda_cpu_backend import PRELUDE
from cvmgen.api.library import library_sources
from cvmgen.build import (
    broken_gates,
    compile_library,
    cpp_compiler,
    cuda_compiler,
    cuda_instructions,
    cuda_resources,
    explain_report,
    sanitizer_environment,
)
from cvmgen.errors import BuildError
from cvmgen.paths import MANIFEST
from tests.emit.cuda_texts import classes
from tests.emit.mutant import STEPS, Mutant
from tests.emit.mutants import MUTANTS
from tests.emit.on_cpu import library
from tests.emit.processes import ROOT
from tests.emit.run_mutant import CALLS, CAUGHT, ORDERS, PASSED
from tests.emit.test_cuda_sanitized import ADDRESSES, QUICK

ARCHITECTURE = "sm_90"
SECONDS = 300  # after which a kernel is taken for one that never ends
SANITIZERS = {"sanitizers": ADDRESSES, "races": ("thread",)}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="preloads the run-time library")


# ---------------------------------------------------------------- steps


def caught(mutant: Mutant, step: str, folder: Path) -> str:
    """How a step catches a bug; empty: it does not."""
    sources = mutant.applied(sources_of(mutant.operator, folder))
    if step == "machine code":
        return refused(mutant.operator, sources)
    try:
        made = compile_mutant(sources, SANITIZERS.get(step, ()))
    except BuildError as error:
        return f"not compiled: {first_error(error)}"
    if step == "compile":
        return ""
    return explain_report(
        run(step, folder, made, mutant.operator), sources, made, folder / MANIFEST
    )


def sources_of(operator: str, folder: Path) -> dict[str, str]:
    """The file of an operator, and all that it is compiled with."""
    own = f"{operator.replace('.', '/')}.cu"
    found = library_sources(folder, "cuda-cpu")
    return {name: text for name, text in found.items() if name == own or not name.endswith(".cu")}


def compile_mutant(sources: Mapping[str, str], sanitizers: tuple[str, ...]) -> Path:
    return compile_library(
        sources,
        name="mutant",
        prelude=PRELUDE,
        flags=QUICK if sanitizers else ("-O1",),
        sanitizers=sanitizers,
        threads=False,
    )


def first_error(error: BuildError) -> str:
    lines = str(error).splitlines()
    return next((line.strip() for line in lines if " error: " in line), lines[0])


def run(step: str, folder: Path, made: Path, *operators: str) -> str:
    """What goes wrong with a library in a process of its own, which may come to any end."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "UBSAN_OPTIONS": "print_stacktrace=1"}
    if step == "sanitizers":
        needed = sanitizer_environment(ADDRESSES, cpp_compiler)
        if not needed:
            pytest.skip("the compiler has no sanitizers that Python can load")
        environment |= needed
    arguments = ("-m", "tests.emit.run_mutant", step, str(folder), str(made), *operators)
    try:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return "it does not end"
    said = (done.stdout.strip().splitlines() or [""])[-1]
    if said == PASSED:
        return ""
    if said.startswith(CAUGHT):
        return said.removeprefix(CAUGHT)
    assert "Traceback" not in done.stderr, done.stderr
    return done.stderr.strip() or f"it ends with {done.returncode}"


def refused(operator: str, sources: Mapping[str, str]) -> str:
    """What is wrong with the machine code of an operator's kernels."""
    try:
        cuda_compiler()
    except BuildError as error:
        pytest.skip(str(error))
    own = f"{operator.replace('.', '/')}.cu"
    includes = {name: text for name, text in sources.items() if name.endswith(".h")}
    compiling = {"architecture": ARCHITECTURE, "includes": includes, "name": own}
    try:
        resources = cuda_resources(sources[own], **compiling)  # type: ignore[arg-type]
        found = cuda_instructions(sources[own], **compiling)  # type: ignore[arg-type]
    except BuildError as error:
        return f"not compiled: {first_error(error)}"
    for kernel, kind in classes(operator).items():
        if broken := broken_gates(kind, resources[kernel], found[kernel]):
            return f"{kernel}: {', '.join(broken)}"
    return ""


# ---------------------------------------------------------------- tests


FIRST = {each.step: each for each in reversed(MUTANTS)}
CAUGHT_BY = [
    pytest.param(each, id=each.name, marks=() if each is FIRST[each.step] else pytest.mark.slow)
    for each in MUTANTS
]


@pytest.mark.parametrize("mutant", CAUGHT_BY)
def test_its_step_catches_a_bug(mutant: Mutant, generated: Path) -> None:
    report = caught(mutant, mutant.step, generated)
    assert report, f"{mutant.step} finds nothing wrong"
    assert report.startswith("not compiled") == (mutant.step == "compile") or (
        mutant.step == "machine code"
    ), report


# Under sanitizers in test_cuda_sanitized.py as well.
PASSED_BY = [
    pytest.param(each, marks=pytest.mark.slow if each in SANITIZERS else ()) for each in STEPS[1:-1]
]


@pytest.mark.parametrize("step", PASSED_BY)
def test_the_text_passes(step: str, generated: Path) -> None:
    sanitizers = SANITIZERS.get(step, ())
    made = library(generated, QUICK, sanitizers) if sanitizers else library(generated)
    report = run(step, generated, made, *CALLS)
    assert not report, explain_report(
        report, library_sources(generated, "cuda-cpu"), made, generated / MANIFEST
    )


@pytest.mark.parametrize("operator", ["cvm.relu", "cvm.dense"])
def test_the_machine_code_passes(operator: str, generated: Path) -> None:
    assert refused(operator, sources_of(operator, generated)) == ""


def test_every_step_is_needed() -> None:
    assert {each.step for each in MUTANTS} == set(STEPS)
    assert set(ORDERS) < set(STEPS)
    assert not [name for name, times in Counter(each.name for each in MUTANTS).items() if times > 1]


def test_a_bug_without_its_place_is_stale(generated: Path) -> None:
    stale = Mutant("gone", "cvm.relu", "forward", "cvm/relu.cu", "no such text", "")
    with pytest.raises(ValueError, match="'no such text' 0 times"):
        stale.applied(sources_of("cvm.relu", generated))
