"""What a formula reads on a path: conditions around it, ranges of bound indices, reductions.

An expression is read where its path holds. What must be so that it has a value is noted with its
path.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from cvmgen.compare.table import INDEX, ListValue, RealValue, Value, ValueTable
from cvmgen.dtypes import DType
from cvmgen.spec import formula as f
from cvmgen.spec import nodes as n
from cvmgen.verification import terms as t
from cvmgen.verification.terms import TRUE, Formula, Term


class Unread(Exception):
    """A formula says what this cannot follow."""


@dataclass(frozen=True, slots=True)
class Need:
    """What must hold on a path, so that an expression has a value."""

    path: tuple[Formula, ...]
    claim: Formula


@dataclass(frozen=True, slots=True)
class Combined:
    """A maximum or a minimum that is asked for on a path: of no element it has no value."""

    key: Any
    ranges: tuple[Any, ...]
    condition: Formula
    path: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Lazy:
    """What a definition is applied to, until it asks for the value."""

    expr: n.Expr
    env: Env


Env = Mapping[str, Any]  # values of names in reach; arguments as Lazy


class BinderReader(ABC):
    """Reads one formula; a subclass reads the expressions in it."""

    def __init__(self, table: ValueTable, operator: f.Operator) -> None:
        self.table, self.operator = table, operator
        self.definitions = {
            each.name: each
            for each in f.all_items(operator.items)
            if isinstance(each, f.Definition)
        }
        self.types = operator.type_of
        self.path: tuple[Formula, ...] = ()
        self.around: tuple[Formula, ...] = ()  # what holds of bound indices
        self.depth = 0
        self.steps = 0
        self.needs: list[Need] = []
        self.nonempty: list[Combined] = []
        self.defining: list[str] = []

    @contextmanager
    def where(self, *conditions: Formula) -> Iterator[None]:
        before, self.path = self.path, (*self.path, *conditions)
        try:
            yield
        finally:
            self.path = before

    def need(self, claim: Formula) -> None:
        if claim != TRUE:
            self.needs.append(Need(self.path, claim))

    def dtypes(self, name: str) -> tuple[DType, ...]:
        """The storage types of an operand in each choice; none of one of type `cvm`."""
        rows = range(len(self.operator.types.rows))
        found = (self.operator.types.dtype(self.types[name], row) for row in rows)
        return tuple(each for each in found if each is not None)

    # -------------------------------------------------------- kinds of values

    def integer(self, expr: n.Expr, env: Env) -> Term:
        found = self.value(expr, env)
        if not isinstance(found, Term):
            raise Unread
        return found

    def condition(self, expr: n.Expr, env: Env) -> Formula:
        found = self.value(expr, env)
        if isinstance(found, (Term, RealValue, ListValue)):
            raise Unread
        return found

    def listed(self, expr: n.Expr, env: Env) -> ListValue:
        found = self.value(expr, env)
        if not isinstance(found, ListValue):
            raise Unread
        return found

    @abstractmethod
    def value(self, expr: n.Expr, env: Env) -> Value: ...

    # -------------------------------------------------------- reductions

    def reduction(self, expr: n.Reduction, env: Env) -> Value:
        """Of integers the order of ranges does not count: those that do not depend on each other
        are put in one order, and a sum of sums is one sum."""
        binders, body = expr.binders, expr.body
        if not self.operator.has_reals:
            while (
                expr.function in ("sum", "any", "all")
                and isinstance(body, n.Reduction)
                and body.function == expr.function
                and binders.condition is None
                and body.binders.over is None
            ):
                items = (*binders.items, *body.binders.items)
                binders, body = (
                    n.Binders(items, None, body.binders.condition, binders.span),
                    body.body,
                )
            binders = self.in_order(binders, env)
        with (
            self.bound(binders, env) as (inner, ranges, inside, condition),
            self.where(*inside, condition),
        ):
            found = self.value(body, inner)
        if isinstance(found, ListValue):
            raise Unread
        made: Value
        if isinstance(found, RealValue):
            made = self.table.real(expr.function, ranges, condition, found)
            key: Any = made
        else:
            made, key = self.table.reduction(
                expr.function, ranges, inside, condition, found, self.around
            )
        if expr.function in ("max", "min"):
            self.nonempty.append(Combined(key, ranges, condition, self.path))
        return made

    def in_order(self, binders: n.Binders, env: Env) -> n.Binders:
        """Ranges with ends that do not depend on the others, in one order for all formulas."""
        keys = []
        for at, each in enumerate(binders.items):
            if not isinstance(each, n.IndexRange):
                return binders
            own = {other.index for other in binders.items if isinstance(other, n.IndexRange)}
            free = {name: value for name, value in env.items() if name not in own}
            used = {node.name for node in n.walk((each.low, each.high)) if isinstance(node, n.Ref)}
            if used & own:
                return binders
            low, high = self.integer(each.low, free), self.integer(each.high, free)
            keys.append(((t.term_text(high), t.term_text(low)), at))
        items = tuple(binders.items[at] for _, at in sorted(keys))
        return n.Binders(items, None, binders.condition, binders.span)

    @contextmanager
    def bound(
        self, binders: n.Binders, env: Env
    ) -> Iterator[tuple[Env, tuple[Any, ...], tuple[Formula, ...], Formula]]:
        """The indices of ranges bound: the names in reach, what the ranges are, what holds of the
        indices, and the condition on them."""
        inner, ranges, inside = dict(env), list[Any](), list[Formula]()
        depth, around = self.depth, self.around
        try:
            for binder in binders.items:
                ranges.append(self.bind(binder, inner, inside))
                self.around = (*around, *inside)
            with self.where(*inside):
                test = (
                    TRUE if binders.condition is None else self.condition(binders.condition, inner)
                )
            yield inner, tuple(ranges), tuple(inside), test
        finally:
            self.depth, self.around = depth, around

    def bind(self, binder: n.Binder, inner: dict[str, Any], inside: list[Formula]) -> Any:
        name = f"{INDEX}{self.depth}"
        with self.where(*inside):
            match binder:
                case n.IndexRange(index=index, low=low, high=high):
                    first, last = self.integer(low, inner), self.integer(high, inner)
                    at = inner[index] = t.symbol(name)
                    inside += [t.at_most(first, at), t.below(at, last)]
                    found: Any = (name, first, last)
                case n.IndexMember(index=index, collection=collection):
                    members = self.listed(collection, inner)
                    inner[index] = t.symbol(name)
                    found = (name, "member", members)
                case n.PackRange(pack=pack, extents=extents, slots=None):
                    box = self.listed(extents, inner)
                    inner[pack] = self.table.listed("pack", name)
                    found = (name, "box", box)
                case n.PackRange(pack=pack, extents=extents, slots=slots):
                    assert slots is not None
                    parts = self.listed(slots, inner), self.listed(extents, inner)
                    outer = inner.get(pack)
                    inner[pack] = self.table.listed("pack", name, parts, outer)
                    found = (name, "part of a box", parts, outer)
                case _:
                    raise Unread
        self.depth += 1
        return found
