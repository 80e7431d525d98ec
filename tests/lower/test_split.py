"""Divided indices: which loops become two, as text, and which must stay as they are."""

from __future__ import annotations

import pytest

from cvmgen.driver import C_LIKE, lower
from cvmgen.ir import nodes as i
from cvmgen.ir.text import block_lines, text
from cvmgen.ir.visit import walk
from tests.specs import operator

VECTOR = "input X : cvm[N]\nattr c in [1, 64)\n"
ANY = "input X : cvm[n...]\nlet N = len(n)\nattr c in [1, 64)\nattr a in [0, N)\n"
TO_SPLIT = tuple(row for row in C_LIKE[: [name for name, _ in C_LIKE].index("split") + 1])


def after_split(items: str) -> i.Program:
    return lower(operator(items), TO_SPLIT)


def output_nest(items: str) -> i.Nest:
    """The nest of the output; where an index may be outside, one that tests it is in front."""
    return after_split(items).nests[-1]


def boxes(items: str) -> list[str]:
    """What the loops over multi-indices run over."""
    nodes = walk(output_nest(items).body)
    return [text(each.extents) for each in nodes if isinstance(each, i.PackLoop)]


SCALAR = [
    (
        "quotient",
        VECTOR + "output Y : cvm[N * c] precision p(X)\nY[i] = X[i div c]",
        [
            "for 0 <= i_outer < N:",
            "  for 0 <= i_inner < c:",
            "    Y[i_outer * c + i_inner] = X[i_outer]",
        ],
        "the extent is a multiple of the attribute",
    ),
    (
        "remainder",
        VECTOR + "output Y : cvm[c * N] precision p(X)\nY[i] = X[i mod N]",
        [
            "for 0 <= i_outer < c:",
            "  for 0 <= i_inner < N:",
            "    Y[i_outer * N + i_inner] = X[i_inner]",
        ],
        "extents of tensors are at least 1",
    ),
    (
        "a multiple by requirement",
        VECTOR + 'require N mod c == 0 : "c divides N"\nlet M = N div c\n'
        "output Y : cvm[N] precision p(X)\nY[i] = X[i mod c * M + i div c]",
        [
            "for 0 <= i_outer < M:",
            "  for 0 <= i_inner < c:",
            "    Y[i_outer * c + i_inner] = X[i_inner * M + i_outer]",
        ],
        "no remainder is left in any call",
    ),
    (
        "through a name",
        VECTOR + "let M = 2 * c * N\noutput Y : cvm[M] precision p(X)\nY[i] = X[i div (2 * c)]",
        [
            "for 0 <= i_outer < N:",
            "  for 0 <= i_inner < 2 * c:",
            "    Y[i_outer * (2 * c) + i_inner] = X[i_outer]",
        ],
        "names stand for their products",
    ),
    (
        "constant",
        "input X : cvm[N]\noutput Y : cvm[6] precision p(X)\nY[i] = X[i div 3 + i mod 3]",
        [
            "for 0 <= i_outer < 2:",
            "  for 0 <= i_inner < 3:",
            "    Y[i_outer * 3 + i_inner] = X[i_outer + i_inner]",
        ],
        "6 is a multiple of 3",
    ),
]


@pytest.mark.parametrize(
    ("items", "expected"), [pytest.param(*row[1:3], id=row[0]) for row in SCALAR]
)
def test_a_loop_becomes_two(items: str, expected: list[str]) -> None:
    nest = output_nest(items)
    assert block_lines(nest.body) == expected


WHOLE = [
    (VECTOR + "output Y : cvm[N * c - 1] precision p(X)\nY[i] = X[i div c]", "one less"),
    (VECTOR + "output Y : cvm[N] precision p(X)\nY[i] = X[i div 2]", "N may be odd"),
    (VECTOR + "output Y : cvm[N + c] precision p(X)\nY[i] = X[i mod c]", "a sum"),
    (VECTOR + "output Y : cvm[3] precision p(X)\nY[i] = X[i div 2]", "3 is odd"),
    (
        "input X : cvm[N]\nattr c in [0, 64)\noutput Y : cvm[N * c] precision p(X)\n"
        "Y[i] = (X[i div c] if c > 0 else 0)",
        "the divisor may be 0",
    ),
    (
        VECTOR + "output Y : cvm[N * c] precision p(X)\nY[i] = X[i div c] + X[i div (c + 1)]",
        "a division would be left",
    ),
    (VECTOR + "output Y : cvm[N * c] precision p(X)\nY[i] = X[(i + 1) div c]", "of a sum"),
    (
        VECTOR + "input Z : cvm[N]\noutput Y : cvm[N * c] precision p(X)\nY[i] = X[i div Z[0]]",
        "the divisor is an element",
    ),
]


@pytest.mark.parametrize(("items", "why"), WHOLE, ids=[why for _, why in WHOLE])
def test_a_loop_stays(items: str, why: str) -> None:
    nest = output_nest(items)
    (loop,) = (each for each in walk(nest.body) if isinstance(each, i.Loop))
    assert loop.index == "i", why


