"""Requirements on elements: what they range over, and what they tell of elements behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cvmgen.source import SpecError
from cvmgen.spec import declarations as d
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.binders import check_binders
from cvmgen.spec.brackets import wrong_rank
from cvmgen.spec.checker import Checker
from cvmgen.spec.folding import negate
from cvmgen.spec.formula import INT, LIST
from cvmgen.spec.logic import conjuncts
from cvmgen.spec.own_names import bound_indices
from cvmgen.spec.scope import ScopedName

TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}


# ---------------------------------------------------------------- what they range over


def check_domain(
    checker: Checker,
    item: d.RequireDecl,
    inputs: Mapping[str, f.Input],
    within: tuple[n.Binder, ...],
) -> n.Binders:
    """What a requirement ranges over, bound in the checker's scope: what `forall` says, or else
    each index that stands alone in brackets the extent there."""
    if item.binders is None:
        found = tuple(free_indices(checker, item.condition, inputs))
        all_known(checker, item.condition, inputs)
        return n.Binders((*within, *found), None, None, item.span)
    domain = check_binders(checker, item.binders)
    return n.Binders((*within, *domain.items), None, domain.condition, item.span)


def free_indices(
    checker: Checker, condition: n.Expr, inputs: Mapping[str, f.Input]
) -> Iterator[n.Binder]:
    """The new names that stand alone in the brackets of an input, with their ranges."""
    own = bound_indices(condition)
    for node in n.walk(condition):
        match node:
            case n.Bracket(target=n.Name(text=name), slots=slots) if name in inputs:
                extents = _extents_by_slot(inputs[name], slots)
                packs = any(each.pack for each in inputs[name].extents)
                if not packs and len(slots) != len(extents):
                    raise SpecError(node.span, wrong_rank(name, len(extents), len(slots)))
            case _:
                continue
        for slot, extent in zip(slots, extents, strict=True):
            if extent is None or not isinstance(slot, n.Slot):
                continue
            match slot.value:
                case n.Name(text=text, span=span) if (
                    text not in own and checker.scope.find(text) is None
                ):
                    kind, role = (LIST, "pack") if slot.pack else (INT, "index")
                    checker.scope.add(ScopedName(text, role, kind, span))
                    if slot.pack:
                        yield n.PackRange(text, extent, None, span)
                    else:
                        yield n.IndexRange(text, n.Number(0, span), extent, span)
                case _:
                    pass


def all_known(checker: Checker, condition: n.Expr, inputs: Mapping[str, f.Input]) -> None:
    """Refuse an index inside an expression: its range cannot be told from the brackets."""
    own = bound_indices(condition)
    for node in n.walk(condition):
        match node:
            case n.Bracket(target=n.Name(text=name), slots=slots) if name in inputs:
                names = [each for each in n.walk(slots) if isinstance(each, n.Name)]
            case _:
                continue
        for each in names:
            text = each.text
            if text not in own and text.islower() and checker.scope.find(text) is None:
                hint = f"say it behind the condition: forall {text} < N"
                raise SpecError(each.span, f"the range of '{text}' is not known", hint)


def _extents_by_slot(
    item: f.Input, slots: tuple[n.Slot | n.PartSlot, ...]
) -> tuple[n.Expr | None, ...]:
    """The extents of an input that stand against each slot."""
    packs = [isinstance(slot, n.Slot) and slot.pack for slot in slots]
    if not any((*packs, *(extent.pack for extent in item.extents))):
        return tuple(extent.value for extent in item.extents)
    if item.variadic or packs != [extent.pack for extent in item.extents]:
        return (None,) * len(slots)
    return tuple(extent.value for extent in item.extents)


def checked_demand(
    item: d.RequireDecl,
    domain: n.Binders,
    condition: n.Expr,
    lets: Mapping[str, f.Definition],
    macros: Mapping[str, f.Definition],
    typed: Mapping[str, str],
) -> f.Demand:
    """A requirement on elements, or on types, whose condition is checked; `typed` are the types of
    operands so far."""
    read = tuple(accesses(condition, {**macros, **lets}))
    kinds = set(types_in(condition, {**macros, **lets}))
    about = next((name for name, kind in typed.items() if kind in kinds), next(iter(typed), ""))
    if not read and not about:
        message = "no type is told yet"
        raise SpecError(item.condition.span, message, "say it behind the input that has it")
    tensor = read[0].tensor if read else about
    placed = n.is_box(domain) and all(each.which is None for each in read)
    applied = {each.name for each in n.walk(condition) if isinstance(each, n.Apply)}
    first = not applied & lets.keys()
    return f.Demand(condition, domain, tensor, item.message, placed, first, item.span)


def accesses(
    condition: n.Expr, definitions: Mapping[str, f.Definition], seen: frozenset[str] = frozenset()
) -> Iterator[n.Access]:
    """The elements of inputs that a condition speaks of, itself or by way of definitions."""
    for node in n.walk(condition):
        match node:
            case n.Access():
                yield node
            case n.Apply(name=name) if name not in seen and name in definitions:
                yield from accesses(definitions[name].body, definitions, seen | {name})
            case _:
                pass


def types_in(
    condition: n.Expr, definitions: Mapping[str, f.Definition], seen: frozenset[str] = frozenset()
) -> Iterator[str]:
    """The element types that a condition speaks of, itself or by way of definitions."""
    for node in n.walk(condition):
        match node:
            case n.Limit(type_name=name):
                yield name
            case n.Apply(name=name) if name not in seen and name in definitions:
                yield from types_in(definitions[name].body, definitions, seen | {name})
            case _:
                pass


# ---------------------------------------------------------------- what they tell


@dataclass(frozen=True, slots=True)
class ElementLimit:
    """What a requirement says of every element of an input: it is one of < <= > >= == than a value
    of the call."""

    tensor: str
    relation: str
    value: n.Expr


def limits(operator: f.Operator) -> tuple[ElementLimit, ...]:
    """What is known of all elements of inputs in each call that is accepted."""
    found: list[ElementLimit] = []
    for item in operator.items:
        if isinstance(item, f.Demand) and item.first and item.domain.condition is None:
            for each in conjuncts(item.condition):
                found += limits_of(each, item.domain, operator)
    return tuple(found)


def limits_of(condition: n.Expr, domain: n.Binders, operator: f.Operator) -> Iterator[ElementLimit]:
    if not isinstance(condition, n.Compare):
        return
    for at, relation in enumerate(condition.relations):
        if relation not in TURNED:
            continue
        left, right = condition.operands[at : at + 2]
        for one, sign, other in ((left, relation, right), (right, TURNED[relation], left)):
            if f.is_host_value(other):
                yield from limits_on(one, sign, other, domain, operator)


def limits_on(
    element: n.Expr, relation: str, value: n.Expr, domain: n.Binders, operator: f.Operator
) -> Iterator[ElementLimit]:
    """What a comparison of an element, or of its magnitude, says of all of its tensor."""
    match element:
        case n.Access(tensor=tensor, which=None) if is_whole(element, domain, operator):
            yield ElementLimit(tensor, relation, value)
        case n.Function(name="abs", arguments=(n.Access() as inner,)) if relation in ("<", "<="):
            yield from limits_on(inner, relation, value, domain, operator)
            least = negate(value, value.span)
            yield from limits_on(inner, TURNED[relation], least, domain, operator)
        case _:
            pass


def is_whole(access: n.Access, domain: n.Binders, operator: f.Operator) -> bool:
    """Whether an access goes through all elements of its tensor."""
    item = next(each for each in operator.inputs if each.name == access.tensor)
    ranges = {n.bound_by(each): each for each in domain.items}
    names: set[str] = set()
    for slot, extent in zip(access.slots, _extents_by_slot(item, access.slots), strict=True):
        match slot.value, ranges.get(getattr(slot.value, "name", "")):
            case n.Ref(name=name), n.IndexRange(low=low, high=high) if name not in names:
                if low != n.Number(0, low.span) or high != extent:
                    return False
            case n.Ref(name=name), n.PackRange(extents=box, slots=None) if name not in names:
                if box != extent:
                    return False
            case _:
                return False
        names.add(name)
    return True
