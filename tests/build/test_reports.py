"""From what sanitizers and the race detector report to lines of kernels and formulas."""

from __future__ import annotations

import pytest

from cvmgen.build import explain_report
from cvmgen.build.reports import formula

TEXT = """\
/* cvm.a: what it does. spec/cvm/a.cvm:1

   Y[i] = X[i] */
void first() {
    /* spec/cvm/a.cvm:3: Y[i] = X[i] */
    y = x;
}
void second() {
    /* spec/cvm/a.cvm:4: Z[i] =
       Y[i] */
    z = y;
}
"""
SOURCES = {"cvm/a.cu": TEXT, "cvmgen_block.h": "int kept;\n", "other/cvm/a.cu": "x;\n"}

FIRST, SECOND = "spec/cvm/a.cvm:3: Y[i] = X[i]", "spec/cvm/a.cvm:4: Z[i] = Y[i]"
FORMULAS = [
    (4, None, "in front of all nests"),
    (5, FIRST, "the comment"),
    (6, FIRST, "below it"),
    (9, SECOND, "a comment that goes on"),
    (11, SECOND, "below that"),
    (99, SECOND, "past the end"),
]


@pytest.mark.parametrize(("line", "expected", "why"), FORMULAS, ids=[row[-1] for row in FORMULAS])
def test_formula(line: int, expected: str | None, why: str) -> None:
    assert formula(TEXT, line) == expected


REPORTS = [
    (
        "==1==ERROR: AddressSanitizer: heap\n    #0 0x7f in f /tmp/x/cvm/a.cu:6:9\nSUMMARY: it",
        f"==1==ERROR: AddressSanitizer: heap\n    #0 0x7f in f cvm/a.cu:6 ({FIRST})",
        "addresses",
    ),
    (
        "cvm.a\ncvm/a.cu:11:5: runtime error: misaligned\n",
        f"cvm/a.cu:11 ({SECOND}): runtime error: misaligned",
        "what is undefined",
    ),
    ("race at cvmgen_block.h:3", "race at cvmgen_block.h:3", "a header computes no formula"),
    ("race at unknown.cu:3", "race at unknown.cu:3", "a file of others"),
    ("race at {0x12<0x34}", "race at {0x12<0x34}", "without a library"),
    ("at /tmp/other/cvm/a.cu:1", "at other/cvm/a.cu:1", "the longest name that fits"),
]


@pytest.mark.parametrize(("report", "expected", "why"), REPORTS, ids=[row[-1] for row in REPORTS])
def test_reports(report: str, expected: str, why: str) -> None:
    assert explain_report(report, SOURCES) == expected
