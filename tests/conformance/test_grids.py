"""The "Test Parameter" lists of the older draft: sampled always, whole under the marker `slow`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from math import prod
from random import Random
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from tests.conformance.calls import Call, Conformance
from tests.conformance.numpy_oracles import ORACLES

Shape = tuple[int, ...]
Shapes = Callable[[], Iterator[tuple[Shape, ...]]]

# The ranges of the draft's letters i, j, l and r.
GRID = (1,), (1, 14, 27, 40, 53, 66, 79, 92), (1, 18, 35, 52, 69, 86), (1, 24, 47, 70, 93)
REDUCED = (1,), (1, 34, 67), (1, 58), (1, 64)

FOR_REFERENCE = 4000  # elements that the reference and the python target compute in a moment
FOR_PYTHON = 40_000


def single() -> Iterator[tuple[Shape, ...]]:
    yield from ((shape,) for shape in product(*GRID))


def twice() -> Iterator[tuple[Shape, ...]]:
    yield from ((shape, shape) for shape in product(*GRID))


def broadcast() -> Iterator[tuple[Shape, ...]]:
    """The pairs of the grid that broadcast."""
    axes = [[(a, b) for a in axis for b in axis if a == b or 1 in (a, b)] for axis in GRID]
    for pairs in product(*axes):
        yield tuple(zip(*pairs, strict=True))


def pooled() -> Iterator[tuple[Shape, ...]]:
    """Of the grid, what a window of width 2 fits into."""
    yield from ((shape,) for shape in product(*GRID) if shape[-1] > 1)


def reduced() -> Iterator[tuple[Shape, ...]]:
    yield from ((shape,) for shape in product(*REDUCED))


def matrices() -> Iterator[tuple[Shape, ...]]:
    for i, j, k in product((1, 14, 27), (1, 12, 23), (1, 18)):
        yield (i, j), (k, j)


@dataclass(frozen=True, slots=True)
class Grid:
    """An operator over shapes of its inputs; `bits` is the precision of the data."""

    operator: str
    shapes: Shapes
    attributes: dict[str, Any] = field(default_factory=dict)
    bits: int = 16


GRIDS = [
    Grid("cvm.sum", reduced, {"axes": (1,)}, 14),
    Grid("cvm.sum", reduced, {}, 12),
    Grid("cvm.max", reduced, {"axes": (1,)}, 32),
    Grid("cvm.max", reduced, {}, 32),
    Grid("cvm.broadcast_add", broadcast, bits=31),
    Grid("cvm.broadcast_sub", broadcast, bits=31),
    Grid("cvm.broadcast_mul", broadcast),
    Grid("cvm.broadcast_div", broadcast, bits=8),
    Grid("cvm.broadcast_max", broadcast, bits=32),
    Grid("cvm.dense", matrices, bits=13),
    Grid("cvm.relu", single, bits=32),
    Grid("cvm.max_pool2d", pooled, {"pool_size": (1, 2)}, 32),
    Grid("cvm.upsampling", single, {"scale": 2}, 32),
    Grid("cvm.abs", single, bits=32),
    Grid("cvm.cvm_precision", single, bits=32),
    Grid("cvm.elemwise_add", twice, bits=31),
    Grid("cvm.elemwise_sub", twice, bits=31),
    Grid("cvm.negative", single, bits=32),
    Grid("cvm.clip", single, {"a_min": -19, "a_max": 10}, 7),
    Grid("cvm.cvm_clip", single, {"precision": 2}, 3),
    Grid("cvm.cvm_right_shift", single, {"precision": 2, "shift_bit": 2}, 5),
    Grid("cvm.cvm_left_shift", single, {"precision": 2, "shift_bit": 2}, 3),
    Grid("cvm.flatten", single, bits=32),
    Grid("cvm.repeat", single, {"axis": 2, "repeats": 2}, 32),
    Grid("cvm.tile", single, {"reps": (2, 2, 3)}, 32),
    Grid("cvm.transpose", single, {}, 32),
    Grid("extra.reverse", single, {}, 32),
]
IDS = [f"{grid.operator}-{'-'.join(grid.attributes)}".rstrip("-") for grid in GRIDS]


@pytest.mark.parametrize("grid", GRIDS, ids=IDS)
def test_sample(conformance: Conformance, pool: Pool, grid: Grid) -> None:
    random = Random(f"{grid.operator} {grid.attributes}")
    shapes = sorted(grid.shapes(), key=largest)
    small = [each for each in shapes if largest(each) <= FOR_REFERENCE]
    for chosen in [shapes[0], *random.sample(small, min(4, len(small)))]:
        for narrow in (False, True):
            conformance.check(
                Call(grid.operator, pool.operands(grid, chosen, narrow), grid.attributes)
            )
    for chosen in [shapes[-1], *random.sample(shapes, 3)]:
        check_c(conformance.libraries["c"], pool, grid, chosen)


@pytest.mark.slow
@pytest.mark.parametrize("grid", GRIDS, ids=IDS)
def test_whole(conformance: Conformance, pool: Pool, grid: Grid) -> None:
    for shapes in grid.shapes():
        check_c(conformance.libraries["c"], pool, grid, shapes)


@pytest.mark.slow
@pytest.mark.parametrize("grid", GRIDS, ids=IDS)
def test_many_in_python(conformance: Conformance, pool: Pool, grid: Grid) -> None:
    random = Random(grid.operator)
    shapes = [each for each in grid.shapes() if largest(each) <= FOR_PYTHON]
    for chosen in random.sample(shapes, min(40, len(shapes))):
        check_c(conformance.libraries["python"], pool, grid, chosen)


def largest(shapes: tuple[Shape, ...]) -> int:
    return prod(map(max, *shapes)) if len(shapes) > 1 else prod(shapes[0])


def check_c(operators: Operators, pool: Pool, grid: Grid, shapes: tuple[Shape, ...]) -> None:
    """A call with both element types against the vectorised oracle."""
    for narrow in (False, True):
        operands = pool.operands(grid, shapes, narrow)
        wide = [each.astype(np.int64) for each in operands]
        wanted = ORACLES[grid.operator](*wide, **grid.attributes)
        found = operators[grid.operator](*operands, **grid.attributes)
        assert found.shape == wanted.shape, shapes
        assert np.array_equal(found, wanted), shapes


class Pool:
    """Random values of any precision, made once."""

    def __init__(self) -> None:
        generator = np.random.default_rng(1)
        self.bits = generator.integers(-(2**31) + 1, 2**31, 2**20, dtype=np.int32)

    def operands(self, grid: Grid, shapes: tuple[Shape, ...], narrow: bool) -> tuple[Any, ...]:
        """Operands of the grid's precision; int8 of at most 8 bits where `narrow`."""
        bits = min(grid.bits, 8) if narrow else grid.bits
        most = (1 << (bits - 1)) - 1
        dtype = np.int8 if narrow else np.int32
        made = []
        for at, shape in enumerate(shapes):
            flat = (self.bits[at * 1000 : at * 1000 + prod(shape)] >> (32 - bits)).clip(-most, most)
            made.append(flat.astype(dtype).reshape(shape))
        return tuple(made)


@pytest.fixture(scope="module")
def pool() -> Pool:
    return Pool()
