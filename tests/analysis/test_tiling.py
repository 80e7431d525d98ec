"""Which contractions have affine places, and what the register tile is told of them."""

from __future__ import annotations

import pytest

from cvmgen.analysis.contraction import factor_sizes
from cvmgen.analysis.facts import Facts
from cvmgen.analysis.tiling import Tiling, find_contraction, flat_lines, tiling, tiling_lines
from cvmgen.driver import C_LIKE, lower
from cvmgen.dtypes import INT8, INT32, DType
from cvmgen.ir.text import block_lines
from cvmgen.typing.types import type_nest
from tests.specs import operator

PLAIN = "input A : cvm[I, K]\ninput B : cvm[J, K]\noutput Y : cvm[I, J] precision 32\n"
WINDOW = (
    "input X : cvm[C, H, W]\ninput F : cvm[O, C, R, S]\nattr p in [0, 9)\nattr s in [1, 9)\n"
    "let V = (H + 2*p - R) div s + 1\nlet U = (W + 2*p - S) div s + 1\n"
    'require V >= 1 and U >= 1 : "too large"\n'
    "output Y : cvm[O, V, U] precision 32\n"
)


def found(items: str, result: DType = INT8) -> tuple[Tiling | None, Facts]:
    program = lower(operator(items), C_LIKE)
    (nest,) = program.nests
    names = (*(item.name for item in program.operator.inputs), *program.operator.output_names)
    dtypes = dict.fromkeys(names, INT8) | {"Y": result}
    facts = Facts.of(program, nest)
    body = type_nest(program, nest, dtypes).body
    made = find_contraction(body, facts, factor_sizes(program, dtypes))
    return (None if made is None else tiling(made, facts)), facts


TILINGS = [
    (
        "a product of matrices",
        PLAIN + "Y[i, j] = sum[k < K](A[i, k] * B[j, k])",
        ["stages A as bytes, from 0", "  places 0 <= i < I, K apart", "  in each of them k",
         "packs B at j * K + k"],
    ),
    (
        "the second matrix lies the other way: what follows itself in memory is packed",
        "input A : cvm[I, K]\ninput B : cvm[K, J]\noutput Y : cvm[I, J] precision 32\n"
        "Y[i, j] = sum[k < K](A[i, k] * B[k, j])",
        ["stages A as bytes, from 0", "  places 0 <= i < I, K apart", "  in each of them k",
         "packs B at j + k * J"],
    ),
    (
        "a window with a border is staged, whatever side it is on",
        WINDOW + "Y[o, v, u] = sum[c < C, r < R, q < S]("
        "at(v*s - p + r, u*s - p + q) * F[o, c, r, q])\n"
        "  where at(h, w) = X[c, h, w] if 0 <= h < H and 0 <= w < W else 0",
        ["stages X as bytes, from (0 - W) * p - p",
         "  places 0 <= v * s + r - p < H, W apart", "  places 0 <= u * s + q - p < W, 1 apart",
         "  in each of them c * (H * W)", "packs F at o * (C * R * S) + c * (R * S) + r * S + q"],
    ),
    (
        "a test that is none of a place",
        "attr c in [1, 9)\n" + PLAIN + "Y[i, j] = sum[k < K if k < c](A[i, k] * B[j, k])",
        None,
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("items", "expected"), [row[1:] for row in TILINGS], ids=[row[0] for row in TILINGS]
)
def test_tilings(items: str, expected: list[str] | None) -> None:
    made, _ = found(items)
    assert (None if made is None else tiling_lines(made)) == expected


STORED = [
    ("a sum", PLAIN, "{}", "stores totals as they are in Y at i * J + j"),
    ("an optional input", PLAIN.replace("output", "input C : cvm[J] optional\noutput"),
     "{} + (C[j] if present(C) else 0)",
     "stores totals as they are in Y at i * J + j, unless C is given"),
    ("another element", PLAIN.replace("output", "input C : cvm[J]\noutput"), "{} + C[j]", None),
    ("a value of the total", PLAIN, "2 * {}", None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("items", "value", "expected"), [row[1:] for row in STORED], ids=[row[0] for row in STORED]
)
def test_totals_that_are_stored_as_they_are(items: str, value: str, expected: str | None) -> None:
    total = value.format("sum[k < K](A[i, k] * B[j, k])")
    made, _ = found(f"{items}Y[i, j] = {total}", INT32)
    assert made is not None
    (*_, last) = tiling_lines(made)
    assert (last if last.startswith("stores") else None) == expected


@pytest.mark.parametrize(("expected", "more"), [(2, ""), (1, " + v")])
def test_lines_are_one_where_only_their_position_counts(expected: int, more: str) -> None:
    items = WINDOW + (
        "Y[o, v, u] = sum[c < C, r < R, q < S](at(v*s - p + r, u*s - p + q) * F[o, c, r, q])"
        f"{more}\n  where at(h, w) = X[c, h, w] if 0 <= h < H and 0 <= w < W else 0"
    )
    made, facts = found(items)
    assert made is not None
    flat = flat_lines(made.found.after, made.x.lines, made.found.divided, facts)
    assert flat.count == expected
    text = " ".join(block_lines(flat.statements))
    assert ("Y@[o * V * U + u]" in text) == (expected == 2)
