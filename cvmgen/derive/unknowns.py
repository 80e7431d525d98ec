"""The unknown indices of a term, and what is found of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from cvmgen.derive.facts import DeclaredFacts
from cvmgen.derive.substitution import free_names, substitute
from cvmgen.spec import nodes as n


@dataclass(slots=True)
class Unknowns:
    """The unknown indices of a term, what they are found to be, and the conditions for it.

    `tests` speak of shapes and attributes alone and come first: behind them every index is
    in its range. `filters` may read elements.
    """

    facts: DeclaredFacts
    taken: set[str]
    unknown: dict[str, list[n.Binder]] = field(default_factory=dict)
    solved: dict[str, n.Expr] = field(default_factory=dict)
    tests: list[n.Expr] = field(default_factory=list)
    filters: list[n.Expr] = field(default_factory=list)

    def bind(self, binders: Iterable[n.Binder]) -> None:
        for binder in binders:
            name = n.bound_by(binder)
            self.unknown.setdefault(name, []).append(binder)
            self.taken.add(name)
            match binder:
                case n.IndexRange(low=low, high=high) if self.facts.at_least(low, 0):
                    self.facts.below[name] = self.facts.cap(high)
                case n.PackRange(extents=extents, slots=None):
                    self.facts.below[name] = extents
                case _:
                    pass

    def loops(self) -> Iterator[n.Binder]:
        """What remains to be summed over, with the solved indices in place."""
        for binders in self.unknown.values():
            yield from substitute(tuple(binders), self.solved)

    def depends(self, expr: n.Expr) -> list[str]:
        """The unknown indices that an expression speaks of, in their order."""
        names = free_names(expr)
        return [name for name in self.unknown if name in names]

    def settle(self, name: str, value: n.Expr) -> None:
        """An unknown is this value from now on."""
        del self.unknown[name]
        if not (isinstance(value, n.Ref) and value.name == name):
            self.facts.below.pop(name, None)
        self.solved = {key: substitute(old, {name: value}) for key, old in self.solved.items()}
        self.solved[name] = value
        self.tests = [substitute(test, {name: value}) for test in self.tests]
        self.filters = [substitute(test, {name: value}) for test in self.filters]
