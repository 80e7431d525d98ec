"""Binders as walks: what binds indices in an environment, point by point."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

from cvmgen.reference.failures import Budget, Env, FormulaError
from cvmgen.spec import nodes as n

Closure = Callable[[Env], Any]
BinderWalk = Callable[[Env], Iterator[None]]  # binds indices in the environment, point by point


class BinderCompiler(ABC):
    """Turns binders into walks; a subclass turns the expressions in them into closures."""

    budget: Budget | None

    @abstractmethod
    def closure(self, expr: n.Expr) -> Closure: ...

    @abstractmethod
    def sequence(self, expr: n.Expr) -> Closure: ...

    def walk(self, binders: n.Binders) -> BinderWalk:
        """Visit every point: the names are bound in the environment while at it."""
        visit: BinderWalk = once
        for binder in reversed(binders.items):
            visit = nested_walk(self.step(binder), visit)
        if binders.condition is None:
            return visit
        return filtered(self.closure(binders.condition), visit)

    def step(self, binder: n.Binder) -> BinderWalk:
        budget = self.budget
        match binder:
            case n.IndexRange(index=index, low=low, high=high):
                first, last = self.closure(low), self.closure(high)

                def count(env: Env) -> Iterator[None]:
                    start, stop, outer = first(env), last(env), env.get(index)
                    if budget is not None:
                        budget.spend(stop - start)
                    for value in range(start, stop):
                        env[index] = value
                        yield
                    restore(env, index, outer)

                return count
            case n.IndexMember(index=index, collection=collection):
                members = self.sequence(collection)

                return _one_after_another(index, members)
            case n.PackRange():
                return self.pack(binder)
            case _:
                raise AssertionError("binder is not checked")

    def pack(self, binder: n.PackRange) -> BinderWalk:
        extents = self.sequence(binder.extents)
        slots = self.sequence(binder.slots) if binder.slots is not None else None
        name, budget = binder.pack, self.budget

        def box(env: Env) -> Iterable[tuple[int, ...]]:
            sides = extents(env)
            if budget is not None:
                budget.spend(prod(sides))
            return product(*map(range, sides))

        def partly(env: Env) -> Iterator[None]:
            assert slots is not None
            assert binder.slots is not None
            outer = env.get(name)
            positions, sides = slots(env), extents(env)
            if len(positions) != len(sides):
                message = f"{len(positions)} entries of '{name}' stand against {len(sides)} extents"
                raise FormulaError(binder.span, message, env, (binder.extents, binder.slots))
            for entries in box(env):
                bound = dict(outer) if isinstance(outer, dict) else {}
                bound.update(zip(positions, entries, strict=True))
                env[name] = bound
                yield
            restore(env, name, outer)

        return _one_after_another(name, box) if slots is None else partly


def once(env: Env) -> Iterator[None]:
    """The one point where nothing is bound."""
    yield


def nested_walk(outer: BinderWalk, inner: BinderWalk) -> BinderWalk:
    """At each point of a walk all points of another one."""
    if inner is once:
        return outer

    def visit(env: Env) -> Iterator[None]:
        for _ in outer(env):
            yield from inner(env)

    return visit


def filtered(test: Closure, walk: BinderWalk) -> BinderWalk:
    """The points of a walk at which a condition holds."""

    def visit(env: Env) -> Iterator[None]:
        for _ in walk(env):
            if test(env):
                yield

    return visit


def _one_after_another(name: str, values: Callable[[Env], Iterable[Any]]) -> BinderWalk:
    """Binds a name to each of some values."""

    def choose(env: Env) -> Iterator[None]:
        outer = env.get(name)
        for value in values(env):
            env[name] = value
            yield
        restore(env, name, outer)

    return choose


def restore(env: Env, name: str, outer: Any) -> None:
    """End the binding of an index; an extent may use the name of an index around it."""
    if outer is None:
        env.pop(name, None)
    else:
        env[name] = outer


def decided(parts: Sequence[Closure], by: bool) -> Closure:
    """What conditions come to, one after the other, of which the first that is so decides."""

    def value(env: Env) -> bool:
        for part in parts:
            if bool(part(env)) is by:
                return by
        return not by

    return value
