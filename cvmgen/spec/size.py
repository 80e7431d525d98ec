"""How much a formula is when its definitions stand where they are used, before anybody does that.

A definition that is used twice, in one that is used twice, in one ... makes a text of few lines
twice as much with each, and a long sum or chain of conditions is as deep as it is long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from cvmgen.source import SpecError
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n

MOST_NODES = 10_000  # the greedy selection of boxes has 8,100; what follows takes half a minute
MOST_DEPTH = 200
DEEP = f"a formula is at most {MOST_DEPTH} levels deep"
DEEP_HINT = "write a long chain as a sum or a maximum over a range"


@dataclass(slots=True)
class Size:
    """Nodes and levels; how deep each name stands and how often; what is written out how often."""

    nodes: int = 0
    depth: int = 0
    names: dict[str, tuple[int, int]] = field(default_factory=dict)
    uses: Counter[str] = field(default_factory=Counter)

    def put_in(self, part: Size, level: int = 1, times: int = 1) -> None:
        """Add a part that stands at a level, so many times."""
        self.nodes += part.nodes * times
        self.depth = max(self.depth, level + part.depth)
        for name, (deep, often) in part.names.items():
            deepest, found = self.names.get(name, (0, 0))
            self.names[name] = max(deepest, level + deep), found + often * times
        for name, often in part.uses.items():
            self.uses[name] += often * times


def size_errors(operator: f.Operator) -> Iterator[SpecError]:
    """An error for each item that is too much to be written out."""
    items = tuple(f.all_items(operator.items))
    shared = {each.name: each for each in items if isinstance(each, f.Definition)}
    for item in items:
        if isinstance(item, f.Definition):
            continue
        where = item.where if isinstance(item, f.Equation) else ()
        inside = item.condition if isinstance(item, f.Case) else item
        size = WrittenSizes(shared | {each.name: each for each in where}).size(inside)
        if size.nodes > MOST_NODES:
            ((name, times),) = size.uses.most_common(1)
            message = f"this is {size.nodes:,} terms with its definitions put in; at most 10,000"
            hint = f"'{name}' is written out {times:,} times: use fewer definitions in others"
            yield SpecError(item.span, message, hint)
        elif size.depth > MOST_DEPTH:
            yield SpecError(item.span, DEEP, DEEP_HINT)


class WrittenSizes:
    """Sizes of expressions; each definition is looked at once."""

    def __init__(self, definitions: dict[str, f.Definition]) -> None:
        self.definitions = definitions
        self.known: dict[str, Size] = {}

    def size(self, node: Any) -> Size:
        match node:
            case f.Definition():
                return Size()
            case n.Ref(name=name):
                return Size(1, 1, {name: (0, 1)})
            case n.Apply():
                return self.applied(node)
            case _:
                own = isinstance(node, n.Expr)
                found = Size(nodes=int(own))
                for each in n.children(node):
                    found.put_in(self.size(each), int(own))
                return found

    def applied(self, expr: n.Apply) -> Size:
        """An argument is put in where it is used once; if used more often it is a value of its own,
        but for conditions and lists."""
        definition = self.definitions[expr.name]
        body = self.definition(expr.name)
        found = Size(body.nodes, body.depth, {}, Counter(body.uses))
        for (name, kind), argument in zip(definition.parameters, expr.arguments, strict=True):
            level, times = body.names.get(name, (0, 0))
            in_place = times <= 1 or kind in (f.BOOL, f.LIST)
            found.put_in(self.size(argument), level if in_place else 1, times if in_place else 1)
        return found

    def definition(self, name: str) -> Size:
        if name not in self.known:
            self.known[name] = Size()  # a set that speaks of itself
            found = self.size(self.definitions[name].body)
            self.known[name] = Size(found.nodes, found.depth, found.names, found.uses)
            self.known[name].uses[name] += 1
        return self.known[name]
