"""Operators and expressions as text in the language, whole."""

from __future__ import annotations

from collections.abc import Iterator

from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.printing import Printer, type_lines


def print_operator(operator: f.Operator) -> str:
    """An operator block: a family's instance as the block that it stands for.

    Constants are numbers, a `within` is spelled out in each of its items, and what `def`
    defines stays outside: the text has its meaning among the other files of its opset.
    """
    printer = Printer(operator.items)
    lines = [f"operator {operator.name} {{", f'  "{operator.doc}"']
    if operator.aliases:
        lines.append(f"  alias  {', '.join(operator.aliases)}")
    if operator.although:
        lines.append(f'  although "{operator.although}"')
    lines += (f"  {line}" for line in type_lines(operator.types))
    lines += printer.block(operator.items, "  ")
    lines += (f"  {example(printer, operator, each)}" for each in operator.examples)
    return "\n".join([*lines, "}"]) + "\n"


def print_expression(expr: n.Expr, items: tuple[f.Item, ...] = ()) -> str:
    """An expression of an operator with these items, on one line."""
    return Printer(items).text(expr)


def example(printer: Printer, operator: f.Operator, item: f.Example) -> str:
    inputs = {each.name for each in operator.inputs}
    given = (
        shown(printer, value) if name in inputs and plain else f"{name}={shown(printer, value)}"
        for plain, (name, value) in zip(positional(operator, item), item.given, strict=True)
    )
    return f"example {operator.name}({', '.join(given)}) == {shown(printer, item.result)}"


def shown(printer: Printer, value: n.ExampleValue) -> str:
    if isinstance(value, n.ArrayValue):
        return f"[{', '.join(shown(printer, each) for each in value.elements)}]"
    return printer.text(value)


def positional(operator: f.Operator, example: f.Example) -> Iterator[bool]:
    """For each given value whether it may stand without its name: inputs in their order."""
    order = [each.name for each in operator.inputs]
    for at, (name, _) in enumerate(example.given):
        yield at < len(order) and order[at] == name
