"""Every precision rule of spec/cvm against itself in Python, and against what the values need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from cvmgen.errors import OperatorError
from cvmgen.reference import Reference, Tensor
from cvmgen.reference.soundness import declared_bounds
from tests import operators
from tests.conformance.calls import Array, largest, mapped, measured
from tests.targets import TARGETS

ALL = range(1, 33)
SOME = (1, 2, 7, 8, 9, 15, 16, 17, 31, 32)  # where an operator has three tensors
SMALL = 4096  # elements of tensors that are filled

Shapes = Sequence[Any]  # of each input: a shape, a list of shapes, or None
Precisions = Sequence[Any]  # of each input, likewise
Attributes = Mapping[str, Any]
Rule = Callable[[Precisions, Shapes, Attributes], int | tuple[int, ...] | None]


@dataclass(frozen=True, slots=True)
class Row:
    """The rule of an operator's outputs; None where a call is refused for another reason.

    `too_low` says where the rule is below what the values need, which `although` allows.
    """

    rule: Rule
    calls: Sequence[tuple[Shapes, Attributes]]
    too_low: Callable[[Precisions], bool] = lambda p: False

    def wanted(self, p: Precisions, shapes: Shapes, attributes: Attributes) -> tuple[int, ...]:
        """The precision of each output; nothing where the call is refused for another reason."""
        found = self.rule(p, shapes, attributes)
        if found is None:
            return ()
        return found if isinstance(found, tuple) else (found,)


def bits(n: int) -> int:
    """floor(log2 n) + 1."""
    return n.bit_length()


def first(p: Precisions, shapes: Shapes, attributes: Attributes) -> int:
    return int(p[0])


def attribute(p: Precisions, shapes: Shapes, attributes: Attributes) -> int:
    return int(attributes["precision"])


def one_more(p: Precisions, shapes: Shapes, attributes: Attributes) -> int:
    return int(max(p)) + 1


def with_bias(p: Precisions, terms: int) -> int:
    product_sum = p[0] + p[1] + bits(terms)
    return product_sum if p[2] is None else max(product_sum, p[2]) + 1


def convolved(p: Precisions, shapes: Shapes, attributes: Attributes) -> int:
    _, inner, height, width = shapes[1]
    return with_bias(p, inner * height * width)


def connected(p: Precisions, shapes: Shapes, attributes: Attributes) -> int:
    return with_bias(p, shapes[0][1])


def summed(p: Precisions, shapes: Shapes, attributes: Attributes) -> int:
    (shape,) = shapes
    axes = {axis % len(shape) for axis in attributes.get("axes", ())}
    if not axes:
        axes = set(range(len(shape)))
    elif attributes.get("exclude"):
        axes = set(range(len(shape))) - axes
    terms = 1
    for axis in axes:
        terms *= shape[axis]
    return int(p[0]) + bits(terms)


def counted(p: Precisions, shapes: Shapes, attributes: Attributes) -> tuple[int, int]:
    _, rows, entries = shapes[0]
    return bits(rows * entries + 1) + 1, p[0]


def cut(p: Precisions, shapes: Shapes, attributes: Attributes) -> int:
    return bits(max(abs(attributes["a_min"]), abs(attributes["a_max"])) + 1) + 1


def shifted_left(p: Precisions, shapes: Shapes, attributes: Attributes) -> int | None:
    return attributes["precision"] if p[0] + attributes["shift_bit"] <= 32 else None


ONE: list[tuple[Shapes, Attributes]] = [([(2, 3)], {})]
ALIKE: list[tuple[Shapes, Attributes]] = [([(2, 3), (2, 3)], {})]
BROADCAST: list[tuple[Shapes, Attributes]] = [*ALIKE, ([(2, 1, 1), (3,)], {})]
CUTS: list[tuple[Shapes, Attributes]] = [
    ([(5,)], {"a_min": low, "a_max": high})
    for low, high in [
        *((-(2**at), 2**at) for at in range(31)),
        *((1 - 2**at, 2**at - 1) for at in range(1, 32)),
        (-1, 0),
        (-19, 10),
        (5, 300),
        (-300, -5),
        (2 - 2**31, 0),
        (0, 2**31 - 1),
    ]
]
TO_PRECISION: list[tuple[Shapes, Attributes]] = [([(5,)], {"precision": at}) for at in ALL]
SHIFTED: list[tuple[Shapes, Attributes]] = [
    ([(5,)], {"precision": to, "shift_bit": by})
    for to in (1, 2, 8, 31, 32)
    for by in (1, 8, 31, 32)
]
POWERS = [2**at for at in range(31)]
REDUCED: list[tuple[Shapes, Attributes]] = [
    *(([(extent,)], {}) for at in POWERS for extent in (at, at + 1, 2 * at - 1)),
    ([(2, 3, 4)], {"axes": (1,)}),
    ([(2, 3, 4)], {"axes": (-1, 0), "keepdims": True}),
    ([(2, 3, 4)], {"axes": (1,), "exclude": True}),
    ([(2, 3, 4)], {"axes": (0, 1, 2), "exclude": True}),
    ([(2, 3, 4)], {"exclude": True}),
    ([(2**15, 2**15, 3)], {"axes": (0, 1)}),
]
KERNELS = [(1, 1, 1), (3, 1, 1), (1, 2, 2), (3, 3, 3), (7, 3, 3), (64, 1, 1)]
CONVOLVED: list[tuple[Shapes, Attributes]] = [
    ([(1, inner * groups, 5, 5), (groups, inner, *kernel), bias and (groups,)], {"groups": groups})
    for inner, *kernel in KERNELS
    for groups, bias in product((1, 2), (None, True))
]
CONNECTED: list[tuple[Shapes, Attributes]] = [
    ([(2, inner), (3, inner), bias], {})
    for inner in (1, 2, 3, 4, 255, 256)
    for bias in (None, (3,))
]
COUNTED: list[tuple[Shapes, Attributes]] = [
    ([(2, rows, entries)], {})
    for rows, entries in [(1, 2), (3, 2), (31, 2), (32, 32), (2**20, 32), (2**25, 31), (2**25, 32)]
]

ROWS: dict[str, Row] = {
    "abs": Row(first, ONE),
    "cvm_precision": Row(lambda p, shapes, a: 6, ONE),
    "elemwise_add": Row(one_more, ALIKE),
    "elemwise_sub": Row(one_more, ALIKE),
    "negative": Row(first, ONE),
    "clip": Row(cut, CUTS),
    "cvm_clip": Row(attribute, TO_PRECISION),
    "cvm_right_shift": Row(attribute, SHIFTED),
    "cvm_left_shift": Row(shifted_left, SHIFTED),
    "broadcast_add": Row(one_more, BROADCAST),
    "broadcast_sub": Row(one_more, BROADCAST),
    "broadcast_mul": Row(lambda p, shapes, a: p[0] + p[1], BROADCAST),
    "broadcast_div": Row(first, BROADCAST),
    "broadcast_max": Row(lambda p, shapes, a: max(p), BROADCAST),
    # A truth value has 1 bit by the deployed rule; 1 takes 2.
    "broadcast_greater": Row(lambda p, shapes, a: 1, BROADCAST, too_low=lambda p: True),
    "sum": Row(summed, REDUCED),
    "max": Row(first, REDUCED),
    "conv2d": Row(convolved, CONVOLVED),
    "dense": Row(connected, CONNECTED),
    "relu": Row(first, ONE),
    "max_pool2d": Row(first, [([(1, 2, 4, 4)], {"pool_size": (2, 3), "padding": (1, 2)})]),
    "upsampling": Row(first, [([(1, 2, 2, 2)], {"scale": 3})]),
    "repeat": Row(first, [([(2, 3)], {"axis": -1, "repeats": 3})]),
    "tile": Row(first, [([(2, 3)], {"reps": (2, 1, 3)}), ([(2, 3)], {"reps": ()})]),
    "flatten": Row(first, ONE),
    "batch_flatten": Row(first, ONE),
    "concatenate": Row(
        lambda p, shapes, a: max(p[0]),
        [([[(2, 3)]], {"axis": 0}), ([[(2,), (1,)]], {"axis": 0}), ([[(1,)] * 3], {"axis": -1})],
    ),
    "transpose": Row(first, [*ONE, ([(2, 3)], {"axes": (1, 0)})]),
    "slice": Row(first, [*ONE, ([(2, 3)], {"begin": (1,), "strides": (1, -2)})]),
    "slice_like": Row(first, [([(2, 3), (1, 2)], {}), ([(2, 3), (1,)], {"axes": (0,)})]),
    "take": Row(first, [([(2, 3), (4,)], {}), ([(2, 3), (4,)], {"axis": 1})]),
    "cvm_lut": Row(lambda p, shapes, a: p[1], [([(4,), (2, 3)], {})]),
    "expand_dims": Row(first, [([(2, 3)], {"axis": 1}), ([(2,)], {"axis": 0, "num_newaxis": 0})]),
    "reshape": Row(first, [([(2, 3)], {"target_shape": (3, 2)})]),
    "squeeze": Row(first, [*ONE, ([(1, 1)], {}), ([(2, 1)], {"axes": (1,)})]),
    "where": Row(
        lambda p, shapes, a: max(p[1], p[2]),
        [([(2, 3)] * 3, {}), ([(2,), (2, 3), (2, 3)], {}), ([(2,)] * 3, {})],
    ),
    # Behind the rows that stay stands -1, which takes 2 bits.
    "get_valid_count": Row(counted, COUNTED, too_low=lambda p: p[0] == 1),
    "non_max_suppression": Row(first, [([(2, 3, 6), (2,)], {})], too_low=lambda p: p[0] == 1),
}
EVERY = pytest.mark.parametrize("name", ROWS)


def test_every_operator_has_a_row() -> None:
    known = {each.name: each for each in operators.product() if each.opset == "cvm"}
    assert set(ROWS) == set(known)
    assert {name for name, each in known.items() if each.although} == {
        name for name, row in ROWS.items() if row.too_low([1])
    }


# ---------------------------------------------------------------- the grid


def precisions_of(shapes: Shapes) -> Iterator[list[Any]]:
    """Every combination of precisions; with three tensors, of a few."""
    counts = [None if s is None else len(s) if isinstance(s, list) else 0 for s in shapes]
    tensors = sum(max(count, 1) for count in counts if count is not None)
    for chosen in product(ALL if tensors < 3 else SOME, repeat=tensors):
        left = iter(chosen)
        yield [
            None if count is None else [next(left) for _ in range(count)] if count else next(left)
            for count in counts
        ]


# The host's part is printed for numpy as for Python, for CUDA as for C: one call of seven is asked.
SEVENTH = {"numpy": 7, "cuda-cpu": 7}


@EVERY
@pytest.mark.parametrize("target", TARGETS)
def test_targets_infer_the_rule(libraries: dict[str, Operators], name: str, target: str) -> None:
    operator, row = libraries[target][f"cvm.{name}"], ROWS[name]
    for shapes, attributes in row.calls:
        for precisions in islice(precisions_of(shapes), 0, None, SEVENTH.get(target, 1)):
            wanted = row.wanted(precisions, shapes, attributes)
            where = f"{shapes} {attributes} {precisions}"
            if wanted and max(wanted) <= 32:
                found = operator.infer(shapes, precisions, **attributes)
                assert found.precisions == wanted, where
                continue
            with pytest.raises(OperatorError) as caught:
                operator.infer(shapes, precisions, **attributes)
            for output, bits_of_it in zip(operator.outputs, wanted, strict=False):
                if bits_of_it > 32:
                    start = f"cvm.{name}: {output} = precision {bits_of_it} "
                    assert str(caught.value).startswith(start), where
                    break


# ---------------------------------------------------------------- what the values need


@EVERY
def test_rules_hold_what_the_values_need(references: dict[str, Reference], name: str) -> None:
    """The declared rule is that of the row, and no bound of the formula is above it."""
    reference, row = references[f"cvm.{name}"], ROWS[name]
    bounds = declared_bounds(reference.operator)
    for shapes, attributes in row.calls:
        for precisions in precisions_of(shapes):
            wanted = row.wanted(precisions, shapes, attributes)
            if not wanted or max(wanted) > 32:
                continue
            result = reference.infer(operands(reference, shapes, precisions), attributes)
            where = f"{shapes} {attributes} {precisions}"
            assert tuple(each.precision for each in result.outputs.values()) == wanted, where
            needed = {
                output.name: reference.compiler.value(bound, result.env)
                for case, output, bound in bounds
                if case in (None, result.env.get("$case"))
            }
            assert set(needed) == set(result.outputs), "a bound cannot be derived"
            too_low = any(exact > result.outputs[at].precision for at, exact in needed.items())
            assert too_low == row.too_low(precisions), f"{where}: {needed} needed"


def operands(reference: Reference, shapes: Shapes, precisions: Precisions) -> dict[str, Any]:
    """Inputs of shapes and precisions without elements."""
    found: dict[str, Any] = {}
    items = zip(reference.operator.inputs, shapes, precisions, strict=False)
    for item, shape, precision in items:
        if isinstance(shape, list):
            pairs = zip(shape, precision, strict=True)
            found[item.name] = [Tensor(one, [], most) for one, most in pairs]
        elif shape is not None:
            found[item.name] = Tensor(shape, [], precision)
    return found


@EVERY
def test_largest_values_fit(libraries: dict[str, Operators], name: str) -> None:
    """With every input at an end of its range, results are within the precision of the rule."""
    operator, row = libraries[TARGETS[0]][f"cvm.{name}"], ROWS[name]
    for shapes, attributes in row.calls:
        arrays = [
            each for shape in shapes for each in (shape if isinstance(shape, list) else [shape])
        ]
        if any(each is not None and int(np.prod(each)) > SMALL for each in arrays):
            continue
        for bits_of_all, ends in product(
            (1, 2, 3, 8, 12, 16), product((1, -1), repeat=len(shapes))
        ):
            inputs = filled(shapes, bits_of_all, ends)
            precisions = mapped(lambda one, bits=bits_of_all: bits, inputs)
            wanted = row.wanted(precisions, shapes, attributes)
            if wanted and max(wanted) <= 32 and not row.too_low(precisions):
                found = operator(*inputs, precisions=precisions, **attributes)
                results = found if isinstance(found, tuple) else (found,)
                where = f"{shapes} {attributes} {precisions} {ends}"
                for result, most in zip(results, wanted, strict=True):
                    assert measured(result) <= most, where


def filled(shapes: Shapes, precision: int, ends: Sequence[int]) -> list[Any]:
    """Tensors of the largest value of a precision, or of its negative."""

    def full(shape: tuple[int, ...], sign: int) -> Array:
        return np.full(shape, sign * largest(precision), np.int32)

    return [
        None
        if shape is None
        else [full(one, sign) for one in shape]
        if isinstance(shape, list)
        else full(shape, sign)
        for shape, sign in zip(shapes, ends, strict=True)
    ]
