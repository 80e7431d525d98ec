"""From what a compiler says to the line of the formula."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cvmgen.build.diagnostics import explain

TEXT = "/* b.sum: of all. */\n/* sum line 1 */\nx;\n/* family c_d line 22: Y = X */ y;\nz;\n"
FIRST, SECOND = "sum line 1", "family c_d line 22"


LOGS = [
    ("a.c: In function 'f':\na.c:5:1: error: no\n", SECOND, "gcc"),
    ("./a.c:3:1: fatal error: no\n", FIRST, "a name that -I. adds to"),
    ("a.c(5): error: no\n", SECOND, "nvcc, NVRTC"),
    ("a.c:1:1: warning: hm\na.c:5:1: error: no\n", SECOND, "a warning comes first"),
]


@pytest.mark.parametrize(("log", "place", "why"), LOGS)
def test_explain(log: str, place: str, why: str) -> None:
    message = explain("cc refuses a.c", log, {"a.c": TEXT})
    headline, first = message.splitlines()[:2]
    assert headline == f"cc refuses a.c, in code that comes from {place}:", why
    assert "error: no" in first


def test_the_manifest_tells_where_blocks_stand(tmp_path: Path) -> None:
    blocks = {"family c_d": "spec/b/families.cvm:5", "sum": "spec/b/c.cvm:9"}
    manifest = tmp_path / "manifest.json"
    entry = {"opset": "b", "name": "sum", "blocks": blocks}
    manifest.write_text(json.dumps({"operators": [entry]}))
    message = explain("cc refuses a.c", LOGS[0][0], {"a.c": TEXT}, None, manifest)
    assert message.startswith("cc refuses a.c, in code that comes from spec/b/families.cvm:26:\n")


@pytest.mark.parametrize("text", [None, "", "[]", '{"operators": [{"opset": "b"}]}'])
def test_a_manifest_that_tells_nothing(tmp_path: Path, text: str | None) -> None:
    manifest = tmp_path / "manifest.json"
    if text is not None:
        manifest.write_text(text)
    message = explain("cc refuses a.c", LOGS[0][0], {"a.c": TEXT}, None, manifest)
    assert message.startswith(f"cc refuses a.c, in code that comes from {SECOND}:\n")


KERNELS = """\
/* sum line 1: of another */
void first() {
    /* sum line 2 */
}
void
second(int x) {
    /* sum line 3 */
    third(1);
}
void third(int x) {
    /* sum line 4 */
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
        "nvcc refuses a.cu, in code that comes from sum line 3:\n"
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
