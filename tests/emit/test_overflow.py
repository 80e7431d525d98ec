"""An integer that does not fit its type is refused: of several the first element is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from cvmgen.api.cuda_cpu_backend import Order
from cvmgen.api.library import compiled
from cvmgen.errors import CvmgenError, OperatorError
from tests.conformance.calls import Array, Call, Conformance
from tests.emit import overflows
from tests.emit.on_cpu import OnCpu
from tests.emit.processes import python

# Blocks and threads of a grid, and the order in which they run.
GRIDS: list[tuple[int, int, Order]] = [
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
    arguments = ("tests.emit.overflows", extra_generated, compiled(extra_generated))
    assert json.loads(python("-m", *arguments, OMP_NUM_THREADS=threads)) == EXPECTED


def test_python_names_the_first_one(libraries: dict[str, Operators]) -> None:
    operators = libraries["python"]
    assert overflows.refusals(lambda name, *inputs: operators[name](*inputs)) == EXPECTED


@pytest.mark.parametrize("grid", [None, *GRIDS], ids=str)
def test_a_grid_names_the_first_one(on_cpu: OnCpu, grid: tuple[int, int, Order] | None) -> None:
    operators = on_cpu.operators
    if grid is not None:
        on_cpu.fix(*grid)
    assert overflows.refusals(lambda name, *inputs: operators[name](*inputs)) == EXPECTED


def test_what_is_refused_leaves_no_memory_behind(on_cpu: OnCpu) -> None:
    with pytest.raises(OperatorError, match="does not fit"):
        on_cpu.operators.extra.exact_totals(np.full((2, 2), 2**62))
    assert on_cpu.allocations == 0


ASKED = [("int32", True, "sums may overflow"), ("float32", False, "real numbers do not")]


@pytest.mark.parametrize(("dtype", "asked", "why"), ASKED, ids=[row[-1] for row in ASKED])
def test_only_what_can_overflow_asks_the_device(
    on_cpu: OnCpu, dtype: str, asked: bool, why: str
) -> None:
    sums = on_cpu.operators.tosa.reduce_sum
    on_cpu.backends["tosa"].state.memory = 1  # too little for a place
    if not asked:
        assert sums(np.ones((2, 3), dtype), axis=1).tolist() == [[3], [3]], why
        return
    with pytest.raises(CvmgenError, match="out of memory"):
        sums(np.ones((2, 3), dtype), axis=1)
