"""Refusals that every operator of spec/ makes, each from a call that the operator accepts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from random import Random
from typing import Any

import numpy as np
import pytest

from cvmgen.api import Operators
from cvmgen.dtypes import CVM
from cvmgen.errors import OperatorError
from cvmgen.reference import Reference, Tensor
from cvmgen.spec.attribute_words import word_rule
from cvmgen.spec.formula import Attribute, Input
from cvmgen.spec.formula import Operator as Formula
from tests import operators
from tests.conformance import test_refusals, test_refusals_transform, test_refusals_vision
from tests.conformance.calls import Array, Call, Conformance, Expected, measured
from tests.conformance.random_calls import call
from tests.conformance.refused import RANK_17
from tests.targets import TARGETS

FORMULAS = {operator.full_name: operator for operator in operators.product()}
MISSING = (None, "this input is missing")


@dataclass(frozen=True, slots=True)
class Accepted:
    """A call that an operator accepts, with no attribute left to its default and no input left out.

    No tensor is empty.
    """

    formula: Formula
    inputs: tuple[Any, ...]
    attributes: dict[str, Any]
    outputs: tuple[Tensor, ...]

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Those of the outputs."""
        return tuple(output.shape for output in self.outputs)

    def dtype(self, at: int) -> Any:
        """The element type of an output."""
        return np.dtype(self.outputs[at].dtype)

    def changed(self, item: Input, array: Any) -> tuple[list[Any], str]:
        """The inputs with another array for one of them, and how a refusal names that one."""
        at = self.formula.inputs.index(item)
        inputs = list(self.inputs)
        inputs[at] = [array, *inputs[at][1:]] if item.variadic else array
        return inputs, f"{item.name}[0]" if item.variadic else item.name

    def results(self, at: int, array: Array) -> Any:
        """Arrays for the outputs, `array` for one of them."""
        arrays = [np.zeros(shape, self.dtype(each)) for each, shape in enumerate(self.shapes)]
        arrays[at] = array
        return tuple(arrays) if len(arrays) > 1 else array

    def first(self, item: Input) -> Array:
        operand = self.inputs[self.formula.inputs.index(item)]
        found: Array = operand[0] if item.variadic else operand
        return found


@pytest.fixture(scope="module")
def accepted(references: dict[str, Reference]) -> dict[str, Accepted]:
    return {name: accepted_call(FORMULAS[name], references[name]) for name in FORMULAS}


def accepted_call(formula: Formula, reference: Reference) -> Accepted:
    random = Random(formula.full_name)
    while True:
        drawn = call(formula.full_name, random)
        expected = Conformance({formula.full_name: reference}, {}).expected(drawn)
        needed = {each.name for each in formula.attributes if not each.optional}
        if not needed <= set(drawn.attributes) or expected.refusal:
            continue
        if () in [output.shape for output in expected.outputs]:
            continue  # the tables change extents
        if all(each is not None for each in drawn.inputs) and not holds_empty(drawn, expected):
            return Accepted(formula, drawn.inputs, dict(drawn.attributes), expected.outputs)


def holds_empty(drawn: Call, expected: Expected) -> bool:
    arrays = [one for each in drawn.inputs for one in (each if isinstance(each, list) else [each])]
    sizes = [*(one.size for one in arrays if one is not None)]
    return 0 in (*sizes, *(output.size for output in expected.outputs))


def refusals(libraries: dict[str, Operators], name: str, *inputs: Any, **given: Any) -> set[str]:
    """What the targets say: one text, since all say the same."""
    said = set()
    for target in TARGETS:
        with pytest.raises(OperatorError) as caught:
            libraries[target][name](*inputs, **given)
        said.add(str(caught.value))
    return said


def precise(formula: Formula) -> list[Input]:
    """The inputs whose elements have a precision."""
    return [item for item in formula.inputs if item.dtype == CVM]


# ---------------------------------------------------------------- the tables


def test_every_operator_has_a_table_of_refusals() -> None:
    tables = (test_refusals, test_refusals_transform, test_refusals_vision)
    named = {row[0] for table in tables for row in table.CALLS}
    assert named == {each.name for each in FORMULAS.values() if each.opset == "cvm"}


@pytest.mark.parametrize("name", FORMULAS)
def test_what_every_operator_refuses(
    conformance: Conformance, accepted: dict[str, Accepted], name: str
) -> None:
    missing_inputs(conformance, accepted, name)
    inputs_of_no_admissible_shape(conformance, accepted, name)
    inputs_of_other_element_types(conformance.libraries, accepted, name)
    precisions_out_of_range(conformance.libraries, accepted, name)
    unknown_attributes(conformance.libraries, accepted, name)
    missing_attributes(conformance, accepted, name)
    attributes_of_other_types(conformance.libraries, accepted, name)
    results_in_the_memory_of_inputs(conformance.libraries, accepted, name)
    results_that_do_not_fit(conformance.libraries, accepted, name)


# ---------------------------------------------------------------- inputs


def missing_inputs(conformance: Conformance, accepted: dict[str, Accepted], name: str) -> None:
    here = accepted[name]
    for at, item in enumerate(here.formula.inputs):
        if not item.optional:
            none, rule = ([], "at least one input is needed") if item.variadic else MISSING
            inputs = (*here.inputs[:at], none, *here.inputs[at + 1 :])
            expected = conformance.check(Call(name, inputs, here.attributes))
            assert expected.refusal == f"{name}: {item.name}: {rule}"


