"""Lets of packs that are computed again and again: they are formulas wherever they are read.

What such a let reduces is made in front of the innermost loops that it does not depend on. So it is
computed once for each run of the loops around that: as often as it has values where these are all
that it depends on, and more often where another one stands among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cvmgen import polynomials as p
from cvmgen.lower.let_memory import (
    LOAD,
    STORE,
    Count,
    EvaluationCounter,
    count_text,
    lets_in_memory,
    product_of_counts,
    typical,
)
from cvmgen.source import SpecWarning
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.spec.formula import SELECTED

Names = frozenset[str]
NOTHING: Names = frozenset()
HINT = "a let of packs is a formula where it is read: its indices are to come first in the loops"


@dataclass(frozen=True, slots=True)
class Place:
    """The loops around a part of a formula, outermost first, and on which of them each name that
    it may read depends."""

    loops: tuple[tuple[str, Count], ...]
    depends: Mapping[str, Names]
    let: f.Definition | None = None  # of packs, which it is a part of

    def within(self, counter: EvaluationCounter, binders: n.Binders) -> Place:
        loops, depends = list(self.loops), dict(self.depends)
        for each in binders.items:
            name = n.bound_by(each)
            loops.append((name, counter.trips(each, {})))
            depends[name] = frozenset((name,))
        return Place(tuple(loops), depends, self.let)

    def of(self, used: Names) -> Place:
        """Where what depends on these loops alone is made: in the last one of them."""
        last = max((at for at, (name, _) in enumerate(self.loops) if name in used), default=-1)
        return Place(self.loops[: last + 1], self.depends, self.let)

    def read_by(self, node: object, definitions: Mapping[str, f.Definition]) -> Names:
        """The loops that an expression depends on, also by what it applies; a let speaks of what
        it is given alone."""
        found: Names = NOTHING
        left: list[tuple[object, Names]] = [(node, NOTHING)]
        seen: set[str] = set()
        while left:
            expr, hidden = left.pop()
            own = hidden.union(n.bound_inside(expr))
            for part in n.walk(expr):
                if isinstance(part, n.Ref) and part.name not in own:
                    found |= self.depends.get(part.name, NOTHING)
                if isinstance(part, n.Apply) and part.name not in seen:
                    seen.add(part.name)
                    applied = definitions[part.name]
                    if not is_let(applied):
                        left.append(
                            (applied.body, frozenset(each for each, _ in applied.parameters))
                        )
        return found


def is_let(definition: f.Definition) -> bool:
    return definition.span.text.startswith("let")


def repeated_packs(operator: f.Operator) -> Iterator[SpecWarning]:
    """The lets of packs that reduce, and are computed more often than they have values, where
    keeping these would cost less."""
    reader = PackReader(operator)
    for item in f.all_items(operator.items):
        if isinstance(item, f.Equation):
            yield from reader.of_equation(item)


class PackReader:
    """Goes through equations and through the lets that are formulas where these read them."""

    def __init__(self, operator: f.Operator) -> None:
        self.counter = EvaluationCounter(operator, NOTHING)
        self.kept = lets_in_memory(operator).keys()
        self.seen: set[object] = set()
        self.told: set[str] = set()

    def of_equation(self, item: f.Equation) -> Iterator[SpecWarning]:
        outer = self.counter.definitions
        self.counter.definitions = {**outer, **{each.name: each for each in item.where}}
        self.seen.clear()
        yield from self.read(item.value, Place((), {}).within(self.counter, item.domain))
        self.counter.definitions = outer

    def read(self, node: object, place: Place) -> Iterator[SpecWarning]:
        match node:
            case n.Reduction(binders=binders):
                around = place.of(place.read_by(node, self.counter.definitions))
                if around.let is not None:
                    yield from self.repeated(node, around.let, around)
                inner = around.within(self.counter, binders)
                yield from self.read((binders.condition, node.body), inner)
            case n.Apply(name=name, arguments=arguments):
                yield from self.read(arguments, place)
                if name not in self.kept:
                    yield from self.applied(node, place)
            case _:
                for each in n.children(node):
                    yield from self.read(each, place)

    def applied(self, expr: n.Apply, place: Place) -> Iterator[SpecWarning]:
        """What a formula that is read amounts to, its parameters being what is given."""
        definition = self.counter.definitions[expr.name]
        if definition.kind == SELECTED or definition.axis is not None:
            return
        pairs = zip(definition.parameters, expr.arguments, strict=True)
        known = self.counter.definitions
        given = {name: place.read_by(argument, known) for (name, _), argument in pairs}
        key = expr.name, tuple(name for name, _ in place.loops), tuple(given.items())
        if key in self.seen:
            return
        self.seen.add(key)
        packs = any(kind == f.LIST for _, kind in definition.parameters)
        let = definition if packs and is_let(definition) else None
        depends = given if is_let(definition) else {**place.depends, **given}
        inner = Place(place.loops, depends, let)
        yield from self.read(definition.body, inner)

    def repeated(
        self, node: n.Reduction, let: f.Definition, around: Place
    ) -> Iterator[SpecWarning]:
        """The warning that a reduction of a let is computed more often than it has values."""
        used = around.read_by(node, self.counter.definitions)
        reads = product_of_counts(trips for _, trips in around.loops)
        values = product_of_counts(trips for name, trips in around.loops if name in used)
        cost = self.counter.cost(node, {})
        kept = p.plus(p.times(values, p.plus(cost, {(): STORE})), p.times(reads, {(): LOAD}))
        if let.name in self.told or typical(p.times(reads, cost)) <= typical(kept):
            return
        self.told.add(let.name)
        counts = f"{count_text(reads)} times, and has {count_text(values)} values"
        yield SpecWarning(let.span, f"'{let.name}' is computed {counts}", HINT)
