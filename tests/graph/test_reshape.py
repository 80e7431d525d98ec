"""The codes of reshape in graphs: what they stand for, and which are refused."""

from __future__ import annotations

import pytest

from cvmgen.errors import ModelError
from cvmgen.graph.plan import make_plan
from cvmgen.graph.reshape import Shape, target_shape
from tests.graph.stubs import LIBRARY, graph, use, variable

RESOLVED: list[tuple[Shape, Shape, Shape, str]] = [
    ((2, 3), (3, 2), (3, 2), "no code at all"),
    ((2, 3), (6,), (6,), "another rank"),
    ((2, 3), (1, 2, 1, 3), (1, 2, 1, 3), "more entries than the input has dimensions"),
    ((2, 3, 4), (0, 0, 0), (2, 3, 4), "0 copies"),
    ((2, 3, 4), (4, 0, 2), (4, 3, 2), "an extent stands for one of the input's"),
    ((2, 3, 4), (6, 1, 0), (6, 1, 4), "and 0 copies the one at its own place"),
    ((2, 3, 4), (-1,), (24,), "-1 takes all"),
    ((2, 3, 4), (6, -1), (6, 4), "-1 takes what is left"),
    ((2, 3, 4), (-1, 0, 0), (2, 3, 4), "-1 stands for an extent of the input too"),
    ((2, 3, 4), (2, 3, 4, -1), (2, 3, 4, 1), "-1 beyond the input's dimensions"),
    ((2, 3, 4), (6, 4, -1), (6, 4, 1), "nothing is left: an extent of 1"),
    ((2, 3, 4), (-2,), (2, 3, 4), "-2 copies all"),
    ((2, 3, 4), (2, -2), (2, 3, 4), "-2 copies the rest"),
    ((2, 3, 4), (-2, 1, 1), (2, 3, 4, 1, 1), "entries after -2"),
    ((2, 3), (2, 3, -2), (2, 3), "-2 copies none where none is left"),
    ((2, 3, 4), (-3, 4), (6, 4), "-3 multiplies the first two"),
    ((2, 3, 4), (0, -3), (2, 12), "-3 multiplies the last two"),
    ((2, 3, 4, 5), (-3, -3), (6, 20), "-3 twice"),
    ((2, 3, 4), (-3, -2), (6, 4), "-3, then the rest"),
    ((2, 3, 4), (-4, 1, 2, -2), (1, 2, 3, 4), "-4 splits"),
    ((2, 3, 4), (2, -4, -1, 3, -2), (2, 1, 3, 4), "-4 infers its first entry"),
    ((6, 4), (-4, 2, -1, 0), (2, 3, 4), "-4 infers its second entry, 0 copies the next"),
    ((6, 4), (-4, 2, -1, -1), (2, 3, 4), "the -1 of -4 is its own"),
    ((6, 4), (-4, -1, 3, -4, 2, 2), (2, 3, 2, 2), "-4 twice"),
    ((1,), (1, 1, -1), (1, 1, 1), "one element"),
    ((1 << 24, 64), (-1, 1 << 24), (64, 1 << 24), "the largest size"),
]


@pytest.mark.parametrize(("shape", "codes", "expected", "why"), RESOLVED)
def test_resolved(shape: Shape, codes: Shape, expected: Shape, why: str) -> None:
    assert target_shape(codes, shape) == expected, why


REFUSED: list[tuple[Shape, Shape, str]] = [
    ((2, 3), (0, 0, 0), "0 copies an extent, and the input has none left there"),
    ((2, 3), (-2, 0), "0 copies an extent, and the input has none left there"),
    ((2, 3), (2, -3), "-3 multiplies two extents, and the input has 1 left there"),
    ((2, 3), (-2, -3), "-3 multiplies two extents, and the input has none left there"),
    ((2, 3), (2, 3, -4, 1, 1), "-4 splits an extent, and the input has none left there"),
    ((6,), (-4,), "-4 needs two entries after it"),
    ((6,), (-4, 2), "-4 needs two entries after it"),
    ((6,), (-4, -1, -1), "-4 needs two extents, one of which may be -1, not -1 and -1"),
    ((6,), (-4, 0, -1), "-4 needs two extents, one of which may be -1, not 0 and -1"),
    ((6,), (-4, 6, 0), "-4 needs two extents, one of which may be -1, not 6 and 0"),
    ((6,), (-4, -2, -3), "-4 needs two extents, one of which may be -1, not -2 and -3"),
    ((6,), (-4, 2, 2), "-4 cannot split 6 into 2 and 2"),
    ((6,), (-4, 4, -1), "-4 cannot split 6 into 4 and -1"),
    ((6,), (-4, -1, 4), "-4 cannot split 6 into -1 and 4"),
    ((6,), (-4, 12, -1), "-4 cannot split 6 into 12 and -1"),
    ((2, 3), (-1, -1), "-1 may stand once"),
    ((2, 3), (4, -1), "the 6 elements of the input (2, 3) do not fill it"),
    ((2, 3), (12, -1), "the 6 elements of the input (2, 3) do not fill it"),
    ((2, 3), (2, 2), "the 6 elements of the input (2, 3) do not fill it"),
    ((2, 3), (3,), "the 6 elements of the input (2, 3) do not fill it"),
    ((2, 3), (0, 2), "the 6 elements of the input (2, 3) do not fill it"),
    ((2, 3), (-5, 6), "-5 is neither an extent nor one of the codes 0 to -4"),
    ((2, 3), (-(1 << 63) + 1,), "is neither an extent nor one of the codes"),
    ((1,), (), "a tensor has at least one dimension"),
]


@pytest.mark.parametrize(("shape", "codes", "rule"), REFUSED)
def test_refused(shape: Shape, codes: Shape, rule: str) -> None:
    """In a graph: the error names the node, the attribute, the value and the rule."""
    node = use("r", "reshape", [0], shape, shape=codes)
    with pytest.raises(ModelError) as caught:
        make_plan(graph(variable("data", shape), node), LIBRARY)
    assert caught.value.where == "node r"
    assert caught.value.rule.startswith(f"attribute shape: is {codes}: ")
    assert rule in caught.value.rule
