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


def test_a_long_log_is_cut() -> None:
    log = "".join(f"a.c:{line}:1: error: no\n" for line in range(1, 41))
    lines = explain("cc refuses a.c", log, {}).splitlines()
    assert lines[0] == "cc refuses a.c:"
    assert len(lines) == 17
    assert lines[-1] == "  ... and 25 more lines"


def test_a_silent_compiler() -> None:
    assert explain("cc refuses a.c", "", {}) == "cc refuses a.c:\n  (the compiler said nothing)"
