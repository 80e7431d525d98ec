"""Streaming kernels: whole vectors, ends of runs, and addresses that are not those of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from cvmgen.emit import cuda_support
from cvmgen.reference import Tensor
from cvmgen.reference.probe import same_result
from tests.emit.cuda_texts import NAMES, classes, text
from tests.emit.on_cpu import OnCpu
from tests.emit.test_cuda_on_cpu import Call, ran
from tests.operators import sampled

ACCESS = 16
MARGIN = 32  # bytes around an array, at least


def at(address: int, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy of an array whose address is so many elements behind that of a vector."""
    size = array.nbytes + 3 * MARGIN
    whole = np.full(size, 99, np.uint8)
    first = MARGIN + -(whole.ctypes.data + MARGIN) % ACCESS + address * array.itemsize
    copy = whole[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def around(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The bytes in front of an array made by `at`, and those behind it."""
    base = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    first = array.ctypes.data - base.ctypes.data
    return np.concatenate([base[:first], base[first + array.nbytes :]])


def filled(shape: Sequence[int], dtype: str, seed: int) -> np.ndarray[Any, Any]:
    source = np.random.default_rng(seed)
    if dtype.startswith("float"):
        return source.integers(-40, 41, shape).astype(dtype) / 4
    # Sums of two have a precision of 8.
    return source.integers(-60, 61, shape).astype(dtype)


def agree(
    on_cpu: OnCpu,
    name: str,
    arrays: Sequence[np.ndarray[Any, Any]],
    dtype: str,
    place: int,
    **attributes: Any,
) -> None:
    """Run the kernels forward and in reverse, from this place on and to it."""
    operator = on_cpu.operators[name]
    items = [each.name for each in operator._info.inputs]
    tensors = [Tensor.of(each, dtype=each.dtype.name) for each in arrays]
    given = dict(zip(items, tensors, strict=False))
    (expected,) = Call(name, given, attributes).expected()
    inputs = dict(zip(items, (at(place, each) for each in arrays), strict=False))
    precisions = {item: 7 for item in inputs if operator._info.has_precision(item)}
    on_cpu.free()
    for _ in ("as launched", "in reverse"):
        out = at(place, np.zeros(expected.shape, dtype))
        operator(**inputs, precisions=precisions, out=out, **attributes)
        assert all(map(same_result, out.ravel().tolist(), expected.values))
        assert (around(out) == 99).all()
        on_cpu.fix(2, 3, "reverse")


# Around whole vectors of every element type, and several of them.
SIZES = (1, 2, 3, 4, 5, 15, 16, 17, 31, 33, 64, 75)
FLAT = [
    ("cvm.relu", 1, "int8", "int8"),
    ("cvm.relu", 1, "int8", "int32"),
    ("cvm.relu", 1, "int32", "int8"),
    ("cvm.relu", 1, "int32", "int32"),
    ("cvm.elemwise_add", 2, "int8", "int8"),
    ("cvm.elemwise_add", 2, "int32", "int8"),
    ("systemml.neg", 1, "float64", "float64"),
]


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize(("name", "count", "read", "stored"), FLAT)
def test_flat_runs(
    name: str, count: int, read: str, stored: str, place: int, on_cpu: OnCpu
) -> None:
    for size in SIZES:
        shape = (size, 1) if name.startswith("systemml") else (size,)
        arrays = [filled(shape, read, seed) for seed in range(count)]
        agree(on_cpu, name, arrays, stored, place)


ROWS = [
    ("cvm.broadcast_add", ((3, 17), (17,)), {}, "steps of 1"),
    ("cvm.broadcast_add", ((3, 32), (3, 1)), {}, "a step of 0"),
    ("cvm.broadcast_sub", ((1, 5), (4, 1)), {}, "steps of 1 and 0"),
    ("cvm.broadcast_max", ((2, 3, 18), (2, 1, 1)), {}, "merged rows"),
    ("cvm.slice", ((4, 40),), {"begin": (0, 3), "end": (4, 40), "strides": (1, 2)}, "a step of 2"),
    ("cvm.slice", ((4, 40),), {"begin": (1, 39), "end": (4, 0), "strides": (1, -1)}, "backwards"),
    ("cvm.slice", ((5, 33),), {"begin": (1, 16), "end": (5, 33)}, "a part of each row"),
    ("cvm.transpose", ((3, 18),), {"axes": (1, 0)}, "stored far apart"),
    ("cvm.transpose", ((3, 2, 19),), {"axes": (1, 0, 2)}, "stored side by side"),
    ("cvm.upsampling", ((1, 2, 3, 9),), {"scale": 3}, "repeated elements"),
    ("cvm.where", ((3,), (3, 18), (3, 18)), {}, "a condition for each row"),
    ("cvm.where", ((3, 18), (3, 18), (3, 18)), {}, "a condition for each element"),
    ("cvm.take", ((5, 20), (7,)), {"axis": 0}, "rows by their numbers"),
    ("cvm.take", ((5, 4), (21,)), {}, "elements by their numbers"),
    ("cvm.batch_flatten", ((3, 5, 7),), {}, "one run of all rows"),
    ("cvm.repeat", ((3, 7),), {"repeats": 5, "axis": 1}, "short runs of one element"),
    ("cvm.tile", ((3, 9),), {"reps": (2, 3)}, "rows several times"),
]


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("dtype", ["int8", "int32"])
@pytest.mark.parametrize(
    ("name", "shapes", "attributes", "why"), ROWS, ids=[f"{row[0]} {row[3]}" for row in ROWS]
)
def test_rows(
    name: str,
    shapes: Sequence[Sequence[int]],
    attributes: dict[str, Any],
    why: str,
    dtype: str,
    place: int,
    on_cpu: OnCpu,
) -> None:
    arrays = [filled(shape, dtype, seed) for seed, shape in enumerate(shapes)]
    for stored in ("int8", "int32"):
        agree(on_cpu, name, arrays, stored, place, **attributes)


def test_a_vector_has_a_thread(on_cpu: OnCpu) -> None:
    on_cpu.free()
    x = np.zeros((300, 33), np.int8)
    on_cpu.operators.cvm.broadcast_add(x, x[:1], dtype=np.int8)
    # Each of 300 rows takes three vectors of 16.
    assert ran(on_cpu) == (-(-900 // cuda_support.BLOCK), cuda_support.BLOCK)


CLASSES = {
    "cvm.relu": "streaming",
    "cvm.broadcast_add": "streaming",
    "cvm.transpose": "streaming",
    "cvm.upsampling": "vector",
    "systemml.neg": "streaming",
}


@pytest.mark.parametrize("name", CLASSES)
def test_classes(name: str) -> None:
    assert set(classes(name).values()) == {CLASSES[name]}


@pytest.mark.parametrize("name", sampled(NAMES))
def test_the_header_is_included_where_it_is_used(name: str) -> None:
    kinds = set(classes(name).values())
    assert ('#include "cvmgen_vector.h"' in text(name)) == bool(kinds & {"streaming", "vector"})
