"""Pieces of Python source: literals and heads of functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cvmgen.emit import interface
from cvmgen.emit.lines import Comment, wrap_python
from cvmgen.escape import printable, python_string
from cvmgen.spec.formula import Attribute


def literal(text: str) -> str:
    """A string as Python source, in double quotes."""
    return python_string(text)


def comment(text: str) -> Comment:
    """A comment on a line of its own."""
    return Comment(("#", *printable(text).split(" ")), "#   ")


def literals(texts: Iterable[str]) -> str:
    return ", ".join(map(literal, texts))


def unpacked_members(names: list[str]) -> list[str]:
    """Locals for members of the plan, as many on a line as fit."""
    lines: list[str] = []
    row: list[str] = []
    for name in names:
        if row and sum(2 * len(each) + 9 for each in [*row, name]) > 88:
            lines.append(unpack_row(row))
            row = []
        row.append(name)
    return [*lines, unpack_row(row)] if row else lines


def unpack_row(names: list[str]) -> str:
    return f"{', '.join(names)} = {', '.join(f'plan.{name}' for name in names)}"


def definition(name: str, parameters: list[str]) -> str:
    """A function head, wrapped where it is long."""
    return "\n".join(wrap_python([f"def {name}({', '.join(parameters)}):"]))


def attribute_doc(attribute: Attribute) -> str:
    """What a docstring says of an attribute."""
    kind = f"list of {attribute.kind}" if attribute.is_list else attribute.kind
    if attribute.components:
        kind = f"({', '.join(attribute.components)})"
        kind += " of real" if attribute.kind == "real" else ""
    text = kind + (f" in {attribute.interval_text}" if attribute.interval_text else "")
    if attribute.words:
        *before, last = [text] * attribute.numbers_or_word + [*map(literal, attribute.words)]
        text = f"{', '.join(before)} or {last}" if before else last
    if attribute.optional:
        return text + ", optional"
    if attribute.required:
        return text + ", required"
    return f"{text}, default {value_text(interface.default_value(attribute.default))}"


def value_text(value: Any) -> str:
    """A value of an attribute as Python source."""
    return literal(value) if isinstance(value, str) else repr(value)


class Imports:
    """What a text speaks of that other modules have."""

    def __init__(self) -> None:
        self.modules: set[str] = set()

    def helper(self, name: str) -> str:
        """A member of a module, by its full name."""
        self.modules.add(name.partition(".")[0])
        return name

    def called(self, name: str, given: str) -> str:
        """The call of a function of a module."""
        return f"{self.helper(name)}({given})"
