"""Tests that an index is in its range, as the ends of a range that a sum runs over.

`0 <= i - p*S + P < R` holds for p from ceildiv(i + P - R + 1, S) to (i + P) div S: a sum over
these alone does not visit the others only to leave them out. What the formula itself has as a
condition stays one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from cvmgen.derive.facts import DeclaredFacts
from cvmgen.derive.polynomials import addends_of, solved_for
from cvmgen.derive.substitution import equals_number, formula_names
from cvmgen.functions import MIRRORED
from cvmgen.spec import nodes as n

Addends = list[tuple[bool, n.Expr]]  # each with whether it is taken away


class NarrowedLoops:
    """The loops of a sum, narrowed by the tests that allow it."""

    def __init__(self, facts: DeclaredFacts, loops: Iterable[n.Binder]) -> None:
        self.facts = facts
        self.loops = list(loops)
        self.absorbed: list[n.Expr] = []
        """What the ranges keep within its bounds, and these."""

    def narrow(self, tests: Sequence[n.Expr]) -> list[n.Expr]:
        """Narrow the loops; the tests that remain."""
        return [each for each in tests if not self.absorb(each)]

    def absorb(self, condition: n.Expr) -> bool:
        """Whether the loops stand for the condition from now on."""
        match condition:
            case n.Compare(relations=relations, operands=operands) if self.is_simple(condition):
                pass
            case _:
                return False
        before = list(self.loops)
        for relation, left, right in zip(relations, operands, operands[1:], strict=False):
            if not self.link(relation, left, right):
                self.loops = before
                return False
        self.absorbed += operands
        return True

    @staticmethod
    def is_simple(condition: n.Compare) -> bool:
        """Whether all of it has a value wherever the loops stand."""
        for each in n.walk(condition):
            match each:
                case n.Compare() | n.Ref() | n.Number() | n.Negate():
                    pass
                case n.Arithmetic(sign="+" | "-" | "*"):
                    pass
                case _:
                    return False
        return True

    def link(self, relation: str, left: n.Expr, right: n.Expr) -> bool:
        """Narrow the innermost loop that `left relation right` speaks of."""
        if relation in (">", ">="):
            return self.link(MIRRORED[relation], right, left)
        if relation not in ("<", "<="):
            return False
        room = [*addends_of(right), *((not minus, each) for minus, each in addends_of(left))]
        if relation == "<":
            room.append((True, n.Number(1, left.span)))
        return self.not_negative(room)

    def not_negative(self, room: Addends) -> bool:
        """Narrow the innermost loop of a sum that has to be 0 or more."""
        names = formula_names(tuple(each for _, each in room))
        at = next((at for at in self.inwards() if n.bound_by(self.loops[at]) in names), None)
        if at is None:
            return False
        loop = self.loops[at]
        own = [each for each in room if n.bound_by(loop) in formula_names(each[1])]
        others = [each for each in room if each not in own]
        if not isinstance(loop, n.IndexRange) or len(own) != 1 or self.is_bound_twice(loop):
            return False
        negative, part = own[0]
        scale = self.factor(part, loop.index)
        if scale is None:
            return False
        self.loops[at] = (
            self.upper(loop, others, scale) if negative else self.lower(loop, others, scale)
        )
        return True

    def inwards(self) -> Iterator[int]:
        return iter(range(len(self.loops) - 1, -1, -1))

    def is_bound_twice(self, loop: n.IndexRange) -> bool:
        return sum(n.bound_by(each) == loop.index for each in self.loops) > 1

    def factor(self, part: n.Expr, index: str) -> n.Expr | None:
        """What the index is multiplied by, if that is known to be 1 or more."""
        match part:
            case n.Ref(span=span):
                return n.Number(1, span)
            case n.Arithmetic(sign="*", left=n.Ref(name=name), right=scale) if name == index:
                pass
            case n.Arithmetic(sign="*", left=scale, right=n.Ref(name=name)) if name == index:
                pass
            case _:
                return None
        return scale if self.facts.at_least(scale, 1) else None

    def upper(self, loop: n.IndexRange, rest: Addends, scale: n.Expr) -> n.IndexRange:
        """`rest - p*s >= 0`: p is at most `rest div s`."""
        span = loop.span
        one = (False, n.Number(1, span))
        if equals_number(scale, 1):
            end = sum_of_addends([*rest, one], loop)
        else:
            most = n.Arithmetic("div", sum_of_addends(rest, loop), scale, span)
            end = n.Arithmetic("+", most, n.Number(1, span), span)
        if self.facts.is_below(n.Arithmetic("-", end, n.Number(1, span), span), loop.high):
            return replace(loop, high=end)
        return replace(loop, high=n.Function("min", (loop.high, end), span))

    def lower(self, loop: n.IndexRange, rest: Addends, scale: n.Expr) -> n.IndexRange:
        """`rest + p*s >= 0`: p is at least `-rest` over s, rounded up."""
        span = loop.span
        least = sum_of_addends([(not minus, each) for minus, each in rest], loop)
        if not equals_number(scale, 1):
            least = n.Function("ceildiv", (least, scale), span)
        if equals_number(loop.low, 0) and self.facts.at_least(least, 0):
            return replace(loop, low=least)
        return replace(loop, low=n.Function("max", (loop.low, least), span))


def sum_of_addends(addends: Addends, like: n.IndexRange) -> n.Expr:
    """A sum: what is added first, then what is taken away, then the numbers as one."""
    number = sum(
        -each.value if minus else each.value
        for minus, each in addends
        if isinstance(each, n.Number)
    )
    named = [each for each in addends if not isinstance(each[1], n.Number)]
    ordered = sorted(named, key=lambda each: each[0])
    if number or not named:
        place = 0 if number > 0 and all(minus for minus, _ in named) else len(ordered)
        ordered.insert(place, (number < 0, n.Number(abs(number), like.span)))
    (minus, start), *others = ordered
    start = n.Negate(start, like.span) if minus else start
    return solved_for(start, [(not sign, each) for sign, each in others], False)
