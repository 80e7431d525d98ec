"""Families: an operator block with holes, and its instances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from cvmgen.source import Span, SpecError, did_you_mean
from cvmgen.spec import declarations as d
from cvmgen.spec import nodes as n
from cvmgen.spec.words import plural

Actual = n.Expr | d.Sign
REDUCTIONS_ARE = f"reductions are {', '.join(n.REDUCTIONS)}"


def instantiate(instance: d.InstanceDecl, families: Mapping[str, d.FamilyDecl]) -> d.OperatorDecl:
    """The operator that an instance stands for; its own doc, aliases and examples are added."""
    family = families.get(instance.family)
    if family is None:
        raise SpecError(
            instance.family_span,
            f"unknown family '{instance.family}'",
            did_you_mean(instance.family, families) or families_are(families),
        )
    if len(instance.actuals) != len(family.parameters):
        raise SpecError(
            actuals_span(instance),
            f"family '{family.name}' has {plural(len(family.parameters), 'parameter')}, "
            f"{len(instance.actuals)} given",
            parameters_are(family),
        )
    names = (parameter.text for parameter in family.parameters)
    actuals = dict(zip(names, instance.actuals, strict=True))
    block: d.BlockDecl = n.rebuild(family.block, lambda node: fill(node, actuals))
    if instance.block is not None:
        items = block.items + instance.block.items
        block = replace(block, doc=instance.block.doc or block.doc, items=items)
    holes = tuple((name, actual.span.text) for name, actual in actuals.items())
    text = f"{family.span.text}\n\n{instance.span.text}"
    blocks = ((f"family {family.name}", family.span), (instance.name, instance.span))
    return d.OperatorDecl(
        instance.name, block, holes, text, blocks, instance.name_span, instance.span
    )


def actuals_span(instance: d.InstanceDecl) -> Span:
    if not instance.actuals:
        return instance.family_span
    return instance.actuals[0].span.to(instance.actuals[-1].span)


def parameters_are(family: d.FamilyDecl) -> str:
    names = ", ".join(name.text for name in family.parameters)
    return f"its parameters are {names}" if names else f"write {family.name}()"


def families_are(families: Iterable[str]) -> str:
    names = ", ".join(families)
    return f"families are {names}" if names else "declare it: family name(PARAMETER) { ... }"


def fill(node: Any, actuals: Mapping[str, Actual]) -> Any:
    """A node of the family with a parameter replaced by what the instance gives for it."""
    match node:
        case n.Name(text=text) if text in actuals:
            actual = actuals[text]
            if isinstance(actual, d.Sign):
                message = f"a sign cannot stand for the value '{text}'"
                raise SpecError(actual.span, message, "give a number or a formula")
            return actual
        case d.OperandDecl(type_name=name) if name in actuals:
            actual = actuals[name]
            if not isinstance(actual, n.Name):
                raise SpecError(actual.span, f"an element type is needed for '{name}'")
            return replace(node, type_name=actual.text, type_span=actual.span)
        case n.Call(function=function) if function in actuals:
            return fill_call(node, actuals[function])
        case n.Reduction(function=function) if function in actuals:
            actual = actuals[function]
            if not isinstance(actual, n.Name):
                raise SpecError(actual.span, "only a named function can reduce", REDUCTIONS_ARE)
            if actual.text not in n.REDUCTIONS:
                message = f"'{actual.text}' is not a reduction"
                hint = did_you_mean(actual.text, n.REDUCTIONS) or REDUCTIONS_ARE
                raise SpecError(actual.span, message, hint)
            return replace(node, function=actual.text)
        case _:
            return node


def fill_call(node: n.Call, actual: Actual) -> n.Expr:
    match actual:
        case n.Name(text=text, span=span):
            return replace(node, function=text, name_span=span)
        case d.Sign(text=sign):
            values = [argument.value for argument in node.arguments]
            if len(values) != 2:
                raise SpecError(node.span, f"'{sign}' takes two arguments, {len(values)} are given")
            return n.Arithmetic(sign, values[0], values[1], node.span)
        case _:
            message = f"a function is needed for '{node.function}'"
            raise SpecError(actual.span, message, "give its name, or a sign such as +")
