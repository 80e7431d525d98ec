"""The examples of a spec: checked for form, and as plain Python values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cvmgen.source import SpecError, did_you_mean
from cvmgen.spec import declarations as d
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.attribute_words import known_word
from cvmgen.spec.checker import REALS

ExampleOperand = f.Input | f.Attribute


def checked_example(
    item: d.ExampleDecl, names: Sequence[str], operands: Sequence[ExampleOperand], *, empty: bool
) -> f.Example:
    """The example with a name for each value; `names` are the operator's, aliases too.

    `empty`: whether an output may be.
    """
    if item.operator not in names:
        message = f"this is an example of '{item.operator}', not of '{names[0]}'"
        raise SpecError(item.name_span, message, did_you_mean(item.operator, names))
    known = {operand.name: operand for operand in operands}
    free = [operand.name for operand in operands if isinstance(operand, f.Input)]
    given: dict[str, n.ExampleValue] = {}
    for keyword, value in item.given:
        if keyword is None and not free:
            raise SpecError(value.span, "this is one value more than the operator has inputs")
        name = free[0] if keyword is None else keyword.text
        place = value.span if keyword is None else keyword.span
        if name not in known:
            message = f"'{name}' is neither an input nor an attribute"
            raise SpecError(place, message, did_you_mean(name, known))
        if name in given:
            raise SpecError(place, f"'{name}' is given twice")
        if name in free:
            free.remove(name)
        check_value(known[name], value)
        given[name] = value
    for name in free:
        if not known[name].optional:
            raise SpecError(item.name_span, f"the example gives no '{name}'")
    _whole_tensor(item.result, empty=empty)
    return f.Example(tuple(given.items()), item.result, item.span)


def check_value(operand: ExampleOperand, value: n.ExampleValue) -> None:
    """Refuse a value that is not of the operand's kind."""
    found = python_value(value)
    if isinstance(operand, f.Input):
        if not operand.variadic:
            _whole_tensor(value, empty=operand.empty)
            return
        if not isinstance(value, n.ArrayValue) or not value.elements:
            hint = "write [[1, 2], [3]] for two tensors"
            raise SpecError(value.span, f"'{operand.name}' are several tensors", hint)
        for each in value.elements:
            _whole_tensor(each, empty=operand.empty)
        return
    name = operand.name
    if isinstance(value, n.Word):
        if not operand.words:
            raise SpecError(value.span, f"'{name}' has no words")
        known_word(name, operand.words, value)
        return
    if operand.kind == "word":
        words = " or ".join(f'"{word}"' for word in operand.words)
        raise SpecError(value.span, f"'{name}' is a word", f"write {words}")
    if operand.is_listed:
        if not isinstance(value, n.TupleOf):
            raise SpecError(value.span, f"'{name}' is a list", "write (1, 2), (1,) or ()")
        if operand.kind == "int" and any(isinstance(each, float) for each in found):
            raise SpecError(value.span, f"'{name}' is a list of integers")
    elif operand.kind == "bool":
        if not isinstance(found, bool):
            raise SpecError(value.span, f"'{name}' is a condition", "write true or false")
    elif isinstance(found, (bool, tuple, list)):
        what = "a real number" if operand.kind == "real" else "an integer"
        raise SpecError(value.span, f"'{name}' is {what}")
    elif operand.kind == "int" and isinstance(found, float):
        raise SpecError(value.span, f"'{name}' is an integer")


def _whole_tensor(value: n.ExampleValue, *, empty: bool) -> None:
    """Refuse what is no tensor; a number is one of rank 0, where that is one as good as `empty`."""
    if empty and not isinstance(value, n.ArrayValue) and example_shape(value, empty=empty) == ():
        return
    if not isinstance(value, n.ArrayValue):
        raise SpecError(value.span, "this is no tensor", "elements stand in brackets: [1, 2]")
    example_shape(value, empty=empty)


def example_shape(value: n.ExampleValue, *, empty: bool) -> tuple[int, ...]:
    """The shape of a tensor or of a part of it; refuses rows of different shapes."""
    if not isinstance(value, n.ArrayValue):
        found = python_value(value)
        if isinstance(found, (int, float)):
            return ()
        raise SpecError(value.span, "the elements of a tensor are numbers, 'true' or 'false'")
    if not value.elements and not empty:
        raise SpecError(value.span, "a tensor has at least one element")
    shapes = [example_shape(each, empty=empty) for each in value.elements]
    for each, shape in zip(value.elements, shapes, strict=True):
        if shape != shapes[0]:
            raise SpecError(each.span, "this row has another length than the first")
    return (len(shapes), *(shapes[0] if shapes else ()))


def python_value(value: n.ExampleValue) -> Any:
    """As Python sees it: lists for tensors, tuples for list attributes, int, bool and words."""
    match value:
        case n.ArrayValue(elements=elements):
            return [python_value(each) for each in elements]
        case n.TupleOf(elements=elements):
            return tuple(python_value(each) for each in elements)
        case n.Number(value=number):
            return number
        case n.Truth(value=truth):
            return truth
        case n.Name(text=text) if text in REALS:
            return REALS[text]
        case n.Real(value=real):
            return real
        case n.Word(text=text):
            return text
        case n.Negate(operand=operand):
            return -python_value(operand)
        case _:
            raise SpecError(value.span, "an example is made of numbers, 'true' and 'false'")
