"""Which inputs, attributes and outputs of two operators belong together, and what callers see.

What has one name in both belongs together. Of the others an input or an output is taken for renamed
that stands in the same place, and an attribute that is declared alike; so the meaning of both is
compared under the names of the older one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cvmgen.dtypes import CVM
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.printing import real_text
from cvmgen.tree import rebuild
from cvmgen.verification.values.calls import ChosenCall


@dataclass(frozen=True, slots=True)
class InterfaceChange:
    """What changed of how an operator is called: `breaks` some calls that were right, or `adds` to
    what can be called; else what is said of it changed."""

    what: str  # input | attribute | output | type | alias | wording
    text: str
    breaks: bool = False
    adds: bool = False


@dataclass(frozen=True, slots=True)
class Matched:
    """Two operators with the same names: the newer one has those of the older; `names` are its own
    by these."""

    old: f.Operator
    new: f.Operator
    names: Mapping[str, str]
    changes: tuple[InterfaceChange, ...]
    guessed: bool  # whether an attribute is taken for renamed

    def for_new(self, call: ChosenCall) -> ChosenCall:
        """A call under the names that the newer operator has."""
        inputs = {self.names.get(name, name): each for name, each in call.inputs.items()}
        given = {self.names.get(name, name): each for name, each in call.attributes.items()}
        return ChosenCall(inputs, given)


def matched(old: f.Operator, new: f.Operator, *, guess: bool = True) -> Matched:
    """Match the names of two operators; attributes are taken for renamed where `guess` says so."""
    inputs = by_place(_names_of(old.inputs), _names_of(new.inputs))
    outputs = by_place(old.output_names, new.output_names)
    attributes = by_declaration(old.attributes, new.attributes) if guess else {}
    to_old = {**inputs, **outputs, **attributes}
    kinds = {"input": inputs, "output": outputs, "attribute": attributes}
    changes = [
        InterfaceChange(kind, f"{kind} {mine} is called {yours} now", breaks=True)
        for kind, found in kinds.items()
        for yours, mine in found.items()
    ]
    named = _with_names(new, to_old)
    changes += [*input_changes(old, named), *attribute_changes(old, named)]
    changes += [*output_changes(old, named), *wording_changes(old, named)]
    back = {mine: yours for yours, mine in to_old.items()}
    return Matched(old, named, back, tuple(changes), bool(attributes))


def _names_of(items: Iterable[f.Input | f.Attribute]) -> tuple[str, ...]:
    return tuple(each.name for each in items)


def by_place(old: Sequence[str], new: Sequence[str]) -> dict[str, str]:
    """The names that were changed, each with what it was: those that stand where others stood."""
    if len(old) != len(new):
        return {}
    pairs = [(mine, yours) for mine, yours in zip(old, new, strict=True) if mine != yours]
    if any(yours in old or mine in new for mine, yours in pairs):
        return {}
    return {yours: mine for mine, yours in pairs}


def by_declaration(old: Sequence[f.Attribute], new: Sequence[f.Attribute]) -> dict[str, str]:
    """The names of attributes that were declared alike under others."""
    found: dict[str, str] = {}
    left = [each for each in old if each.name not in _names_of(new)]
    for each in (each for each in new if each.name not in _names_of(old)):
        for other in left:
            if _declared(each) == _declared(other):
                found[each.name] = other.name
                left.remove(other)
                break
    return found


def _declared(item: f.Attribute) -> tuple[Any, ...]:
    shape = (item.kind, item.is_list, item.optional, len(item.components), item.words)
    return (*shape, item.default, item.low, item.high)


# ---------------------------------------------------------------- other names


def _with_names(operator: f.Operator, names: Mapping[str, str]) -> f.Operator:
    """The operator with other names of inputs, attributes and outputs; what else has such a name
    gets another one."""
    if not names:
        return operator
    used = set(_all_names(operator))
    whole = dict(names)
    for name in names.values():
        if name in used and name not in names:
            free = next(each for each in _fresh(name) if each not in used | {*names.values()})
            whole[name] = free
            used.add(free)

    def of(name: str | None) -> Any:
        return None if name is None else whole.get(name, name)

    return replace(operator, items=rebuild(operator.items, lambda node: _renamed(node, of)))


def _fresh(name: str) -> Iterator[str]:
    at = 0
    while True:
        yield f"{name}_{at}"
        at += 1


def _renamed(node: Any, of: Callable[[Any], Any]) -> Any:
    """A node with its own names changed."""
    match node:
        case n.Ref() | n.Apply() | n.Earlier() | n.Present() | n.IsWord() | f.Let() | f.Output():
            return replace(node, name=of(node.name))
        case n.Access() | n.Precision() | n.ShapeOf() | f.Equation() | f.Demand():
            return replace(node, tensor=of(node.tensor))
        case n.IndexRange() | n.IndexMember():
            return replace(node, index=of(node.index))
        case n.PackRange():
            return replace(node, pack=of(node.pack))
        case f.Extent():
            return replace(node, new=of(node.new))
        case f.Input():
            return replace(node, name=of(node.name), index=of(node.index), count=of(node.count))
        case f.Attribute():
            components = tuple(map(of, node.components))
            return replace(node, name=of(node.name), components=components)
        case f.Definition():
            parameters = tuple((of(name), kind) for name, kind in node.parameters)
            return replace(node, name=of(node.name), parameters=parameters)
        case _:
            return node


def _all_names(operator: f.Operator) -> Iterator[str]:
    """All names of a formula but those of functions and types."""
    found: list[str] = []

    def note(name: str | None) -> str | None:
        found.extend([] if name is None else [name])
        return name

    rebuild(operator.items, lambda node: _renamed(node, note))
    return iter(found)


# ---------------------------------------------------------------- what callers see


def input_changes(old: f.Operator, new: f.Operator) -> Iterator[InterfaceChange]:
    mine = {each.name: each for each in old.inputs}
    yours = {each.name: each for each in new.inputs}
    for name in mine.keys() - yours.keys():
        yield InterfaceChange("input", f"input {name} is no more", breaks=True)
    for name, item in yours.items():
        if name not in mine:
            kind = "optional input" if item.optional else "input"
            yield InterfaceChange(
                "input", f"{kind} {name} is new", breaks=not item.optional, adds=True
            )
    kept = [name for name in mine if name in yours], [name for name in yours if name in mine]
    if kept[0] != kept[1]:
        order = ", ".join(kept[1])
        yield InterfaceChange("input", f"inputs stand in another order: {order}", breaks=True)
    for name in kept[0]:
        one, other = mine[name], yours[name]
        types = type_text(old, name), type_text(new, name)
        if types[0] != types[1]:
            yield InterfaceChange("type", f"input {name}: {types[0]} before, {types[1]} now")
        if one.optional != other.optional:
            word = "may be left away" if other.optional else "must be given"
            yield InterfaceChange("input", f"input {name} {word} now")
        if one.empty != other.empty:
            word = "may be empty" if other.empty else "may not be empty"
            yield InterfaceChange("input", f"input {name} {word} now")
        if one.variadic != other.variadic:
            word = "is a list of tensors" if other.variadic else "is one tensor"
            yield InterfaceChange("input", f"input {name} {word} now", breaks=True)


def type_text(operator: f.Operator, name: str) -> str:
    kind = operator.type_of[name]
    if kind == CVM:
        return kind
    rows = range(len(operator.types.rows))
    found = (operator.types.dtype(kind, row) for row in rows)
    return " or ".join(dict.fromkeys(each.name for each in found if each is not None))


def attribute_changes(old: f.Operator, new: f.Operator) -> Iterator[InterfaceChange]:
    mine = {each.name: each for each in old.attributes}
    yours = {each.name: each for each in new.attributes}
    for name in mine.keys() - yours.keys():
        yield InterfaceChange("attribute", f"attribute {name} is no more", breaks=True)
    for name, item in yours.items():
        if name not in mine:
            default = "" if item.default is None else f", {default_text(item)} by default"
            text = f"attribute {name} is new{default}"
            yield InterfaceChange("attribute", text, breaks=item.required, adds=True)
            continue
        yield from declaration_changes(mine[name], item)


def declaration_changes(one: f.Attribute, other: f.Attribute) -> Iterator[InterfaceChange]:
    name = f"attribute {one.name}"
    if (one.kind, one.is_list, len(one.components)) != (
        other.kind,
        other.is_list,
        len(other.components),
    ):
        kinds = kind_text(one), kind_text(other)
        yield InterfaceChange(
            "attribute", f"{name}: {kinds[0]} before, {kinds[1]} now", breaks=True
        )
    if default_text(one) != default_text(other):
        texts = default_text(one), default_text(other)
        yield InterfaceChange(
            "attribute", f"{name}: {texts[0]} by default before, {texts[1]} now", breaks=True
        )
    if one.range_text != other.range_text:
        texts = one.range_text or "any number", other.range_text or "any number"
        yield InterfaceChange("attribute", f"{name}: in {texts[0]} before, in {texts[1]} now")
    if set(one.words) != set(other.words):
        words = ", ".join(one.words) or "none", ", ".join(other.words) or "none"
        yield InterfaceChange("attribute", f"{name}: words {words[0]} before, {words[1]} now")


def kind_text(item: f.Attribute) -> str:
    kind = {"int": "a number", "real": "a real number", "bool": "a condition", "word": "a word"}[
        item.kind
    ]
    numbers = "real numbers" if item.kind == "real" else "numbers"
    if item.components:
        return f"{len(item.components)} {numbers}"
    return f"a list of {numbers}" if item.is_list else kind


def default_text(item: f.Attribute) -> str:
    """The default of an attribute as callers write it."""
    if item.default is None:
        return "nothing" if item.optional else "no value"
    return _value_text(item.default)


def _value_text(expr: n.Expr) -> str:
    match expr:
        case n.Number(value=number):
            return str(number)
        case n.Real(value=real):
            return real_text(real)
        case n.Truth(value=truth):
            return str(truth).lower()
        case n.Word(text=word):
            return f'"{word}"'
        case n.TupleOf(elements=elements):
            return f"({', '.join(map(_value_text, elements))}{',' * (len(elements) == 1)})"
        case n.Negate(operand=operand):
            return f"-{_value_text(operand)}"
        case _:
            return expr.span.code


def output_changes(old: f.Operator, new: f.Operator) -> Iterator[InterfaceChange]:
    mine, yours = old.output_names, new.output_names
    for name in mine:
        if name not in yours:
            yield InterfaceChange("output", f"output {name} is no more", breaks=True)
    for name in yours:
        if name not in mine:
            yield InterfaceChange(
                "output", f"output {name} is new", breaks=len(mine) == 1, adds=True
            )
            continue
        types = type_text(old, name), type_text(new, name)
        if types[0] != types[1]:
            text = f"output {name}: {types[0]} before, {types[1]} now"
            yield InterfaceChange("type", text, breaks=True)


def wording_changes(old: f.Operator, new: f.Operator) -> Iterator[InterfaceChange]:
    for alias in old.aliases:
        if alias not in new.aliases:
            yield InterfaceChange("alias", f"alias {alias} is no more", breaks=alias != new.name)
    for alias in new.aliases:
        if alias not in old.aliases:
            yield InterfaceChange("alias", f"alias {alias} is new", adds=True)
    if old.doc != new.doc:
        yield InterfaceChange("wording", "it is described otherwise")
    if messages(old) != messages(new):
        yield InterfaceChange("wording", "refusals are worded otherwise")
    if old.examples != new.examples:
        yield InterfaceChange("wording", "it has other examples")


def messages(operator: f.Operator) -> list[str]:
    items = f.all_items(operator.items)
    return [item.message for item in items if isinstance(item, f.Require | f.Demand)]
