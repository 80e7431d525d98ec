"""The left side of an adjoint: a name for every index, and what the slots are made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cvmgen.derive.digits import Digit
from cvmgen.spec import nodes as n


@dataclass(frozen=True, slots=True)
class Target:
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
class Place:
    """A slot of the left side: a multi-index, an index, or several of them as digits."""

    targets: tuple[Target, ...]
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

    def has_extents_of(self, digits: Sequence[Digit]) -> bool:
        extents = [each.extent for each in digits]
        return extents == [each.extent for each in self.targets]


def targets_of(places: Sequence[Place]) -> tuple[Target, ...]:
    return tuple(target for place in places for target in place.targets)