def test_every_loop_of_a_nest() -> None:
    items = (
        "input X : cvm[H, W]\nattr c in [1, 9)\noutput Y : cvm[H * c, W * c] precision p(X)\n"
        "Y[h, w] = X[h div c, w div c]"
    )
    nests = after_split(items).nests
    loops = [each.index for each in walk(nests[0].body) if isinstance(each, i.Loop)]
    assert loops == ["h_outer", "h_inner", "w_outer", "w_inner"]


def test_names_in_use_are_left_alone() -> None:
    items = (
        "input X : cvm[N]\nattr i_outer in [1, 9)\noutput Y : cvm[N * i_outer] precision p(X)\n"
        "Y[i] = X[i div i_outer]"
    )
    (nest,) = after_split(items).nests
    loops = [each.index for each in walk(nest.body) if isinstance(each, i.Loop)]
    assert loops == ["i_outer_2", "i_inner"]


SHAPE = "output Y : cvm[n[:a]..., n[a] * c, n[a + 1:]...] precision p(X)\n"
DIVIDED = "Y[d...] = X[(d[j] if j != a else d[j] div c for j < N)...]"
SPLIT_BOXES = [
    (ANY + SHAPE + DIVIDED, "one dimension of a shape written out"),
    (
        ANY + "let b = a\n" + SHAPE.replace("a]", "b]").replace("a +", "b +") + DIVIDED,
        "the same place under two names",
    ),
    (
        ANY + SHAPE + "Y[d...] = X[(d[j] div c if j == a else d[j] for j < N)...]",
        "the condition the other way round",
    ),
    (
        ANY + "output Y : cvm[(c * n[j] for j < N)...] precision p(X)\n"
        "Y[d...] = X[(d[j] div c for j < N)...]",
        "every dimension by one number",
    ),
    (
        ANY + "let S = (c * n[j] for j < N)\noutput Y : cvm[S...] precision p(X)\n"
        "Y[d...] = X[(d[j] mod n[j] for j < N)...]",
        "extents in a list with a name",
    ),
    (
        ANY + "output Y : cvm[(2 * n[N - 1 - j] for j < N)...] precision p(X)\n"
        "Y[d...] = X[(d[N - 1 - j] mod n[j] for j < N)...]",
        "dimensions in the reverse order",
    ),
]


@pytest.mark.parametrize(("items", "why"), SPLIT_BOXES, ids=[why for _, why in SPLIT_BOXES])
def test_a_box_is_split(items: str, why: str) -> None:
    assert boxes(items) == ["split(Y_shape, d_factors)"], why
    last = lower(operator(items), C_LIKE).nests[0]
    assert not any(isinstance(each, i.Binary) and each.op == "floordiv" for each in walk(last.body))
    names = [each.function for each in walk(last.body) if isinstance(each, i.Call)]
    assert set(names) == {"walk_offset"}, why


def test_the_host_finds_the_factors() -> None:
    host = block_lines(after_split(ANY + SHAPE + DIVIDED).prepare)
    assert host[-4:] == [
        "let d_factors: list = ones(len(Y_shape))",
        "for 0 <= slot < N:",
        "  if slot == a:",
        "    d_factors[slot] = c",
    ]


WHOLE_BOXES = [
    (
        ANY + "output Y : cvm[(2 * n[j] - 1 for j < N)...] precision p(X)\n"
        "Y[d...] = X[(d[j] div 2 for j < N)...]",
        "one less than a multiple",
    ),
    (
        ANY + "attr e in [0, N)\n" + SHAPE + DIVIDED.replace("!= a", "!= e"),
        "another dimension may be divided",
    ),
    (ANY + SHAPE + DIVIDED.replace("j != a else", "j == a else"), "all the other dimensions"),
    (
        ANY + SHAPE + "Y[d...] = X[(d[j] if j < a else d[j] div c for j < N)...]",
        "more than one dimension may be divided",
    ),
    (
        ANY + "output Y : cvm[(4 * n[j] for j < N)...] precision p(X)\n"
        "Y[d...] = X[(d[j] div 4 for j < N)...] + X[(d[j] div 2 - d[j] div 4 for j < N)...]",
        "two divisors",
    ),
    (
        ANY + "output Y : cvm[(2 * n[j] for j < N)...] precision 32\n"
        "Y[d...] = X[(d[j] div 2 for j < N)...] + d[0]",
        "the entry is a value too",
    ),
    (
        ANY + "output Y : cvm[(2 * n[j] for j < N)...] precision p(X)\n"
        "Y[d...] = X[(min(d[j] div 2, 3 * c) mod n[j] for j < N)...]",
        "the quotient is no index",
    ),
]


@pytest.mark.parametrize(("items", "why"), WHOLE_BOXES, ids=[why for _, why in WHOLE_BOXES])
def test_a_box_stays(items: str, why: str) -> None:
    (box,) = boxes(items)
    assert not box.startswith("split"), why
