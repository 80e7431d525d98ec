"""The intrinsics: each variant computes the formula that describes it."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cvmgen
from cvmgen.reference import Reference, Tensor
from cvmgen.schedule.schedules import packaged

DOT4 = packaged().intrinsics["dot4"]
COLUMNS, DEPTH = DOT4.packed["C"], DOT4.packed["K"]
SIZES = [(1, 1, 1), (3, 16, 4), (17, 20, 7), (5, 70, 64), (40, 33, 70)]


class Tile(ctypes.Structure):
    """cvmgen_tile."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("x", "rows", "runs")),
        *((name, ctypes.c_int64) for name in ("run_count", "run_quads")),
        *((name, ctypes.c_void_p) for name in ("panels", "totals")),
        *((name, ctypes.c_int64) for name in ("step", "row_count", "panel_count")),
        ("zero", ctypes.c_int32),
        *((name, ctypes.c_bool) for name in ("turned", "elements")),
    )


def packed(w: Any) -> Any:
    """Panels as cvmgen_tile.h describes them."""
    columns, depth = -(-w.shape[0] // COLUMNS), -(-w.shape[1] // DEPTH)
    whole = np.zeros((columns * COLUMNS, depth * DEPTH), np.int8)
    whole[: w.shape[0], : w.shape[1]] = w
    parts = whole.reshape(columns, COLUMNS, depth, DEPTH).transpose(0, 2, 1, 3)
    sums = whole.sum(axis=1, dtype=np.int32).reshape(columns, -1)
    pairs = zip(sums, parts, strict=True)
    panels = [np.concatenate([of.view(np.int8), part.ravel()]) for of, part in pairs]
    memory = np.zeros(sum(map(len, panels)) + 64, np.int8)
    start = -memory.ctypes.data % 64
    memory[start : start + sum(map(len, panels))] = np.concatenate(panels)
    return memory[start:]


@pytest.mark.parametrize(("rows", "columns", "depth"), SIZES)
def test_dot4(generated: Path, rows: int, columns: int, depth: int) -> None:
    random = np.random.default_rng(rows)
    x = random.integers(-128, 128, (rows, depth))
    w = random.integers(-128, 128, (columns, depth))
    inputs = {"X": Tensor.of(x.tolist(), dtype="int8"), "W": Tensor.of(w.tolist(), dtype="int8")}
    wanted = np.array(Reference(DOT4.meaning).evaluate(inputs, {}).outputs["Y"].nested())
    operators = cvmgen.load("c", folder=generated)
    library = operators.processor.library
    quads, panels = -(-depth // DEPTH), -(-columns // COLUMNS)
    image = np.full((rows, quads * DEPTH), 200, np.uint8)
    image[:, :depth] = x + DOT4.staged["X"]
    offsets = np.arange(rows, dtype=np.int64) * image.shape[1]
    start, memory = np.zeros(1, np.int64), packed(w)
    for variant in operators.variants:
        assert variant in DOT4.variants
        operators.variant = variant
        totals = np.zeros((rows, panels * COLUMNS), np.int32)
        tile = Tile(
            image.ctypes.data, offsets.ctypes.data, start.ctypes.data, 1, quads,
            memory.ctypes.data, totals.ctypes.data, totals.shape[1], rows, panels, 0, False, False,
        )  # fmt: skip
        library.cvmgen_run_tile(ctypes.byref(tile))
        assert np.array_equal(totals[:, :columns], wanted), variant
        assert not totals[:, columns:].any()
    operators.variant = None
