"""Inputs, attributes and lets that nothing reads: most likely they were meant to be.

What callers give may be there for them alone: an operator says so by `although`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cvmgen.source import Span, SpecWarning
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n

Given = f.Input | f.Attribute
Named = Given | f.Let | f.Definition
WORDS = {f.Input: "input", f.Attribute: "attribute"}
HINT = "remove it, or let an output or a requirement depend on it"
GIVEN = f'{HINT}; although "..." says why it stands'


def unread(operators: Iterable[f.Operator]) -> Iterator[SpecWarning]:
    """A warning for each; what a family declares is read where one of its operators reads it."""
    items: dict[Span, Named] = {}
    used: set[Span] = set()
    for operator in operators:
        reached = read_names(operator)
        for item in declared_items(operator):
            items.setdefault(item.span, item)
            accepted = operator.although and isinstance(item, Given)
            if accepted or _names_of(item) & reached:
                used.add(item.span)
    for span, item in items.items():
        if span not in used:
            given = isinstance(item, Given)
            message = f"nothing reads the {WORDS.get(type(item), 'let')} '{item.name}'"
            yield SpecWarning(span, message, GIVEN if given else HINT)


def declared_items(operator: f.Operator) -> Iterator[Named]:
    """What an operator itself declares and something else should read; no `def`."""
    spans = [span for title, span in operator.blocks if not title.startswith("def ")]
    for item in f.all_items(operator.items):
        if isinstance(item, Named) and any(span.holds(item.span) for span in spans):
            yield item


def _names_of(item: Named) -> set[str]:
    """The names by which it is read; those of the extents that an input tells are among them."""
    match item:
        case f.Input(name=name, extents=extents, count=count):
            return {
                name,
                *(str(each.new) for each in extents if each.new),
                *([count] if count else []),
            }
        case f.Attribute(bound_names=names):
            return set(names)
        case _:
            return {item.name}


def read_names(operator: f.Operator) -> set[str]:
    """The names on which outputs and requirements depend."""
    values: dict[str, list[object]] = {}
    left: list[object] = []
    found: set[str] = set()
    for item in f.all_items(operator.items):
        match item:
            case f.Let(name=name, value=value) | f.Definition(name=name, body=value):
                ranges = (item.ranges, item.capacity) if isinstance(item, f.Definition) else ()
                values.setdefault(name, []).append((value, ranges))
            case f.Case(condition=condition):
                left.append(condition)
            case f.Attribute(name=name, decides=str(column)) if column:
                found.add(name)
            case f.Input(extents=extents):
                left.extend(each.value for each in extents if not each.new)
            case _:
                left.append(item)
    while left:
        new = set(_spoken_of(left.pop())) - found
        found |= new
        left += [value for name in new for value in values.get(name, ())]
    return found


def _spoken_of(part: object) -> Iterator[str]:
    """The names that an expression reads."""
    for node in n.walk(part):
        match node:
            case n.Ref(role="index" | "pack" | "parameter"):
                pass
            case n.Ref(name=name) | n.Apply(name=name) | n.IsWord(name=name) | n.Present(name=name):
                yield name
            case n.Access(tensor=name) | n.Precision(tensor=name) | n.ShapeOf(tensor=name):
                yield name
            case _:
                pass
