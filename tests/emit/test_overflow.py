"""An integer that does not fit its type is refused: of several the first element is named."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from cvmgen.api.cuda_cpu_backend import ThreadOrder
from cvmgen.build import c_compiler
from cvmgen.errors import OperatorError
from tests.conformance.calls import Array, Call, Conformance
from tests.emit import overflows
from tests.emit.cuda_texts import compile_with
from tests.emit.on_cpu import OnCpu
from tests.emit.processes import python
from tests.targets import quickly

# Blocks and threads of a grid, and the order in which they run.
GRIDS: list[tuple[int, int, ThreadOrder]] = [
    (1, 1, "forward"),
    (3, 5, "reverse"),
    (3, 5, "forward"),
    (2, 64, "reverse"),
    (2, 64, 7),
]
EXPECTED = {key: f"{name}: Y: {said}" for key, (name, _, said) in overflows.CALLS.items()}


def array(dtype: str, *values: Any) -> Array:
    return np.array(values, dtype)


MOST = 2**63 - 1
# Operator, inputs, the element that is named and its type ("": none is), why.
ROWS: list[tuple[str, list[Any], str, str]] = [
    ("narrowed", [array("int8", 127, 127), array("int16", 0, 1)], "(1,) int8", "by three"),
    ("narrowed", [array("int8", 127, -128), array("int16", 0, 0)], "", "the ends fit"),
    ("narrowed", [array("int8", -128), array("int16", -1)], "(0,) int8", "below"),
    ("narrowed", [array("int8", 0), array("int16", -(2**15))], "(0,) int8", "far below"),
    ("narrowed", [array("int8", -2), array("int16", 43)], "", "a part that does not fit"),
    ("narrowed", [array("int16", 2**15 - 1), array("int8", 1)], "(0,) int16", "above"),
    ("narrowed", [array("int32", 2**31 - 1), array("int64", 1)], "(0,) int32", "above"),
    ("narrowed", [array("int32", 5), array("int64", 2**62)], "(0,) int32", "beyond int64"),
    ("narrowed", [array("int32", 0), array("int64", MOST)], "(0,) int32", "far beyond int64"),
    ("narrowed", [array("int64", MOST - 2), array("int64", 1)], "(0,) int64", "above"),
    ("narrowed", [array("int64", MOST - 3), array("int64", 1)], "", "the last that fits"),
    ("narrowed", [array("int64", -MOST - 1), array("int64", -1)], "(0,) int64", "below"),
    ("narrowed", [array("int64", MOST), array("int64", -1)], "", "only their sum counts"),
    ("narrowed", [array("int64", 2), array("int64", 2**62)], "(0,) int64", "2^64 wraps to 2"),
    ("exact_totals", [array("int8", [127, 1], [64, 64])], "(0,) int8", "sums"),
    ("exact_totals", [array("int8", [127, -1], [64, 64])], "(1,) int8", "a later one"),
    ("exact_totals", [array("int8", [127, 127, -127, -127])], "", "partial sums may be large"),
    ("exact_totals", [array("int64", [MOST, 1, -1])], "", "beyond 64 bits too"),
    ("exact_totals", [array("int64", [MOST, MOST, 2])], "(0,) int64", "2^64 wraps to 0"),
    ("exact_totals", [array("int32", [2**31 - 1, 1])], "(0,) int32", "of 32 bits"),
    ("row_totals", [np.full((3, 2), 100, np.int8)], "(0,) int8", "all of them"),
    ("running_sums", [array("int16", 2**15 - 1, 0, 1)], "(2,) int16", "the third"),
    (
        "stacked",
        [[array("int32", 1, 2**30), array("int32", 2**30, 0)], array("int32", 2)],
        "(0, 1) int32",
        "of several inputs the first",
    ),
    (
        "stacked",
        [[array("int32", 1), array("int32", -(2**31))], array("int32", -1)],
        "(1, 0) int32",
        "in the second",
    ),
    ("stacked", [[array("int32", 2**31 - 1)], None], "", "times one that is not given"),
]


def refusal(name: str, place: str) -> str:
    if not place:
        return ""
    element, _, dtype = place.rpartition(" ")
    return f"extra.{name}: Y: element {element} does not fit {dtype}"


@pytest.mark.parametrize(
    ("name", "inputs", "place", "why"), ROWS, ids=[f"{row[0]}: {row[-1]}" for row in ROWS]
)
def test_the_first_element_is_named(
    conformance: Conformance, on_cpu: OnCpu, name: str, inputs: list[Any], place: str, why: str
) -> None:
    call = Call(f"extra.{name}", tuple(inputs))
    assert conformance.check(call).refusal == refusal(name, place), why
    on_grids = Conformance(conformance.references, {"cuda-cpu": on_cpu.operators})
    for grid in GRIDS:
        on_cpu.fix(*grid)
        on_grids.check(call)


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_threads_name_the_first_one(extra_generated: Path, threads: str) -> None:
    arguments = ("tests.emit.overflows", extra_generated, quickly(extra_generated, "c"))
    assert json.loads(python("-m", *arguments, OMP_NUM_THREADS=threads)) == EXPECTED


def test_python_names_the_first_one(libraries: dict[str, Operators]) -> None:
    operators = libraries["python"]
    assert overflows.refusals(lambda name, *inputs: operators[name](*inputs)) == EXPECTED


@pytest.mark.parametrize("grid", [None, *GRIDS], ids=str)
def test_a_grid_names_the_first_one(
    on_cpu: OnCpu, grid: tuple[int, int, ThreadOrder] | None
) -> None:
    operators = on_cpu.operators
    if grid is not None:
        on_cpu.fix(*grid)
    assert overflows.refusals(lambda name, *inputs: operators[name](*inputs)) == EXPECTED


def test_what_is_refused_leaves_no_memory_behind(on_cpu: OnCpu) -> None:
    with pytest.raises(OperatorError, match="does not fit"):
        on_cpu.operators.extra.exact_totals(np.full((2, 2), 2**62))
    assert on_cpu.allocations == 0


# A program that calls what a GPU would run, as cvmgen_stream.h says.
CALLER = r"""
#include <stdio.h>
#include "tosa.h"

