"""Index lists that are not affine: what they come to is the same on every target, and no C kernel
builds a list for each element of them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from cvmgen.driver import C, lower
from cvmgen.ir import nodes as i
from cvmgen.ir.uses import nodes_in
from cvmgen.source import Source
from cvmgen.spec.check import check_files
from cvmgen.spec.files import SpecFile
from tests.conformance.calls import Call, Conformance, data
from tests.conformance.together import CLIP, operator_text, together

Extents = tuple[int, ...]
SHAPES: tuple[Extents, ...] = ((3,), (40,), (2, 3), (5, 1, 4), (2, 3, 2, 5), (1, 1, 2, 1, 7))
BOX = "input X : int32[n...]\n"
SAME = BOX + "output Y : int32[n...]\n"
PADS = (
    BOX + "attr a : int list in [0, 9)\n attr b : int list in [0, 9)\n"
    'require len(a) == len(n) and len(b) == len(n) : "one for each dimension"\n'
    "output Y : int32[(n[i] + a[i] + b[i] for i < len(n))...]\n"
)
ROLL = "X[((d[i] - s[i]) mod n[i] for i < len(n))...]"
SHIFTS = 'attr s : int list in [-99, 99)\n require len(s) == len(n) : "one for each dimension"\n'
IDS = BOX + "input I : int32[K, q...]\n"
NEAR = "(clip(I[i, {0}], 0, n[i] - 1) for i < K)..."


def pads(random: Random, extents: Extents) -> dict[str, Any]:
    return {name: [random.randint(0, min(e - 1, 8)) for e in extents] for name in ("a", "b")}


def shifts(random: Random, extents: Extents) -> dict[str, Any]:
    return {"s": [random.randint(-20, 20) for _ in extents]}


def nothing(random: Random, extents: Extents) -> dict[str, Any]:
    return {}


# What, its block, attributes, how many inputs of other shapes.
ROWS: list[tuple[str, str, Callable[[Random, Extents], dict[str, Any]]]] = [
    (
        "a reflecting pad by choices",
        PADS + 'require all[i < len(n)](a[i] < n[i] and b[i] < n[i]) : "small"\n'
        "Y[d...] = X[(a[i] - d[i] if d[i] < a[i] else d[i] - a[i] if d[i] - a[i] < n[i] "
        "else 2 * (n[i] - 1) - (d[i] - a[i]) for i < len(n))...]",
        pads,
    ),
    (
        "a reflecting pad by magnitudes, which calls test",
        PADS + "Y[d...] = X[(abs(n[i] - 1 - abs(n[i] - 1 - abs(d[i] - a[i]))) for i < len(n))...]",
        pads,
    ),
    (
        "a pad by the edge, in arithmetic",
        PADS + "Y[d...] = 3 * X[(clip(d[i] - a[i], 0, n[i] - 1) for i < len(n))...] - 1",
        pads,
    ),
    ("a rotation", SAME + SHIFTS + f"Y[d...] = {ROLL}", shifts),
    ("two places, and a walk", SAME + SHIFTS + f"Y[d...] = {ROLL} - {ROLL} + X[d...]", shifts),
    (
        "a walk backwards beside",
        SAME + SHIFTS + f"Y[d...] = {ROLL} + 2 * X[(n[i] - 1 - d[i] for i < len(n))...]",
        shifts,
    ),
    (
        "only where it is asked for",
        SAME + "Y[d...] = X[(d[i] - 1 for i < len(n))...] * X[(abs(d[i] - 1) mod n[i]"
        " for i < len(n))...] if all[i < len(n)](d[i] > 0) else 7",
        nothing,
    ),
    (
        "maybe no element",
        "input X : int32[n...] or empty\n output Y : int32[n...] or empty\n"
        + SHIFTS
        + f"Y[d...] = {ROLL}",
        shifts,
    ),
    (
        "real numbers",
        "input X : int32[n...]\n output Y : float64[n...]\n" + SHIFTS + f"Y[d...] = real({ROLL})",
        shifts,
    ),
    (
        "leading places that elements name",
        IDS + "require K <= len(n) : 'ranks'\n output Y : int32[q..., n[K:]...]\n".replace("'", '"')
        + "Y[d...] = X[" + NEAR.format("d[:len(q)]...") + ", d[len(q):]...]",
        nothing,
    ),
    (
        "the same by two walks",
        IDS + "require K <= len(n) : 'ranks'\n output Y : int32[q..., n[K:]...]\n".replace("'", '"')
        + "Y[a..., b...] = X[" + NEAR.format("a...") + ", b...]"
        + " forall a... < q..., b... < n[K:]...",
        nothing,
    ),
    (
        "all places, tuple by tuple, and a test of calls",
        BOX + "input I : int32[q..., K]\n require K == len(n) : 'rank'\n".replace("'", '"')
        + "output Y : int32[q...]\n Y[d...] = X[(max(I[d..., i], 0) for i < K)...]",
        nothing,
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Conformance:
    texts = [CLIP, *(operator_text(at, block) for at, (_, block, _) in enumerate(ROWS))]
    return together(tmp_path_factory.mktemp("places"), texts)


@pytest.mark.parametrize("at", range(len(ROWS)), ids=[why for why, *_ in ROWS])
def test_places(at: int, tried: Conformance) -> None:
    why, block, attributes = ROWS[at]
    random, refused = Random(why), 0
    shapes = (*SHAPES, (0,), (2, 0, 3)) if "or empty" in block else SHAPES
    for extents in (*shapes, *shapes):
        inputs = [data(random, extents, 8, np.int32)]
        if "input I" in block:
            several = random.choice(((1,), (6,), (3, 4)))
            count = len(extents) if "q..., K]" in block else random.randint(1, len(extents))
            shape = (*several, count) if "q..., K]" in block else (count, *several)
            inputs.append(data(random, shape, random.choice((2, 6)), np.int32))
        call = Call(f"tried.f{at}", tuple(inputs), attributes(random, extents))
        refused += tried.check(call).refusal != ""
    assert refused == 0 or "calls test" in why or "test of calls" in why


def test_no_list_for_each_element() -> None:
    """None of the nests that store results keeps lists, but one whose places are asked for behind
    a condition."""
    texts = [CLIP, *(operator_text(at, block) for at, (_, block, _) in enumerate(ROWS))]
    operators = check_files([SpecFile(Source("tried.cvm", "\n".join(texts)), "tried")])
    for operator, (why, *_) in zip(operators, ROWS, strict=True):
        *_, nest = lower(operator, C).nests
        lists = [each for each in nodes_in(nest.body, i.Let) if each.type == "list"]
        assert bool(lists) == (why == "only where it is asked for"), why
