"""Edits of formulas and what they mean: proved the same, told apart by a small call, or open."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from cvmgen.compare.calls import Meaning, differences
from cvmgen.compare.compared import diff_of
from cvmgen.compare.findings import OPEN, SAME, OperatorDiff
from cvmgen.compare.names import matched
from cvmgen.compare.smallest import call_size, tensors_at
from cvmgen.source import Source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from cvmgen.spec.formula import Operator
from cvmgen.verification.solvers import installed

SHAPES = "shapes"  # the same, on all values of calls of known sizes
COMMON = """\
def clip(x, low, high) = max(low, min(x, high))
def half_up(x, b) = (x + 2^(b - 1)) div 2^b
def two(x) = 2*x
"""


class Pair(NamedTuple):
    """Two formulas, and the classes that hold of the edit."""

    name: str
    old: str
    new: str
    classes: tuple[str, ...]


def pairs() -> list[Pair]:
    text = Path(__file__).with_name("pairs.txt").read_text(encoding="utf-8")
    found = []
    for block in text.split("\n## ")[1:]:
        (title, *lines) = block.split("\n# ")[0].strip().splitlines()
        name, _, classes = title.partition(": ")
        old = "\n".join(line[2:] for line in lines if not line.startswith("+"))
        new = "\n".join(line[2:] for line in lines if not line.startswith("-"))
        found.append(Pair(name, old, new, tuple(classes.split(", "))))
    return found


def operator(items: str) -> Operator:
    source = Source("test.cvm", f"{COMMON}operator f {{\n{items}\n}}\n")
    (found,) = check_files([SpecFile(source, "test")])
    return found


@pytest.mark.skipif(not installed(), reason="no solver")
@pytest.mark.parametrize("pair", pairs(), ids=lambda pair: pair.name)
def test_what_an_edit_means(pair: Pair) -> None:
    found = diff_of(operator(pair.old), operator(pair.new))
    wanted = tuple(SAME if each == SHAPES else each for each in pair.classes)
    assert tuple(found.classes) == wanted, (found.witnesses, found.undecided)
    if pair.classes == (SAME,):
        assert found.proved.whole
    if pair.classes == (SHAPES,):
        assert not found.proved.whole
        assert found.same_on
    if pair.classes == (OPEN,):
        assert found.undecided
    whole(found)


def whole(found: OperatorDiff) -> None:
    """That each witness shows what it says, on a call of few small elements."""
    assert found.old is not None
    assert found.new is not None
    names = matched(
        found.old, found.new, guess=any("called" in each.text for each in found.changes)
    )
    old, new = Meaning(names.old), Meaning(names.new)
    for kind, witness in found.witnesses.items():
        outcomes = old.of(witness.call), new.of(witness.call)
        assert kind in {each.kind for each in differences(witness.call, *outcomes)}
        assert call_size(witness.call)[0] <= 4
        for _, _, tensor in tensors_at(witness.call):
            for each in tensor.values:
                assert isinstance(each, float) or int(np.array(each).astype(tensor.dtype)) == each
