"""Locals that iterations only add to: what is known of them where an iteration begins, and behind.

If every iteration adds at most m >= 0 to a local, it is between its first value and that plus
(index - low) * m where the iteration of an index begins, by induction over the iterations; behind
the loop it is at most max(high - low, 0) times m above it. That holds of a loop that is left early
as well. A local that is set to 0 or 1, or to such a local, is 0
or 1. What is added is bounded here by how it is written: a number, a test, what the loop does not
change, and such a test times that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from cvmgen.ir import nodes as i
from cvmgen.ir.uses import assigned, carried, has, names_in, nodes_in
from cvmgen.verification import terms as t
from cvmgen.verification.reading import FormulaReader, PlaceScope
from cvmgen.verification.terms import Formula, Term

INTEGERS = ("i32", "i64", "i128")


@dataclass(frozen=True)
class Counter:
    """A local that starts at `first`; an iteration adds at most `most` to it, exactly that if it is
    `exact`, and nothing below 0 where that is `fair`."""

    first: Term
    most: Term
    fair: Formula
    exact: bool


class Counters:
    """The locals that a loop carries from one iteration to the next, before it begins."""

    def __init__(
        self, reader: FormulaReader, tests: Set[str], loop: i.Loop, scope: PlaceScope
    ) -> None:
        self.reader, self.tests, self.loop, self.scope = reader, tests, loop, scope
        self.changed = assigned(loop.body)
        self.flags = self.zero_or_one(set(carried(loop.body)))
        found = ((name, self.counter(name)) for name in carried(loop.body))
        self.counters: Mapping[str, Counter] = {name: e for name, e in found if e is not None}

    def know_inside(self, scope: PlaceScope, low: Term) -> None:
        """What holds of the locals of a scope in which an iteration begins."""
        index = scope.names[self.loop.index]
        for name, each in self.counters.items():
            now = scope.names[name]
            if self.loop.step == 1 and isinstance(now, Term) and isinstance(index, Term):
                self.reader.symbols.know(now, *self.between(each, now, index - low))
        self.know_flags(scope)

    def know_behind(self, scope: PlaceScope, count: Term | None) -> None:
        """What holds behind the loop, which has so many iterations at most; if it is not known how
        many, that nothing was taken away."""
        for name, each in self.counters.items():
            now = scope.names[name]
            if not isinstance(now, Term):
                continue
            facts = [t.implies(each.fair, t.at_most(each.first, now))]
            if count is not None:
                facts += self.between(each, now, count)
            self.reader.symbols.know(now, *facts)
        self.know_flags(scope)

    def between(self, each: Counter, now: Term, count: Term) -> Iterator[Formula]:
        most = each.first + each.most * count
        if each.exact:
            yield t.equal(now, most)
        else:
            yield t.implies(each.fair, t.at_most(each.first, now))
            yield t.implies(each.fair, t.at_most(now, most))

    def know_flags(self, scope: PlaceScope) -> None:
        for name in sorted(self.flags):
            if isinstance(now := scope.names[name], Term):
                self.reader.symbols.know(now, t.at_most(0, now), t.at_most(now, 1))

    # ------------------------------------------------------------ what is added

    def counter(self, name: str) -> Counter | None:
        first = self.scope.names.get(name)
        if self.kind(name) not in INTEGERS or not isinstance(first, Term):
            return None
        bounds: list[Term] = []
        added = list(self.additions(self.loop.body, name))
        for value in added:
            bound = None if value is None else self.bound(value)
            if bound is None:
                return None
            bounds.append(bound)
        fair = t.every(*(t.at_most(0, each) for each in bounds))
        return Counter(first, sum(bounds, t.ZERO), fair, self.always(name, added))

    def kind(self, name: str) -> str:
        return self.reader.agreement.types.get(name, "")

    def always(self, name: str, added: list[i.Expr | None]) -> bool:
        """Whether each iteration adds just that: it is one thing, added on every way."""
        own = [e for e in self.loop.body if isinstance(e, i.Accumulate) and e.name == name]
        plain = all(e is not None and names_in(e).isdisjoint(self.flags) for e in added)
        fixed = all(e is not None and self.is_fixed(e) for e in added)
        left = has(self.loop.body, i.Break) or has(self.loop.body, i.Return)
        return len(own) == len(added) and plain and fixed and not left

    def is_fixed(self, value: i.Expr) -> bool:
        kinds = (i.Load, i.Compare, i.Logic, i.Call)
        own = names_in(value) & (self.changed | {self.loop.index})
        return not own and not any(has(value, kind) for kind in kinds)

    def additions(self, body: i.Block, name: str) -> Iterator[i.Expr | None]:
        """What statements of an iteration add; None for what is set otherwise or more than once."""
        for each in body:
            match each:
                case i.Accumulate(name=other, op="+", value=value) if other == name:
                    yield value
                case i.If(then=then, otherwise=otherwise):
                    yield from self.additions(then, name)
                    yield from self.additions(otherwise, name)
                case _ if name in assigned(each):
                    yield None

    def bound(self, value: i.Expr) -> Term | None:
        """A term that is not below a value, which is not negative where the term is not."""
        match value:
            case i.Binary(op="*", left=i.Var(name=flag), right=right) if flag in self.flags:
                return self.bound(right)
            case i.Var(name=flag) if flag in self.flags:
                return t.ONE
            case _ if is_test(value):
                return t.ONE
            case _ if self.is_fixed(value):
                with self.reader.quiet():
                    return self.reader.integer(value, self.scope)
            case _:
                return None

    def zero_or_one(self, names: set[str]) -> frozenset[str]:
        """Locals that are 0 or 1 before the loop, and set to such values alone."""
        flags = {name for name in names if self.kind(name) in INTEGERS and name in self.tests}
        inner = {each.name for each in nodes_in(self.loop.body, i.Let) if is_test(each.value)}
        while True:
            wrong = {name for name in flags if not self.set_so(name, flags | inner)}
            if not wrong:
                return frozenset(flags)
            flags -= wrong

    def set_so(self, name: str, others: set[str]) -> bool:
        values = [each.value for each in nodes_in(self.loop.body, i.Assign) if each.name == name]
        adds = [each for each in nodes_in(self.loop.body, i.Accumulate) if each.name == name]
        return not adds and all(is_test(e, others) for e in values)


def is_test(value: i.Expr, others: Set[str] = frozenset()) -> bool:
    """Whether a value is a test as a number, or 0 or 1, as these others are."""
    match value:
        case i.Convert(operand=operand):
            return is_test(operand, others)
        case i.Var(name=name):
            return name in others
        case i.Const(value=0 | 1) | i.Compare() | i.Logic() | i.Not():
            return True
        case _:
            return False
