"""Columns of windows: what results side by side have in common, and how it can be kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cvmgen.analysis.windows import (
    Windows,
    simplified_difference,
    simplified_product,
    simplified_sum,
)
from cvmgen.ir import nodes as i
from cvmgen.ir.rewrite import rewritten
from cvmgen.ir.visit import fresh, replaced, substitute

# What loops are for: the roles that `separate` makes, in order.
COLUMN, NEAR, RUN, SIDE = range(4)


class ColumnNames:
    """Names for new loops and locals; those of loops are noted as what plays a role."""

    def __init__(
        self, base: str, roles: Sequence[str], made: dict[str, dict[str, None]], used: set[str]
    ) -> None:
        self.base, self.roles, self.made, self.used = base, roles, made, used

    def loop(self, role: int, name: str = "") -> str:
        new = fresh(name or f"{self.base}_{self.roles[role]}", self.used)
        self.made[self.roles[role]][new] = None
        return new

    def local(self, name: str) -> str:
        return fresh(name, self.used)


class Columns:
    """The columns that some results read: how many, and from where to where they have elements."""

    def __init__(self, found: Windows, column: str, used: set[str]) -> None:
        self.found, side, span = found, found.columns, found.results.span
        last = simplified_sum(
            simplified_product(simplified_sum(found.results.high, i.Const(-1)), side.step),
            side.reach,
        )
        self.start = side.first(i.ZERO)
        count = i.Let(fresh(f"{column}s", used), "i64", simplified_sum(last, i.ONE), span)
        self.count = i.Var(count.name)
        first = i.Call("max_i64", (i.ZERO, simplified_difference(i.ZERO, self.start)))
        end = i.Call("min_i64", (self.count, simplified_difference(side.extent, self.start)))
        low = i.Let(
            fresh(f"{column}_low", used), "i64", i.Call("min_i64", (first, self.count)), span
        )
        self.low = i.Var(low.name)
        high = i.Let(fresh(f"{column}_high", used), "i64", i.Call("max_i64", (end, self.low)), span)
        self.high = i.Var(high.name)
        self.locals_ = count, low, high

    def combined(self, column: i.Expr, target: i.Load) -> i.Block:
        """What a column amounts to."""
        total = self.found.total
        sweep = self.into(total.name, column)
        return (total, *sweep, i.Store(target, i.Var(total.name), total.span))

    def into(self, local: str, column: i.Expr) -> i.Block:
        """The elements of a column into a local."""
        found, side = self.found, self.found.columns
        value = substitute(found.element, {side.place: simplified_sum(column, self.start)})
        more = replace(found.accumulate, name=local, value=value)
        return rewritten((found.sweep,), lambda each: (more,) if each is side.tap else None)

    def outside(self, column: str, target: i.Load) -> tuple[i.Loop, i.Loop]:
        """Columns in the padding amount to nothing."""
        assert self.found.empty is not None
        body = (i.Store(target, self.found.empty, self.found.total.span),)
        left = i.Loop(column, i.ZERO, self.low, body, 0, self.found.total.span)
        return left, replace(left, low=self.high, high=self.count)

    def along(self, result: i.Expr, column: i.Load) -> i.Block:
        """A result, from the columns of its window."""
        found, side = self.found, self.found.columns
        value = replaced(found.value, lambda each: column if each == found.element else each)
        sweep = replace(side.tap, body=(replace(found.accumulate, value=value),))
        after: i.Block = substitute(found.after, {found.results.index: result})
        return (found.total, sweep, *after)
