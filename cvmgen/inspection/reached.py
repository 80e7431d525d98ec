"""How much of a formula its examples reach: each side of each choice counts as a branch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from cvmgen.reference.binders import Closure
from cvmgen.reference.expressions import ExpressionCompiler
from cvmgen.reference.failures import Budget, Env
from cvmgen.reference.operator import Reference
from cvmgen.reference.probe import example_arguments
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n


@dataclass(frozen=True, slots=True)
class Reached:
    """The branches of a formula, and those of them that a set of calls took."""

    branches: int
    taken: int


class _NotingCompiler(ExpressionCompiler):
    """Closures that note which branches are evaluated."""

    def __init__(
        self,
        branches: Mapping[int, n.Expr],
        taken: set[int],
        definitions: Mapping[str, f.Definition],
        budget: Budget | None = None,
    ) -> None:
        super().__init__(definitions, budget)
        self.branches, self.taken = branches, taken

    def closure(self, expr: n.Expr) -> Closure:
        known = super().closure(expr)
        if id(expr) not in self.branches:
            return known
        taken, branch = self.taken, id(expr)

        def value(env: Env) -> Any:
            taken.add(branch)
            return known(env)

        return value


class _NotingReference(Reference):
    def __init__(self, operator: f.Operator, branches: Mapping[int, n.Expr]) -> None:
        self.taken: set[int] = set()
        self.compiles = partial(_NotingCompiler, branches, self.taken)
        super().__init__(operator)


def reached_by_examples(operator: f.Operator) -> Reached:
    """The branches of an operator's formula, and those that its examples take."""
    branches = {id(each): each for each in branches_of(operator)}
    noting = _NotingReference(operator, branches)
    for example in operator.examples:
        inputs, attributes = example_arguments(operator, example)
        noting.evaluate(inputs, attributes)
    return Reached(len(branches), len(noting.taken & branches.keys()))


def branches_of(operator: f.Operator) -> Iterable[n.Expr]:
    for node in n.walk(operator.items):
        if isinstance(node, n.Conditional):
            yield node.then
            yield node.otherwise