static int32_t x[] = {1, 2, 1 << 30, 1 << 30}, y[2];
static int64_t axis = 1, overflow[] = {CVMGEN_NO_OVERFLOW};
static tosa_reduce_sum_args args;
static cvmgen_error error;

static void tell(const char *what, int status) {
    printf("%s: %d %s %s\n", what, status, status ? error.argument : "", status ? error.rule : "");
}
static void call(const char *what, int64_t *words) {
    tell(what, tosa_reduce_sum_cuda(&args, NULL, words, &error));
}
static void ask(void) { tell("asked", tosa_reduce_sum_cuda_refused(&args, overflow, &error)); }

int main(void) {
    cvmgen_tensor X = {.data = x, .extents = {2, 2}, .rank = 2, .dtype = CVMGEN_INT32};
    cvmgen_tensor Y = {.data = y, .extents = {2, 1}, .rank = 2, .dtype = CVMGEN_INT32};
    tosa_reduce_sum_defaults(&args);
    args.input1 = &X, args.output1 = &Y, args.axis = &axis;
    call("without words", NULL);
    call("large", overflow);
    x[2] = 3;
    call("small", overflow);
    ask();
    ask();
    call("small", overflow);
    ask();
    printf("%d %d\n", y[0], y[1]);
    X.dtype = Y.dtype = CVMGEN_FLOAT32;
    call("real numbers without words", NULL);
    tell("asked without words", tosa_reduce_sum_cuda_refused(&args, NULL, &error));
    return 0;
}
"""
TOLD = """\
without words: 1 overflow a word for each output is needed, where kernels note what does not fit
large: 0
small: 0
asked: 1 output1 element (1, 0) does not fit int32
asked: 0
small: 0
asked: 0
3 1073741827
real numbers without words: 0
asked without words: 0
"""


def test_a_program_in_c_asks_for_what_was_refused(on_cpu: OnCpu, tmp_path: Path) -> None:
    """Until then a word keeps it, whatever is called."""
    backend = on_cpu.backends["tosa"]
    (tmp_path / "caller.c").write_text(CALLER)
    warnings = ("-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", "-std=c11")
    headers = ("-I", str(backend.folder / "cuda"))
    made = ("caller.c", str(backend.path), "-o", "caller")
    compile_with((*c_compiler().command, *warnings, *headers, *made), tmp_path)
    told = subprocess.run([str(tmp_path / "caller")], capture_output=True, text=True, check=True)
    assert [line.rstrip() for line in told.stdout.splitlines()] == TOLD.splitlines()


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_what_may_overflow_asks_the_device_for_nothing(on_cpu: OnCpu, dtype: str) -> None:
    on_cpu.backends["tosa"].state.memory = 1  # too little for a word
    sums = on_cpu.operators.tosa.reduce_sum
    assert sums(np.ones((2, 3), dtype), axis=1).tolist() == [[3], [3]]
