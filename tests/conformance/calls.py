"""Calls of operators, and the comparison of every target with the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from random import Random
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operator, Operators
from cvmgen.dtypes import CVM, DTYPES
from cvmgen.errors import OperatorError
from cvmgen.reference import Reference, Tensor
from cvmgen.typed import REALS, element_type, in_memory

Array = np.ndarray[Any, Any]
Given = Array | None | list[Array]

# Operators whose results are elements of their inputs, and the places of those inputs: the
# result is int8 when all of these are.
MOVED = {
    **dict.fromkeys(("cvm.batch_flatten", "cvm.flatten", "cvm.upsampling"), (0,)),
    **dict.fromkeys(("cvm.concatenate", "cvm.expand_dims", "cvm.repeat", "cvm.reshape"), (0,)),
    **dict.fromkeys(("cvm.slice", "cvm.slice_like", "cvm.squeeze", "cvm.take"), (0,)),
    **dict.fromkeys(("cvm.tile", "cvm.transpose"), (0,)),
    **dict.fromkeys(("extra.depth_to_space", "extra.reverse", "extra.swap_ends"), (0,)),
    "cvm.cvm_lut": (1,),
    "cvm.where": (1, 2),
    **dict.fromkeys(("cvm.non_max_suppression", "extra.thinned", "extra.best_rows"), (0,)),
    **dict.fromkeys(("extra.partitioned", "extra.positive_in_order", "extra.median"), (0,)),
    "extra.every_other": (0,),
    "extra.turned": (0,),
    **dict.fromkeys(("extra.joined", "extra.largest_first", "extra.turned_round"), (0,)),
    "extra.stretched": (0,),
    "extra.masked_rows": (0,),
    "extra.interleave": (0, 1),
    "extra.choose": (1, 2),
}


@dataclass(frozen=True, slots=True)
class Call:
    """An operator's full name and what it is given; without `precisions` they are measured."""

    operator: str
    inputs: tuple[Given, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    precisions: tuple[Any, ...] | None = None

    def __str__(self) -> str:
        shapes = ", ".join(map(described, self.inputs))
        attributes = "".join(f", {name}={value}" for name, value in self.attributes.items())
        given = "" if self.precisions is None else f", precisions={self.precisions}"
        return f"{self.operator}({shapes}{attributes}{given})"

    def of_type(self, dtype: Any) -> Call:
        """The same call with every operand of one element type."""
        return replace(self, inputs=tuple(mapped(lambda one: one.astype(dtype), self.inputs)))


@dataclass(frozen=True, slots=True)
class Expected:
    """What the reference says: each output's shape, exact values and precision, or a refusal."""

    outputs: tuple[Tensor, ...] = ()
    refusal: str = ""
    typed: tuple[bool, ...] = ()  # whether an output has a storage type of its own

    def empty_results(self, dtype: Any) -> tuple[Array, ...]:
        """Arrays for the outputs; of `dtype` for those whose elements have a precision."""
        pairs = zip(self.outputs, self.typed, strict=True)
        return tuple(np.zeros(each.shape, each.dtype if typed else dtype) for each, typed in pairs)


class Conformance:
    """The reference beside the targets."""

    def __init__(
        self, references: Mapping[str, Reference], libraries: Mapping[str, Operators]
    ) -> None:
        self.references = references
        self.libraries = libraries

    def expected(self, call: Call) -> Expected:
        """What the formula says of a call. A FormulaError comes through: it is a faulty formula."""
        reference = self.references[call.operator]
        names = [item.name for item in reference.operator.inputs]
        precisions = call.precisions or [None] * len(names)
        inputs = {
            name: tensors(operand, precision)
            for name, operand, precision in zip(names, call.inputs, precisions, strict=False)
        }
        try:
            result = reference.evaluate(inputs, call.attributes)
        except OperatorError as error:
            return Expected(refusal=str(error))
        kinds = reference.operator.type_of
        typed = tuple(kinds[name] != CVM for name in result.outputs)
        return Expected(tuple(result.outputs.values()), typed=typed)

    def check(
        self, call: Call, targets: Sequence[str] | None = None, dtype: Any = None
    ) -> Expected:
        """Every target gives the bits of the reference, or its very refusal; returns these."""
        expected = self.expected(call)
        for target in self.libraries if targets is None else targets:
            self.check_target(call, target, expected, dtype)
        return expected

    def check_target(self, call: Call, target: str, expected: Expected, dtype: Any = None) -> None:
        operator = self.libraries[target][call.operator]
        where = f"{target}: {call}"
        if expected.refusal:
            with pytest.raises(OperatorError) as caught:
                operator(*call.inputs, precisions=call.precisions, **call.attributes)
            assert str(caught.value) == expected.refusal, where
            return
        found = operator(*call.inputs, precisions=call.precisions, dtype=dtype, **call.attributes)
        compare(found, expected, wanted_dtype(call, dtype), where)
        if target == "c":  # whose second call is not checked again
            again = operator(
                *call.inputs, precisions=call.precisions, dtype=dtype, **call.attributes
            )
            compare(again, expected, wanted_dtype(call, dtype), f"{where}, again")
        inferred = operator.infer(
            [mapped_shape(each) for each in call.inputs],
            declared(operator, call.inputs) if call.precisions is None else call.precisions,
            **call.attributes,
        )
        assert inferred.shapes == tuple(output.shape for output in expected.outputs), where
        precisions = tuple(output.precision or None for output in expected.outputs)
        assert inferred.precisions == precisions, where


def compare(found: Any, expected: Expected, dtype: Any, where: str) -> None:
    """Arrays against the exact values of the reference, wrapped to the element type."""
    results = found if isinstance(found, tuple) else (found,)
    assert len(results) == len(expected.outputs), where
    for result, output, typed in zip(results, expected.outputs, expected.typed, strict=True):
        if typed:
            assert result.dtype == output.dtype, where
            assert result.shape == output.shape, where
            wanted_bits = bits(output)
            assert result.tobytes() == wanted_bits.tobytes(), f"{where}: {result} {wanted_bits}"
            continue
        assert result.dtype == dtype, where
        assert result.shape == output.shape, where
        name = result.dtype.name
        wanted = [wrapped_to(value, name) for value in output.values]
        assert result.ravel().tolist() == wanted, where


def wrapped_to(value: int, dtype: str) -> int:
    """`value` as a target stores it: wrapped in two's complement to the type's width."""
    row = DTYPES[dtype]
    return (value - row.low) % (1 << row.bits) + row.low


def bits(output: Tensor) -> Array:
    """Exact values of a storage type as that type holds them; NaN in its one form."""
    dtype = element_type(output.dtype)
    found = np.array(output.values, in_memory(dtype)).view(dtype).reshape(output.shape)
    if output.dtype in REALS:
        found[np.isnan(found)] = np.nan
    return found


def wanted_dtype(call: Call, dtype: Any) -> Any:
    """The element type of the results: as asked for, else by the operator's nature."""
    if dtype is not None:
        return np.dtype(dtype)
    moved = [call.inputs[at] for at in MOVED.get(call.operator, ())]
    arrays = [one for each in moved for one in (each if isinstance(each, list) else [each])]
    narrow = bool(arrays) and all(one is None or one.dtype == np.int8 for one in arrays)
    return np.dtype(np.int8 if narrow else np.int32)


def tensors(operand: Given, precision: Any) -> Any:
    """An operand as the reference takes it."""
    if operand is None:
        return None
    if not isinstance(operand, list):
        return tensor(operand, precision)
    ranks = precision if isinstance(precision, list) else [precision] * len(operand)
    return [tensor(one, rank) for one, rank in zip(operand, ranks, strict=True)]


def tensor(array: Array, precision: int | None) -> Tensor:
    known = measured(array) if precision is None else precision
    return Tensor(array.shape, array.ravel().tolist(), known, array.dtype.name)


def declared(operator: Operator, inputs: Sequence[Given]) -> list[Any]:
    """The measured precisions of inputs; None where elements have a type of their own."""
    pairs = zip(operator.inputs, inputs, strict=False)
    return [measured(each) if operator._info.has_precision(name) else None for name, each in pairs]


def measured(operand: Given) -> Any:
    """The smallest precision that holds an operand's data."""
    if operand is None:
        return None
    if isinstance(operand, list):
        return [measured(one) for one in operand]
    if operand.dtype.kind != "i":
        return 1
    return max((abs(value) for value in operand.ravel().tolist()), default=0).bit_length() + 1


def mapped(function: Callable[[Array], Any], operands: Sequence[Given]) -> list[Any]:
    """`function` of each array, lists and missing operands kept."""
    return [
        None
        if each is None
        else [function(one) for one in each]
        if isinstance(each, list)
        else function(each)
        for each in operands
    ]


def mapped_shape(operand: Given) -> Any:
    return mapped(lambda one: one.shape, [operand])[0]


def described(operand: Given) -> str:
    if operand is None:
        return "None"
    if isinstance(operand, list):
        return f"[{', '.join(map(described, operand))}]"
    return f"{operand.dtype}{list(operand.shape)}"


def largest(precision: int) -> int:
    """The largest magnitude of a precision."""
    return (1 << (precision - 1)) - 1


def data(random: Random, shape: Sequence[int], precision: int, dtype: Any = None) -> Array:
    """Values of a precision, its two ends among them; int8 half of the time where it fits."""
    most = largest(precision)
    pick = (most, -most, 0, 1 if most else 0)
    values = [
        random.choice(pick) if random.random() < 0.4 else random.randint(-most, most)
        for _ in range(prod(shape))
    ]
    if dtype is None:
        dtype = np.int8 if precision <= 8 and random.random() < 0.5 else np.int32
    return np.array(values, dtype=dtype).reshape(tuple(shape))
