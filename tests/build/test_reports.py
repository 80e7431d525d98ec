"""From what sanitizers and the race detector report to lines of kernels and formulas."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cvmgen.build import explain_report

TEXT = """\
/* cvm.a: what it does. spec/cvm/a.cvm

   Y[i] = X[i] */
void first() {
    /* a line 3: Y[i] = X[i] */
    y = x;
}
void second() {
    /* a line 4: Z[i] =
       Y[i] */
    z = y;
}
"""
SOURCES = {"cvm/a.cu": TEXT, "cvmgen_block.h": "int kept;\n", "other/cvm/a.cu": "x;\n"}

FIRST, SECOND = "a line 3: Y[i] = X[i]", "a line 4: Z[i] = Y[i]"

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


def test_the_manifest_tells_where_the_formula_stands(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    entry = {"opset": "cvm", "name": "a", "blocks": {"a": "spec/cvm/a.cvm:11"}}
    manifest.write_text(json.dumps({"operators": [entry]}))
    report = explain_report("race at cvm/a.cu:6", SOURCES, manifest=manifest)
    assert report == "race at cvm/a.cu:6 (spec/cvm/a.cvm:13: Y[i] = X[i])"
