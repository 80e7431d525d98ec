"""Attributes with words in C: constants of the header, and the checks of the host."""

from __future__ import annotations

from collections.abc import Iterator

from cvmgen.emit.lines import indented
from cvmgen.spec.formula import Attribute, Operator
from cvmgen.spec.words import word_constant


def constants(operator: Operator) -> Iterator[str]:
    """An enumeration for each attribute with words."""
    for attribute in operator.attributes:
        names = constant_names(operator, attribute)
        if names:
            what = f"{attribute.word_name} in {operator.opset}_{operator.name}_args"
            *before, last = (f"{name} = {code}" for code, name in enumerate(names, 1))
            yield f"/* The words of {what}. */"
            yield from ("enum {", *indented([*(f"{each}," for each in before), last]), "};")


def constant_names(operator: Operator, attribute: Attribute) -> list[str]:
    full_name = f"{operator.full_name}.{attribute.name}"
    return [word_constant(full_name, word) for word in attribute.words]
