"""Families: an operator block with holes, and its instances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cvmgen.source import SpecError, did_you_mean
from cvmgen.spec import declarations as d
from cvmgen.spec import nodes as n

Actual = n.Expr | d.Sign


def instantiate(instance: d.InstanceDecl, families: Mapping[str, d.FamilyDecl]) -> d.OperatorDecl:
    """The operator that an instance stands for; its own doc, aliases and examples are added."""
    family = families.get(instance.family)
    if family is None:
        raise SpecError(
            instance.family_span,
            f"unknown family '{instance.family}'",
            did_you_mean(instance.family, families),
        )
    if len(instance.actuals) != len(family.parameters):
        raise SpecError(
            instance.span,
            f"family '{family.name}' has {len(family.parameters)} parameters, "
            f"{len(instance.actuals)} are given",
            f"its parameters are {', '.join(name.text for name in family.parameters)}",
        )
    names = (parameter.text for parameter in family.parameters)
    actuals = dict(zip(names, instance.actuals, strict=True))
    block: d.BlockDecl = n.rebuild(family.block, lambda node: fill(node, actuals))
    if instance.block is not None:
        items = block.items + instance.block.items
        block = replace(block, doc=instance.block.doc or block.doc, items=items)
    return d.OperatorDecl(instance.name, block, instance.name_span, instance.span)


def fill(node: Any, actuals: Mapping[str, Actual]) -> Any:
    """A node of the family with a parameter replaced by what the instance gives for it."""
    match node:
        case n.Name(text=text) if text in actuals:
            actual = actuals[text]
            if isinstance(actual, d.Sign):
                raise SpecError(actual.span, f"a sign cannot stand for the value '{text}'")
            return actual
        case n.Call(function=function) if function in actuals:
            return fill_call(node, actuals[function])
        case n.Reduction(function=function) if function in actuals:
            actual = actuals[function]
            if not isinstance(actual, n.Name):
                raise SpecError(actual.span, "only a named function can reduce")
            return replace(node, function=actual.text)
        case _:
            return node


def fill_call(node: n.Call, actual: Actual) -> n.Expr:
    match actual:
        case n.Name(text=text):
            return replace(node, function=text)
        case d.Sign(text=sign):
            values = [argument.value for argument in node.arguments]
            if len(values) != 2:
                raise SpecError(node.span, f"'{sign}' takes two arguments, {len(values)} are given")
            return n.Arithmetic(sign, values[0], values[1], node.span)
        case _:
            raise SpecError(actual.span, f"a function is needed for '{node.function}'")
