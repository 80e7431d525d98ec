"""Attributes with words in C: constants of the header, and the checks of the host."""

from __future__ import annotations

from collections.abc import Iterator

from cvmgen.emit.c_spelling import identifier, indent, quoted
from cvmgen.rules import ATTRIBUTE_MISSING
from cvmgen.spec.attribute_words import word_rule
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
            yield from ("enum {", *indent([*(f"{each}," for each in before), last]), "};")


def constant_names(operator: Operator, attribute: Attribute) -> list[str]:
    full_name = f"{operator.full_name}.{attribute.name}"
    return [word_constant(full_name, word) for word in attribute.words]


def take_word(attribute: Attribute) -> list[str]:
    """Bind and check what tells which word an attribute was given."""
    member, name = attribute.word_name, identifier(attribute.word_name)
    shown, rule = quoted(attribute.name), quoted(word_rule(attribute))
    most = len(attribute.words)
    value, test = f"cvmgen_number({name}).text", f"{name} < 1 || {name} > {most}"
    lines = [f"const int64_t {name} = args->{member};"]
    if attribute.numbers_or_word:
        value, test = (
            f'cvmgen_format("word %" PRId64, {name}).text',
            f"{name} < 0 || {name} > {most}",
        )
    elif attribute.optional:
        lines.append(f"const bool has_{attribute.name} = {name} != 0;")
        test = f"has_{attribute.name} && ({test})"
    elif attribute.required:
        lines.append(f"if ({name} == 0)")
        lines.append(f'    return cvmgen_refuse(error, {shown}, "", {quoted(ATTRIBUTE_MISSING)});')
    return [*lines, f"if ({test})", f"    return cvmgen_refuse(error, {shown}, {value}, {rule});"]


def number_or_zero(attribute: Attribute, value: str) -> str:
    """A number of an attribute, 0 where it was given a word."""
    if not attribute.numbers_or_word:
        return value
    return f"{identifier(attribute.word_name)} == 0 ? {value} : 0"


def word_text(attribute: Attribute) -> str:
    """The call that gives the text of a word for a refusal."""
    return (
        f"cvmgen_word_text({identifier(attribute.word_name)}, {quoted(' '.join(attribute.words))})"
    )
