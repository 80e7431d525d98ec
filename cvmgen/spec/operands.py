"""Checks inputs and outputs: element types, extents, precision rules."""

from __future__ import annotations

from cvmgen.dtypes import CVM, DTYPES, MAX_RANK
from cvmgen.source import SpecError, did_you_mean
from cvmgen.spec import declarations as d
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.expressions import ExpressionChecker
from cvmgen.spec.formula import INT, LIST, LISTS, Kind
from cvmgen.spec.scope import OUTPUT_PARTS, PoisonedError, ScopedName, argument_name

SEVERAL = "write: input each i < M : X[i] : cvm[n[i]...]"


def checked_input(checker: ExpressionChecker, item: d.OperandDecl) -> f.Input:
    """The checked input; its name and the extents that it binds are added to the scope."""
    element = operand_kind(checker, item)
    name, index, count = input_place(checker, item)
    argument_name(name, item.place.span)
    extents = tuple(declared_extent(checker, slot, item, index) for slot in item.slots)
    one_open_pack(extents)
    if index is not None and not extents:
        hint = f"write {item.type_name}[n[{index}]...]"
        raise SpecError(item.type_span, "the shape of each of several inputs is a pack", hint)
    rank = None if any(each.pack for each in extents) else len(extents)
    span, several = item.place.span, index is not None
    symbol = ScopedName(
        name,
        "input",
        None,
        span,
        (),
        rank,
        several,
        optional=item.optional,
        type_name=item.type_name,
        element=element,
    )
    checker.scope.add(symbol)
    down_to_0 = item.empty or not extents
    return f.Input(name, item.type_name, extents, down_to_0, item.optional, index, count, item.span)


def one_open_pack(extents: tuple[f.Extent, ...]) -> None:
    """Refuse a shape whose packs could share its dimensions in several ways."""
    unknown = {each.new for each in extents if each.pack and each.new}
    first = True
    for each in extents:
        names = {node.name for node in n.walk(each.value) if isinstance(node, n.Ref)}
        if not each.pack or not names & unknown:
            continue
        if not first:
            hint = "the length of only one pack of a shape can be open"
            raise SpecError(each.span, "two packs of unknown length in one shape", hint)
        first = False


def operand_kind(checker: ExpressionChecker, item: d.OperandDecl) -> Kind:
    """What the elements of an operand are, by its type."""
    scalars = sum(not (isinstance(slot, n.Slot) and slot.pack) for slot in item.slots)
    if scalars > MAX_RANK:
        raise SpecError(item.type_span, f"a tensor has at most {MAX_RANK} dimensions")
    kind = checker.element_kind(item.type_name)
    if kind is not None:
        return kind
    symbol = checker.scope.find(item.type_name)
    if symbol is not None and symbol.role == "error":
        raise PoisonedError
    known = [*checker.types, CVM, *DTYPES]
    hint = did_you_mean(item.type_name, known) or f"element types are {', '.join(known)}"
    raise SpecError(item.type_span, f"unknown element type '{item.type_name}'", hint)


def input_place(
    checker: ExpressionChecker, item: d.OperandDecl
) -> tuple[str, str | None, str | None]:
    """The name of an input; of a variadic one also its index and the name of the count."""
    match item.place, item.each:
        case n.Name(text=text), None:
            return text, None, None
        case n.Bracket(), None:
            raise SpecError(item.place.span, "an input is declared by its name", SEVERAL)
        case (
            n.Bracket(target=n.Name(text=text), slots=(n.Slot(value=n.Name(text=used)),)),
            n.Below(target=n.Name(text=index), high=n.Name(text=count) as high, low=None),
        ) if used == index:
            if item.optional:
                raise SpecError(item.span, "several inputs cannot be optional together")
            checker.scope.add(ScopedName(count, "count", INT, high.span))
            return text, index, count
        case _:
            raise SpecError(item.span, "this does not declare several inputs", SEVERAL)


def declared_extent(
    checker: ExpressionChecker, slot: n.Slot | n.PartSlot, item: d.OperandDecl, index: str | None
) -> f.Extent:
    if isinstance(slot, n.PartSlot):
        raise SpecError(slot.span, "the extents of an input are names, numbers or packs")
    if index is not None:
        return variadic_extent(checker, slot, index)
    value = slot.value
    if isinstance(value, n.Name) and checker.scope.find(value.text) is None:
        if item.optional:
            message = f"extent '{value.text}' is bound only by an optional input"
            raise SpecError(slot.span, message, "bind it by an input that is always given")
        kind = LIST if slot.pack else INT
        checker.scope.add(ScopedName(value.text, "extent", kind, slot.span))
        return f.Extent(n.Ref(value.text, "extent", slot.span), slot.pack, value.text, slot.span)
    return f.Extent(checker.brackets.slot(slot).value, slot.pack, None, slot.span)


def variadic_extent(checker: ExpressionChecker, slot: n.Slot, index: str) -> f.Extent:
    match slot:
        case n.Slot(
            value=n.Bracket(target=n.Name(text=name), slots=(n.Slot(value=n.Name(text=used)),)),
            pack=True,
        ) if used == index and checker.scope.find(name) is None:
            checker.scope.add(ScopedName(name, "extent", LISTS, slot.span))
            return f.Extent(n.Ref(name, "extent", slot.span), True, name, slot.span)
        case _:
            hint = f"write n[{index}]..."
            raise SpecError(slot.span, "the shape of each of several inputs is a pack", hint)


def checked_output(checker: ExpressionChecker, item: d.OperandDecl) -> f.Output:
    """The checked output but for its precision; its name is added to the scope."""
    element = operand_kind(checker, item)
    if not isinstance(item.place, n.Name):
        hint = "its shape follows the element type: output Y : cvm[n...]"
        raise SpecError(item.place.span, "an output is declared by its name", hint)
    name = argument_name(item.place.text, item.place.span)
    slots = tuple(output_slot(checker, slot) for slot in item.slots)
    rank = None if any(slot.pack for slot in slots) else len(slots)
    symbol = ScopedName(
        name,
        "output",
        None,
        item.place.span,
        (),
        rank,
        type_name=item.type_name,
        element=element,
    )
    checker.scope.keep(name, OUTPUT_PARTS, item.place.span)
    checker.scope.add(symbol)
    down_to_0 = item.empty or not slots
    return f.Output(name, item.type_name, slots, down_to_0, None, item.span)


def output_slot(checker: ExpressionChecker, slot: n.Slot | n.PartSlot) -> n.Slot:
    if isinstance(slot, n.PartSlot):
        raise SpecError(slot.span, "a part can be taken of a list only, as n[:a]...")
    value = slot.value
    if isinstance(value, n.Name) and checker.scope.find(value.text) is None:
        message = f"extent '{value.text}' is never bound"
        hint = checker.elsewhere(value.text) or did_you_mean(value.text, checker.scope.names())
        raise SpecError(value.span, message, hint or "no input has it, and no 'let' defines it")
    return checker.brackets.slot(slot)
