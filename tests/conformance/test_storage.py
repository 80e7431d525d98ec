"""Element types and memory layouts: the result does not depend on how the caller stores data."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from cvmgen.dtypes import CVM
from tests.conformance.calls import (
    MOVED,
    Array,
    Call,
    Conformance,
    compare,
    data,
    mapped,
    wanted_dtype,
)
from tests.conformance.random_calls import DRAW, call
from tests.operators import extra, product, sweeps
from tests.targets import TARGETS

SMALL = 8  # bits that int8 holds
# The operators that have an input, and those that have an output, with a precision.
FORMULAS = {operator.full_name: operator for operator in (*product(), *extra())}
READ_PRECISE = [name for name in DRAW if any(item.dtype == CVM for item in FORMULAS[name].inputs)]
STORE_PRECISE = [name for name in DRAW if FORMULAS[name].precise_outputs]


def narrow_call(name: str, random: Random) -> Call:
    """A call whose operands all fit int8."""
    while True:
        found = call(name, random)
        if all(each is None or fits(each) for each in found.inputs):
            return found


# Their precision is 32 whatever the data.
ALWAYS_WIDE = {
    "extra.fourth_power",
    "extra.histogram",
    "extra.least",
    "extra.polynomial",
    "extra.scaled_product",
    "extra.signs",
    "extra.weighted_edges",
}


def fits(operand: Any) -> bool:
    arrays = operand if isinstance(operand, list) else [operand]
    whole = [one.astype(np.int64) for one in arrays if one.dtype.kind == "i"]
    return all(int(np.abs(one).max(initial=0)) < 128 for one in whole)


# ---------------------------------------------------------------- element types


@pytest.mark.parametrize("name", READ_PRECISE)
def test_every_mixture_of_element_types(conformance: Conformance, name: str) -> None:
    random = Random(name)
    drawn = narrow_call(name, random)
    precise = conformance.libraries[TARGETS[0]][name]._info.has_precision
    kinds = [
        (np.int8, np.int32) if precise(item.name) else (None,)
        for item in conformance.references[name].operator.inputs
    ]
    for types in itertools.product(*kinds):
        inputs = tuple(
            mapped(lambda one, to=to: one.astype(to or one.dtype), [each])[0]
            for to, each in zip(types, drawn.inputs, strict=True)
        )
        conformance.check(Call(drawn.operator, inputs, drawn.attributes))


@pytest.mark.parametrize("name", sorted(set(STORE_PRECISE) - ALWAYS_WIDE))
def test_both_result_types(conformance: Conformance, name: str) -> None:
    random = Random(name)
    done = 0
    for _ in range(200):
        drawn = call(name, random)
        expected = conformance.expected(drawn)
        if expected.refusal or any(each.precision > SMALL for each in expected.outputs):
            continue
        for dtype in (np.int8, np.int32):
            conformance.check(drawn, dtype=dtype)
        done += 1
        if done == 4:
            return
    pytest.fail("too few calls have results of at most 8 bits")


@pytest.mark.parametrize("target", TARGETS)
def test_int8_is_refused_beyond_8_bits(libraries: dict[str, Operators], target: str) -> None:
    cvm = libraries[target].cvm
    X = np.array([127, -127], np.int8)
    with pytest.raises(ValueError, match="int8 does not hold precision 9"):
        cvm.elemwise_add(X, X, dtype=np.int8)
    with pytest.raises(ValueError, match="int8 does not hold precision 9"):
        cvm.elemwise_add(X, X, out=np.empty(2, np.int8))
    X = np.array([63, -63], np.int8)
    assert cvm.elemwise_add(X, X, dtype=np.int8).tolist() == [126, -126]


# ---------------------------------------------------------------- layouts of inputs


class DLPackOnly:
    """An object that offers its memory by __dlpack__ alone."""

    def __init__(self, array: Array) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


class InterfaceOnly:
    """An object that offers its memory by __array_interface__ alone."""

    def __init__(self, array: Array) -> None:
        self.array = array

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.array.__array_interface__


def gaps(array: Array) -> Array:
    """The same elements with others between them, in the last dimensions."""
    inner = array.shape[-3:]
    whole = np.full((*array.shape[:-3], *(2 * extent + 1 for extent in inner)), 99, array.dtype)
    view = whole[(..., *(slice(1, None, 2) for _ in inner))]
    view[...] = array
    return view


def fortran(array: Array) -> Array:
    """The same elements with the first dimension fastest."""
    return np.array(array, order="F")


def backwards(array: Array) -> Array:
    """The same elements with negative strides."""
    turn = (*(slice(None, None, -1) for _ in array.shape), ...)  # an array, also of no dimensions
    return np.array(array[turn], order="C")[turn]


def unaligned(array: Array) -> Array:
    """The same elements one byte off the place that their type asks for."""
    memory = np.zeros(array.nbytes + 1, np.uint8)
    view = memory[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


def constant(array: Array) -> Array:
    array = np.array(array)
    array.setflags(write=False)
    return array


LAYOUTS: dict[str, Callable[[Array], Any]] = {
    "fortran": fortran,
    "gaps": gaps,
    "backwards": backwards,
    "unaligned": unaligned,
    "read-only": constant,
    "dlpack": DLPackOnly,
    "array interface": InterfaceOnly,
}


@pytest.mark.parametrize("names", sweeps(DRAW))
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("target", TARGETS)
def test_layouts_of_inputs(
    conformance: Conformance,
    libraries: dict[str, Operators],
    target: str,
    layout: str,
    names: list[str],
) -> None:
    for name in names:
        drawn = call(name, Random(name))
        expected = conformance.expected(drawn)
        if expected.refusal:
            continue
        given = mapped(LAYOUTS[layout], drawn.inputs)
        found = libraries[target][name](*given, **drawn.attributes)
        compare(found, expected, wanted_dtype(drawn, None), f"{target} {layout} {drawn}")


@pytest.mark.parametrize("target", TARGETS)
def test_an_operand_of_equal_elements(conformance: Conformance, target: str) -> None:
    """A view with strides of 0, as numpy.broadcast_to gives it."""
    X = np.broadcast_to(np.array([[3], [-4]], np.int32), (2, 5))
    found = conformance.libraries[target].cvm.sum(X, axes=(1,))
    assert found.tolist() == [15, -20]


@pytest.mark.parametrize("target", TARGETS)
def test_lists_and_one_operand_twice(libraries: dict[str, Operators], target: str) -> None:
    cvm = libraries[target].cvm
    assert cvm.abs([[1, -2], [-3, 4]]).tolist() == [[1, 2], [3, 4]]
    X = np.array([1, -2], np.int8)
    assert cvm.elemwise_add(X, X).tolist() == [2, -4]


# ---------------------------------------------------------------- layouts of results


@pytest.mark.parametrize("names", sweeps(DRAW))
@pytest.mark.parametrize("layout", ["fortran", "gaps", "backwards", "unaligned"])
@pytest.mark.parametrize("target", TARGETS)
def test_layouts_of_results(
    conformance: Conformance,
    libraries: dict[str, Operators],
    target: str,
    layout: str,
    names: list[str],
) -> None:
    for name in names:
        drawn = call(name, Random(name))
        expected = conformance.expected(drawn)
        if expected.refusal:
            continue
        for dtype in (np.int8, np.int32):
            if dtype == np.int8 and any(each.precision > SMALL for each in expected.outputs):
                continue
            outs = tuple(map(LAYOUTS[layout], expected.empty_results(dtype)))
            out = outs if len(outs) > 1 else outs[0]
            found = libraries[target][name](*drawn.inputs, out=out, **drawn.attributes)
            results = found if isinstance(found, tuple) else (found,)
            assert all(one is other for one, other in zip(results, outs, strict=True))
            compare(found, expected, dtype, f"{target} {layout} {drawn}")


@pytest.mark.parametrize("target", TARGETS)
def test_a_result_with_gaps_leaves_the_gaps_alone(
    libraries: dict[str, Operators], target: str
) -> None:
    whole = np.full((2, 6), 9, np.int32)
    libraries[target].cvm.negative(np.array([[1, 2, 3]] * 2, np.int32), out=whole[:, ::2])
    assert whole.tolist() == [[-1, 9, -2, 9, -3, 9]] * 2


def test_moving_operators_keep_the_type(conformance: Conformance) -> None:
    for name in MOVED:
        drawn = narrow_call(name, Random(name))
        for dtype in (np.int8, np.int32):
            conformance.check(drawn.of_type(dtype))


def test_int32_accumulation_of_int8_operands(conformance: Conformance) -> None:
    X = data(Random(1), (4, 300), 8, np.int8)
    conformance.check(Call("cvm.dense", (X, X[:2].copy(), None)))
