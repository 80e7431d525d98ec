"""Laws that hold between operators and for all data: moving elements."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cvmgen.api import Opset
from cvmgen.errors import OperatorError
from tests.conformance.calls import Array
from tests.conformance.numpy_oracles import ORACLES
from tests.conformance.strategies import arrays, budget, ints, shapes

Shape = tuple[int, ...]
wholes = st.integers(-(2**31), 2**31 - 1)
precisions = st.sampled_from((1, 2, 8, 32))


@st.composite
def tensors(draw: st.DrawFn, high: int = 5) -> Array:
    """A tensor of any rank up to `high` and any precision."""
    return draw(arrays(draw(shapes(high=high)), draw(precisions)))


def same(found: Array, wanted: Array) -> bool:
    return found.shape == wanted.shape and np.array_equal(found, wanted)


# ---------------------------------------------------------------- what undoes what


@budget
@given(st.data(), tensors())
def test_a_transposition_and_its_inverse(cvm: Opset, draw: st.DataObject, X: Array) -> None:
    order = draw.draw(st.permutations(range(X.ndim)))
    signs = draw.draw(st.lists(st.booleans(), min_size=X.ndim, max_size=X.ndim))
    axes = tuple(at - X.ndim if sign else at for at, sign in zip(order, signs, strict=True))
    turned = cvm.transpose(X, axes=axes)
    assert same(turned, X.transpose(axes))
    assert turned.dtype == X.dtype
    inverse = tuple(order.index(at) for at in range(X.ndim))
    assert same(cvm.transpose(turned, axes=inverse), X)
    assert same(cvm.transpose(cvm.transpose(X)), X)


@budget
@given(st.data(), tensors())
def test_reshaping_there_and_back(cvm: Opset, draw: st.DataObject, X: Array) -> None:
    target = draw.draw(factorings(X.size))
    there = cvm.reshape(X, target_shape=target)
    assert same(there, X.reshape(target))
    assert same(cvm.reshape(there, target_shape=X.shape), X)
    assert same(cvm.flatten(there), cvm.flatten(X))


@st.composite
def factorings(draw: st.DrawFn, size: int) -> Shape:
    """A shape of so many elements, ones among its extents."""
    found: list[int] = []
    while size > 1:
        divisors = [each for each in range(2, size + 1) if size % each == 0]
        found.append(draw(st.sampled_from(divisors)))
        size //= found[-1]
    ones = draw(st.integers(0 if found else 1, 3))
    return tuple(draw(st.permutations([*found, *[1] * ones])))


@budget
@given(st.data(), tensors())
def test_slices_joined_again(cvm: Opset, draw: st.DataObject, X: Array) -> None:
    axis = draw.draw(st.integers(-X.ndim, X.ndim - 1))
    extent = X.shape[axis]
    cuts = draw.draw(st.sets(st.integers(1, extent - 1))) if extent > 1 else set()
    places = [0, *sorted(cuts), extent]
    before = (0,) * (axis % X.ndim)
    ends = X.shape[: axis % X.ndim]
    parts = [
        cvm.slice(X, begin=(*before, low), end=(*ends, high)) for low, high in pairwise(places)
    ]
    assert same(cvm.concatenate(*parts, axis=axis), X)


@budget
@given(st.data(), tensors())
def test_squeezing_what_was_expanded(cvm: Opset, draw: st.DataObject, X: Array) -> None:
    axis = draw.draw(st.integers(-X.ndim - 1, X.ndim))
    count = draw.draw(st.integers(0, 4))
    expanded = cvm.expand_dims(X, axis=axis, num_newaxis=count)
    at = axis if axis >= 0 else axis + X.ndim + 1
    assert expanded.shape == (*X.shape[:at], *[1] * count, *X.shape[at:])
    if count > 0:
        assert same(cvm.squeeze(expanded, axes=tuple(range(at, at + count))), X)
    assert same(cvm.squeeze(expanded), np.atleast_1d(X.squeeze()))
    assert same(cvm.reshape(expanded, target_shape=X.shape), X)


@budget
@given(st.data(), tensors(4))
def test_every_repeated_element_is_found_again(cvm: Opset, draw: st.DataObject, X: Array) -> None:
    axis, repeats = draw.draw(st.integers(-X.ndim, X.ndim - 1)), draw.draw(st.integers(1, 4))
    repeated = cvm.repeat(X, axis=axis, repeats=repeats)
    assert same(repeated, X.repeat(repeats, axis=axis))
    strides = [1] * X.ndim
    strides[axis] = repeats
    assert same(cvm.slice(repeated, strides=tuple(strides)), X)


@budget
@given(st.data(), tensors(4))
def test_the_first_of_the_tiles(cvm: Opset, draw: st.DataObject, X: Array) -> None:
    reps = tuple(draw.draw(st.lists(st.integers(1, 3), max_size=5)))
    tiled = cvm.tile(X, reps=reps)
    assert same(tiled, np.tile(X, reps))
    aligned = X.reshape((1,) * (tiled.ndim - X.ndim) + X.shape)
    assert same(cvm.slice_like(tiled, aligned), aligned)
    assert prod(tiled.shape) == X.size * prod(reps)


@budget
@given(st.data(), tensors(4))
def test_shortening_twice(cvm: Opset, draw: st.DataObject, X: Array) -> None:
    """Axis by axis or all at once."""
    like = np.zeros([draw.draw(st.integers(1, extent)) for extent in X.shape], np.int8)
    at_once = cvm.slice_like(X, like)
    assert same(at_once, X[tuple(map(slice, like.shape))])
    one_by_one = X
    for axis in draw.draw(st.permutations(range(X.ndim))):
        one_by_one = cvm.slice_like(one_by_one, like, axes=(axis - X.ndim,))
    assert same(one_by_one, at_once)


# ---------------------------------------------------------------- as numpy has it


@budget
@given(st.data(), tensors(4))
def test_slices_are_those_of_python(cvm: Opset, draw: st.DataObject, X: Array) -> None:
    """Whatever begin, end and strides are; an empty slice is refused."""
    count = st.integers(0, X.ndim)
    near = st.integers(-7, 7) | wholes
    steps = (st.integers(-4, 4) | wholes).filter(bool)
    begin, end = (tuple(draw.draw(lists(near, draw.draw(count)))) for _ in range(2))
    strides = tuple(draw.draw(lists(steps, draw.draw(count))))
    attributes = {"begin": begin, "end": end, "strides": strides}
    wanted = ORACLES["cvm.slice"](X, **attributes)
    if wanted.size:
        assert same(cvm.slice(X, **attributes), wanted)
    else:
        refusal = refused(cvm, X, attributes)
        assert refusal.startswith("cvm.slice: the slice is empty")


def lists(elements: st.SearchStrategy[int], size: int) -> st.SearchStrategy[list[int]]:
    return st.lists(elements, min_size=size, max_size=size)


def refused(cvm: Opset, X: Array, attributes: dict[str, Shape]) -> str:
    with pytest.raises(OperatorError) as caught:
        cvm.slice(X, **attributes)
    return str(caught.value)


@budget
@given(st.data(), tensors(4), shapes(high=3))
def test_taken_elements(cvm: Opset, draw: st.DataObject, X: Array, shape: Shape) -> None:
    near = arrays(shape, 4)
    indices = draw.draw(near | arrays(shape, 32))
    axis = draw.draw(st.none() | st.integers(-X.ndim, X.ndim - 1))
    taken = cvm.take(X, indices) if axis is None else cvm.take(X, indices, axis=axis)
    assert same(taken, X.take(indices, axis=axis, mode="clip"))
    if axis is None:
        assert same(cvm.cvm_lut(indices, X), taken)
        assert same(cvm.take(cvm.flatten(X), indices, axis=0), taken)


@budget
@given(st.data(), tensors(4))
def test_taking_every_index_changes_nothing(cvm: Opset, draw: st.DataObject, X: Array) -> None:
    axis = draw.draw(st.integers(-X.ndim, X.ndim - 1))
    everything = np.arange(X.shape[axis], dtype=np.int32)
    assert same(cvm.take(X, everything, axis=axis), X)
    backwards = cvm.take(X, everything[::-1].copy(), axis=axis)
    assert same(backwards, np.flip(X, axis))


@budget
@given(st.data(), shapes(), st.booleans())
def test_a_choice_and_the_opposite_choice(
    cvm: Opset, draw: st.DataObject, shape: Shape, rows: bool
) -> None:
    condition = draw.draw(arrays(shape[:1] if rows else shape, 2))
    A, B = draw.draw(arrays(shape, 32)), draw.draw(arrays(shape, 8))
    chosen = cvm.where(condition, A, B)
    assert same(chosen, ORACLES["cvm.where"](condition, A, B))
    opposite = (condition == 0).astype(np.int8)
    assert same(cvm.where(opposite, B, A), chosen)
    assert same(cvm.where(condition, A, A), A)


@budget
@given(st.lists(ints, min_size=1, max_size=9), st.integers(-2, 1))
def test_joining_single_elements(cvm: Opset, values: list[int], axis: int) -> None:
    parts = [np.array([[value]], np.int32) for value in values]
    assert same(cvm.concatenate(*parts, axis=axis), np.concatenate(parts, axis))
