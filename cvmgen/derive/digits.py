"""Slots of several indices, on the right side and on the left.

A slot of several indices, such as `(c*H + i)*W + j`: digits, each below an extent of its own.

Two such slots are equal just where all their digits are, so that each digit can be solved for by
itself. That a digit is below its extent follows from the range of an index or from a condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cvmgen.derive.facts import DeclaredFacts, normal_comparison
from cvmgen.derive.polynomials import expression, over_product, polynomial
from cvmgen.derive.substitution import equals_number
from cvmgen.functions import MIRRORED
from cvmgen.polynomials import plus
from cvmgen.spec import nodes as n


@dataclass(frozen=True, slots=True)
class SlotDigit:
    """A part of a slot that runs from 0 to just before `extent`."""

    value: n.Expr
    extent: n.Expr


class Digits:
    """Takes slots apart, by what is known of the indices and by the conditions of a term."""

    def __init__(self, facts: DeclaredFacts, conditions: Iterable[n.Expr]) -> None:
        self.facts = facts
        self.conditions = tuple(links(conditions))
        self.known = {normal_comparison(each) for each in self.conditions}

    def of(self, value: n.Expr, extent: n.Expr) -> tuple[SlotDigit, ...]:
        """The digits of a slot below `extent`, the greatest first; an extent of 1 has none.

        The greatest is in its range because the whole is.
        """
        if equals_number(value, 0) and self.facts.same(extent, n.Number(1, value.span)):
            return ()
        match value:
            case n.Arithmetic(sign="+", left=left, right=right):
                found = self.apart(left, right, extent) or self.apart(right, left, extent)
                return found or (SlotDigit(value, extent),)
            case _:
                return (SlotDigit(value, extent),)

    def apart(self, high: n.Expr, low: n.Expr, extent: n.Expr) -> tuple[SlotDigit, ...]:
        """The digits of `high + low`, where `low` is below a factor of `high` and the extent."""
        for scale in self.bounds(low):
            if equals_number(scale, 1):
                continue
            rest = over_product(polynomial(extent), scale)
            top = self.without_factor(high, scale)
            if rest is not None and top is not None:
                return (*self.of(top, expression(rest, extent)), *self.of(low, scale))
        return ()

    def bounds(self, low: n.Expr) -> Iterator[n.Expr]:
        """What a part is below, where it is known not to be negative."""
        zero = n.Number(0, low.span)
        if not self.facts.at_least(low, 0) and not self.holds("<=", zero, low):
            return
        if isinstance(low, n.Ref) and low.name in self.facts.below:
            yield self.facts.below[low.name]
            return
        most = self.facts.upper(polynomial(low))
        if most is not None:
            yield expression(plus(most, {(): 1}), low)
        for each in self.conditions:
            match each:
                case n.Compare(relations=("<",), operands=(left, right)) if left == low:
                    yield right
                case _:
                    pass

    def holds(self, relation: str, left: n.Expr, right: n.Expr) -> bool:
        return normal_comparison(n.Compare((relation,), (left, right), left.span)) in self.known

    def without_factor(self, expr: n.Expr, factor: n.Expr) -> n.Expr | None:
        match expr:
            case n.Arithmetic(sign="*", left=left, right=right) if self.facts.same(right, factor):
                return left
            case n.Arithmetic(sign="*", left=left, right=right) if self.facts.same(left, factor):
                return right
            case _:
                rest = over_product(polynomial(expr), factor)
                return None if rest is None else expression(rest, expr)


def links(conditions: Iterable[n.Expr]) -> Iterator[n.Compare]:
    """Chains such as `0 <= i < H`, link by link."""
    for condition in conditions:
        match condition:
            case n.Compare(relations=relations, operands=operands, span=span):
                for relation, left, right in zip(relations, operands, operands[1:], strict=False):
                    pair = (left, right)
                    if relation in (">", ">="):
                        relation, pair = MIRRORED[relation], (right, left)
                    yield n.Compare((relation,), pair, span)
            case _:
                pass


# ---------------------------------------------------------------- the left side of an adjoint


@dataclass(frozen=True, slots=True)
class LeftIndex:
    """An index of the adjoint's left side, and what it runs over."""

    name: str
    pack: bool
    extent: n.Expr

    def ref(self, like: n.Expr) -> n.Ref:
        return n.Ref(self.name, "pack" if self.pack else "index", like.span)

    def range(self, like: n.Expr) -> n.Binder:
        span = like.span
        if self.pack:
            return n.PackRange(self.name, self.extent, None, span)
        return n.IndexRange(self.name, n.Number(0, span), self.extent, span)


@dataclass(frozen=True, slots=True)
class LeftSlot:
    """A slot of the left side: a multi-index, an index, or several of them as digits."""

    targets: tuple[LeftIndex, ...]
    pack: bool
    extent: n.Expr

    @property
    def plain(self) -> bool:
        """Whether it is an index by itself."""
        return len(self.targets) == 1

    def value(self, like: n.Expr) -> n.Expr:
        """`(c*H + i)*W + j` of the digits c, i and j; 0 where there is none."""
        span = like.span
        if not self.targets:
            return n.Number(0, span)
        first, *others = self.targets
        whole: n.Expr = first.ref(like)
        for each in others:
            product = n.Arithmetic("*", whole, each.extent, span)
            whole = n.Arithmetic("+", product, each.ref(like), span)
        return whole

    def has_extents_of(self, digits: Sequence[SlotDigit]) -> bool:
        extents = [each.extent for each in digits]
        return extents == [each.extent for each in self.targets]


def targets_of(places: Sequence[LeftSlot]) -> tuple[LeftIndex, ...]:
    return tuple(target for place in places for target in place.targets)
