"""`refuse "message"`, one branch of a choice: a call is refused where a formula asks for it.

The checker makes requirements of it, in front of the item that it stands in: that no point comes
there. Behind them the branch is not taken, and a 0 stands in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from cvmgen.source import Span, SpecError
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.size import MOST_NODES, WrittenSizes
from cvmgen.tree import replaced

Part = TypeVar("Part", f.Item, n.Expr)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A `refuse`, and the condition under which an expression asks for it."""

    condition: n.Expr
    message: str
    span: Span


class Refusals:
    """The refusals of one operator. A definition with some has a companion for each, a condition of
    the same parameters."""

    def __init__(self) -> None:
        self.made: dict[str, tuple[tuple[Refusal, f.Definition], ...]] = {}

    def of_equation(
        self, item: f.Equation, definitions: Mapping[str, f.Definition]
    ) -> list[Refusal]:
        """What an equation can ask for, at a point of its domain."""
        where = {each.name: each for each in item.where}
        known = {**definitions, **where}
        if not self.refuses((item.value, item.where), known):
            return []
        if WrittenSizes(known).size(item.value).nodes > MOST_NODES:
            return []  # of an equation that is refused for its size, where all is known of it
        found = self.of(_inlined(item.value, where, {}), definitions)
        return [replace(each, condition=cleared(each.condition)) for each in found]

    @staticmethod
    def refuses(part: object, definitions: Mapping[str, f.Definition]) -> bool:
        """Whether a part can ask for a refusal, itself or by way of definitions."""
        left, seen = [part], set[str]()
        while left:
            for node in n.walk(left.pop()):
                match node:
                    case n.Refuse():
                        return True
                    case n.Apply(name=name) if name in definitions and name not in seen:
                        seen.add(name)
                        left.append(definitions[name].body)
                    case _:
                        pass
        return False

    def of(self, node: object, definitions: Mapping[str, f.Definition]) -> Iterator[Refusal]:
        """What an expression can ask for."""
        match node:
            case n.Refuse(message=message, span=span):
                yield Refusal(n.Truth(True, span), message, span)
            case n.Conditional(then=then, condition=test, otherwise=otherwise):
                yield from self.of(test, definitions)
                yield from under(test, self.of(then, definitions))
                yield from under(n.Not(test, test.span), self.of(otherwise, definitions))
            case n.Logic(word=word, operands=operands, span=span):
                before: list[n.Expr] = []
                for operand in operands:
                    test = _conjunction(before, span)
                    yield from under(test, self.of(operand, definitions))
                    before.append(operand if word == "and" else n.Not(operand, span))
            case n.Apply(name=name, arguments=arguments, span=span):
                yield from self.of(arguments, definitions)
                for each, made in self.of_definition(definitions[name], definitions):
                    asked = n.Apply(made.name, arguments, span)
                    yield replace(each, condition=asked)
            case n.Reduction(binders=binders, body=body):
                yield from self.inside(binders, body, definitions)
            case n.Listing(element=body, binders=binders) | n.SetOf(element=body, binders=binders):
                yield from self.inside(binders, body, definitions)
            case _:
                for child in n.children(node):
                    yield from self.of(child, definitions)

    def inside(
        self, binders: n.Binders, body: n.Expr, definitions: Mapping[str, f.Definition]
    ) -> Iterator[Refusal]:
        """Of a body, for any point that it is asked at, and of the filter."""
        if any(isinstance(node, n.Refuse) for node in n.walk(binders.items)):
            raise SpecError(binders.span, "'refuse' cannot stand in a range")
        every = replace(binders, condition=None)
        for ranges, part in ((every, binders.condition), (binders, body)):
            for each in self.of(part, definitions):
                asked = n.Reduction("any", ranges, each.condition, each.span)
                yield replace(each, condition=asked)

    def of_definition(
        self, definition: f.Definition, definitions: Mapping[str, f.Definition]
    ) -> tuple[tuple[Refusal, f.Definition], ...]:
        """What a definition can ask for, each with its companion."""
        name = definition.name
        if name not in self.made:
            found: Iterable[Refusal] = ()
            if self.refuses(definition.body, definitions):
                self.allowed(definition)
                found = _together(
                    self.of(definition.body, definitions)
                )  # those of others before it
            pairs = ((each, companion(definition, at, each)) for at, each in enumerate(found))
            self.made[name] = tuple(pairs)
        return self.made[name]

    @staticmethod
    def allowed(definition: f.Definition) -> None:
        own = [each for each in n.walk(definition.body) if isinstance(each, n.Refuse)]
        what = ""
        if definition.kind == f.SELECTED:
            what = "a list that elements choose"
        elif definition.axis is not None:
            what = "a let that reads elements of its own"
        if what:
            place = own[0].span if own else definition.span
            raise SpecError(place, f"'refuse' cannot stand in {what}", "refuse in a formula")

    @property
    def companions(self) -> dict[str, f.Definition]:
        """The companions so far by their names."""
        return {made.name: made for pairs in self.made.values() for _, made in pairs}

    def behind(self, names: Iterable[str], definitions: Mapping[str, f.Definition]) -> set[str]:
        """The definitions of these names and those that they speak of; of a companion, what it
        belongs to."""
        owners = {made.name: name for name, pairs in self.made.items() for _, made in pairs}
        found: set[str] = set()
        left = [owners.get(each, each) for each in names]
        while left:
            name = left.pop()
            if name in found or name not in definitions:
                continue
            found.add(name)
            body = n.walk(definitions[name].body)
            left += [each.name for each in body if isinstance(each, n.Apply)]
        return found

    def with_companions(self, items: Iterable[f.Item]) -> Iterator[f.Item]:
        """Items as later stages see them: without a `refuse`, definitions with their companions."""
        for item in items:
            match item:
                case f.Case(items=inner):
                    yield replace(item, items=tuple(self.with_companions(inner)))
                case f.Definition():
                    yield cleared(item)
                    yield from (cleared(each) for _, each in self.made.get(item.name, ()))
                case f.Equation():
                    yield cleared(item)
                case _:
                    yield item


