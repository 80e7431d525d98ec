"""How much of a formula examples and small calls reach: each side of a choice is a branch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from cvmgen.reference.binders import Closure
from cvmgen.reference.expressions import ExpressionCompiler
from cvmgen.reference.failures import Budget, Env
from cvmgen.reference.operator import Reference
from cvmgen.reference.probe import Probe, example_arguments
from cvmgen.reference.sampling import Sampler
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n


@dataclass(frozen=True, slots=True)
class Reached:
    """The branches of a formula; those that its examples take, and those that the small calls of
    `cvmgen check` take besides."""

    branches: int
    by_examples: int
    by_calls: int


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
    def __init__(self, operator: f.Operator, noting: Callable[..., ExpressionCompiler]) -> None:
        self.compiles = noting
        super().__init__(operator)


class _NotingSampler(Sampler):
    def __init__(self, operator: f.Operator, noting: Callable[..., ExpressionCompiler]) -> None:
        self.compiles = noting
        super().__init__(operator)


def reached(operator: f.Operator) -> Reached:
    """The branches of an operator's formula, and which of them are taken."""
    branches = {id(each): each for each in branches_of(operator)}
    if not branches:
        return Reached(0, 0, 0)
    taken: set[int] = set()
    noting = partial(_NotingCompiler, branches, taken)
    reference = _NotingReference(operator, noting)
    for example in operator.examples:
        inputs, attributes = example_arguments(operator, example)
        reference.evaluate(inputs, attributes)
    by_examples = len(taken & branches.keys())
    probe = Probe(operator)
    probe.sampler = _NotingSampler(operator, noting)
    probe.sample()
    return Reached(len(branches), by_examples, len(taken & branches.keys()) - by_examples)


def branches_of(operator: f.Operator) -> Iterable[n.Expr]:
    for node in n.walk(operator.items):
        if isinstance(node, n.Conditional):
            yield node.then
            yield node.otherwise
