"""Pictures of data: calls of an operator whose elements say what they read and how they come about.

The examples of a formula come first, then small calls that are drawn as checks draw them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from random import Random
from typing import Any

from cvmgen.errors import OperatorError
from cvmgen.functions import number_text
from cvmgen.reference.failures import Budget, FormulaError, WorkLimit
from cvmgen.reference.operator import ReferenceResult
from cvmgen.reference.probe import example_arguments
from cvmgen.reference.sampling import Sampler
from cvmgen.reference.tensor import Tensor
from cvmgen.reference.trace import TracedReference, input_name
from cvmgen.rules import shape_text
from cvmgen.spec.formula import Operator

MOST_EXAMPLES = 3
DRAWN = 40  # calls, of which the most telling are shown
SHOWN = 2
MOST_ELEMENTS = 160  # of a call, in its inputs and outputs together
MOST_READS = 6000  # of a call
STEPS = 20_000  # of the evaluator for one call
SMALL = 9  # the magnitude of drawn integers

Call = tuple[Mapping[str, Any], Mapping[str, Any]]  # inputs and attributes


def pictures(operator: Operator) -> list[dict[str, Any]]:
    """Calls as data for a page: attributes as text, tensors, and of each element of an output what
    it reads, as numbers of tensors and positions by turns, and its formula in numbers."""
    found: list[dict[str, Any]] = []
    for at, example in enumerate(operator.examples[:MOST_EXAMPLES], 1):
        found += picture(operator, f"example {at}", example_arguments(operator, example))
    for inputs, attributes in drawn_calls(operator):
        shapes = ", ".join(shape_text(each.shape) for _, each in _tensors_of(inputs))
        found += picture(operator, f"shapes {shapes}", (inputs, attributes))
    return found


def picture(operator: Operator, title: str, call: Call) -> Iterator[dict[str, Any]]:
    """The picture of a call; none of one that is refused or too large."""
    inputs, attributes = call
    reference = TracedReference(operator, Budget(STEPS))
    try:
        outputs = reference.evaluate(inputs, attributes).outputs
    except (FormulaError, OperatorError, WorkLimit):
        return
    reads = sum(len(each.reads) for each in reference.elements.values())
    given = dict(_tensors_of(inputs))
    if reads > MOST_READS or _size_of([*given.values(), *outputs.values()]) > MOST_ELEMENTS:
        return
    numbers = {name: at for at, name in enumerate(given)}
    told = []
    for name, output in outputs.items():
        elements = (reference.elements[name, at] for at in range(output.size))
        told.append(
            [
                {"r": [each for tensor, at in found.reads for each in (numbers[tensor], at)]}
                | {"t": found.text}
                for found in elements
            ]
        )
    yield {
        "title": title,
        "attributes": ", ".join(f"{name}={value}" for name, value in attributes.items()),
        "inputs": [tensor_data(name, each) for name, each in given.items()],
        "outputs": [tensor_data(name, each) for name, each in outputs.items()],
        "elements": told,
    }


def tensor_data(name: str, tensor: Tensor) -> dict[str, Any]:
    values = [shown_number(each) for each in tensor.values]
    return {"name": name, "shape": list(tensor.shape), "values": values}


def shown_number(value: Any) -> str:
    """A number in a cell."""
    if isinstance(value, bool):
        return str(value).lower()
    return number_text(value) if isinstance(value, int) else f"{value:.6g}"


def _tensors_of(inputs: Mapping[str, Any]) -> Iterator[tuple[str, Tensor]]:
    """The tensors of a call by name, those of a variadic input one by one."""
    for name, operand in inputs.items():
        if isinstance(operand, Tensor):
            yield name, operand
        elif operand is not None:
            yield from ((input_name(name, at), each) for at, each in enumerate(operand))


def _size_of(tensors: Iterable[Tensor]) -> int:
    return sum(prod(each.shape) for each in tensors)


# ---------------------------------------------------------------- drawn calls


@dataclass(frozen=True, slots=True)
class DrawnCall:
    """A call that was drawn, and how much there is to see in it."""

    call: Call
    telling: tuple[int, int]


def drawn_calls(operator: Operator) -> list[Call]:
    """Small calls of shapes of their own, the most telling ones first."""
    sampler, found = Sampler(operator), dict[str, DrawnCall]()
    for _ in range(DRAWN):
        try:
            accepted = sampler.accepted(STEPS, compute=False)
        except (FormulaError, OperatorError, WorkLimit):
            continue
        if accepted is not None and (drawn := small_call(accepted[1])):
            shapes = str([each.shape for _, each in _tensors_of(drawn.call[0])])
            found.setdefault(shapes, drawn)
    best = sorted(found.values(), key=lambda each: each.telling, reverse=True)
    return [each.call for each in best[:SHOWN]]


def small_call(result: ReferenceResult) -> DrawnCall | None:
    """A drawn call with numbers that people can add; None of one that is too large or has nothing
    to see."""
    inputs = dict(result.env["$inputs"])
    tensors = [each for _, each in _tensors_of(inputs)] + list(result.outputs.values())
    if _size_of(tensors) > MOST_ELEMENTS or any(prod(each.shape) == 0 for each in tensors):
        return None
    pick = Random(0)
    shown = {name: with_small_numbers(operand, pick) for name, operand in inputs.items()}
    wide = sum(extent > 1 for each in tensors for extent in each.shape)
    return DrawnCall((shown, dict(result.env["$attributes"])), (wide, _size_of(tensors)))


def with_small_numbers(operand: Any, pick: Random) -> Any:
    if isinstance(operand, Sequence):
        return [with_small_numbers(each, pick) for each in operand]
    if operand is None:
        return None
    return replace(operand, values=[small_number(operand, pick) for _ in range(operand.size)])


def small_number(tensor: Tensor, pick: Random) -> Any:
    if tensor.dtype == "bool":
        return pick.random() < 1 / 2
    if tensor.dtype.startswith("float"):
        return pick.randint(-2 * SMALL, 2 * SMALL) / 2
    low = 0 if tensor.dtype.startswith("uint") else -SMALL
    most = (1 << (tensor.precision - 1)) - 1 if tensor.precision else SMALL
    return pick.randint(max(low, -most), min(SMALL, most))