def refuse_elsewhere(item: f.Item, refuses: bool) -> None:
    """Refuse a `refuse` where no element and no value of the call is computed."""
    own = [each for each in n.walk(item) if isinstance(each, n.Refuse)]
    if refuses:
        place = own[0].span if own else item.span
        hint = "it stands in formulas of outputs, in lets and in definitions"
        raise SpecError(place, "'refuse' has no meaning here", hint)


def _together(found: Iterable[Refusal]) -> Iterator[Refusal]:
    """One for each `refuse`, however often a definition comes to it."""
    by_place: dict[Span, list[Refusal]] = {}
    for each in found:
        by_place.setdefault(each.span, []).append(each)
    for span, several in by_place.items():
        first, *others = several
        conditions = tuple(each.condition for each in several)
        yield replace(first, condition=n.Logic("or", conditions, span)) if others else first


def companion(definition: f.Definition, at: int, refusal: Refusal) -> f.Definition:
    """The condition under which a definition asks for a refusal."""
    name = f"{definition.name}_refused{at or ''}"
    parameters, span = definition.parameters, definition.span
    return f.Definition(name, parameters, refusal.condition, f.BOOL, span, definition.ranges)


def under(test: n.Expr, found: Iterable[Refusal]) -> Iterator[Refusal]:
    """Refusals that are asked for where a condition holds."""
    for each in found:
        yield replace(each, condition=_conjunction((test, each.condition), test.span))


def _conjunction(tests: Iterable[n.Expr], span: Span) -> n.Expr:
    """All of the conditions but those that always hold."""
    kept = tuple(each for each in tests if not (isinstance(each, n.Truth) and each.value))
    if len(kept) <= 1:
        return kept[0] if kept else n.Truth(True, span)
    return n.Logic("and", kept, span)


def _inlined(
    part: n.Expr, where: Mapping[str, f.Definition], given: Mapping[str, n.Expr]
) -> n.Expr:
    """An expression with what its `where` definitions stand for, whose names are apart from those
    around their uses."""

    def change(node: n.Expr) -> n.Expr:
        match node:
            case n.Ref(name=name, role="parameter") if name in given:
                return given[name]
            case n.Apply(name=name, arguments=arguments) if name in where:
                definition = where[name]
                values = (_inlined(each, where, given) for each in arguments)
                names = (parameter for parameter, _ in definition.parameters)
                return _inlined(definition.body, where, dict(zip(names, values, strict=True)))
            case _:
                return node

    return replaced(part, change)


def cleared(part: Part) -> Part:
    """What computes elements, or asks for refusals, with a value in the place of each `refuse`."""
    return n.rebuild(part, lambda node: nothing(node) if isinstance(node, n.Refuse) else node)


def nothing(node: n.Refuse) -> n.Expr:
    match node.kind:
        case "bool":
            return n.Truth(False, node.span)
        case "real":
            return n.Real(0.0, node.span)
        case "int":
            return n.Number(0, node.span)
        case _:
            return n.TupleOf((), node.span)


def without_refused(value: n.Expr) -> n.Expr:
    """A value of the call behind its requirements: the other branch of each choice."""

    def change(node: object) -> object:
        match node:
            case n.Conditional(then=n.Refuse(), otherwise=kept):
                return kept
            case n.Conditional(then=kept, otherwise=n.Refuse()):
                return kept
            case _:
                return node

    return n.rebuild(value, change)
