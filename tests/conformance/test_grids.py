"""The "Test Parameter" lists of the older draft: sampled always, whole under the marker `slow`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product, zip_longest
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


def joined(axis: int) -> Shapes:
    """The pairs of the grid that differ along the axis only."""

    def pairs() -> Iterator[tuple[Shape, ...]]:
        for shape, extent in product(product(*GRID), GRID[axis]):
            yield shape, (*shape[:axis], extent, *shape[axis + 1 :])

    return pairs


def shortened() -> Iterator[tuple[Shape, ...]]:
    """With each shape the shorter ones of two dimensions."""
    for shape, extent in product(product(*GRID), GRID[1]):
        if extent <= shape[1]:
            yield shape, (1, extent)


def backwards(shape: Shape) -> dict[str, Any]:
    return {"target_shape": shape[::-1]}


@dataclass(frozen=True, slots=True)
class Grid:
    """An operator over shapes of its inputs; `bits` is the precision of the data."""

    operator: str
    shapes: Shapes
    attributes: Mapping[str, Any] = field(default_factory=dict)
    bits: int = 16
    of_shape: Callable[[Shape], dict[str, Any]] = lambda shape: {}
    variadic: bool = False

    def attributes_for(self, shapes: tuple[Shape, ...]) -> dict[str, Any]:
        """The attributes of a call; `of_shape` gives those that follow the first input."""
        return {**self.attributes, **self.of_shape(shapes[0])}


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
    *(Grid("cvm.repeat", single, {"axis": axis, "repeats": 2}, 32) for axis in (0, 1, 2, -1)),
    Grid("cvm.tile", single, {"reps": (2, 2, 3)}, 32),
    *(Grid("cvm.concatenate", joined(at), {"axis": at}, 32, variadic=True) for at in (1, 2, 3)),
    Grid("cvm.expand_dims", single, {"axis": 2}, 32),
    Grid("cvm.reshape", single, bits=32, of_shape=backwards),
    Grid("cvm.squeeze", single, bits=32),
    Grid("cvm.transpose", single, bits=32),
    Grid("cvm.slice", single, bits=32),
    Grid("cvm.slice", single, {"strides": (-1, 1, -2, 3)}, 32),
    Grid("cvm.slice_like", shortened, {"axes": (0, 1)}, 32),
    Grid("extra.reverse", single, {}, 32),
]
IDS = [
    "-".join([grid.operator, *(f"{name}={value}" for name, value in grid.attributes.items())])
    for grid in GRIDS
]


@pytest.mark.parametrize("grid", GRIDS, ids=IDS)
def test_sample(conformance: Conformance, pool: Pool, grid: Grid) -> None:
    random = Random(f"{grid.operator} {grid.attributes}")
    shapes = sorted(grid.shapes(), key=largest)
    small = [each for each in shapes if largest(each) <= FOR_REFERENCE]
    for chosen in [shapes[0], *random.sample(small, min(4, len(small)))]:
        for narrow in (False, True):
            operands = pool.operands(grid, chosen, narrow)
            inputs = (list(operands),) if grid.variadic else operands
            conformance.check(Call(grid.operator, inputs, grid.attributes_for(chosen)))
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
    random = Random(f"{grid.operator} {grid.attributes}")
    shapes = [each for each in grid.shapes() if largest(each) <= FOR_PYTHON]
    for chosen in random.sample(shapes, min(40, len(shapes))):
        check_c(conformance.libraries["python"], pool, grid, chosen)


def largest(shapes: tuple[Shape, ...]) -> int:
    """The elements of a tensor that holds all of them, aligned on the right."""
    return prod(max(extents) for extents in zip_longest(*(s[::-1] for s in shapes), fillvalue=1))


def check_c(operators: Operators, pool: Pool, grid: Grid, shapes: tuple[Shape, ...]) -> None:
    """A call with both element types against the vectorised oracle."""
    for narrow in (False, True):
        operands = pool.operands(grid, shapes, narrow)
        wide = [each.astype(np.int64) for each in operands]
        attributes = grid.attributes_for(shapes)
        wanted = ORACLES[grid.operator](*wide, **attributes)
        found = operators[grid.operator](*operands, **attributes)
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
