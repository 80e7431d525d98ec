"""The race detector: what it finds in kernels that have races, and that it finds nothing else."""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from cvmgen.api.c_backend import ErrorStruct
from cvmgen.api.cuda_cpu_backend import FORWARD, PRELUDE, RANDOM, REVERSE, State
from cvmgen.build import compile_library, explain_report
from cvmgen.emit import cuda_support

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks the linker for places")

SOURCE = Path(__file__).with_name("races.cu")
STORE = """\
/* A function that is no kernel. */
static inline __attribute__((noinline)) void store(int64_t *to) {
    *to = 1;
}
"""
TURNS = {"forward": FORWARD, "reverse": REVERSE, "random": RANDOM}

EITHER = "thread . (reads|writes) at # what thread . (read|wrote) at #"
# Kernel, blocks, and what the report says but for places; which access comes first depends on the
# order of threads.
RACES = [
    ("read", 1, f"race for shared memory: block 0: {EITHER}"),
    ("write", 1, f"race for shared memory: block 0: {EITHER}"),
    ("same", 1, "race for global memory: block 0: thread . writes at # what thread . wrote at #"),
    ("blocks", 2, "block .: thread 0 writes at # what thread 0 of block . wrote at #"),
    ("other_block", 2, "thread 0 (reads|writes) at # what thread 0 of block . (wrote|read) at #"),
    ("atomic", 1, "race for global memory: block 0: thread . (reads|writes) at "),
    ("vector", 1, "thread . writes at # what thread . wrote at #"),
    ("shuffle", 1, f"race for shared memory: block 0: {EITHER}"),
    ("lanes", 1, f"race for shared memory: block 0: {EITHER}"),
    (
        "function",
        1,
        "writes at store.h:3, called at #, what thread . wrote at store.h:3, ",
    ),
    ("unwritten", 2, "block .: thread . reads shared memory at # that nobody had written"),
    ("dynamic", 1, f"race for shared memory: block 0: {EITHER}"),
]
CLEAN = ["barriers", "lanes", "atomics", "reads"]


class Races:
    """The kernels of races.cu, in a library that looks for races."""

    def __init__(self) -> None:
        self.sources = {
            **cuda_support.emit_support(),
            SOURCE.name: SOURCE.read_text(),
            "store.h": STORE,
        }
        self.path = compile_library(
            self.sources, name="races", prelude=PRELUDE, sanitizers=("thread",), threads=False
        )
        self.library = ctypes.CDLL(str(self.path))
        self.library.cvmgen_cpu_this_thread.restype = ctypes.POINTER(State)
        self.state: State = self.library.cvmgen_cpu_this_thread().contents

    def run(self, kernel: str, blocks: int, order: int) -> str:
        """What the kernel is found to do wrong."""
        error = ErrorStruct()
        x = np.arange(100, dtype=np.int64)
        self.state.order, self.state.seed = order, 5
        status = self.library[f"run_{kernel}"](
            ctypes.byref(error), ctypes.c_int64(blocks), ctypes.c_void_p(x.ctypes.data)
        )
        assert (status == 0) == (error.rule == b"")
        return explain_report(error.rule.decode(), self.sources, self.path)


@pytest.fixture(scope="module")
def races() -> Races:
    return Races()


def marked(kernel: str) -> set[int]:
    """The lines of a kernel that race."""
    lines = SOURCE.read_text().splitlines()
    begin = next(at for at, each in enumerate(lines) if f"{kernel}(" in each)
    end = lines.index("}", begin)
    return {at + 1 for at in range(begin, end) if "/* here */" in lines[at]}


@pytest.mark.parametrize("order", TURNS)
@pytest.mark.parametrize(("kernel", "blocks", "what"), RACES, ids=[row[0] for row in RACES])
def test_races_are_found(races: Races, kernel: str, blocks: int, what: str, order: str) -> None:
    report = races.run(f"race_{kernel}", blocks, TURNS[order])
    expected = what.replace(" .", r" \d+").replace("#", r"races\.cu:\d+")
    assert re.search(expected, report), report
    assert {int(line) for line in re.findall(r"races\.cu:(\d+)", report)} == marked(
        f"race_{kernel}"
    ), report


@pytest.mark.parametrize("order", TURNS)
@pytest.mark.parametrize("kernel", CLEAN)
def test_there_are_no_false_alarms(races: Races, kernel: str, order: str) -> None:
    assert races.run(f"clean_{kernel}", 1 if kernel == "lanes" else 2, TURNS[order]) == ""