def inputs_of_no_admissible_shape(
    conformance: Conformance, accepted: dict[str, Accepted], name: str
) -> None:
    here = accepted[name]
    for item in here.formula.inputs:
        array = here.first(item)
        empty = (*array.shape[:-1], 0)
        rows = [
            ((), "a tensor has 1 to 16 dimensions"),
            (RANK_17, "a tensor has 1 to 16 dimensions"),
            (empty, "every extent must be at least 1"),
        ]
        if item.empty:
            rows = [(RANK_17, "this tensor has 0 to 16 dimensions")]
        for shape, rule in rows:
            inputs, argument = here.changed(item, np.zeros(shape, array.dtype))
            expected = conformance.check(Call(name, tuple(inputs), here.attributes))
            assert expected.refusal == f"{name}: {argument} = shape {shape}: {rule}"


def inputs_of_other_element_types(
    libraries: dict[str, Operators], accepted: dict[str, Accepted], name: str
) -> None:
    here = accepted[name]
    for item in precise(here.formula):
        for dtype in ("float32", "int64", "uint8", "bool"):
            inputs, argument = here.changed(item, here.first(item).astype(dtype))
            rule = "elements must be int8 or int32"
            said = refusals(libraries, name, *inputs, **here.attributes)
            assert said == {f"{name}: {argument} = dtype {dtype}: {rule}"}


def precisions_out_of_range(
    libraries: dict[str, Operators], accepted: dict[str, Accepted], name: str
) -> None:
    here = accepted[name]
    for item in precise(here.formula):
        at = here.formula.inputs.index(item)
        for bits in (0, 33, -1):
            precisions = list(map(measured, here.inputs))
            precisions[at] = [bits, *precisions[at][1:]] if item.variadic else bits
            _, argument = here.changed(item, None)
            said = refusals(libraries, name, *here.inputs, **here.attributes, precisions=precisions)
            rule = "a precision is in [1, 32]"
            assert said == {f"{name}: {argument} = precision {bits}: {rule}"}


# ---------------------------------------------------------------- attributes


def unknown_attributes(
    libraries: dict[str, Operators], accepted: dict[str, Accepted], name: str
) -> None:
    here = accepted[name]
    known = ", ".join(each.name for each in here.formula.attributes) or "none"
    said = refusals(libraries, name, *here.inputs, **here.attributes, _none=1)
    inputs = ", ".join(each.name for each in here.formula.inputs)
    rule = f"there is no such attribute; its attributes: {known}; its inputs: {inputs}"
    assert said == {f"{name}: _none = 1: {rule}"}


def missing_attributes(conformance: Conformance, accepted: dict[str, Accepted], name: str) -> None:
    here = accepted[name]
    for item in here.formula.attributes:
        if item.required:
            given = {key: value for key, value in here.attributes.items() if key != item.name}
            expected = conformance.check(Call(name, here.inputs, given))
            assert expected.refusal == f"{name}: {item.name}: this attribute is missing"


def attributes_of_other_types(
    libraries: dict[str, Operators], accepted: dict[str, Accepted], name: str
) -> None:
    here = accepted[name]
    for item in here.formula.attributes:
        rule, others = other_types(item)
        for value in others:
            given = {**here.attributes, item.name: value}
            said = refusals(libraries, name, *here.inputs, **given)
            assert said == {f"{name}: {item.name} = {value!r}: {rule}"}


def other_types(item: Attribute) -> tuple[str, list[Any]]:
    if item.kind == "word":
        return word_rule(item), [1, "no word", True, item.words]
    if item.is_list:
        return numbers_rule(item, "a tuple of integers"), [3, "3", (1.0,), (True,)]
    if item.components:
        return numbers_rule(item, "a tuple of integers"), ["3", 1.0, (1.0, 1), (True, 1)]
    if item.kind == "bool":
        return "true or false is needed", [2, "yes", 1.0, (True,)]
    if item.kind == "real":
        return "a real number is needed", ["1", True, (1.0,)]
    return numbers_rule(item, "an integer"), [1.5, "1", True, (1,)]


def numbers_rule(item: Attribute, what: str) -> str:
    return word_rule(item) if item.words else f"{what} is needed"


# ---------------------------------------------------------------- results


def results_in_the_memory_of_inputs(
    libraries: dict[str, Operators], accepted: dict[str, Accepted], name: str
) -> None:
    here = accepted[name]
    for item, (at, shape) in product(here.formula.inputs, enumerate(here.shapes)):
        array, dtype = here.first(item), here.dtype(at)
        memory = np.zeros(max(array.nbytes, prod(shape) * dtype.itemsize), np.uint8)
        shared = memory[: array.nbytes].view(array.dtype).reshape(array.shape)
        shared[...] = array
        inputs, argument = here.changed(item, shared)
        out = here.results(at, memory[: prod(shape) * dtype.itemsize].view(dtype).reshape(shape))
        said = refusals(libraries, name, *inputs, **here.attributes, out=out)
        output = here.formula.output_names[at]
        assert said == {f"{name}: {output}: it shares memory with {argument}"}


def results_that_do_not_fit(
    libraries: dict[str, Operators], accepted: dict[str, Accepted], name: str
) -> None:
    here = accepted[name]
    for at, shape in enumerate(here.shapes):
        longer, dtype = (*shape[:-1], shape[-1] + 1), here.dtype(at)
        fixed = np.zeros(shape, dtype)
        fixed.setflags(write=False)
        rule = "elements must be int8 or int32"
        if here.formula.output_names[at] not in here.formula.precise_outputs:
            rule = f"must be {dtype}"
        other = "uint16" if dtype == np.uint8 else "uint8"
        rows = [
            (np.zeros(longer, dtype), f" = shape {longer}: the shape must be {shape}"),
            (np.zeros(shape, other), f" = dtype {other}: {rule}"),
            (fixed, ": it is read-only"),
        ]
        for array, message in rows:
            out = here.results(at, array)
            said = refusals(libraries, name, *here.inputs, **here.attributes, out=out)
            assert said == {f"{name}: {here.formula.output_names[at]}{message}"}
