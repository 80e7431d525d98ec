"""Sums of products of real numbers in blocks: each variant has the bits of term after term."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from itertools import count, product
from typing import Any

import numpy as np
import pytest

from cvmgen.build import compile_library
from cvmgen.emit import c_support

Array = np.ndarray[Any, Any]
ROWS, COLUMNS = 64, 32
SPECIAL = [np.inf, -np.inf, np.nan, -0.0, 1e-45, 3.4e38, 1.0, -1.0]


class Lines(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("wide", ctypes.c_bool),
        ("line", ctypes.c_int64),
        ("term", ctypes.c_int64),
    ]

    @classmethod
    def of(cls, array: Array) -> Lines:
        steps = (each // array.itemsize for each in array.strides)
        return cls(array.ctypes.data, array.dtype == np.float64, *steps)


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    made = ctypes.CDLL(str(compile_library(c_support.emit_support(), name="products")))
    made.cvmgen_variant_name.restype = ctypes.c_char_p
    made.cvmgen_add_products.restype = None
    return made


@pytest.fixture(scope="module")
def variants(library: ctypes.CDLL) -> Iterator[list[bytes]]:
    yield list(iter(map(library.cvmgen_variant_name, count()).__next__, None))
    library.cvmgen_use_variant(None)


def drawn(random: np.random.Generator, shape: tuple[int, int], dtype: str, turned: bool) -> Array:
    """Numbers of many sizes, with their lines or their terms side by side, or neither."""
    values = random.normal(size=shape) * np.exp2(random.integers(-60, 60, shape))
    places = random.random(shape)
    values[places < 0.02] = random.choice(SPECIAL)
    values = values.astype(dtype)
    if random.random() < 0.2:
        return np.repeat(np.repeat(values, 2, 0), 2, 1)[::2, ::2]
    return np.asfortranarray(values) if turned else values


def expected(totals: Array, x: Array, w: Array, depths: Array) -> Array:
    """One term after the other; NaN has one form."""
    wide, narrow = x.astype(np.float64), w.astype(np.float64)
    for k in range(x.shape[1]):
        more = totals + wide[:, k, None] * narrow[None, :, k]
        totals = np.where(depths[:, None] > k, more, totals)
    return np.where(np.isnan(totals), np.nan, totals)


def sums(add: Callable[..., Any], x: Array, w: Array, begun: Array, depth: int, more: int) -> Array:
    rows, columns = begun.shape
    totals = np.full((ROWS + 1, COLUMNS), 7.0)
    totals[:rows, :columns] = begun
    place = ctypes.c_void_p(totals.ctypes.data)
    sizes = map(ctypes.c_int64, (depth, more))
    add(place, Lines.of(x), ctypes.c_int64(rows), Lines.of(w), ctypes.c_int64(columns), *sizes)
    assert (totals[rows:] == 7.0).all()
    return np.where(np.isnan(totals), np.nan, totals)[:rows, :columns]


@pytest.mark.parametrize("types", [*product(["float32", "float64"], repeat=2)], ids="-".join)
@pytest.mark.filterwarnings("ignore:(invalid|overflow):RuntimeWarning")
def test_sums(library: ctypes.CDLL, variants: list[bytes], types: tuple[str, str]) -> None:
    random = np.random.default_rng(1)
    edges = [(1, 1, 1), (64, 32, 64), (9, 17, 65), (8, 16, 128), (3, 31, 5)]
    drawn_sizes = (tuple(random.integers(1, (65, 33, 150))) for _ in range(25))
    for rows, columns, terms in (*edges, *drawn_sizes):
        x = drawn(random, (rows, terms), types[0], bool(random.integers(2)))
        w = drawn(random, (columns, terms), types[1], bool(random.integers(2)))
        begun = random.normal(size=(rows, columns))
        more = int(random.choice([0, 0, 1, -1, 3]))
        depth = int(terms) - (max(more, 0) * (int(rows) - 1))  # of the first rows there may be none
        depths = depth + more * np.arange(rows)
        for variant in variants:
            library.cvmgen_use_variant(variant)
            found = sums(library.cvmgen_add_products, x, w, begun, depth, more)
            wanted = expected(begun, x, w, depths)
            assert found.tobytes() == wanted.tobytes(), (variant, rows, columns, terms, more)
