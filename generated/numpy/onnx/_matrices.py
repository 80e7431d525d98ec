"""Sums of products in generated numpy operators: exact, by matrix products of a wide type.

The numpy target carries a copy of this file beside its operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ._arrays import peak
from ._indices import Array, Index, axis_counts

MOST_EXACT = {np.float32: 1 << 24, np.float64: 1 << 53}
LONGEST = 1 << 63


def dot(left: Any, right: Any, *over: Index) -> Any:
    """The sum of products of integers along the axes of reduced indices, by matrix products.

    Axes of both operands are those of a stack of matrices, the others make rows and columns.
    """
    counts = axis_counts(over)
    rank = max(np.ndim(left), np.ndim(right), 1 + max(counts))
    left, right = lifted(left, rank), lifted(right, rank)
    factor = 1
    for axis, extent in counts.items():
        at = rank - 1 - axis
        if left.shape[at] == right.shape[at] == 1:
            factor *= extent
        elif right.shape[at] == 1:
            left = left.sum(axis=at, keepdims=True, dtype=left.dtype)
        elif left.shape[at] == 1:
            right = right.sum(axis=at, keepdims=True, dtype=right.dtype)
    reduced = [rank - 1 - axis for axis in counts]
    kept = [at for at in range(rank) if at not in reduced]
    batch = [at for at in kept if left.shape[at] == right.shape[at]]
    rows = [at for at in kept if at not in batch and right.shape[at] == 1]
    columns = [at for at in kept if at not in batch and left.shape[at] == 1]
    terms = prod(left.shape[at] for at in reduced)
    number = number_type(left, right, terms)
    found = stack(left, number, batch, rows, reduced)
    found = found @ stack(right, number, batch, columns, reduced).swapaxes(-1, -2)
    if found.dtype.kind == "f":
        found = found.astype(np.int64)
    order = [*batch, *rows, *columns]
    extents = (right.shape[at] if left.shape[at] == 1 else left.shape[at] for at in order)
    found = found.reshape(tuple(extents))
    found = found.transpose([order.index(at) for at in kept])
    return found * factor if factor != 1 else found


def lifted(operand: Any, rank: int) -> Array:
    """An array of this rank; one whose last axes alone are longer than 1 gets those in front."""
    array = np.asarray(operand)
    return array[(None,) * (rank - array.ndim)]


def number_type(left: Array, right: Array, terms: int) -> Any:
    """Floating point where it holds every partial sum of so many products, else integers."""
    if object in (left.dtype, right.dtype):
        return object
    bound = magnitude(left) * magnitude(right) * terms
    return next((kind for kind, most in MOST_EXACT.items() if bound <= most), np.int64)


def magnitude(array: Array) -> int:
    """A bound of the magnitude of all elements; a view asks the array that it is one of."""
    if array.dtype.itemsize == 1:
        return 128
    whole = array.base
    if isinstance(whole, np.ndarray) and whole.dtype == array.dtype and whole.size < array.size:
        return peak(whole)
    return peak(array)


def stack(
    array: Array, number: Any, batch: Sequence[int], own: Sequence[int], reduced: Sequence[int]
) -> Array:
    """The array as matrices [own axes, reduced axes] of numbers of a type.

    They are laid out so that the copy goes through the array by its shortest steps.
    """
    rest = [at for at in range(array.ndim) if at not in (*batch, *own, *reduced)]
    shape = [array.shape[at] for at in batch]
    height, width = (prod(array.shape[at] for at in axes) for axes in (own, reduced))

    def step(axes: Sequence[int]) -> int:
        steps = [abs(array.strides[at]) for at in axes if array.shape[at] > 1]
        return min(steps, default=LONGEST)

    if step(own) <= step(reduced):
        turned = array.transpose(*rest, *batch, *reduced, *own).astype(number, order="C")
        return turned.reshape(*shape, width, height).swapaxes(-1, -2)
    turned = array.transpose(*rest, *batch, *own, *reduced).astype(number, order="C")
    return turned.reshape(*shape, height, width)
