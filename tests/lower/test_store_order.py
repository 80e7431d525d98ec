"""Walks of boxes that are stored in another order than they are read."""

from __future__ import annotations

import pytest

from cvmgen.driver import CUDA, lower
from cvmgen.ir import nodes as i
from cvmgen.ir.text import program_text
from cvmgen.ir.verify import verify
from cvmgen.ir.visit import walk
from cvmgen.lower.store_order import order_walks
from tests.emit.cuda_texts import operators

BEFORE = tuple(each for each in CUDA if each[0] != "order")


def program(name: str) -> i.Program:
    return lower(operators()[name], BEFORE)


SORTED = [
    ("cvm.transpose", True, "read in order, stored by steps"),
    ("cvm.concatenate", True, "for each tensor"),
    ("cvm.squeeze", True, "in one of several cases"),
    ("cvm.broadcast_add", False, "read by steps, stored in order"),
    ("cvm.sum", False, "a reduction"),
    ("cvm.relu", False, "one run"),
]


@pytest.mark.parametrize(("name", "expected", "why"), SORTED, ids=[row[0] for row in SORTED])
def test_which_walks_are_sorted(name: str, expected: bool, why: str) -> None:
    found = order_walks(program(name))
    host = (found.prepare, tuple(nest.prologue for nest in found.nests))
    merges = [each for each in walk(host) if isinstance(each, i.Merge)]
    assert any(each.sorted for each in merges) == expected, why
    assert (found == program(name)) != expected


def test_positions_become_a_walk() -> None:
    found = order_walks(program("cvm.transpose"))
    verify(found, ("order",))
    text = program_text(found)
    assert "let d_strides: list = strides(d_box)" in text
    assert "sort and merge d_box along Y_steps, d_strides" in text
    assert "Y@[Y_row + d * Y_step] = X@[d_start + d * d_step]" in text
