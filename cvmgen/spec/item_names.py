"""The names that the items of a block bind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cvmgen.spec import declarations as d
from cvmgen.spec import nodes as n


def mutual(item: d.ItemDecl, items: Iterable[d.ItemDecl]) -> Iterator[str]:
    """The lets among the items whose values speak of what `item` declares."""
    own = {name.text for name in bound_names(item)}
    for each in items:
        if isinstance(each, d.LetDecl):
            used = {node.text for node in n.walk(each.value) if isinstance(node, n.Name)}
            if used & own:
                yield each.name


def declared_names(items: Iterable[d.ItemDecl]) -> dict[str, int]:
    """The names that the items bind and the line of each."""
    return {name.text: name.span.line for item in items for name in bound_names(item)}


def bound_names(item: d.ItemDecl) -> Iterator[n.Name]:
    """The names that an item binds, or may bind."""
    match item:
        case d.LetDecl(name=name, name_span=span):
            yield n.Name(name, span)
        case d.TypeChoice(names=names):
            yield from names
        case d.AttributeDecl(name=name, components=components, name_span=span):
            yield n.Name(name, span)
            yield from components
        case d.OperandDecl(place=place, slots=slots, each=each):
            for node in n.walk((place, slots, each)):
                if isinstance(node, n.Name):
                    yield node
        case _:
            pass
