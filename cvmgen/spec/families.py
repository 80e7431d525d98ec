"""Families: an operator block with holes, and its instances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from cvmgen.functions import RELATIONS
from cvmgen.source import Span, SpecError, did_you_mean
from cvmgen.spec import declarations as d
from cvmgen.spec import nodes as n
from cvmgen.spec.item_names import declared_names
from cvmgen.spec.own_names import names_in
from cvmgen.spec.words import plural

Actual = n.Expr | d.Sign
REDUCTIONS_ARE = f"reductions are {', '.join(n.REDUCTIONS)}"


def instantiate(instance: d.InstanceDecl, families: Mapping[str, d.FamilyDecl]) -> d.OperatorDecl:
    """The operator that an instance stands for; its own doc, aliases and examples are added."""
    found = filled(instance, families, ())
    block = _joined(found.block, instance.block) if instance.block else found.block
    text = "\n\n".join((*(each.span.text for each in found.families), instance.span.text))
    titles = ((f"family {each.name}", each.span) for each in found.families)
    blocks = (*titles, (instance.name, instance.span))
    return d.OperatorDecl(
        instance.name, block, found.holes, text, blocks, instance.name_span, instance.span
    )


@dataclass(frozen=True, slots=True)
class Filled:
    """The block of a family with its holes filled: what fills them, those of its base first, and
    the families that it comes from."""

    block: d.BlockDecl
    holes: tuple[tuple[str, str], ...]
    families: tuple[d.FamilyDecl, ...]


def filled(
    use: d.InstanceDecl | d.FamilyBase,
    families: Mapping[str, d.FamilyDecl],
    around: tuple[str, ...],
) -> Filled:
    """The family that is used, with what fills its holes; those of `around` are made of it."""
    family = families.get(use.family)
    if family is None or use.family in around:
        message = f"unknown family '{use.family}'"
        hint = did_you_mean(use.family, families) or families_are(families)
        if use.family in around:
            message, hint = (
                f"the family '{use.family}' is made of itself",
                "one of them has to have a block alone",
            )
        raise SpecError(use.family_span, message, hint)
    if len(use.actuals) != len(family.parameters):
        raise SpecError(
            actuals_span(use),
            f"family '{family.name}' has {plural(len(family.parameters), 'parameter')}, "
            f"{len(use.actuals)} given",
            parameters_are(family),
        )
    names = (parameter.text for parameter in family.parameters)
    actuals = dict(zip(names, use.actuals, strict=True))
    below = Filled(d.BlockDecl("", (), family.span), (), ())
    if family.base is not None:
        below = filled(family.base, families, (*around, use.family))
        names_apart(family, families[family.base.family])
    block = _joined(below.block, family.block)
    block = n.rebuild(block, lambda node: fill(node, actuals))
    holes = tuple((name, actual.span.text) for name, actual in actuals.items())
    return Filled(block, (*below.holes, *holes), (*below.families, family))


def names_apart(family: d.FamilyDecl, base: d.FamilyDecl) -> None:
    """Refuse a hole with a name that means something else in the family that it is made of."""
    taken = {*names_in(base.block), *declared_names(base.block.items)}
    taken -= {each.text for each in base.parameters}
    for each in family.parameters:
        if each.text in taken:
            message = f"the family '{base.name}' has a '{each.text}' of its own"
            raise SpecError(each.span, message, "give the parameter another name")


def _joined(first: d.BlockDecl, second: d.BlockDecl) -> d.BlockDecl:
    """The items of two blocks, with the text of the second one if it has any."""
    return replace(first, doc=second.doc or first.doc, items=first.items + second.items)


def actuals_span(use: d.InstanceDecl | d.FamilyBase) -> Span:
    if not use.actuals:
        return use.family_span
    return use.actuals[0].span.to(use.actuals[-1].span)


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
            if sign in RELATIONS:
                return n.Compare((sign,), tuple(values), node.span)
            return n.Arithmetic(sign, values[0], values[1], node.span)
        case _:
            message = f"a function is needed for '{node.function}'"
            raise SpecError(actual.span, message, "give its name, or a sign such as +")
