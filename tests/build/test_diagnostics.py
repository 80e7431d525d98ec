"""From what a compiler says to the line of the formula."""

from __future__ import annotations

import pytest

from cvmgen.build.diagnostics import explain, spec_place

TEXT = "/* spec/a.cvm:1 */\nx;\n/* sum, spec/b/c_d.cvm:22: Y = X */ y;\nz;\n"

PLACES = [
    (1, "spec/a.cvm:1", "on the line itself"),
    (2, "spec/a.cvm:1", "above"),
    (3, "spec/b/c_d.cvm:22", "the last one before"),
    (4, "spec/b/c_d.cvm:22", "still"),
    (9, "spec/b/c_d.cvm:22", "past the end"),
]


@pytest.mark.parametrize(("line", "place", "why"), PLACES)
def test_spec_place(line: int, place: str, why: str) -> None:
    assert spec_place(TEXT, line) == place, why


def test_code_without_a_place_has_none() -> None:
    assert spec_place("x;\ny;\n", 2) is None


LOGS = [
    ("a.c: In function 'f':\na.c:4:1: error: no\n", "spec/b/c_d.cvm:22", "gcc"),
    ("./a.c:2:1: fatal error: no\n", "spec/a.cvm:1", "a name that -I. adds to"),
    ("a.c(4): error: no\n", "spec/b/c_d.cvm:22", "nvcc, NVRTC"),
    ("a.c:1:1: warning: hm\na.c:4:1: error: no\n", "spec/b/c_d.cvm:22", "a warning comes first"),
]


@pytest.mark.parametrize(("log", "place", "why"), LOGS)
def test_explain(log: str, place: str, why: str) -> None:
    message = explain("cc refuses a.c", log, {"a.c": TEXT})
    headline, first = message.splitlines()[:2]
    assert headline == f"cc refuses a.c, in code that comes from {place}:", why
    assert "error: no" in first


KERNELS = """\
/* spec/a.cvm:1: of another */
void first() {
    /* spec/a.cvm:2 */
}
void
second(int x) {
    /* spec/a.cvm:3 */
    third(1);
}
void third(int x) {
    /* spec/a.cvm:4 */
}
"""
REFUSED = """\
ptxas info    : 0 bytes gmem
ptxas info    : Function properties for second
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas error   : Entry function 'second' uses too much shared data (0x13880 bytes, 0xc000 max)
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 1 barriers, 80000 bytes smem, 360 bytes cmem[0]
"""


def test_the_last_stage_names_a_kernel() -> None:
    assert explain("nvcc refuses a.cu", REFUSED, {"a.h": "x;\n", "a.cu": KERNELS}) == (
        "nvcc refuses a.cu, in code that comes from spec/a.cvm:3:\n"
        "  ptxas error   : Entry function 'second' uses too much shared data (0x13880 bytes, "
        "0xc000 max)"
    )


def test_the_last_stage_names_nothing() -> None:
    log = "ptxas fatal   : Unresolved extern function 'f'\n"
    first, second = explain("nvcc refuses a.cu", log, {"a.cu": KERNELS}).splitlines()
    assert (first, second) == ("nvcc refuses a.cu:", f"  {log.strip()}")


def test_a_long_log_is_cut() -> None:
    log = "".join(f"a.c:{line}:1: error: no\n" for line in range(1, 41))
    lines = explain("cc refuses a.c", log, {}).splitlines()
    assert lines[0] == "cc refuses a.c:"
    assert len(lines) == 17
    assert lines[-1] == "  ... and 25 more lines"


def test_a_silent_compiler() -> None:
    assert explain("cc refuses a.c", "", {}) == "cc refuses a.c:\n  (the compiler said nothing)"
