"""The precision of outputs that declare none, from the bounds of their formulas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cvmgen.dtypes import CVM
from cvmgen.source import SpecError
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.bounds import Derive
from cvmgen.spec.intervals import Interval


def with_derived_precisions(operator: f.Operator) -> f.Operator:
    """The operator with the derived rule wherever an output declares no precision."""

    def filled(
        items: tuple[f.Item, ...], around: tuple[f.Item, ...], before: tuple[f.Item, ...]
    ) -> tuple[f.Item, ...]:
        around = (*around, *items)
        return tuple(fill(item, around, (*before, *items[:at])) for at, item in enumerate(items))

    def fill(item: f.Item, around: tuple[f.Item, ...], before: tuple[f.Item, ...]) -> f.Item:
        if isinstance(item, f.Output) and item.precision is None and item.dtype == CVM:
            rule = needed_precision(operator, item, around)
            check_known(operator, item, rule, before)
            return replace(item, precision=rule)
        if isinstance(item, f.Case):
            return replace(item, items=filled(item.items, around, before))
        return item

    if all(
        item.precision is not None or item.dtype != CVM
        for item in f.all_items(operator.items)
        if isinstance(item, f.Output)
    ):
        return operator
    return replace(operator, items=filled(operator.items, (), ()))


def check_known(
    operator: f.Operator, output: f.Output, rule: n.Expr, before: tuple[f.Item, ...]
) -> None:
    """A rule that is derived speaks of what stands before its output."""
    known = {name for item in before for name in valued_names(item)}
    equations = (item for item in f.all_items(operator.items) if isinstance(item, f.Equation))
    inner = {each.name for item in equations for each in item.where}
    if any(map(names_real_type, rule_parts(operator, rule))):
        message = f"the precision of '{output.name}' follows from a real number"
        raise SpecError(output.span, message, "declare it: precision ...")
    for node in n.walk(rule):
        match node:
            case n.Apply(name=name) if name in inner:
                message = f"the precision of '{output.name}' follows from '{name}'"
                hint = "it means something behind its 'where' alone; declare the precision"
                raise SpecError(output.span, message, hint)
            case n.IsWord(name=name) | n.Ref(name=name, role="let" | "attribute") if (
                name not in known
            ):
                message = f"the precision of '{output.name}' follows from '{name}'"
                hint = f"declare {output.name} after it, or declare the precision"
                raise SpecError(output.span, f"{message}, which this line does not know", hint)
            case _:
                pass


def names_real_type(node: object) -> bool:
    match node:
        case n.Real() | n.Limit() | n.Function(name="real" | "float32"):
            return True
        case _:
            return False


def rule_parts(operator: f.Operator, rule: n.Expr) -> Iterator[object]:
    """What a rule is made of, and what the names in it stand for."""
    values: dict[str, n.Expr] = {}
    for item in f.all_items(operator.items):
        match item:
            case f.Let(name=name, value=value) | f.Definition(name=name, body=value):
                values[name] = value
            case _:
                pass
    left = [rule]
    while left:
        for node in n.walk(left.pop()):
            yield node
            match node:
                case n.Apply(name=name) | n.Ref(name=name, role="let") if name in values:
                    left.append(values.pop(name))
                case _:
                    pass


def valued_names(item: f.Item) -> tuple[str, ...]:
    """The names of the call that an item gives a value."""
    match item:
        case f.Let(name=name):
            return (name,)
        case f.Attribute(name=name, components=components):
            return (name, *components)
        case _:
            return ()


def needed_precision(operator: f.Operator, output: f.Output, around: tuple[f.Item, ...]) -> n.Expr:
    """The smallest precision that holds every value of an output: ceil(log2(m + 1)) + 1."""
    derive = Derive(operator, output.span)
    found: Interval | None = None
    # An output that all cases share is filled by the equations of each.
    for item in f.all_items(around) if output in operator.items else around:
        if isinstance(item, f.Equation) and item.tensor == output.name:
            interval = derive.equation(item)
            found = interval if found is None else derive.join(found, interval)
    assert found is not None
    return derive.precision(found)
