"""Every fault that changes what a kernel computes is refuted, by values that show it.

The usual run puts in a few and reads the page that `make mutants` has written, which puts in some
of each kind and runs them all.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.clang import has_clang
from tests.verification.mutants.judged import refuted_at_once
from tests.verification.mutants.made import (
    DEVICE,
    FORMULA,
    GPU,
    KERNEL,
    LAYERS,
    TEXT,
    mutants,
)
from tests.verification.mutants.operators import ROOT
from tests.verification.mutants.page import COLUMNS, PAGE
from tests.verification.mutants.reach import changed_lines

pytest.importorskip("z3")
pytest.importorskip("cvc5")

KINDS = [(layer, kind) for layer, kinds in LAYERS.items() for kind in kinds]
FEW = [
    (KERNEL, "index one off", ("added",)),
    (FORMULA, "another operator", ("halved",)),
    (TEXT, "an element beside", ("added",)),
    (DEVICE, "an element beside", ()),
    (GPU, "a barrier of some threads", ()),
]


@pytest.mark.parametrize(("layer", "kind", "among"), FEW)
def test_a_fault_is_refuted(layer: str, kind: str, among: tuple[str, ...], tmp_path: Path) -> None:
    if layer != GPU and not has_clang():
        pytest.skip("no clang: cvmgen[zig] brings one")
    (mutant,) = mutants(layer, kind, 1, among)
    assert refuted_at_once(mutant, tmp_path).status == "refuted", mutant.name


def test_lines_that_differ_are_those_that_speak_of_a_macro_too() -> None:
    before = "#define T int\nT a;\nint b;\nint c;\n"
    assert changed_lines(before, before.replace("T int", "T long")) == {1, 2}
    assert changed_lines(before, before.replace("int b;\n", "")) == {3}
    assert changed_lines(before, before.replace("int c;", "int d;\nint c;")) == {3, 4}


def test_the_page_tells_of_all_kinds() -> None:
    """What stands in its table is of every kind; nothing was left open."""
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| (\w+) \| ([^|]+) \|", text)
    assert {(layer, kind.strip()) for layer, kind in rows} == set(KINDS)
    (count, kinds) = map(int, re.search(r"(\d+) mutants of (\d+) kinds", text).groups())  # type: ignore[union-attr]
    assert count >= 150
    assert kinds >= 15
    (head,) = re.findall(r"(?m)^\| put into \| kind \| (.*) \|$", text)
    assert set(head.split(" | ")) <= {*COLUMNS, "missed"}
